"""The real Codex, with Takeback's hooks trusted, edits its own files: guarded before, recorded after."""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.clients.conftest import Place, make_place
from tests.clients.models import responses_server
from tests.clients.test_codex import FILES, asked

from takeback.agents.installation import BY, HOOKS, Placing, build_candidate, describe_installation, list_additions
from takeback.harness import Applied, Undone
from takeback.harness.entry_log import EntryView
from takeback.present.entries import describe_prompt

DONE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = make_place("codex", FILES, tmp_path)
    found.env["PYTHONPATH"] = os.pathsep.join(sys.path)
    with closing(found.opened()) as harness:
        program = [sys.executable, "-m", "takeback"]
        ops = list_additions("codex", ["codex"], harness.state, program, Placing(shared=True))
        ops = [op for op in ops if op["op_type"] != "register_tool"]  # the server has tests of its own
        done = harness.apply(build_candidate(ops, harness.state), note=describe_installation("codex"), by=BY)
        assert isinstance(done, Applied), done
    (found.home / ".codex").mkdir()
    user = found.home / ".codex/config.toml"
    user.write_text(f'[projects."{found.root}"]\ntrust_level = "trusted"\n')
    user.write_text(user.read_text() + trusted(found))
    return found


def trusted(place: Place) -> str:
    """What the client writes once a person trusts the hooks that it lists."""
    (listed,) = asked(place, ("hooks/list", {"cwds": [str(place.root)]}))
    (found,) = listed["data"]
    assert found["warnings"] + found["errors"] == []
    ours = [hook for hook in found["hooks"] if "takeback" in hook["command"]]
    assert {hook.event for hook in HOOKS["codex"]} <= {
        hook["eventName"][:1].upper() + hook["eventName"][1:] for hook in ours
    }
    rows = [f'[hooks.state.{json.dumps(hook["key"])}]\ntrusted_hash = "{hook["currentHash"]}"\n' for hook in ours]
    return "".join(rows)


def shell(number: int, command: str) -> dict[str, Any]:
    given = json.dumps({"cmd": command})
    return {"type": "function_call", "call_id": f"c{number}", "name": "exec_command", "arguments": given}


def patch(number: int, path: str, old: str, new: str) -> dict[str, Any]:
    text = f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch"
    return {"type": "custom_tool_call", "call_id": f"c{number}", "name": "apply_patch", "input": text}


def converse(place: Place, *calls: dict[str, Any]) -> dict[str, str]:
    """Let the client make these calls, one per turn; returns what the model was told of each."""
    user = place.home / ".codex/config.toml"
    known = user.read_text()
    with responses_server([*([call] for call in calls), [DONE]]) as server:
        provider = f'[model_providers.here]\nname = "here"\nbase_url = "{server.url}/v1"\nwire_api = "responses"\n'
        user.write_text(f'model_provider = "here"\n{known}{provider}')
        place.run("exec", "--json", "change yourself", seconds=300)
        items = [item for request in server.requests for item in request.get("input", ())]
    outputs = [item for item in items if item.get("type", "").endswith("call_output")]
    return {item["call_id"]: json.dumps(item["output"]) for item in outputs}


def recorded(place: Place) -> list[EntryView]:
    """The entries since the installation, oldest first."""
    with closing(place.opened()) as harness:
        return [entry for entry in reversed(list(harness.log())) if entry.kind == "adopt"]


def test_codex_edits_are_recorded_guarded_and_undone(place: Place) -> None:
    settings, notes = place.root / ".codex/config.toml", place.root / "AGENTS.md"
    text = settings.read_text()
    told = converse(
        place,
        patch(1, "AGENTS.md", "- Never guess a tide.", "- Never, ever guess a tide."),
        patch(2, ".codex/config.toml", "model = 'gpt-5.5'   # the usual one", "model = 'gpt-6'   # another"),
        patch(3, ".codex/config.toml", 'sandbox_mode = "danger-full-access"', 'sandbox_mode = "none"'),
        shell(4, "echo '- Be brief.' >> AGENTS.md"),
        shell(5, "cp -r .agents/skills/tides .agents/skills/fares"),
    )
    assert "codex would no longer load it" in told["c3"], told
    found = recorded(place)
    assert [entry.note.split()[0] for entry in found] == ["apply_patch", "apply_patch", "Bash", "Bash"], found
    assert all(entry.by.startswith("codex (declared), session ") for entry in found)
    assert {describe_prompt(entry) for entry in found} == {'"change yourself"'}
    with closing(place.opened()) as harness:
        assert isinstance(harness.undo(found[1].id), Undone)
    assert settings.read_text() == text
    assert "- Never, ever guess a tide." in notes.read_text()
    assert notes.read_text().endswith("- Be brief.\n")
    assert (place.root / ".agents/skills/fares/SKILL.md").exists()


def test_a_guard_removed_by_codex_is_noticed(place: Place) -> None:
    settings = place.root / ".codex/config.toml"
    assert "\nPreToolUse = " in settings.read_text()
    converse(place, shell(1, "sed -i '/^PreToolUse = /d' .codex/config.toml"))
    assert "\nPreToolUse = " not in settings.read_text()
    found = recorded(place)
    assert any("loosens" in entry.note and "PreToolUse" in entry.note for entry in found), found
