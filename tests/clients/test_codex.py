"""The real Codex sees a change after it is applied, and no longer after it is undone."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.clients.conftest import Place, change, made, make_place, taken_back
from tests.clients.models import responses_server

from takeback.harness import Refused

FILES = {
    "AGENTS.md": "# Ferry times\n\n- Times are local to the pier.\n- Never guess a tide.\n",
    ".codex/config.toml": """\
# shared by all of us
model = 'gpt-5.5'   # the usual one
approval_policy = "never"
sandbox_mode = "danger-full-access"

[mcp_servers.piers]
command = "true"
args = [ "--all", # every pier
]

[[hooks.Stop]]
[[hooks.Stop.hooks]]
type = "command"
command = "true"

[features]
hooks = true
""",
    ".agents/skills/tides/SKILL.md": "---\nname: tides\ndescription: Reads the tide tables.\n---\n\nLook twice.\n",
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = make_place("codex", FILES, tmp_path)
    trust = f'[projects."{found.root}"]\ntrust_level = "trusted"\n'
    (found.home / ".codex").mkdir()
    (found.home / ".codex/config.toml").write_text(trust)
    return found


def asked(place: Place, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """What the client's own server answers."""
    answers = []
    begin = ("initialize", {"clientInfo": {"name": "tests", "version": "0"}})
    with place.talking("app-server") as talk:
        for number, (method, given) in enumerate((begin, *calls)):
            talk.send({"id": number, "method": method, "params": given})
            answers.append(talk.until(lambda answer, number=number: _result(answer, number)))
            if number == 0:
                talk.send({"method": "initialized"})
    return answers[1:]


def _result(answer: Any, number: int) -> Any:
    if answer.get("id") != number:
        return None
    assert "result" in answer, answer
    return answer["result"]


def seen(place: Place) -> dict[str, Any]:
    """What the client says it loaded."""
    here = str(place.root)
    hooks, config = asked(place, ("hooks/list", {"cwds": [here]}), ("config/read", {"cwd": here}))
    listed = hooks["data"][0]
    return {
        "servers": [server["name"] for server in json.loads(place.run("mcp", "list", "--json"))],
        "hooks": [(hook["eventName"], hook.get("matcher"), hook["command"]) for hook in listed["hooks"]],
        "warnings": listed["warnings"] + listed["errors"],
        "config": config["config"],
        "prompt": place.run("debug", "prompt-input"),
    }


GUARD = {
    "op_type": "add_listener",
    "target": "toml:PreToolUse",
    "value": {
        "id": "guard",
        "handler": "guard",
        "options": {"matcher": "Bash", "hooks": [{"type": "command", "command": "echo not here >&2; exit 2"}]},
    },
}
SKILL = "---\nname: fares\ndescription: Knows every fare.\n---\n\nCount in cents.\n"
KINDS: dict[str, tuple[list[dict[str, Any]], Any]] = {
    "a server": (
        [{"op_type": "register_tool", "target": "mcp:fares", "value": {"command": "true", "args": ["x"]}}],
        lambda found: "fares" in found["servers"],
    ),
    "a model": (
        [{"op_type": "set_routing", "target": "model", "value": "gpt-6"}],
        lambda found: found["config"]["model"] == "gpt-6",
    ),
    "a setting": (
        [{"op_type": "set_config", "target": "features.web_search_request", "value": True}],
        lambda found: found["config"].get("features", {}).get("web_search_request") is True,
    ),
    "a hook": ([GUARD], lambda found: any("not here" in hook[2] for hook in found["hooks"])),
    "an instruction": (
        [
            {
                "op_type": "edit_prompt",
                "target": "AGENTS.md",
                "value": {"old": "Never guess", "new": "Never ever guess"},
            }
        ],
        lambda found: "Never ever guess a tide" in found["prompt"],
    ),
    "a skill": (
        [{"op_type": "set_prompt", "target": "skills/fares", "value": SKILL}],
        lambda found: "Knows every fare" in found["prompt"],
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_codex_sees_a_change_after_apply_and_not_after_undo(kind: str, place: Place) -> None:
    ops, holds = KINDS[kind]
    before, shown = place.files(), seen(place)
    assert not holds(shown)
    with closing(place.opened()) as harness:
        entry = made(harness, *ops)
        found = seen(place)
        assert holds(found), found
        assert found["warnings"] == shown["warnings"]
        taken_back(harness, entry)
    assert not holds(seen(place))
    assert place.files() == before


BAD: dict[str, dict[str, Any]] = {
    "a wrong type": {"op_type": "set_config", "target": "features", "value": "all"},
    "an unknown sandbox": {"op_type": "set_config", "target": "sandbox_mode", "value": "none"},
    "a server without a command": {"op_type": "register_tool", "target": "mcp:bad", "value": {"args": ["x"]}},
}


@pytest.mark.parametrize("kind", BAD)
def test_a_change_that_would_stop_codex_from_starting_is_refused(kind: str, place: Place) -> None:
    before = place.files()
    with closing(place.opened()) as harness:
        refused = change(harness, BAD[kind])
        assert isinstance(refused, Refused)
        assert "would not load" in refused.message
    assert place.files() == before
    assert place.run("mcp", "list", "--json")


def test_codex_does_not_start_with_a_refused_change(place: Place) -> None:
    config = place.root / ".codex/config.toml"
    config.write_text(config.read_text().replace('"danger-full-access"', '"none"'))
    with pytest.raises(AssertionError, match="ended with 1"):
        place.run("mcp", "list", "--json")


def test_an_added_guard_hook_fires(place: Place) -> None:
    call = {
        "type": "function_call",
        "call_id": "c1",
        "name": "exec_command",
        "arguments": json.dumps({"cmd": f"touch {place.root / 'new.txt'}"}),
    }
    done = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}
    user = place.home / ".codex/config.toml"
    trust = user.read_text()

    def play() -> str:
        with responses_server([[call], [done]]) as server:
            provider = (
                f'[model_providers.here]\nname = "here"\nbase_url = "{server.url}/v1"\nwire_api = "responses"\n'
            )
            user.write_text(f'model_provider = "here"\n{trust}{provider}')
            place.run("exec", "--json", "--dangerously-bypass-hook-trust", "make the file")
            return json.dumps(server.requests)

    before = place.files()
    with closing(place.opened()) as harness:
        entry = made(harness, GUARD)
        assert "not here" in play()
        assert not (place.root / "new.txt").exists()
        taken_back(harness, entry)
        assert place.files() == before
        assert "not here" not in play()
        assert (place.root / "new.txt").exists()
