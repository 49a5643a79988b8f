"""Bringing back what was taken back: which undo is meant, and what has to go along, however many."""

from __future__ import annotations

import pytest
from tests.support.changes import candidate, config, file, socket

from takeback import Blocked, InputError, Undone, open_memory


@pytest.fixture
def harness():
    with open_memory() as opened:
        yield opened


def applied(harness, *ops):
    return harness.apply(candidate(*ops)).entry


@pytest.mark.parametrize("others", [1, 5, 12, 40])
def test_a_blocked_redo_names_every_blocking_entry(harness, others):
    below = [applied(harness, file(f"d/{number}", "below\n")) for number in range(others)]
    beside = [applied(harness, file(f"e/{number}", "beside\n")) for number in range(others)]
    harness.undo(*below)
    last = applied(harness, file("d", "a file\n"))
    harness.undo(last)
    harness.redo(*below)
    blocked = harness.redo(last)
    assert isinstance(blocked, Blocked)
    assert (blocked.off, blocked.on) == (tuple(entry.number for entry in below), ())
    assert isinstance(harness.redo(last, cascade=True), Undone)
    assert harness.state.write()["files"]["d"]["content"] == "a file\n"
    assert len(harness.state.write()["files"]) == 1 + len(beside)


def test_a_blocked_redo_names_every_entry_it_needs(harness):
    gone = [applied(harness, socket(f"s{number}", 9100 + number)) for number in range(12)]
    moved = [applied(harness, socket(f"s{number}", 9200 + number)) for number in range(12)]
    taking = applied(harness, *(socket(f"t{number}", 9100 + number) for number in range(12)))
    harness.undo(taking)
    harness.undo(*moved)
    blocked = harness.redo(taking)
    assert isinstance(blocked, Blocked)
    assert blocked.on == tuple(entry.number for entry in moved) or blocked.off == tuple(
        entry.number for entry in gone
    )
    assert isinstance(harness.redo(taking, cascade=True), Undone)


def test_a_redo_without_a_name_finishes_a_partly_redone_undo(harness):
    one, two = applied(harness, config("a", 1)), applied(harness, config("b", 2))
    harness.undo(one, two)
    harness.redo(one)
    assert isinstance(harness.redo(), Undone)
    assert harness.state.write() == {"config": {"a": 1, "b": 2}}
    with pytest.raises(InputError, match="no active undo"):
        harness.redo()


def test_a_redo_without_a_name_never_undoes_anything(harness):
    one = applied(harness, config("a", 1))
    taken = harness.undo(one)
    harness.undo(taken)
    assert harness.state.write() == {"config": {"a": 1}}
    with pytest.raises(InputError, match="no active undo"):
        harness.redo()
    assert harness.state.write() == {"config": {"a": 1}}


def test_a_redo_without_a_name_ignores_entries_undone_by_a_later_restore(harness):
    one, two = applied(harness, config("a", 1)), applied(harness, config("b", 2))
    harness.undo(two)
    harness.redo()
    harness.restore("#1")
    with pytest.raises(InputError, match="no active undo"):
        harness.redo()
    harness.redo(one, two)
    assert harness.state.write() == {"config": {"a": 1, "b": 2}}
