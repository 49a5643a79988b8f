"""The benchmarks measure the same work on both sides, and say what they promise to say."""

import pytest

from takeback.bench import reference
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


def test_the_benchmark_of_the_page_says_bytes_times_rates_and_memory(monkeypatch):
    from takeback.bench import web

    monkeypatch.setattr(web, "_in_the_browser", lambda link: (None, "not asked"))
    result = web.measure(entries=120, requests=2)
    assert result["first_view_bytes"] > 10_000
    for name in ("first_view_ms", "requests_per_second", "requests_per_second_further_down", "first_search_ms"):
        assert result[name] > 0
    assert set(result["memory_mb"]) == {"start", "harness", "served"}
    assert (result["browser_first_row_ms"], result["browser_missing"]) == (None, "not asked")
