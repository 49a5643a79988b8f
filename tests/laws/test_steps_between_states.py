"""The mutation read off two states makes the first into the second, and its recovery takes it back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.strategies import states

from takeback.agents.step_check import build_mutation
from takeback.repair.oracle import oracle
from takeback.state import State
from takeback.undo.record import run_and_record
from takeback.verify import round_trip

LINES = st.lists(st.sampled_from(["a\n", "b\n", "a b\n", "\n", "c\r\n"]), max_size=12).map("".join)
TEXTS = st.tuples(LINES, st.sampled_from(["", "a", "end"])).map("".join)


@pytest.mark.parametrize("whole", [False, True])
@given(data=st.data())
def test_a_step_between_texts_runs_and_is_undone(whole, data):
    one, other = (State.read({"prompts": {"p": data.draw(TEXTS)}}) for _ in range(2))
    mutation = build_mutation(one, other, whole=whole)
    assert run_and_record(mutation, one).state == other
    if mutation:
        assert round_trip(oracle(mutation, nominal=one), one).passed


@given(states, states)
def test_a_step_between_any_two_states_leads_there_or_says_that_it_does_not(one, other):
    made = run_and_record(build_mutation(one, other), one)
    left = {name for name in one.write().keys() | other.write().keys() if made.state[name] != other[name]}
    if made.receipt.succeeded:
        assert left <= {"files", "resources"}, left
    else:
        assert left & {"files", "resources"}, left
