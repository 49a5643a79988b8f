"""Evidence is a verdict that a verifier of this process issued about this very candidate, and nothing else."""

from __future__ import annotations

import copy
import gc
import json
import pickle
from dataclasses import fields, replace

import pytest
from tests.support.running import op

from takeback.errors import EvidenceError
from takeback.language import Candidate, read_candidate
from takeback.state import Level, State
from takeback.verify import (
    RULE_NAMES,
    RULES,
    Admitted,
    Grade,
    Verdict,
    VerifyOptions,
    prove,
    verify,
    verify_on,
    verify_sampled,
    why_not_evidence,
)
from takeback.verify import evidence as evidence_module
from takeback.verify.suites import Suites, make_nominal_state
from takeback_lab.judges import make_dev_judge, make_recovery_judge

PLAIN = {
    "mutation": [op("set_config", "verbose", value=True)],
    "witness": [op("capture_config", "verbose", witness_key="w")],
    "recovery": [op("restore_config", "verbose", witness_key="w")],
    "contract": ['config["verbose"]'],
}
OTHERS = {
    "mutation": {**PLAIN, "mutation": [op("set_config", "verbose", value=1)]},
    "witness": {**PLAIN, "witness": [*PLAIN["witness"], op("capture_prompt", "p", witness_key="v")]},
    "recovery": {**PLAIN, "recovery": [op("delete_config", "verbose", witness_key="w")]},
    "contract": {**PLAIN, "contract": ["config"]},
}


def good() -> Candidate:
    return read_candidate(PLAIN)


@pytest.mark.parametrize("rule", RULE_NAMES)
def test_an_admitting_verdict_is_evidence_for_its_candidate(rule):
    verdict = verify(good(), rule=rule)
    assert why_not_evidence(verdict, good()) is None
    assert Admitted(good(), verdict).verdict is verdict


@pytest.mark.parametrize("part", OTHERS)
def test_a_verdict_about_another_candidate_is_no_evidence_whichever_part_differs(part):
    verdict, other = verify(good()), read_candidate(OTHERS[part])
    assert "about another candidate" in why_not_evidence(verdict, other)
    assert why_not_evidence(verify(other), other) is None
    with pytest.raises(EvidenceError, match="about another candidate"):
        Admitted(other, verdict)


def test_a_verdict_made_by_hand_is_no_evidence():
    digest = good().digest()
    made = Verdict(True, Grade.PROVED, "proof", "L1", candidate_digest=digest)
    assert "not issued by a verifier" in why_not_evidence(made, good())
    with pytest.raises(EvidenceError, match="not issued"):
        Admitted(good(), made)


CHANGES = {"admitted": True, "rule": "proof", "language": "L0", "grade": Grade.PROVED, "candidate_digest": "0" * 64}


@pytest.mark.parametrize("field", CHANGES)
def test_a_changed_copy_of_a_verdict_is_no_evidence(field):
    verdict = verify(good())
    assert "not issued by a verifier" in why_not_evidence(replace(verdict, **{field: CHANGES[field]}), good())
    assert why_not_evidence(verdict, good()) is None


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda verdict: pickle.loads(pickle.dumps(verdict)), replace],  # noqa: S301
    ids=["copied", "copied deeply", "pickled", "replaced by itself"],
)
def test_an_equal_object_of_another_class_is_no_evidence(again):
    verdict = verify_sampled(good())
    assert again(verdict) == verdict
    assert "not issued by a verifier" in why_not_evidence(again(verdict), good())


@pytest.mark.parametrize("field", CHANGES)
def test_a_verdict_altered_in_place_is_no_evidence(field):
    verdict = verify(read_candidate({**PLAIN, "recovery": []}) if field == "admitted" else good(), rule="split-wald")
    object.__setattr__(verdict, field, CHANGES[field])
    candidate = read_candidate({**PLAIN, "recovery": []}) if field == "admitted" else good()
    assert "altered" in why_not_evidence(verdict, candidate)


def test_a_verdict_read_from_json_is_a_report():
    report = json.loads(json.dumps(verify(good()).to_json()))
    assert "is a report, not evidence" in why_not_evidence(report, good())
    made = Verdict(**{**{one.name: report.get(one.name) for one in fields(Verdict)}, "splits": {}})
    assert made.candidate_digest == good().digest()
    assert "not issued by a verifier" in why_not_evidence(made, good())


def test_a_verdict_that_does_not_admit_is_no_evidence():
    bad = read_candidate({**PLAIN, "recovery": []})
    for rule in RULE_NAMES:
        assert why_not_evidence(verify(bad, rule=rule), bad) == "the verdict does not admit the candidate"


def test_evidence_can_be_demanded_by_rule_and_by_language():
    sampled, proved = verify(good(), rule="split-wald"), verify(good(), level=Level.L1)
    assert why_not_evidence(proved, good(), rule="proof", level=Level.L1) is None
    assert "decided by 'split-wald', not by 'proof'" in why_not_evidence(sampled, good(), rule="proof")
    assert "about the language L1, not L0" in why_not_evidence(proved, good(), level=Level.L0)
    assert why_not_evidence(verify(good(), level=Level.L0), good(), level=Level.L1) is None


def test_verdicts_on_states_chosen_by_the_caller_are_no_evidence():
    bad = read_candidate({**PLAIN, "witness": [], "recovery": [op("delete_config", "verbose")]})
    states = tuple(State.read({"config": {f"k{at}": at}}) for at in range(20))
    picked = verify_on(bad, Suites((), states, states), VerifyOptions(rule="split-wald", level=Level.L1))
    assert picked.admitted
    assert "not issued by a verifier" in why_not_evidence(picked, bad)


def test_verdicts_of_the_judges_of_experiments_are_no_evidence():
    for judge in (
        make_dev_judge("Q10", Level.L1, make_nominal_state()),
        make_recovery_judge("proof", Level.L0, make_nominal_state()),
    ):
        verdict = judge(good())
        assert verdict.admitted
        assert why_not_evidence(verdict, good()) is not None


def test_a_rule_that_is_not_for_harnesses_admits_nothing_even_when_issued():
    verdict = evidence_module.register_verdict(replace(prove(good()), rule="dev"), good())
    assert why_not_evidence(verdict, good()) == "the rule 'dev' admits nothing into a harness"
    assert "dev" not in RULES


def test_a_lookalike_candidate_is_replaced_by_the_verified_one():
    verified = good()
    verdict = prove(verified)
    lie = replace(verified.mutation[0], value="something else")
    lookalike = replace(verified, mutation=(lie,))
    assert lookalike.digest() == verified.digest()
    admitted = Admitted(lookalike, verdict)
    assert admitted.candidate is verified
    assert admitted.candidate.mutation[0].value is True


def test_the_register_forgets_collected_verdicts():
    verdict = prove(good())
    number = id(verdict)
    assert number in evidence_module._issued
    del verdict
    gc.collect()
    assert number not in evidence_module._issued
