"""What a process must know that did not make the history itself: opened again, or beside another one."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.support.changes import candidate, config, file, routing

from takeback.adapters import init_workspace, open_memory, open_workspace
from takeback.errors import HarnessError
from takeback.harness import Adopted, Applied, Undone
from takeback.harness.engine import Engine
from takeback.harness.images import FileChange, FileImage, attach_images
from takeback.harness.records import draft_change
from takeback.state import State
from takeback.undo import Blocked, Write


@pytest.fixture
def place(tmp_path):
    return tmp_path / "journal.db"


def test_a_file_over_a_removed_directory_blocks_undo_after_reopening(place):
    start = State.read({"files": {"d/x": {"content": "1"}}})
    with closing(open_memory(start, journal=place)) as harness:
        harness.adapter.edit(State.read({}))
        removed = harness.adopt()
        assert isinstance(removed, Adopted)
        assert isinstance(harness.apply(candidate(file("d", "now a file"))), Applied)
        assert isinstance(harness.plan_undo(removed.entry.id), Blocked)
    with closing(open_memory(journal=place)) as harness:
        assert isinstance(harness.undo(removed.entry.id), Blocked), "that the write refuses a directory is recorded"


def test_an_entry_of_another_process_blocks_an_undo_planned_before(place):
    start = State.read({"config": {"a": 5}})
    with closing(open_memory(start, journal=place)) as one, closing(open_memory(journal=place)) as two:
        made = one.apply(candidate(config("a", {}))).entry
        assert not isinstance(one.plan_undo(made.id), Blocked)
        later = two.apply(candidate(config("a.b", 1))).entry
        outcome = one.undo(made.id)
        assert isinstance(outcome, Blocked)
        assert outcome.entries == (later.number,)


def test_an_entry_of_another_process_blocks_an_undo_in_a_reopened_harness(place):
    with closing(open_memory(State.read({"config": {"a": 5}}), journal=place)) as begun:
        made = begun.apply(candidate(config("a", {}))).entry
    with closing(open_memory(journal=place)) as one, closing(open_memory(journal=place)) as two:
        assert not isinstance(one.plan_undo(made.id), Blocked)
        later = two.apply(candidate(config("a.b", 1))).entry
        outcome = one.undo(made.id)
        assert isinstance(outcome, Blocked)
        assert outcome.entries == (later.number,)


def test_a_route_set_and_disabled_in_one_entry_is_undone_after_reopening(place):
    with closing(open_memory(State.read({"routing": {"main": "a"}}), journal=place)) as harness:
        made = harness.apply(candidate(routing("main", "b"), routing("main", None))).entry
    with closing(open_memory(journal=place)) as harness:
        assert isinstance(harness.undo(made.id), Undone)
        assert harness.state["routing", "main"] == "a"


def test_a_restore_respects_earlier_undos_and_redos(place):
    with closing(open_memory(journal=place)) as harness:
        first = harness.apply(candidate(config("x", 1))).entry
        harness.apply(candidate(config("y", 1)))
        undone = harness.undo(first.id).entry
        redone = harness.redo(first.id).entry
        harness.apply(candidate(config("z", 1)))
        assert isinstance(harness.restore(undone.id), Undone)
        assert harness.state.write() == {"config": {"y": 1}}
        assert isinstance(harness.restore(redone.id), Undone)
        assert harness.state.write() == {"config": {"x": 1, "y": 1}}


def test_undoing_a_hook_keeps_its_group_after_reopening(place):
    def group(*commands):
        options = {"hooks": [{"command": command} for command in commands]}
        value = {"id": "g", "handler": "h", "options": options}
        return candidate({"op_type": "add_listener", "target": "PreToolUse", "value": value})

    with closing(open_memory(State(), journal=place)) as harness:
        entries = [harness.apply(group(*commands)).entry for commands in ("a", "ab", "abc")]
    with closing(open_memory(journal=place)) as harness:
        assert isinstance(harness.undo(entries[1].id), Undone)
        (callback,) = harness.state.part("listeners")["PreToolUse"]
    assert [hook["command"] for hook in callback.record["options"]["hooks"]] == ["a", "c"]


def test_an_unfinishable_change_is_reported_although_nothing_differs(place, monkeypatch):
    def full(_):
        raise HarnessError("no room left")

    with closing(open_memory(State.read({"config": {"a": 5}}), journal=place)) as harness:
        writes = (Write(("config", "a"), 5, 6),)
        harness.ledger.announce(draft_change("apply", writes, {}, packer=harness.ledger.packer))
        monkeypatch.setattr(Engine, "finish", full)
        status = harness.status()
        assert (status.drift, status.problems) == ((), ("no room left",))
        assert status.pending is not None
        monkeypatch.undo()
        assert harness.status().problems == ()


@pytest.mark.parametrize("forgotten", [False, True])
def test_an_announced_change_with_unreadable_files_is_not_finished(tmp_path, forgotten):
    root = init_workspace(tmp_path / "agent", start=State.read({"prompts": {"p": "old"}}))
    prompt = root / "prompts/p.md"
    with closing(open_workspace(root)) as harness:
        writes = (Write(("prompts", "p"), "old", "new"),)
        changes = (FileChange("prompts/p.md", FileImage(b"old"), FileImage(b"new")),)
        draft = draft_change("apply", writes, {}, packer=harness.ledger.packer)
        entry = harness.ledger.announce(attach_images(draft, changes))
        prompt.write_text("new")
        if forgotten:
            harness.journal.forget([ref for ref in entry.refs("image_after") if ref])
        status = harness.status()
        assert prompt.read_text() == "new"
        assert (status.pending is not None) is forgotten
        if forgotten:
            assert "entry #2 was announced and not finished" in status.problems[0]
            assert "restore-journal FILE" in status.problems[0]
            with pytest.raises(HarnessError, match="cannot be read"):
                harness.apply(candidate(config("a", 1)))


def test_an_announced_change_without_files_is_finished(tmp_path):
    root = init_workspace(tmp_path / "agent")
    with closing(open_workspace(root)) as harness:
        entry = harness.ledger.announce(draft_change("apply", (), {}))
    with closing(open_workspace(root)) as harness:
        assert harness.status().pending is None
        assert harness.ledger.fate(entry) == "live"
