"""The real Qwen Code sees a change after apply and not after undo; its own edits are guarded and recorded.

It is never asked about a file that it cannot read in the project itself: it would move that file aside.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from tests.clients.conftest import Place, change, make_place
from tests.clients.conversations import Call, converse, install_takeback, list_recorded, require_seen_and_gone

from takeback.harness import Refused, Undone

FILES = {
    "QWEN.md": "# Lighthouse\n\n- Heights in metres.\n",
    ".qwen/settings.json": """\
{ // for all of us
  "$version": 4,
  "mcpServers": { /* one */ "lamps": { "command": "true" } },
  "permissions": { "allow": [ "Read" ] }
}
""",
}
WORDS = ("-p", "change yourself", "--auth-type", "openai", "--approval-mode", "yolo")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = make_place("qwen", FILES, tmp_path)
    found.env |= {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": "URL/v1", "OPENAI_MODEL": "m"}
    return found


def test_qwen_sees_a_server_after_apply_and_not_after_undo(place: Place) -> None:
    server: Call = {"op_type": "register_tool", "target": "mcp:keys", "value": {"command": "true"}}
    require_seen_and_gone(place, [server], "keys", lambda: place.run("mcp", "list"))


def test_qwen_follows_instructions_and_a_guard_until_their_undo(place: Place) -> None:
    options = {"matcher": "write_file", "hooks": [{"type": "command", "command": "echo not here >&2; exit 2"}]}
    hook: Call = {
        "op_type": "add_listener",
        "target": "PreToolUse",
        "value": {"id": "guard", "handler": "guard", "options": options},
    }
    line: Call = {"op_type": "edit_prompt", "target": "QWEN.md", "value": {"old": "metres", "new": "feet"}}
    new = place.root / "new.txt"
    write = {"tool": "write_file", "args": {"file_path": str(new), "content": "x"}}

    def play() -> str:
        told = converse(place, WORDS, write)
        new.unlink(missing_ok=True)
        return told

    require_seen_and_gone(place, [hook, line], "not here", play)
    require_seen_and_gone(place, [line], "Heights in feet", play)


def test_a_change_that_would_stop_qwen_from_starting_is_refused(place: Place) -> None:
    before = place.files()
    with closing(place.opened()) as harness:
        refused = change(harness, {"op_type": "set_config", "target": "model", "value": {"maxSessionTurns": "x"}})
        assert isinstance(refused, Refused)
        assert "would not load" in refused.message
    assert place.files() == before


def test_qwen_edits_are_recorded_guarded_and_undone(place: Place) -> None:
    install_takeback(place)
    settings, notes = place.root / ".qwen/settings.json", place.root / "QWEN.md"
    text = settings.read_text()
    told = converse(
        place,
        WORDS,
        {"tool": "read_file", "args": {"file_path": str(notes)}},
        {"tool": "read_file", "args": {"file_path": str(settings)}},
        {"tool": "edit", "args": {"file_path": str(notes), "old_string": "metres", "new_string": "feet"}},
        {"tool": "edit", "args": {"file_path": str(settings), "old_string": "one */", "new_string": "1 */"}},
        {"tool": "edit", "args": {"file_path": str(settings), "old_string": '"allow":', "new_string": '"allow"'}},
        {"tool": "run_shell_command", "args": {"command": "echo '- Be brief.' >> QWEN.md", "is_background": False}},
    )
    assert "qwen would no longer load it" in told
    found = list_recorded(place)
    assert [entry.note.split()[0] for entry in found] == ["edit", "edit", "run_shell_command"], found
    with closing(place.opened()) as harness:
        assert isinstance(harness.undo(found[1].id), Undone)
    assert settings.read_text() == text
    assert notes.read_text() == FILES["QWEN.md"].replace("metres", "feet") + "- Be brief.\n"
    assert not settings.with_name("settings.json.corrupted").exists()
