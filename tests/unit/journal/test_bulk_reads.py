"""Many records are read at once: those of every journal of a database, and all of one in search of a value."""

from __future__ import annotations

from contextlib import closing

import pytest

from takeback.journal import Draft, make_leaf, open_journal
from takeback.journal.postgres import JournalFleet
from takeback.journal.search import find_value_places


@pytest.fixture
def fleet(postgres_url):
    with closing(JournalFleet(f"{postgres_url}#seen")) as opened:
        yield opened


def test_a_fleet_reads_the_head_and_new_records_of_a_journal(postgres_url, fleet, tmp_path):
    with closing(open_journal(f"{postgres_url}#seen", keys=tmp_path / "keys")) as store:
        (schema,) = fleet.schemas()
        assert fleet.head(schema) == (0, "")
        made = store.append([Draft("apply", {"note": str(n)}, {"after": make_leaf(n)}) for n in range(3)])
        assert fleet.head(schema) == (3, made[-1].digest)
        assert list(fleet.records(schema, 1)) == list(made[1:])
        assert fleet.entries(schema, None, 2) == [made[2], made[1]]
        assert fleet.entries(schema, 2, 2) == [made[0]]


def test_searching_a_value_reports_each_examined_record():
    with closing(open_journal(":memory:")) as store:
        store.append([Draft("apply", {}, {"after": make_leaf(value)}) for value in ("one", "hunter2", "three")])
        told = []
        assert [(place.seq, place.what) for place in find_value_places(store, b"hunter2", told.append)] == [
            (2, "after")
        ]
        assert told == [1, 2, 3]
