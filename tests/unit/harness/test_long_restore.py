"""A restore over many entries: the work for one entry does not grow with how many are taken back."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.support.changes import candidate, config

from takeback.adapters import open_memory
from takeback.harness import Applied, Undone
from takeback.state import State
from takeback.undo import history

FEW, MANY = 40, 160


@pytest.fixture
def copied(monkeypatch):
    """How many entry numbers were copied into views of the history."""
    seen = []
    make = history.View.__init__

    def count(self, undone, off=(), on=()):
        make(self, undone, off, on)
        seen.append(len(self.off) + len(self.on))

    monkeypatch.setattr(history.View, "__init__", count)
    return seen


@pytest.mark.parametrize("name", ["k{0}", "section.k{0}", "same"])
def test_a_long_restore_copies_the_entry_list_a_fixed_number_of_times(tmp_path, copied, name):
    times = []
    for count in (FEW, MANY):
        place = tmp_path / f"{count}.db"
        with closing(open_memory(State.read({}), journal=place)) as harness:
            first = harness.apply(candidate(config("first", 1))).entry.id
            for at in range(count):
                assert isinstance(harness.apply(candidate(config(name.format(at), at))), Applied)
        with closing(open_memory(journal=place)) as harness:
            copied.clear()
            assert isinstance(harness.restore(first), Undone)
            assert harness.state.write() == {"config": {"first": 1}}
        times.append(sum(copied) / count)
    few, many = times
    assert many <= few + 1, f"each entry's number was copied {few} times for {FEW} entries, {many} for {MANY}"
