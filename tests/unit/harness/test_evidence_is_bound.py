"""A change is made on evidence about itself, or not at all."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from takeback import (
    Applied,
    Grade,
    InputError,
    Level,
    RefusalReason,
    Refused,
    State,
    open_memory,
    read_candidate,
    verify,
)
from takeback.language.program import load_json
from takeback.verify import Admitted, Verdict

GOOD = read_candidate(
    {
        "mutation": [{"op_type": "set_config", "target": "a", "value": 1}],
        "witness": [{"op_type": "capture_config", "target": "a", "witness_key": "w"}],
        "recovery": [{"op_type": "restore_config", "target": "a", "witness_key": "w"}],
    }
)
BAD = read_candidate(
    {
        "mutation": [{"op_type": "set_config", "target": "a", "value": 1}],
        "recovery": [{"op_type": "delete_config", "target": "a"}],
    }
)


def test_a_verdict_about_another_candidate_admits_nothing():
    harness = open_memory()
    refused = harness.apply(BAD, evidence=verify(GOOD))
    assert isinstance(refused, Refused)
    assert refused.why is RefusalReason.EVIDENCE
    assert "another candidate" in refused.message
    assert harness.state.write() == {}


@pytest.mark.parametrize("force", [False, True])
def test_a_verdict_made_by_hand_admits_nothing_not_even_by_force(force):
    harness = open_memory()
    by_hand = Verdict(True, Grade.PROVED, "proof", "L1", candidate_digest=BAD.digest())
    altered = replace(verify(BAD), admitted=True, grade=Grade.PROVED)
    for evidence in (by_hand, altered):
        refused = harness.apply(BAD, evidence=evidence, force=force)
        assert isinstance(refused, Refused)
        assert refused.why is RefusalReason.EVIDENCE


def test_evidence_about_the_candidate_itself_is_accepted():
    harness = open_memory()
    done = harness.apply(GOOD, evidence=verify(GOOD))
    assert isinstance(done, Applied)
    assert not done.forced
    assert isinstance(harness.apply(Admitted(GOOD, verify(GOOD))), Applied)


def test_a_forced_change_may_carry_its_own_refutation():
    done = open_memory().apply(BAD, evidence=verify(BAD), force=True)
    assert isinstance(done, Applied)
    assert done.forced


def _against(**changed):
    """A verdict against BAD, changed in place."""
    verdict = verify(BAD)
    for name, value in changed.items():
        object.__setattr__(verdict, name, value)
    return verdict


@pytest.mark.parametrize(
    "evidence",
    [
        Verdict(False, Grade.PROVED, "proof", "L2", candidate_digest=BAD.digest()),
        deepcopy(verify(BAD)),
        replace(verify(BAD), grade=Grade.SAMPLED),
        _against(grade=Grade.PROVED),
        _against(reasons=()),
        _against(counterexample=None),
    ],
    ids=["made by hand", "copied", "replaced", "graded anew", "without its reasons", "without its counterexample"],
)
def test_a_forced_change_with_an_unissued_verdict_is_refused(evidence):
    harness = open_memory()
    refused = harness.apply(BAD, evidence=evidence, force=True)
    assert isinstance(refused, Refused)
    assert refused.why is RefusalReason.EVIDENCE
    assert [entry.kind for entry in harness.log()] == ["genesis"]


@pytest.mark.parametrize(
    "options", [{"rule": "split-wald"}, {"level": Level.L0}, {"rule": "exact", "nominal": State()}]
)
def test_every_rejecting_verdict_can_be_recorded_with_a_forced_change(options):
    verdict = verify(BAD, **options)
    done = open_memory().apply(BAD, evidence=verdict, force=True)
    assert isinstance(done, Applied)
    assert done.verdict is verdict


def test_a_verdict_with_altered_counts_is_refused():
    counted, sampled = verify(GOOD), verify(GOOD, rule="split-wald")
    object.__setattr__(counted, "classes", 10**6)
    sampled.splits["iid"] = replace(sampled.splits["iid"], bound=0.99)
    for evidence in (counted, sampled):
        refused = open_memory().apply(GOOD, evidence=evidence)
        assert isinstance(refused, Refused)
        assert "altered" in refused.message


@pytest.mark.parametrize("ask", ["apply", "preview"])
def test_a_report_given_as_evidence_is_refused(ask):
    report = verify(GOOD).to_json()
    for given in (report, json.dumps(report), True):
        refused = getattr(open_memory(), ask)(GOOD, evidence=given)
        assert isinstance(refused, Refused)
        assert (refused.why, refused.verdict) == (RefusalReason.EVIDENCE, None)
        assert "a report, not evidence" in refused.message


def test_an_admitted_candidate_does_not_let_other_evidence_pass():
    refused = open_memory().apply(Admitted(GOOD, verify(GOOD)), evidence=verify(BAD))
    assert isinstance(refused, Refused)
    assert "another candidate" in refused.message


@pytest.mark.parametrize("given", [lambda lie, _: lie, Admitted], ids=["a candidate", "an admitted one"])
def test_apply_writes_the_verified_object(given):
    lie = replace(GOOD, mutation=(replace(GOOD.mutation[0], value="something else"),))
    verdict, harness = verify(GOOD), open_memory()
    assert isinstance(harness.apply(given(lie, verdict), evidence=verdict), Applied)
    assert harness.state["config", "a"] == 1


def test_changing_a_candidates_json_does_not_change_the_candidate():
    plain = GOOD.to_json()
    plain["mutation"][0]["value"] = {"deep": [1]}
    candidate = read_candidate(plain)
    digest = candidate.digest()
    candidate.to_json()["mutation"][0]["value"]["deep"].append(2)
    assert candidate.digest() == digest
    assert candidate.to_json()["mutation"][0]["value"] == {"deep": [1]}


def test_applying_something_else_than_a_candidate_is_an_input_error():
    for given in ([], "{}", None):
        with pytest.raises(InputError, match="a Candidate"):
            open_memory().apply(given)


def test_a_custom_verifier_can_refuse_but_its_verdict_is_not_recorded():
    harness = open_memory(verifier=lambda _: Verdict(False, Grade.PROVED, "mine", "L1"))
    assert harness.apply(GOOD).why is RefusalReason.VERDICT
    assert harness.apply(GOOD, force=True).why is RefusalReason.EVIDENCE


def test_a_custom_verifier_admits_only_with_a_verdict_of_takeback():
    by_hand = Verdict(True, Grade.PROVED, "proof", "L1", candidate_digest=BAD.digest())
    for answer in (by_hand, verify(GOOD)):
        harness = open_memory(verifier=lambda _, answer=answer: answer)
        refused = harness.apply(BAD)
        assert isinstance(refused, Refused)
        assert refused.why is RefusalReason.EVIDENCE
        assert harness.state.write() == {}
    assert isinstance(open_memory(verifier=lambda one: verify(one, rule="proof")).apply(GOOD), Applied)


PASSES_EVERY_SAMPLE = read_candidate(
    load_json(Path(__file__).parents[3] / "examples/candidates/passes-every-sample/candidate.json")
)


@pytest.mark.parametrize("ask", ["apply", "preview"])
@pytest.mark.parametrize("given", [lambda one, _: one, Admitted], ids=["a candidate", "an admitted one"])
def test_a_harness_that_admits_by_proof_accepts_no_sample(given, ask):
    sampled = verify(PASSES_EVERY_SAMPLE, rule="split-wald")
    assert sampled.admitted
    assert not verify(PASSES_EVERY_SAMPLE).admitted
    harness = open_memory()
    refused = getattr(harness, ask)(given(PASSES_EVERY_SAMPLE, sampled), evidence=sampled)
    assert isinstance(refused, Refused)
    assert (refused.why, refused.message) == (
        RefusalReason.EVIDENCE,
        "the verdict was decided by 'split-wald', and this harness admits by 'proof'",
    )
    assert [entry.kind for entry in harness.log()] == ["genesis"]


def test_a_harness_with_a_custom_verifier_accepts_evidence_by_its_rule():
    by_sample = partial(verify, rule="split-wald")
    done = open_memory(verifier=by_sample).apply(PASSES_EVERY_SAMPLE, evidence=by_sample(PASSES_EVERY_SAMPLE))
    assert isinstance(done, Applied)
    assert (done.verdict.grade, done.forced) == (Grade.SAMPLED, False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threshold": 0.01}, "was held to 0.01, and the rule 'split-wald' demands 0.85"),
        ({"iid": 1}, "rests on 1 of the 20 iid states that the rule 'split-wald' demands"),
        ({"ood": 19}, "rests on 19 of the 20 ood states that the rule 'split-wald' demands"),
    ],
)
def test_a_verdict_on_too_few_states_is_no_evidence(options, said):
    by_less = partial(verify, rule="split-wald", **options)
    verdict = by_less(GOOD)
    assert verdict.admitted
    refused = open_memory(verifier=by_less).apply(GOOD, evidence=verdict)
    assert isinstance(refused, Refused)
    assert refused.why is RefusalReason.EVIDENCE
    assert said in refused.message
    more = verify(GOOD, rule="split-wald", threshold=0.9, iid=30, ood=30, dev="Q20")
    assert isinstance(open_memory(verifier=lambda _: more).apply(GOOD), Applied)
