"""The real Cline sees a change after apply and not after undo; its own edits are guarded and recorded."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from tests.clients.conftest import Place, make_place
from tests.clients.conversations import Call, converse, install_takeback, list_recorded, require_seen_and_gone

from takeback.harness import Undone

FILES = {
    "AGENTS.md": "# Lighthouse\n\n- Heights in metres.\n",
    ".clinerules/01-light.md": "Every ten seconds.\r\n",
    ".cline/agents/keeper.md": "---\nname: keeper\ndescription: K\n---\nKeep.\n",
}
WORDS = ("--json", "-P", "openai-compatible", "-m", "m", "-t", "30", "change yourself now")
AUTH = "auth openai-compatible -k x -m m -b URL/v1"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = make_place("cline", FILES, tmp_path)
    found.env |= {"CLINE_SESSION_BACKEND_MODE": "local"}
    return found


def test_cline_follows_rules_and_instructions_until_their_undo(place: Place) -> None:
    ops: list[Call] = [
        {"op_type": "set_prompt", "target": ".clinerules/02-fog", "value": "Sound the horn.\n"},
        {"op_type": "edit_prompt", "target": "AGENTS.md", "value": {"old": "metres", "new": "feet"}},
    ]
    for told in ("Sound the horn", "Heights in feet"):
        require_seen_and_gone(place, ops, told, lambda: converse(place, WORDS, url=AUTH))


def test_cline_edits_are_recorded_guarded_and_undone(place: Place) -> None:
    install_takeback(place)
    notes = place.root / "AGENTS.md"
    converse(
        place,
        WORDS,
        {"tool": "editor", "args": {"path": str(notes), "old_text": "metres", "new_text": "feet"}},
        {"tool": "run_commands", "args": {"commands": ["echo '- Be brief.' >> AGENTS.md"]}},
        url=AUTH,
    )
    found = list_recorded(place)
    assert [entry.note.split()[0] for entry in found] == ["Edit", "Bash"], found
    assert all(entry.by.startswith("cline (declared), session ") for entry in found)
    with closing(place.opened()) as harness:
        assert isinstance(harness.undo(found[0].id), Undone)
    assert notes.read_text() == FILES["AGENTS.md"] + "- Be brief.\n"
    manifest = place.root / ".takeback/manifest.toml"
    before = manifest.read_bytes()
    own = {"tool": "editor", "args": {"path": str(manifest), "new_text": "x"}}
    told = converse(place, WORDS, own, {"content": "went on"}, url=AUTH)
    assert manifest.read_bytes() == before
    assert "File created" not in told
