"""Records of other systems: right recoveries are proved, wrong ones refuted, fields are slots."""

from __future__ import annotations

import pytest
from tests.support.running import op

from takeback.errors import InputError
from takeback.language import candidate_schema, read_candidate
from takeback.opinion.checker import _digest, check_certificate
from takeback.opinion.interpreter import RejectedError
from takeback.opinion.solver import ask_z3
from takeback.repair import oracle
from takeback.state import Level, State, unregister
from takeback.state.slots import find_differing_slots
from takeback.state.surface import SURFACES
from takeback.state.surfaces.external import EXTERNAL, install_external_surface
from takeback.verify import Grade, verify
from takeback_lab.soundness.brute import fate

SET = op("set_external", "memory/a", value={"text": "new"})
EDIT = op("edit_external", "memory/a", value={"field": "text", "value": "new"})
CAPTURE = op("capture_external", "memory/a", witness_key="w")
RESTORE = op("restore_external", "memory/a", witness_key="w")


@pytest.fixture(autouse=True)
def external():
    new = EXTERNAL not in SURFACES
    install_external_surface()
    yield
    if new:
        unregister(EXTERNAL)


def judge(mutation, witness, recovery):
    return verify(read_candidate({"mutation": mutation, "witness": witness, "recovery": recovery}))


@pytest.mark.parametrize("mutation", [[SET], [EDIT], [SET, EDIT], [op("unset_external", "memory/a")], [EDIT, SET]])
def test_a_restore_from_its_own_capture_is_proved(mutation):
    assert judge(mutation, [CAPTURE], [RESTORE]).grade is Grade.PROVED


@pytest.mark.parametrize(
    "recovery",
    [[], [op("delete_external", "memory/a")], [op("restore_external", "memory/b", witness_key="w")]],
)
@pytest.mark.parametrize("mutation", [[SET], [EDIT]])
def test_another_recovery_is_refuted_with_a_smallest_state(mutation, recovery):
    verdict = judge(mutation, [CAPTURE], recovery)
    assert verdict.grade is Grade.REFUTED
    assert len(verdict.counterexample.state.part(EXTERNAL)) <= 1


def test_the_oracle_finds_the_recovery_of_every_forward_operation():
    for one in SURFACES[EXTERNAL].kinds:
        if one.stage == "forward":
            given = {"set_external": SET, "edit_external": EDIT}.get(one.name, op(one.name, "memory/a"))
            assert verify(oracle([given])).grade is Grade.PROVED


@pytest.mark.parametrize("mutation", [[SET], [EDIT], [op("unset_external", "memory/a")], [EDIT, SET]])
def test_the_second_opinions_agree_with_the_proof(mutation):
    right = read_candidate({"mutation": mutation, "witness": [CAPTURE], "recovery": [RESTORE]})
    assert ask_z3(right.to_json()).answer == "holds"
    assert check_certificate(verify(right).certificate.to_json()).classes == 2
    for recovery in ([], [op("delete_external", "memory/a")], [RESTORE, op("delete_external", "memory/b")]):
        wrong = read_candidate({"mutation": mutation, "witness": [CAPTURE], "recovery": recovery})
        opinion = ask_z3(wrong.to_json())
        assert opinion.answer == "breaks"
        assert not fate(wrong, State.read(opinion.state)).held


def test_a_certificate_without_the_state_where_a_record_is_not_there_is_rejected():
    plain = verify(read_candidate({"mutation": [EDIT], "witness": [CAPTURE], "recovery": [RESTORE]})).certificate
    told = {**plain.to_json(), "runs": [{**run, "classes": []} for run in plain.to_json()["runs"]]}
    told["seal"] = _digest({name: part for name, part in told.items() if name != "seal"})
    with pytest.raises(RejectedError, match="missing class"):
        check_certificate(told)


def test_fields_of_a_record_are_slots_and_nested_values_are_not():
    before = State.read({EXTERNAL: {"m/a": {"text": "x", "deep": {"a": 1}}, "m/b": {}}})
    after = State.read({EXTERNAL: {"m/a": {"text": "x", "deep": {"a": 2}, "new": None}}})
    found = sorted(find_differing_slots(before, after))
    assert found == [(EXTERNAL, "m/a", "deep"), (EXTERNAL, "m/a", "new"), (EXTERNAL, "m/b")]


@pytest.mark.parametrize("key", ["memory", "/a", "memory/", ""])
def test_a_key_names_a_binding_and_a_record(key):
    with pytest.raises(InputError):
        read_candidate({"mutation": [op("set_external", key, value={})]})


@pytest.mark.parametrize("value", [{"field": "a"}, {"field": "", "value": 1}, [], {"field": 1, "value": 1}])
def test_an_edit_has_a_field_and_a_value(value):
    with pytest.raises(InputError):
        read_candidate({"mutation": [op("edit_external", "m/a", value=value)]})


def test_prompts_and_schemas_omit_the_external_surface():
    assert "external" not in str(candidate_schema(Level.L2))
