"""A clock that was set back or was wrong for a while: entries keep their order, and times are read one by one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.support.changes import candidate, config

from takeback.adapters import open_memory
from takeback.errors import InputError
from takeback.harness import Applied, Undone
from takeback.harness.entry_names import find_entry_at
from takeback.journal import memory, sql
from takeback.present.entries import make_entry_namer, read_filter
from takeback.state import State

FUTURE = "2999-01-01T00:00:00+00:00"


@pytest.fixture(params=["memory", "sqlite"])
def made_at(request, tmp_path, monkeypatch):
    """A harness with an entry for each of some times, numbered from 2, whatever the order of the times."""
    held = []

    def make(*times):
        clock = iter([])
        monkeypatch.setattr(memory, "format_now", lambda: next(clock))
        monkeypatch.setattr(sql, "format_now", lambda: next(clock))
        clock = iter(["2020-01-01T00:00:00+00:00"] * 3)
        place = ":memory:" if request.param == "memory" else tmp_path / "journal.db"
        harness = open_memory(State.read({"config": {"k": 0}}), journal=place)
        held.append(harness)
        for at, time in enumerate(times, start=1):
            clock = iter([f"2020-01-01T{time}:00+00:00" if len(time) == 5 else time] * 3)
            assert isinstance(harness.apply(candidate(config("k", at))), Applied)
        clock = iter(["2020-01-02T00:00:00+00:00"] * 50)
        return harness

    yield make
    for harness in held:
        harness.close()


def listed(harness, since):
    wanted = read_filter(since=since)
    return [entry.seq for entry in wanted.select_entries(harness.log(), make_entry_namer(harness))]


def test_since_lists_entries_from_that_time_although_the_clock_was_set_back(made_at):
    harness = made_at("10:00", "11:00", "10:30", "12:00")
    assert listed(harness, "2020-01-01T10:45Z") == [5, 3]
    assert listed(harness, "2020-01-01T10:15Z") == [5, 4, 3]


@pytest.mark.parametrize(("time", "value"), [("10:05", 1), ("10:59", 2), ("11:30", 3)])
def test_restore_finds_an_entry_by_time(made_at, time, value):
    harness = made_at("10:00", "10:30", "11:00")
    assert isinstance(harness.restore(f"2020-01-01T{time}Z"), Undone) or value == 3
    assert harness.state.write() == {"config": {"k": value}}


def test_an_ambiguous_time_is_refused_and_names_both_entries(made_at):
    harness = made_at("10:00", "11:00", "10:30", "12:00")
    with pytest.raises(InputError, match="set back") as fault:
        harness.restore("2020-01-01T10:45Z")
    assert "'#2'" in str(fault.value)
    assert "'#4'" in str(fault.value)
    assert isinstance(harness.restore("#4"), Undone)
    assert harness.state.write() == {"config": {"k": 3}}


@pytest.mark.parametrize(("time", "entry"), [("09:59", 1), ("10:10", 2), ("11:30", 4), ("12:00", 5)])
def test_an_unambiguous_time_is_found_although_the_clock_was_set_back(made_at, time, entry):
    harness = made_at("10:00", "11:00", "10:30", "12:00")
    assert find_entry_at(harness.ledger, f"2020-01-01T{time}Z").entry == entry


def test_an_entry_with_a_future_time_hides_no_other(made_at):
    harness = made_at("10:00", FUTURE, "11:00")
    assert find_entry_at(harness.ledger, "2020-01-01T10:30Z").entry == 2
    assert find_entry_at(harness.ledger, "2020-01-01T11:30Z").entry == 4
    assert find_entry_at(harness.ledger, "now").entry == 4
    assert datetime.fromisoformat(FUTURE) > datetime.now(UTC)


def test_now_means_the_newest_entry_even_with_a_future_time(made_at):
    harness = made_at("10:00", FUTURE)
    assert find_entry_at(harness.ledger, "now").entry == 3
    assert find_entry_at(harness.ledger, "2020-01-01T10:30Z").entry == 2
