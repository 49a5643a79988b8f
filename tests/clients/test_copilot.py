"""The real Copilot CLI sees a change after apply and not after undo; its own edits are guarded and recorded."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from tests.clients.conftest import Place, change, make_place
from tests.clients.conversations import Call, converse, install_takeback, list_recorded, require_seen_and_gone

from takeback.harness import Refused, Undone

FILES = {
    "AGENTS.md": "# Lighthouse\n\n- Heights in metres.\n",
    ".github/copilot-instructions.md": "Be brief.\n",
    ".github/copilot/settings.json": '{"effortLevel":   "low" ,\n\t"deniedUrls": [ "*.pastebin.com" ] }',
    ".github/skills/fog/SKILL.md": "---\nname: fog\ndescription: Sounds the horn.\n---\n\nTwice.\n",
    ".mcp.json": '{"mcpServers":{"lamps":  { "type": "stdio", "command": "true", "tools": ["*"] }}}',
}
WORDS = ("-p", "change yourself", "--allow-all-tools")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = make_place("copilot", FILES, tmp_path)
    (found.home / ".copilot").mkdir()
    (found.home / ".copilot/config.json").write_text(json.dumps({"trustedFolders": [str(found.root)]}))
    found.env |= {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": "URL/v1",
        "COPILOT_MODEL": "m",
        "COPILOT_PROVIDER_API_KEY": "x",
        "COPILOT_AUTO_UPDATE": "false",
    }
    return found


SKILL = "---\nname: bell\ndescription: Rings the bell.\n---\n\nOnce.\n"


def test_copilot_sees_a_server_and_a_skill_after_apply_and_not_after_undo(place: Place) -> None:
    server: Call = {"op_type": "register_tool", "target": "mcp:keys", "value": {"type": "stdio", "command": "true"}}
    require_seen_and_gone(place, [server], '"keys"', lambda: place.run("mcp", "list", "--json"))
    skill: Call = {"op_type": "set_prompt", "target": "skills/bell", "value": SKILL}
    require_seen_and_gone(place, [skill], "bell", lambda: place.run("skill", "list"))


def test_copilot_follows_instructions_until_their_undo(place: Place) -> None:
    line: Call = {"op_type": "edit_prompt", "target": "AGENTS.md", "value": {"old": "metres", "new": "feet"}}
    require_seen_and_gone(place, [line], "Heights in feet", lambda: converse(place, WORDS))


def test_a_change_that_makes_copilot_drop_its_file_is_refused(place: Place) -> None:
    before = place.files()
    with closing(place.opened()) as harness:
        refused = change(harness, {"op_type": "set_config", "target": "deniedUrls", "value": "all"})
        assert isinstance(refused, Refused)
        assert "would not load" in refused.message
    assert place.files() == before


def test_copilot_edits_are_recorded_guarded_and_undone(place: Place) -> None:
    install_takeback(place)
    settings, notes = place.root / ".github/copilot/settings.json", place.root / "AGENTS.md"
    text = settings.read_text()
    told = converse(
        place,
        WORDS,
        {"tool": "edit", "args": {"path": str(notes), "old_str": "metres", "new_str": "feet"}},
        {"tool": "edit", "args": {"path": str(settings), "old_str": '"low"', "new_str": '"high"'}},
        {"tool": "edit", "args": {"path": str(settings), "old_str": '"deniedUrls":', "new_str": '"deniedUrls"'}},
        {"tool": "bash", "args": {"command": "echo '- Be brief.' >> AGENTS.md", "description": "more"}},
    )
    assert "copilot would no longer load it" in told
    found = list_recorded(place)
    assert [entry.note.split()[0] for entry in found] == ["Edit", "Edit", "Bash"], found
    assert all(entry.by.startswith("copilot (declared), session ") for entry in found)
    with closing(place.opened()) as harness:
        assert isinstance(harness.undo(found[1].id), Undone)
    assert settings.read_text() == text
    assert notes.read_text() == FILES["AGENTS.md"].replace("metres", "feet") + "- Be brief.\n"
