"""In a harness of many files what a look settled is not read again, and every later difference is drift as before."""

from __future__ import annotations

import os
from contextlib import closing

import pytest

from takeback.adapters import directory, files_adapter, last_look, look_notes, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.adapters.look_notes import note_calm_status
from takeback.adapters.waiting_edits import list_waiting
from takeback.agents.hook_events import read_event
from takeback.agents.quick_edits import note_edits
from takeback.agents.recorder import answer_after
from takeback.canonical import write_compact

LONG_AGO = -(10**15)
PLACE = ".claude/skills/x/f1.txt"


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A harness that counts as one of many files; no look at it was noted yet."""
    monkeypatch.setattr(files_adapter, "SETTLED", LONG_AGO)
    monkeypatch.setattr(look_notes, "MANY", 3)
    monkeypatch.setattr(files_adapter, "MANY", 3)
    place = tmp_path / "p"
    (place / ".claude/skills/x").mkdir(parents=True)
    (place / "CLAUDE.md").write_text("- Rule 1.\n")
    (place / ".claude/settings.json").write_text('{"model": "opus"}\n')
    (place / ".claude/skills/x/SKILL.md").write_text("---\nname: x\ndescription: d\n---\nDo it.\n")
    for at in range(4):
        (place / f".claude/skills/x/f{at}.txt").write_text(f"File {at}.\n")
    init_clients(place, ("claude-code",))
    return place


def event(root, path="CLAUDE.md"):
    about = {"hook_event_name": "PostToolUse", "cwd": str(root), "session_id": "s1", "tool_name": "Edit"}
    return write_compact(about | {"tool_input": {"file_path": str(root / path)}}).encode()


def note_status(root):
    with closing(open_workspace(root, hold=False)) as harness:
        note_calm_status(harness, harness.status())


def list_drift(root):
    with closing(open_workspace(root, hold=False)) as harness:
        return ["/".join(change.slot[1:]) for change in harness.status().drift]


def count_read_files(root, monkeypatch):
    read = []
    original = directory.Directory._read
    with monkeypatch.context() as patch:
        patch.setattr(
            directory.Directory,
            "_read",
            lambda self, fd, path, size: (read.append(path), original(self, fd, path, size))[1],
        )
        assert list_drift(root) == []
    return sum(path.startswith(".claude/skills/x/f") for path in read)


def add_line(root, path="CLAUDE.md"):
    with (root / path).open("a") as file:
        file.write("- Another.\n")


def test_a_hook_after_set_and_undo_only_notes_the_edit_where_a_status_looked_before(root):
    note_status(root)
    with closing(open_workspace(root, hold=False)) as harness:
        harness.set("config", "theme", "dark")
        harness.undo("HEAD")
    add_line(root)
    assert note_edits(event(root), "claude-code", str(root)) is not None
    assert len(list_waiting(str(root))) == 1


def test_a_hook_that_recorded_an_edit_lets_the_next_one_only_note_it(root):
    add_line(root)
    assert note_edits(event(root), "claude-code", str(root)) is None
    answer_after(read_event(event(root), "claude-code", str(root)))
    add_line(root)
    assert note_edits(event(root), "claude-code", str(root)) is not None
    assert len(list_waiting(str(root))) == 1
    assert list_drift(root) == []


def test_a_file_edited_right_before_a_hook_recorded_it_is_compared_by_content(root, monkeypatch):
    monkeypatch.setattr(files_adapter, "SETTLED", 10**12)
    monkeypatch.setattr(last_look, "is_later", lambda sign, time: sign[0] == (root / "CLAUDE.md").stat().st_size)
    monkeypatch.setattr(look_notes, "is_later", last_look.is_later)
    add_line(root)
    answer_after(read_event(event(root), "claude-code", str(root)))
    since = last_look.read_since(str(root))
    assert since is not None
    assert list(since[2]) == ["CLAUDE.md"]
    assert last_look.find_changed_files(str(root)) == []
    text = (root / "CLAUDE.md").read_bytes()
    (root / "CLAUDE.md").write_bytes(text[:-2] + b"!\n")
    assert last_look.find_changed_files(str(root)) == ["CLAUDE.md"]


def test_settled_files_are_not_read_again(root, monkeypatch):
    assert count_read_files(root, monkeypatch) == 4
    note_status(root)
    assert count_read_files(root, monkeypatch) == 0
    with closing(open_workspace(root, hold=False)) as harness:
        harness.set("config", "theme", "dark")
    assert count_read_files(root, monkeypatch) == 0


CHANGES = {
    "other bytes": lambda place: place.write_text("Other.\n"),
    "other bytes of the same length and time": lambda place: (
        stat := place.stat(),
        place.write_text("Wile 1.\n"),
        os.utime(place, ns=(stat.st_atime_ns, stat.st_mtime_ns)),
    ),
    "another file with the same bytes' length": lambda place: (
        place.with_name("n").write_text("Wile 1.\n"),
        place.with_name("n").rename(place),
    ),
    "permission bits": lambda place: place.chmod(0o755),
    "no file": lambda place: place.unlink(),
    "a link": lambda place: (place.unlink(), place.symlink_to("f2.txt")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_settled_file_that_changes_is_drift(root, change):
    note_status(root)
    assert list_drift(root) == []
    CHANGES[change](root / PLACE)
    assert any(slot.startswith(PLACE) for slot in list_drift(root))


def test_a_note_of_another_end_of_the_journal_settles_nothing(root, monkeypatch):
    note_status(root)
    since = root / last_look.SINCE
    old = since.read_bytes()
    with closing(open_workspace(root, hold=False)) as harness:
        harness.set("config", "theme", "dark")
    since.write_bytes(old)
    assert count_read_files(root, monkeypatch) == 4
