"""The benchmarks measure the same work on both sides, and say what they promise to say."""

import os
import sys

import pytest

from takeback.adapters import open_memory
from takeback.harness import Harness
from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import Stage
from takeback.verify import Trial
from takeback.verify.suites import make_nominal_state
from takeback_lab.bench import reference, undo
from takeback_lab.bench.journal import make_history
from takeback_lab.bench.journal import measure as measure_journal
from takeback_lab.bench.journal_files import measure_commands
from takeback_lab.bench.proof import LENGTHS
from takeback_lab.bench.proof import measure as measure_proof
from takeback_lab.bench.roundtrip import MUTATIONS, large_state, measure
from takeback_lab.bench.scoped import ScopedSnapshots
from takeback_lab.snapshots.situations import PROTOCOLS, situation
from takeback_lab.tasks import load


def plain_candidate(family):
    plain = invert_mutation(read_program(MUTATIONS[family], Stage.FORWARD, "test"), make_nominal_state()).to_json()
    witness = [{name: item for name, item in op.items() if name != "value"} for op in plain["witness"]]
    return {**plain, "witness": witness}


@pytest.mark.parametrize("family", MUTATIONS)
def test_the_reference_accepts_a_good_recovery_and_rejects_a_missing_one(family):
    candidate, state = plain_candidate(family), make_nominal_state().write()
    before = repr(state)
    assert reference.round_trip(candidate, state)
    assert not reference.round_trip({**candidate, "recovery": []}, state)
    assert not reference.round_trip({**candidate, "contract": []}, state)
    assert repr(state) == before


@pytest.mark.long
def test_the_round_trip_benchmark_reports_what_it_promises():
    result = measure(sizes=(10, 100), chains=(10, 1000))
    assert set(result) >= {"per_second", "reference_per_second", "ratio", "growth", "chain_growth"}
    assert set(result["growth_us"]) == {"10", "100"}
    assert set(result["chain_growth_us"]) == {"10", "1000"}
    times = [*result["growth_us"].values(), *result["chain_growth_us"].values(), *result["by_family_us"].values()]
    assert all(0 < one["lower"] <= one["median"] <= one["upper"] for one in times)


def test_the_undo_benchmark_asks_both_sides_the_same_and_goes_through_a_harness(monkeypatch):
    asked = []
    for side in (Harness, ScopedSnapshots):
        plan = side.plan_undo

        def counted(self, entry, *, plan=plan, side=side):
            asked.append((side, entry))
            return plan(self, entry)

        monkeypatch.setattr(side, "plan_undo", counted)
    found = undo._latency(2)
    assert {side for side, _ in asked} == {Harness, ScopedSnapshots}
    assert len({id(entry) for _, entry in asked}) == 2
    lower, upper = found["harness_latency_spread"]
    assert 0 < lower <= found["harness_latency_ratio"] <= upper


def test_the_undo_benchmark_grows_states_and_histories_of_a_harness():
    harness, first = undo._on_state(100)
    assert harness.state.size() > 100
    later, also = undo._after(5)
    assert sum(1 for _ in later.log()) == 7
    times = undo._grown({1: (harness, first), 2: (later, also)})
    assert all(0 < one.lower <= one.median <= one.upper for one in times.values())


@pytest.mark.parametrize("at", range(0, 300, 60))
def test_a_snapshot_agrees_with_undo_where_nothing_came_later(at):
    trial = situation(load("fresh")[at], PROTOCOLS[0], at)
    harness, first = undo._live(trial)
    scoped = ScopedSnapshots(harness.state)
    scoped.keep(first, trial.change, trial.before)
    assert scoped.plan_undo(first).state == harness.plan_undo(first).state


@pytest.mark.long
def test_the_proof_benchmark_reports_growth_for_every_length():
    result = measure_proof()
    assert set(result) >= {"proof_us", "sampled_us", "ratio", "growth"}
    assert [row["operations"] for row in result["growth"]] == list(LENGTHS)


def test_a_large_state_has_about_as_many_entries_as_asked_for_and_round_trips():
    state = large_state(1000)
    assert 1000 <= state.size() <= 1100
    assert Trial(invert_mutation(read_program(MUTATIONS["tools"], Stage.FORWARD, "test"))).run(state).passed


def test_the_benchmark_of_the_page_says_bytes_times_rates_and_memory(monkeypatch):
    from takeback_lab.bench import web

    monkeypatch.setattr(web, "_in_the_browser", lambda link: (None, None, "not asked"))
    result = web.measure(entries=120, requests=2)
    assert result["first_view_bytes"] > 10_000
    for name in ("first_view_ms", "requests_per_second", "requests_per_second_further_down", "first_search_ms"):
        assert result[name] > 0
    assert set(result["memory_mb"]) == {"start", "harness", "served"}
    assert (result["browser_first_row_ms"], result["browser_missing"]) == (None, "not asked")


def test_the_journal_benchmark_asks_every_question_of_both_histories():
    result = measure_journal((60, 200), rounds=1)
    asked = {"open", "status", "log", "undo", "restore", "doctor", "chain", "apply", "bytes"}
    assert {size: set(rows) for size, rows in result["seconds"].items()} == {60: asked, 200: asked}
    assert set(result["growth"]) == {"open", "status", "log", "undo"}
    assert set(result["growth_of_restore_and_doctor"]) == {"restore", "doctor"}
    assert result["chain_check_us_per_entry"] > 0
    for told in result["governed"].values():
        assert told["on"] == ["policy", "audit", "head"]
        assert told["overhead"] == pytest.approx(told["governed_ms"] / told["plain_ms"], rel=0.01)
        assert told["root_us_per_record"] > 0
        assert told["records"] > 60
    assert result["growth_of_governed"] > 0


@pytest.mark.long
def test_commands_are_measured_in_harnesses_of_few_and_of_many_files():
    result = measure_commands({**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, (20, 60), rounds=1)
    asked = {"open", "status", "log", "set", "undo", "hook"}
    assert result["files"] == [20, 60]
    assert {size: set(rows) for size, rows in result["cpu_ms"].items()} == {n: asked | {"start"} for n in (20, 60)}
    for name in asked:
        few, many = (result["cpu_ms"][size][name] for size in (20, 60))
        assert result["growth"][name] == pytest.approx(many / few, rel=0.02)


def test_a_benchmark_history_is_a_valid_journal_of_a_harness(tmp_path):
    first = make_history(tmp_path / "journal.db", 100)
    harness = open_memory(journal=tmp_path / "journal.db")
    entries = [entry for entry in harness.log() if entry.kind != "genesis"]
    assert (len(entries), entries[-1].id) == (100, first)
    assert {"apply", "undo"} == {entry.kind for entry in entries}
    assert harness.journal.check().whole
