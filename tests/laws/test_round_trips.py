"""Laws of round trips: the oracle is right everywhere, proof agrees with trying, the gate with running."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import naive
from tests.support.strategies import candidates, mutations, oracles, plain_mutations, plain_states, states

from takeback.language import gate, read_program
from takeback.repair import invert_mutation
from takeback.runtime import capture, find_effects, recover, run_forward
from takeback.state import Level, Stage, State, diff
from takeback.verify import Grade, Trial, prove, round_trip


@given(oracles, st.lists(states, min_size=1, max_size=4))
def test_the_oracle_takes_any_mutation_back_on_any_state(candidate, tried):
    for state in tried:
        trip = round_trip(candidate, state)
        assert trip.passed, (trip, state)


@given(oracles)
def test_the_oracles_recovery_is_proved(candidate):
    verdict = prove(candidate)
    assert verdict.admitted, verdict.reasons
    assert verdict.grade is Grade.PROVED


@settings(max_examples=200)
@given(candidates, st.lists(states, min_size=3, max_size=6))
def test_proofs_and_counterexamples_agree_with_running_the_candidate(candidate, tried):
    verdict, trial = prove(candidate), Trial(candidate)
    if verdict.grade is Grade.PROVED:
        for state in tried:
            trip = trial.run(state)
            assert trip.passed, (trip, state, candidate.to_json())
    else:
        assert not trial.run(verdict.counterexample.state).passed
        again = State.read(verdict.counterexample.to_json()["state"])
        assert not trial.run(again).passed


@given(mutations, states)
def test_a_forward_run_is_atomic_and_leaves_the_state_before_it_alone(mutation, state):
    digest = state.digest()
    after, receipt = run_forward(mutation, state)
    assert state.digest() == digest
    if not receipt.succeeded:
        assert after is state
        assert len(receipt.writes) == receipt.failed_at
    else:
        assert [write.position for write in receipt.writes] == list(range(len(mutation)))


@given(mutations, states)
def test_effects_are_within_the_contract_the_oracle_writes(mutation, state):
    candidate = invert_mutation(mutation)
    after, receipt = run_forward(mutation, state)
    found = find_effects(state, after, receipt)
    assert found >= {change.address for change in diff(state, after)}
    assert all(candidate.contract.covers(address) for address in found)


@given(candidates, states)
def test_a_gated_program_runs_or_fails_with_a_message(candidate, state):
    assert gate(candidate, Level.L1) == ()
    trip = round_trip(candidate, state)
    assert not trip.failure.startswith("fault:"), trip


@given(oracles, states)
def test_recovering_twice_changes_nothing_more(candidate, state):
    witness = capture(candidate.witness, state)
    after, _ = run_forward(candidate.mutation, state)
    once = recover(candidate.recovery, after, witness)
    assert recover(candidate.recovery, once, witness) == state == once


@settings(max_examples=150)
@given(plain_mutations, plain_states)
def test_forward_runs_agree_with_an_independent_applier(mutation, plain):
    """`tests/support/naive.py` was written from docs/formats.md alone and shares no code with the core."""
    for op in mutation:  # what the format leaves to the implementation is said outright
        if op["op_type"] == "add_listener":
            value = {"id": op["value"]} if isinstance(op["value"], str) else op["value"]
            op["value"] = {"handler": "h:said", **value}
        if op["op_type"] == "write_file":
            value = {"content": op["value"]} if isinstance(op["value"], str) else op["value"]
            op["value"] = {"mode": "0640", **value}
    state = State.read(plain)
    after, receipt = run_forward(read_program(mutation, Stage.FORWARD, "mutation"), state)
    try:
        expected = naive.apply(state.write(), mutation)
    except naive.RefusedError:
        assert not receipt.succeeded
        return
    assert receipt.succeeded, receipt.reason
    assert after == State.read(expected)
