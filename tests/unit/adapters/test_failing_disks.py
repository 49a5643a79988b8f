"""A change on a disk that fails: all of it or none, and the answer says which."""

from __future__ import annotations

import random

import pytest
from tests.support.changes import candidate, config, file, listener, middleware, prompt, routing, tool
from tests.support.disks import fill, immutable, small_disk

from takeback.adapters import init_workspace, open_workspace
from takeback.errors import HarnessError, JournalError, TakebackError
from takeback.harness import Applied, Undone
from takeback.state import State

START = {
    "config": {"a": 1},
    "middleware": [{"id": "auth", "handler": "mw.auth"}, {"id": "log", "handler": "mw.log"}],
    "listeners": {"on_error": [{"id": "audit", "handler": "h"}, {"id": "page", "handler": "p"}]},
    "files": {"d/old": {"content": "x\n"}},
}


def contents(root):
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode)
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".takeback" not in path.parts and path.name != "filler"
    }


def replaced(name):
    return {"op_type": "add_middleware", "target": name, "value": {"handler": "CHANGED"}}


def test_a_chain_is_put_back_when_a_file_cannot_be_written(tmp_path):
    root = init_workspace(tmp_path / "agent", start=State.read(START))
    harness, before = open_workspace(root), contents(root)
    with immutable(root / "files/d"):
        with pytest.raises(HarnessError, match="nothing was changed"):
            harness.apply(candidate(replaced("log"), file("d/x", "1")))
        assert contents(root) == before
        assert harness.status().clean
    assert [record.kind for record in harness.journal.records()][-1] == "abort"
    assert isinstance(harness.apply(candidate(replaced("log"), file("d/x", "1"))), Applied)


@pytest.mark.parametrize("seed", range(12))
def test_random_changes_are_put_back_when_the_last_file_cannot_be_written(tmp_path, seed):
    rng = random.Random(seed)
    root = init_workspace(tmp_path / "agent", start=State.read(START))
    harness, before = open_workspace(root), contents(root)
    choice = [
        middleware("auth", index=1),
        middleware("new", index=rng.randrange(3)),
        replaced("log"),
        listener("on_error", "audit", "CHANGED"),
        listener("on_start", "warm"),
        config("a", {"b": [1]}),
        routing("main", "m"),
        prompt("p", "x"),
        tool("t"),
    ]
    with immutable(root / "files/d"):
        ops = [*rng.sample(choice, rng.randrange(1, 6)), file("d/x", "1")]
        with pytest.raises(HarnessError, match="nothing was changed"):
            harness.apply(candidate(*ops))
        assert contents(root) == before
        assert harness.status().clean


def test_an_undo_that_cannot_write_leaves_everything_as_it_was(tmp_path):
    root = init_workspace(tmp_path / "agent", start=State.read(START))
    harness = open_workspace(root)
    entry = harness.apply(candidate(replaced("log"), file("d/old", "new"), file("d/x", "1"))).entry
    before = contents(root)
    with immutable(root / "files/d"):
        with pytest.raises(HarnessError, match="nothing was changed"):
            harness.undo(entry.id)
        assert contents(root) == before
        assert harness.status().clean
    assert isinstance(harness.undo(entry.id), Undone)


@pytest.mark.parametrize("leave", [0, 4096, 8192, 16384])
def test_a_full_disk_changes_nothing_and_the_change_works_later(tmp_path, leave):
    with small_disk(tmp_path / "disk") as disk:
        root = init_workspace(disk / "agent", journal=str(tmp_path / "journal.db"), start=State.read(START))
        harness, before = open_workspace(root), contents(root)
        fill(disk, leave)
        change = candidate(replaced("log"), config("long", "x" * 3000), file("d/x", "y" * 30_000))
        with pytest.raises(HarnessError, match="nothing was changed"):
            harness.apply(change)
        assert contents(root) == before
        assert harness.status().clean
        (disk / "filler").unlink()
        done = harness.apply(change)
        assert isinstance(done, Applied)
        harness.undo(done.entry.id)
        assert contents(root) == before
        harness.close()


def test_when_the_journals_disk_fills_up_at_any_step_the_answer_is_true(tmp_path):
    """The announcement fails, or the commit does: either way nothing is changed, now and after recovery."""
    last = {_with_little_space(tmp_path / str(leave), leave) for leave in range(0, 88_000, 4_000)}
    assert {"not announced", "abort", "commit"} <= last


def _with_little_space(place, leave):
    place.mkdir()
    with small_disk(place / "disk") as disk:
        root = init_workspace(place / "agent", journal=str(disk / "journal.db"), start=State.read(START))
        harness = open_workspace(root)
        harness.apply(candidate(config("warm", 1)))
        before, announced = contents(root), harness.ledger.last
        fill(disk, leave)
        made, said = False, "nothing was changed"
        try:
            made = isinstance(harness.apply(candidate(replaced("log"), file("d/x", "1"))), Applied)
        except TakebackError as fault:
            said = fault.message
        assert "nothing was" in said
        assert made or contents(root) == before
        harness.close()
        (disk / "filler").unlink()
        again = open_workspace(root)
        assert again.status().clean
        assert ("d/x" in again.state.write()["files"]) is made
        assert made or contents(root) == before
        kinds = [record.kind for record in again.journal.records(announced + 1)]
        again.close()
        return kinds[1] if kinds else "not announced"


def test_a_checkpoint_that_cannot_be_written_does_not_undo_the_answer(tmp_path, monkeypatch):
    root = init_workspace(tmp_path / "agent", start=State.read(START))
    harness = open_workspace(root)

    def full():
        raise JournalError("no space left")

    monkeypatch.setattr(harness.ledger, "is_checkpoint_due", lambda: True)
    monkeypatch.setattr(harness.ledger, "checkpoint", full)
    assert isinstance(harness.apply(candidate(config("a", 2))), Applied)


def test_a_full_disk_does_not_stop_reading(tmp_path, monkeypatch):
    root = init_workspace(tmp_path / "agent", start=State.read(START))
    harness = open_workspace(root)

    def stuck(*_):
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("takeback.adapters.files_adapter._bring_back", stuck)
    with immutable(root / "files/d"):
        with pytest.raises(HarnessError, match="putting things back failed as well"):
            harness.apply(candidate(replaced("log"), file("d/x", "1")))
        harness.close()
        again = open_workspace(root)
        assert "Operation not permitted" in again.recovered.fault
        status = again.status()
        assert status.pending is not None
        assert not status.clean
        with pytest.raises(HarnessError, match="d/x"):
            again.apply(candidate(config("b", 1)))
        again.close()
    last = open_workspace(root)
    assert last.status().clean
    assert "d/x" in last.state.write()["files"]


def test_modes_are_undone_correctly_after_an_aborted_change(tmp_path):
    """What a change that was given up would have made of a file says nothing about who changed its mode."""
    root = init_workspace(tmp_path / "agent", start=State.read(START))
    harness = open_workspace(root)
    entry = harness.apply(candidate(file("d/old", "new", mode="0600"))).entry
    with immutable(root / "files/d"), pytest.raises(HarnessError):
        harness.apply(candidate(file("d/old", "newer", mode="0755")))
    harness.undo(entry.id)
    assert harness.status().clean
    assert (root / "files/d/old").stat().st_mode & 0o777 == 0o644
