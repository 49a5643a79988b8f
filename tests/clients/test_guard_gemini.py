"""The real Gemini CLI, with Takeback installed, edits its own files: guarded before, recorded after."""

from __future__ import annotations

import json
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.clients.conftest import Place, make_place
from tests.clients.models import gemini_server
from tests.clients.test_gemini import FILES

from takeback.agents.installation import BY, Placing, build_candidate, describe_installation, list_additions
from takeback.harness import Applied, Undone
from takeback.harness.entry_log import EntryView


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = make_place("gemini", FILES, tmp_path)
    (found.home / ".gemini").mkdir()
    (found.home / ".gemini/trustedFolders.json").write_text(json.dumps({str(found.root): "TRUST_FOLDER"}))
    (found.home / ".gemini/settings.json").write_text('{"security":{"auth":{"selectedType":"gemini-api-key"}}}')
    found.env["PYTHONPATH"] = os.pathsep.join(sys.path)
    with closing(found.opened()) as harness:
        program = [sys.executable, "-m", "takeback"]
        ops = list_additions("gemini", ["gemini"], harness.state, program, Placing(shared=True))
        ops = [op for op in ops if op["op_type"] != "register_tool"]  # the server has tests of its own
        done = harness.apply(build_candidate(ops, harness.state), note=describe_installation("gemini"), by=BY)
        assert isinstance(done, Applied), done
    return found


def call(tool: str, **given: str) -> list[dict[str, Any]]:
    return [{"functionCall": {"name": tool, "args": given}}]


def converse(place: Place, *calls: list[dict[str, Any]]) -> str:
    """Let the client make these calls, one per turn; returns all that the model was told."""
    with gemini_server([*calls, [{"text": "done"}]]) as server:
        place.env |= {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": server.url}
        words = ("-p", "change yourself", "-o", "stream-json", "--approval-mode", "yolo", "-m", "gemini-2.5-pro")
        place.run(*words, seconds=300)
        return json.dumps(server.requests)


def recorded(place: Place) -> list[EntryView]:
    """The entries since the installation, oldest first."""
    with closing(place.opened()) as harness:
        return [entry for entry in reversed(list(harness.log())) if entry.kind == "adopt"]


def test_gemini_edits_are_recorded_guarded_and_undone(place: Place) -> None:
    settings, notes = place.root / ".gemini/settings.json", place.root / "GEMINI.md"
    text = settings.read_text()
    skill = ".gemini/skills/bell/SKILL.md"
    key = '"mcpServers":'
    told = converse(
        place,
        call("replace", file_path=str(notes), old_string="metres", new_string="feet", instruction="feet"),
        call("replace", file_path=str(settings), old_string='"lamps"', new_string='"lights"', instruction="a name"),
        call("replace", file_path=str(settings), old_string=key, new_string=key[:-1], instruction="x"),
        call("run_shell_command", command="echo '- Be brief.' >> GEMINI.md"),
        call("write_file", file_path=str(place.root / skill), content="---\nname: bell\ndescription: B\n---\n"),
    )
    assert "gemini would no longer load it" in told
    found = recorded(place)
    tools = ["replace", "replace", "run_shell_command", "write_file"]
    assert [entry.note.split()[0] for entry in found] == tools, found
    assert all(entry.by.startswith("gemini (declared), session ") for entry in found)
    with closing(place.opened()) as harness:
        assert isinstance(harness.undo(found[1].id), Undone)
    assert settings.read_text() == text
    assert "Heights in feet" in notes.read_text()
    assert notes.read_text().endswith("- Be brief.\n")
    assert (place.root / skill).exists()


def test_a_guard_removed_by_gemini_is_noticed(place: Place) -> None:
    script = "import pathlib;p=pathlib.Path('.gemini/settings.json');t=p.read_text();"
    script += "p.write_text(t.replace('BeforeTool','BeforeModel'))"
    converse(place, call("run_shell_command", command=f'{sys.executable} -c "{script}"'))
    found = recorded(place)
    assert any("loosens" in entry.note and "BeforeTool" in entry.note for entry in found), found
