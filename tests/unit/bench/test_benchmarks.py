"""The benchmarks measure the same work on both sides, and say what they promise to say."""

import pytest

from takeback.adapters import open_memory
from takeback.bench import reference
from takeback.bench.journal import make_history
from takeback.bench.journal import measure as measure_journal
from takeback.bench.proof import LENGTHS
from takeback.bench.proof import measure as measure_proof
from takeback.bench.roundtrip import MUTATIONS, large_state, measure
from takeback.counterfactual import nominal_state
from takeback.language import read_program
from takeback.state import Stage
from takeback.synthesize import invert
from takeback.verify import Trial


def plain_candidate(family):
    plain = invert(read_program(MUTATIONS[family], Stage.FORWARD, "test"), nominal_state()).to_json()
    witness = [{name: item for name, item in op.items() if name != "value"} for op in plain["witness"]]
    return {**plain, "witness": witness}


@pytest.mark.parametrize("family", MUTATIONS)
def test_the_reference_accepts_a_good_recovery_and_rejects_a_missing_one(family):
    candidate, state = plain_candidate(family), nominal_state().write()
    before = repr(state)
    assert reference.round_trip(candidate, state)
    assert not reference.round_trip({**candidate, "recovery": []}, state)
    assert not reference.round_trip({**candidate, "contract": []}, state)
    assert repr(state) == before


def test_the_round_trip_benchmark_reports_what_it_promises():
    result = measure(sizes=(10, 100))
    assert set(result) >= {"per_second", "reference_per_second", "ratio", "growth", "growth_ratio"}
    assert set(result["growth"]) == {"10", "100"}


def test_the_proof_benchmark_reports_growth_for_every_length():
    result = measure_proof()
    assert set(result) >= {"proof_us", "sampled_us", "ratio", "growth"}
    assert [row["operations"] for row in result["growth"]] == list(LENGTHS)


def test_a_large_state_has_about_as_many_entries_as_asked_for_and_round_trips():
    state = large_state(1000)
    assert 1000 <= state.size() <= 1100
    assert Trial(invert(read_program(MUTATIONS["tools"], Stage.FORWARD, "test"))).run(state).passed


def test_the_journal_benchmark_asks_every_question_of_both_histories():
    result = measure_journal((60, 200), rounds=1)
    asked = {"open", "status", "log", "undo", "restore", "doctor", "chain", "apply", "bytes"}
    assert {size: set(rows) for size, rows in result["seconds"].items()} == {60: asked, 200: asked}
    assert set(result["growth"]) == {"open", "status", "log", "undo"}
    assert set(result["growth_of_restore_and_doctor"]) == {"restore", "doctor"}
    assert result["chain_check_us_per_entry"] > 0


def test_a_history_made_for_measuring_is_one_that_a_harness_made(tmp_path):
    first = make_history(tmp_path / "journal.db", 100)
    harness = open_memory(journal=tmp_path / "journal.db")
    entries = [entry for entry in harness.log() if entry.kind != "genesis"]
    assert (len(entries), entries[-1].id) == (100, first)
    assert {"apply", "undo"} == {entry.kind for entry in entries}
    assert harness.journal.check().whole
