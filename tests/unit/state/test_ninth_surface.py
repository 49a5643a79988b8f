"""A ninth surface, registered from outside as one object, goes through everything the eight do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.ninth import Alarms
from tests.support.running import op, witness_to_json

from takeback.adapters import open_memory
from takeback.errors import InputError
from takeback.language import Candidate, candidate_schema, gate, read_candidate, read_program
from takeback.repair import invert_mutation, oracle
from takeback.runtime import capture, recover, run_forward
from takeback.state import KINDS, SURFACES, Kind, Level, Requirement, Stage, State, diff, register, unregister
from takeback.verify import Grade, VerifyOptions, prove, round_trip, verify_json, verify_sampled
from takeback.verify.suites import make_nominal_state, make_suites

CAPTURE = op("capture_alarm", "night", witness_key="w")
SET = op("set_alarm", "night", value=7)
RESTORE = op("restore_alarm", "night", witness_key="w")
GOOD = {"mutation": [SET], "witness": [CAPTURE], "recovery": [RESTORE], "contract": ['alarms["night"]']}


@pytest.fixture(autouse=True)
def alarms():
    register(Alarms())
    yield
    unregister("alarms")


def test_a_state_with_the_new_surface_is_read_compared_and_written():
    state = State.read({"alarms": {"night": 22}, "prompts": {"p": "x"}})
    assert state.write() == {"prompts": {"p": "x"}, "alarms": {"night": 22}}
    assert [str(change.address) for change in diff(State(), State.read({"alarms": {"a": 1}}))] == ['alarms["a"]']
    assert state.digest() != State.read({"prompts": {"p": "x"}}).digest()
    with pytest.raises(InputError, match=r"state.alarms\['night'\]: found 24, expected an hour from 0 to 23"):
        State.read({"alarms": {"night": 24}})


def test_operations_of_a_new_surface_are_parsed_checked_and_gated():
    candidate = read_candidate(GOOD)
    assert gate(candidate, Level.L0) == ()
    assert len(gate(read_candidate({"mutation": [SET, {**SET, "value": 8}]}), Level.L0)) == 1
    with pytest.raises(InputError, match="expected an hour"):
        read_candidate({"mutation": [{**SET, "value": True}]})


@pytest.mark.parametrize("rule", ["proof", "split-wald"])
def test_candidates_of_a_new_surface_are_verified(rule):
    assert verify_json(GOOD, options=VerifyOptions(rule=rule)).admitted
    bad = {"mutation": [SET], "recovery": [op("cancel_alarm", "night")], "contract": ["alarms"]}
    verdict = verify_json(bad, options=VerifyOptions(rule=rule))
    assert not verdict.admitted
    assert [str(residual.address) for residual in verdict.counterexample.trip.residuals] == ['alarms["night"]']


def test_states_of_a_new_surface_vary_the_touched_key():
    made = make_suites(make_nominal_state(), read_program([SET], Stage.FORWARD, "m"), iid=20, ood=20)
    hours = {state.part("alarms").get("night") for state in (*made.iid, *made.ood)}
    assert None in hours
    assert len(hours) > 3


def test_the_oracle_inverts_a_new_surface_beside_others():
    mutation = read_program(
        [SET, op("set_prompt", "system", value="x"), op("set_alarm", "noon", value=12)], Stage.FORWARD, "m"
    )
    candidate = oracle(mutation, Level.L0)
    assert isinstance(candidate, Candidate)
    assert prove(candidate).grade is Grade.PROVED
    assert verify_sampled(candidate).admitted
    assert round_trip(invert_mutation(mutation), State.read({"alarms": {"noon": 11}})).passed


def test_witness_and_schema_include_a_new_surface():
    from takeback.runtime import capture

    held = capture(read_candidate(GOOD).witness, State.read({"alarms": {"night": 3}}))
    assert witness_to_json(held) == {"w": 3, "w_existed": True}
    forms = candidate_schema(Level.L0)["properties"]["mutation"]["items"]["anyOf"]
    assert any(form["properties"]["op_type"] == {"const": "set_alarm"} for form in forms)


def test_a_registered_name_cannot_be_registered_again():
    with pytest.raises(InputError, match="found alarms, expected a name no surface has yet"):
        register(Alarms())

    class Clash(Alarms):
        name = "bells"

    with pytest.raises(InputError, match="expected new operation names"):
        register(Clash())
    assert "bells" not in SURFACES


def test_registering_assigns_the_operations_to_the_surface():
    assert {kind.surface for kind in Alarms.kinds} == {""}
    assert {kind.surface for kind in SURFACES["alarms"].kinds} == {"alarms"}
    assert all(KINDS[kind.name] is kind for kind in SURFACES["alarms"].kinds)


def test_operations_of_another_surface_cannot_be_registered():
    class Thief(Alarms):
        name = "thief"
        kinds = (replace(KINDS["set_prompt"], name="steal_prompt"),)

    with pytest.raises(InputError, match=r"surface thief: found .*steal_prompt.* of prompts, expected operations of"):
        register(Thief())
    assert "thief" not in SURFACES
    assert "steal_prompt" not in KINDS


def test_a_kind_takes_the_fields_of_its_stage():
    capture = Kind.capture("a", Level.L0, lambda value, op: None)
    restore = Kind.recovery("b", Level.L0, lambda value, op, captured: value)
    remove = Kind.recovery("c", Level.L0, lambda value, op, captured: value, removes=True)
    change = Kind.forward("d", Level.L0, lambda value, op: (value, None))
    edit = Kind.forward("e", Level.L2, lambda value, op: (value, None), inside=True)
    assert [(kind.stage, kind.value, kind.witness) for kind in (capture, restore, remove, change, edit)] == [
        (Stage.CAPTURE, Requirement.FORBIDDEN, Requirement.REQUIRED),
        (Stage.RECOVERY, Requirement.FORBIDDEN, Requirement.REQUIRED),
        (Stage.RECOVERY, Requirement.FORBIDDEN, Requirement.OPTIONAL),
        (Stage.FORWARD, Requirement.REQUIRED, Requirement.FORBIDDEN),
        (Stage.FORWARD, Requirement.REQUIRED, Requirement.FORBIDDEN),
    ]
    assert [kind.recovers for kind in (change, edit)] == [False, True]


def test_unregistering_a_surface_leaves_nothing_behind():
    unregister("alarms")
    try:
        assert "alarms" not in SURFACES
        assert not any(kind.surface == "alarms" for kind in KINDS.values())
        assert "alarms" not in make_nominal_state().parts
        with pytest.raises(InputError):
            read_candidate(GOOD)
    finally:
        register(Alarms())


@pytest.fixture
def earlier():
    """A state from before the surface was there."""
    unregister("alarms")
    state = State.read({"prompts": {"p": "x"}})
    register(Alarms())
    return state


def test_a_state_made_before_registration_lacks_the_surface(earlier):
    candidate = read_candidate(GOOD)
    assert round_trip(candidate, earlier).passed
    assert run_forward(candidate.mutation, earlier)[0].write() == {"prompts": {"p": "x"}, "alarms": {"night": 7}}
    assert capture(candidate.witness, earlier)["w"].existed is False
    assert recover(candidate.recovery, earlier, capture(candidate.witness, earlier)) == earlier
    assert open_memory(earlier).apply(candidate).forced is False


def test_states_around_one_made_before_registration_vary_the_surface(earlier):
    assert verify_sampled(read_candidate(GOOD), VerifyOptions(rule="split-wald", nominal=earlier)).admitted
    made = make_suites(earlier, read_program([SET], Stage.FORWARD, "m"), iid=20, ood=20)
    assert len({state.part("alarms").get("night") for state in (*made.iid, *made.ood)}) > 3
