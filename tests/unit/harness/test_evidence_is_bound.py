"""A change is made on evidence about itself, or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from takeback import Applied, Grade, Refused, Why, open_memory, read_candidate, verify
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
    assert refused.why is Why.EVIDENCE
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
        assert refused.why is Why.EVIDENCE


def test_evidence_about_the_candidate_itself_is_taken():
    harness = open_memory()
    done = harness.apply(GOOD, evidence=verify(GOOD))
    assert isinstance(done, Applied)
    assert not done.forced
    assert isinstance(harness.apply(Admitted(GOOD, verify(GOOD))), Applied)


def test_a_forced_change_may_bring_the_verdict_that_speaks_against_it():
    done = open_memory().apply(BAD, evidence=verify(BAD), force=True)
    assert isinstance(done, Applied)
    assert done.forced


def test_a_verifier_of_ones_own_admits_only_what_a_verifier_of_takeback_issued():
    by_hand = Verdict(True, Grade.PROVED, "proof", "L1", candidate_digest=BAD.digest())
    for answer in (by_hand, verify(GOOD)):
        harness = open_memory(verifier=lambda _, answer=answer: answer)
        refused = harness.apply(BAD)
        assert isinstance(refused, Refused)
        assert refused.why is Why.EVIDENCE
        assert harness.state.write() == {}
    assert isinstance(open_memory(verifier=lambda one: verify(one, rule="proof")).apply(GOOD), Applied)
