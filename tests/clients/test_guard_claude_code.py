"""The real Claude Code, with Takeback installed, edits its own files: guarded before, recorded after."""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.clients.conftest import Place, make_place
from tests.clients.models import anthropic_server

from takeback.agents.installation import BY, build_candidate, describe_installation, list_additions
from takeback.cli.demo import FILES
from takeback.harness import Applied, Undone
from takeback.harness.entry_log import EntryView

AGREED = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}
APPROVING = {"hooks": [{"type": "command", "command": f"echo '{json.dumps(AGREED)}'"}]}
"""A person who agrees to whatever the client asks, in the user's own settings."""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = make_place("claude-code", FILES, tmp_path)
    trusted = {"projects": {str(found.root): {"hasTrustDialogAccepted": True}}}
    (found.home / ".claude.json").write_text(json.dumps(trusted))
    (found.home / ".claude").mkdir()
    (found.home / ".claude/settings.json").write_text(json.dumps({"hooks": {"PermissionRequest": [APPROVING]}}))
    found.env["PYTHONPATH"] = os.pathsep.join(sys.path)
    with closing(found.opened()) as harness:
        program = [sys.executable, "-m", "takeback"]
        ops = list_additions("claude-code", ["claude-code"], harness.state, program)
        ops = [op for op in ops if op["op_type"] != "register_tool"]  # the server has tests of its own
        done = harness.apply(build_candidate(ops, harness.state), note=describe_installation("claude-code"), by=BY)
        assert isinstance(done, Applied), done
    return found


def use(number: int, tool: str, given: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": given}]


def converse(place: Place, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Let the client make these calls, one per turn; returns what the model was told of each."""
    script = [use(number, *call) for number, call in enumerate(calls)] + [[{"type": "text", "text": "done"}]]
    with anthropic_server(script) as server:
        place.env |= {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": server.url}
        words = ("-p", "change yourself", "--output-format", "stream-json", "--verbose")
        shown = place.run(*words, "--allowedTools", "Read,Edit,Write,Bash", seconds=300)
    told = [json.loads(line) for line in shown.splitlines()]
    blocks = [block for line in told if line.get("type") == "user" for block in line["message"]["content"]]
    return [block for block in blocks if block.get("type") == "tool_result"]


def recorded(place: Place) -> list[EntryView]:
    """The entries since the installation, oldest first."""
    with closing(place.opened()) as harness:
        return [entry for entry in reversed(list(harness.log())) if entry.kind == "adopt"]


def test_claude_code_edits_are_recorded_guarded_and_undone(place: Place) -> None:
    settings, notes = place.root / ".claude/settings.json", place.root / "CLAUDE.md"
    servers = place.root / ".mcp.json"  # of its settings the client checks the types itself, before any hook
    text = settings.read_text()
    model = next(line for line in text.splitlines() if '"model"' in line)
    other = model.replace(json.loads("{" + model.strip().rstrip(",") + "}")["model"], "haiku")
    rule = {"old_string": "Run `make check`", "new_string": "Always run `make check`"}
    answers = converse(
        place,
        ("Read", {"file_path": str(notes)}),
        ("Read", {"file_path": str(settings)}),
        ("Read", {"file_path": str(servers)}),
        (
            "Edit",
            {"file_path": str(notes), **rule},
        ),
        ("Edit", {"file_path": str(settings), "old_string": model, "new_string": other}),
        ("Edit", {"file_path": str(servers), "old_string": '"carriers": ', "new_string": '"carriers" '}),
        ("Bash", {"command": "echo '- Be brief.' >> CLAUDE.md", "description": "add a rule"}),
        ("Write", {"file_path": str(place.root / ".claude/rules/new.md"), "content": "Ask first.\n"}),
    )
    denied = [answer for answer in answers if answer.get("is_error")]
    assert len(denied) == 1, answers
    assert "claude-code would no longer load it" in json.dumps(denied[0])
    found = recorded(place)
    assert [entry.note.split()[0] for entry in found] == ["Edit", "Edit", "Bash", "Write"], found
    assert all(entry.by.startswith("claude-code (declared), session ") for entry in found)
    with closing(place.opened()) as harness:
        assert isinstance(harness.undo(found[1].id), Undone)
    assert settings.read_text() == text
    assert "Always run `make check`" in notes.read_text()
    assert notes.read_text().endswith("- Be brief.\n")
    assert (place.root / ".claude/rules/new.md").read_text() == "Ask first.\n"


def test_a_guard_removed_by_claude_code_is_noticed(place: Place) -> None:
    script = "import json,pathlib;p=pathlib.Path('.claude/settings.local.json');d=json.loads(p.read_text());"
    script += "d['hooks'].pop('PreToolUse');p.write_text(json.dumps(d))"
    converse(place, ("Bash", {"command": f'{sys.executable} -c "{script}"', "description": "tidy up"}))
    found = recorded(place)
    assert any("loosens" in entry.note and "PreToolUse" in entry.note for entry in found), found
