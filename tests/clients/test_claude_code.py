"""The real Claude Code sees a change after it is applied, and no longer after it is undone."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.clients.conftest import Place, change, made, make_place, taken_back
from tests.clients.models import anthropic_server

from takeback.cli.demo import CHANGES, FILES, THIRD
from takeback.harness import Refused


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = make_place("claude-code", FILES, tmp_path)
    trusted = {"projects": {str(found.root): {"hasTrustDialogAccepted": True}}}
    (found.home / ".claude.json").write_text(json.dumps(trusted))
    return found


def seen(place: Place) -> dict[str, Any]:
    """What the client says it loaded."""
    talked = {}
    words = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    with place.talking(*words) as talk:
        for asked in ("initialize", "get_settings", "list_permission_rules", "mcp_status", "get_memory_dialog"):
            request = {"type": "control_request", "request_id": asked, "request": {"subtype": asked}}
            talk.send(request)
            talked[asked] = talk.until(lambda answer, asked=asked: _response(answer, asked))
    rules = talked["list_permission_rules"]["state"]["rules"]
    effective = talked["get_settings"]["effective"]
    return {
        "allow": [rule["rule"] for rule in rules if rule["behavior"] == "allow"],
        "servers": sorted(server["name"] for server in talked["mcp_status"]["mcpServers"]),
        "matchers": [group.get("matcher") for group in effective["hooks"]["PreToolUse"]],
        "agents": sorted(agent["name"] for agent in talked["initialize"]["agents"]),
        "model": effective.get("model"),
        "errors": talked["get_settings"].get("errors"),
    }


def _response(answer: Any, asked: str) -> Any:
    if answer.get("type") != "control_response" or answer["response"].get("request_id") != asked:
        return None
    return answer["response"].get("response", {})


KINDS: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "a permission": (
        [{"op_type": "append_config", "target": "permissions.allow", "value": "Bash(rm:*)"}],
        lambda found: "Bash(rm:*)" in found["allow"],
    ),
    "a server": (
        [{"op_type": "register_tool", "target": "mcp:extra", "value": {"command": "true", "args": ["x"]}}],
        lambda found: "extra" in found["servers"],
    ),
    "a hook": (CHANGES[5][1], lambda found: "WebFetch" in found["matchers"]),
    "an agent": (
        [
            {
                "op_type": "set_prompt",
                "target": "agents/tester",
                "value": "---\nname: tester\ndescription: Tests things.\n---\n\nTest it.\n",
            }
        ],
        lambda found: "tester" in found["agents"],
    ),
    "a model": (
        [{"op_type": "set_routing", "target": "model", "value": "haiku"}],
        lambda found: found["model"] == "haiku",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_claude_code_sees_a_change_after_apply_and_not_after_undo(kind: str, place: Place) -> None:
    ops, holds = KINDS[kind]
    before = place.files()
    assert not holds(seen(place))
    with closing(place.opened()) as harness:
        entry = made(harness, *ops)
        found = seen(place)
        assert holds(found), found
        assert not found["errors"]
        taken_back(harness, entry)
    assert not holds(seen(place))
    assert place.files() == before


def test_undoing_the_third_of_six_changes_leaves_five_in_claude_code(place: Place) -> None:
    with closing(place.opened()) as harness:
        entries = [made(harness, *ops) for _, ops in CHANGES]
        everything = seen(place)
        assert "Bash(rm:*)" in everything["allow"]
        taken_back(harness, entries[THIRD])
    found = seen(place)
    assert "Bash(rm:*)" not in found["allow"]
    assert "Bash(make test:*)" in found["allow"]
    assert "issues" in found["servers"]
    assert "WebFetch" in found["matchers"]
    assert not found["errors"]
    with anthropic_server([[{"type": "text", "text": "done"}]]) as server:
        place.env |= {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": server.url}
        place.run("-p", "hello", "--output-format", "json")
        told = json.dumps(server.requests)
    assert "`make check` and `make test`" in told
    assert "- Retry twice." in told


def test_a_change_claude_code_would_not_load_is_refused(place: Place) -> None:
    before, shown = place.files(), seen(place)
    with closing(place.opened()) as harness:
        refused = change(harness, {"op_type": "set_config", "target": "permissions.deny", "value": "everything"})
        assert isinstance(refused, Refused)
        assert "would not load" in refused.message
    assert place.files() == before
    assert seen(place) == shown


def test_claude_code_drops_a_refused_change(place: Place) -> None:
    settings = place.root / ".claude/settings.json"
    settings.write_text(settings.read_text().replace('[ "Read(./.env)" ]', '"everything"'))
    assert seen_errors(place)


def seen_errors(place: Place) -> Any:
    words = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    with place.talking(*words) as talk:
        for asked in ("initialize", "get_settings"):
            talk.send({"type": "control_request", "request_id": asked, "request": {"subtype": asked}})
            answer = talk.until(lambda answer, asked=asked: _response(answer, asked))
    return answer.get("errors")


def test_an_added_guard_hook_fires(place: Place) -> None:
    guard = {
        "op_type": "add_listener",
        "target": "PreToolUse",
        "value": {
            "id": "guard",
            "handler": "guard",
            "options": {
                "matcher": "Write",
                "hooks": [{"type": "command", "command": "echo not here >&2; exit 2"}],
            },
        },
    }
    script = [
        [
            {
                "type": "tool_use",
                "id": "t1",
                "name": "Write",
                "input": {"file_path": str(place.root / "new.txt"), "content": "x"},
            }
        ],
        [{"type": "text", "text": "done"}],
    ]
    words = ("-p", "write it", "--output-format", "json", "--permission-mode", "bypassPermissions")
    place.env |= {"IS_SANDBOX": "1"}
    with closing(place.opened()) as harness:
        entry = made(harness, guard)
        with anthropic_server(script) as server:
            place.env |= {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": server.url}
            place.run(*words)
            assert "not here" in json.dumps(server.requests)
        assert not (place.root / "new.txt").exists()
        taken_back(harness, entry)
        with anthropic_server(script) as server:
            place.env |= {"ANTHROPIC_BASE_URL": server.url}
            place.run(*words)
        assert (place.root / "new.txt").exists()
