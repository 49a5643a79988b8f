"""Receipts, traces and effects: what a run did, also where nothing can be seen of it."""

from __future__ import annotations

import pytest
from tests.support.running import attempt, op

from takeback.language import read_candidate
from takeback.runtime import capture, find_effects, recover, run_forward
from takeback.state import State
from takeback.verify import round_trip

ZERO = "tcp://127.0.0.1:0"


def _effects(plain: dict, *mutation: dict) -> set[str]:
    before = State.read(plain)
    after, receipt = attempt(plain, *mutation)
    return {str(address) for address in find_effects(before, after, receipt)}


def test_a_write_of_the_same_value_is_an_effect():
    assert _effects({"prompts": {"p": "x"}}, op("set_prompt", "p", value="x")) == {'prompts["p"]'}


def test_a_write_of_the_same_value_outside_the_contract_is_caught():
    candidate = read_candidate({"mutation": [op("set_prompt", "p", value="x")], "contract": ["config"]})
    trip = round_trip(candidate, State.read({"prompts": {"p": "x"}}))
    assert [str(address) for address in trip.uncovered] == ['prompts["p"]']
    assert trip.residuals == ()
    assert not trip.passed


def test_effects_name_the_addresses_a_diff_shows_too():
    assert _effects({"config": {"a": {"b": 1}}}, op("set_config", "a", value=2)) == {'config["a"]'}
    assert _effects({"config": {"a": {"b": 1}}}, op("set_config", "a", value={})) == {'config["a"]', 'config["a.b"]'}


def test_a_failed_run_keeps_the_writes_it_made_on_record():
    found = _effects({"config": {"c": 1}}, op("set_prompt", "p", value="x"), op("set_config", "c.d", value=1))
    assert found == {'prompts["p"]'}


def test_a_write_before_a_failure_must_be_in_the_contract():
    candidate = read_candidate(
        {
            "mutation": [op("set_prompt", "p", value="x"), op("set_config", "c.d", value=1)],
            "contract": ['config["c.d"]'],
        }
    )
    trip = round_trip(candidate, State.read({"config": {"c": 1}}))
    assert trip.forward_failure
    assert [str(address) for address in trip.uncovered] == ['prompts["p"]']


def test_a_receipt_keeps_the_place_and_the_handle_that_were_resolved():
    _, receipt = attempt(
        {"middleware": [{"id": "a", "handler": "h"}]},
        op("add_middleware", "m", value={"handler": "h"}, index=0),
        op("allocate_socket", "s", value=ZERO),
        op("set_prompt", "p", value=""),
    )
    place, handle, nothing = (write.resolved for write in receipt.writes)
    assert place[-1][1] == "m"
    assert handle == "handle:s"
    assert nothing is None


def test_a_witness_is_taken_before_the_change_and_holds_no_handle():
    state = State.read({"resources": {"s": {"address": ZERO}}})
    candidate = read_candidate(
        {
            "mutation": [op("allocate_socket", "s", value="tcp://127.0.0.1:9001")],
            "witness": [op("capture_socket", "s", witness_key="w")],
        }
    )
    held = capture(candidate.witness, state)
    run_forward(candidate.mutation, state)
    assert held["w"].content["address"] == ZERO
    assert "handle" not in str(held)


def test_receipts_and_captures_cannot_be_changed():
    _, receipt = attempt({}, op("set_prompt", "p", value=""))
    with pytest.raises(AttributeError):
        receipt.failed_at = 3


def test_recovery_leaves_the_state_it_was_given_alone():
    candidate = read_candidate({"mutation": [], "recovery": [op("delete_config", "a")]})
    state = State.read({"config": {"a": 1}})
    assert recover(candidate.recovery, state, {}) == State()
    assert state.write() == {"config": {"a": 1}}


def test_a_round_trip_after_a_failed_mutation_still_runs_the_recovery():
    candidate = read_candidate(
        {
            "mutation": [op("set_config", "a.b", value=1)],
            "recovery": [op("delete_config", "a")],
            "contract": ["config"],
        }
    )
    trip = round_trip(candidate, State.read({"config": {"a": 1}}))
    assert trip.forward_failure
    assert [str(residual.address) for residual in trip.residuals] == ['config["a"]']
