"""A large file is stored once and in pieces, and not held in memory more often than it has to be."""

from __future__ import annotations

import os
import sqlite3
import tracemalloc
from contextlib import closing

import pytest

from takeback.adapters import init_workspace, open_workspace
from takeback.harness import Adopted, Undone
from takeback.journal import Draft, open_journal
from takeback.journal.content import PIECE, Leaf

SIZE = 5_000_000
PIECES = 5
"""Of at most 2^20 bytes."""
HELD = {"open": 2.7, "sealed": 3.1}
"""Times its size that a file may take in memory while it is adopted, taken back and brought back."""
TEXT_HELD = 3.7
"""The same for a text that is taken back after an edit: its lines, its bytes before and its bytes after."""
EDIT_HELD = 9.0
"""The same for recording the edit."""


@pytest.fixture(params=[False, True], ids=["open", "sealed"])
def workspace(request, tmp_path):
    """A workspace with a large file that nobody has taken in."""
    root = tmp_path / "agent"
    init_workspace(root, seal=request.param)
    (root / "files").mkdir(exist_ok=True)
    (root / "files" / "large.bin").write_bytes(os.urandom(SIZE))
    return root


def test_a_large_file_adopted_undone_and_redone_is_stored_once(workspace):
    with open_workspace(workspace) as harness:
        adopted = harness.adopt()
        assert isinstance(adopted, Adopted)
        assert isinstance(harness.undo(adopted.entry), Undone)
        assert isinstance(harness.redo(adopted.entry), Undone)
    own = workspace / ".takeback"
    assert sum(path.stat().st_size for path in own.rglob("*") if path.is_file()) < SIZE * 1.1
    with closing(sqlite3.connect(own / "journal.db")) as journal:
        stored = journal.execute("SELECT id, count(*) FROM pieces GROUP BY id").fetchall()
    assert [count for _, count in stored] == [PIECES]


def test_a_large_file_is_not_copied_in_memory_at_every_step(workspace, request):
    peaks = []
    for step in (_adopt, _undo, _redo, _undo):
        tracemalloc.start()
        try:
            step(workspace)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert max(peaks) < SIZE * HELD[request.node.callspec.id]


def _peak(step, root):
    """Bytes that a step holds at most."""
    tracemalloc.start()
    try:
        step(root)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_large_file_that_starts_like_text_is_not_decoded_whole(workspace, request):
    place = workspace / "files" / "large.bin"
    for ending in (b"\xff", b"\xfe"):
        place.write_bytes("\N{OWL}".encode() + ending * SIZE)  # decoding begins with four bytes a character
        assert _peak(_adopt, workspace) < SIZE * (HELD[request.node.callspec.id] + 1)


def test_a_large_text_that_is_edited_and_taken_back_is_held_a_few_times(tmp_path):
    root = init_workspace(tmp_path / "agent")
    lines = [f"line {at:09d} of a large text\n" for at in range(SIZE // 30)]
    place = root / "files" / "large.txt"
    place.parent.mkdir(exist_ok=True)
    place.write_text("".join(lines))
    _adopt(root)
    size = place.stat().st_size
    lines[500] = "another line\n"
    place.write_text("".join(lines))
    assert _peak(_adopt, root) < size * EDIT_HELD
    for step in (_undo, _redo, _undo):
        assert _peak(step, root) < size * TEXT_HELD, step.__name__


@pytest.mark.parametrize("seal", [False, True], ids=["open", "sealed"])
def test_storing_a_large_content_holds_a_few_pieces_beside_it_and_never_all(tmp_path, seal):
    data = os.urandom(24 * PIECE)
    with closing(open_journal(tmp_path / "journal.db", seal=seal)) as store:
        tracemalloc.start()
        try:
            (record,) = store.append([Draft("apply", {}, {"large": Leaf(data)})])
            held = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert held < 9 * PIECE
        (ref,) = record.refs("large")
        assert store.content(ref).data == data


def _adopt(root):
    with open_workspace(root) as harness:
        assert isinstance(harness.adopt(), Adopted)


def _undo(root):
    with open_workspace(root) as harness:
        assert isinstance(harness.undo(), Undone)


def _redo(root):
    with open_workspace(root) as harness:
        assert isinstance(harness.redo(), Undone)
