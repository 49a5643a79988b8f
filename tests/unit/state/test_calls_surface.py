"""Calls: made and compensated means never made; right recoveries are proved, wrong ones refuted, twice over."""

from __future__ import annotations

from copy import deepcopy

import pytest
from tests.support.running import op

from takeback.errors import InputError
from takeback.language import read_candidate
from takeback.opinion.checker import check_certificate
from takeback.opinion.solver import ask_z3
from takeback.repair import oracle
from takeback.state import Level, State, unregister
from takeback.state.surface import SURFACES
from takeback.state.surfaces.calls import CALLS, CallFacts, install_calls_surface
from takeback.verify import Grade, verify

MAIL = {"call": "mail", "arguments": {"to": "ops@example.org"}}
EDIT = op("edit_prompt", "system", value={"old": "a", "new": "b"})
EDIT_CAPTURE = op("capture_prompt", "system", witness_key="p")
EDIT_BACK = op("restore_prompt", "system", witness_key="p")
SET = op("set_config", "a.b", value=1)
SET_CAPTURE = op("capture_config", "a.b", witness_key="k")
SET_BACK = op("restore_config", "a.b", witness_key="k")


@pytest.fixture(autouse=True)
def calls():
    known = SURFACES.pop(CALLS, None)
    assert known is None
    install_calls_surface({"mail": CallFacts(True, "a correction is sent"), "pay": CallFacts(False)})
    yield
    unregister(CALLS)


def make(key):
    return op("make_call", key, value=MAIL)


def taken(key):
    return op("capture_call", key, witness_key=f"w_{key}")


def compensate(key, lent=None):
    return op("compensate_call", key, witness_key=f"w_{lent or key}")


def blind(key):
    return op("compensate_call", key)


def candidate(mutation, witness, recovery):
    return {"mutation": mutation, "witness": witness, "recovery": recovery}


RIGHT = {
    "a call": candidate([make("m")], [taken("m")], [compensate("m")]),
    "beside config": candidate([SET, make("m")], [SET_CAPTURE, taken("m")], [compensate("m"), SET_BACK]),
    "two calls": candidate([make("m"), make("n")], [taken("m"), taken("n")], [compensate("n"), compensate("m")]),
    "compensated twice": candidate([make("m")], [taken("m")], [compensate("m"), compensate("m")]),
}
OTHERS = {"call": "prior", "arguments": {"key": "other"}, "state": "made"}
OURS = {**OTHERS, "arguments": {"key": "m"}}
WRONG = {
    "not compensated": (candidate([make("m")], [taken("m")], []), {}),
    "without a witness": (candidate([make("m")], [], [blind("m")]), {"calls": {"m": OURS}}),
    "one of two": (candidate([make("m"), make("n")], [taken("m"), taken("n")], [compensate("n")]), {}),
    "compensates somebody else's call": (
        candidate([make("m")], [taken("m")], [compensate("m"), blind("other")]),
        {"calls": {"other": OTHERS}},
    ),
    "by another call's witness": (candidate([make("m")], [taken("other")], [compensate("m", "other")]), {}),
}


@pytest.mark.parametrize("level", [Level.L1, Level.L2])
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_recovery_is_proved_and_both_second_opinions_agree(name, level):
    verdict = verify(RIGHT[name], level=level)
    assert verdict.grade is Grade.PROVED
    assert ask_z3(read_candidate(RIGHT[name]).to_json()).answer == "holds"
    assert check_certificate(verdict.certificate.to_json()).classes


@pytest.mark.parametrize("level", [Level.L1, Level.L2])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_recovery_is_refuted_by_a_smallest_state(name, level):
    plain, smallest = WRONG[name]
    verdict = verify(plain, level=level)
    assert verdict.grade is Grade.REFUTED
    assert verdict.counterexample.state.write() == smallest
    assert ask_z3(read_candidate(plain).to_json()).answer == "breaks"


def test_a_compensated_call_beside_an_edit_is_proved():
    verdict = verify(candidate([EDIT, make("m")], [EDIT_CAPTURE, taken("m")], [EDIT_BACK, compensate("m")]))
    assert verdict.grade is Grade.PROVED
    assert check_certificate(verdict.certificate.to_json()).classes
    left = verify(candidate([EDIT, make("m")], [EDIT_CAPTURE, taken("m")], [EDIT_BACK]))
    assert left.grade is Grade.REFUTED


def test_a_certificate_that_leaves_out_the_compensated_state_is_rejected():
    from takeback.opinion.interpreter import RejectedError

    plain = deepcopy(verify(RIGHT["a call"]).certificate.to_json())
    run = plain["runs"][0]
    run["classes"] = [one for one in run["classes"] if "compensated" not in repr(one["change"])]
    from takeback.canonical import digest

    plain["seal"] = digest({name: part for name, part in plain.items() if name != "seal"})
    with pytest.raises(RejectedError, match="missing class"):
        check_certificate(plain)


def test_only_a_compensated_call_equals_no_call():
    done = State.read({"calls": {"m": {**MAIL, "state": "compensated"}}})
    assert done == State()
    assert done.digest() == State.read({"calls": {"n": {**MAIL, "state": "compensated"}}}).digest()
    assert State.read({"calls": {"m": MAIL}}) != State()
    assert State.read(done.write()).write() == done.write()


def test_the_oracle_answers_a_call_by_its_compensation():
    found = oracle([make("m"), SET])
    assert verify(found).grade is Grade.PROVED
    assert "compensate_call" in {one.kind.name for one in found.recovery}


@pytest.mark.parametrize(
    "value", [{"call": "mail", "compensate": ["rm"]}, {"arguments": {}}, {"call": "mail", "arguments": []}, "mail"]
)
def test_a_call_accepts_only_its_name_and_arguments(value):
    with pytest.raises(InputError):
        read_candidate({"mutation": [op("make_call", "m", value=value)]})
