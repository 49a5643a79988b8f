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
HELD = {"open": 4.2, "sealed": 5.4}
"""Times its size that a file may take in memory while it is adopted, taken back and brought back.

Adopting takes three times its size, and now and then four: a first reading that was not let go of yet.
"""


@pytest.fixture(params=[False, True], ids=["open", "sealed"])
def workspace(request, tmp_path):
    """A workspace with a large file that nobody has taken in."""
    root = tmp_path / "agent"
    init_workspace(root, seal=request.param)
    (root / "files").mkdir(exist_ok=True)
    (root / "files" / "large.bin").write_bytes(os.urandom(SIZE))
    return root


def test_a_large_file_that_is_adopted_taken_back_and_brought_back_lies_on_the_disk_once(workspace):
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
