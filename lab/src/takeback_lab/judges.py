"""Judges of experiments; what they decide is no evidence for a harness."""

from __future__ import annotations

from dataclasses import replace

from takeback.language import Candidate, gate
from takeback.repair.loop import Judge, make_judge
from takeback.state import Level, State
from takeback.verify import Code, Reason, Verdict
from takeback.verify.rules import DEV, VerifyOptions, freeze_candidate
from takeback.verify.sampled import list_refusals, reject_candidate, verify_states
from takeback.verify.suites import make_suites

SYNTHESISED = ("witness", "recovery")
SPLIT = "split-wald"
"""Whose options a dev suite is judged by; all its states must pass."""


def make_recovery_judge(rule: str, level: Level, nominal: State, *, mutation: Level = Level.L1) -> Judge:
    """Return a judge as in the paper's factorial: `level` bounds witness and recovery, `mutation` the mutation."""
    inner = make_judge(rule, max(mutation, level), nominal)

    def judge(candidate: Candidate) -> Verdict:
        outside = [Reason(Code.OUT_OF_LANGUAGE, str(out)) for out in gate(candidate, level, SYNTHESISED)]
        if outside:
            return reject_candidate(outside, rule, level, candidate)
        return replace(inner(candidate), language=level.value)

    return judge


def make_dev_judge(suite: str, level: Level, nominal: State) -> Judge:
    """Return a judge that sees one dev suite and nothing hidden: every one of its states must pass."""
    return lambda candidate: verify_dev(candidate, suite, level=level, nominal=nominal)


def verify_dev(candidate: Candidate, suite: str, *, level: Level, nominal: State) -> Verdict:
    """Return the verdict on one dev suite alone, with nothing hidden; it admits nothing into a harness."""
    candidate, options = freeze_candidate(candidate), VerifyOptions(rule=SPLIT, level=level)
    refused = list_refusals(candidate, level, None)
    if refused:
        return reject_candidate(refused, DEV.name, level, candidate)
    made = make_suites(nominal, candidate.mutation, dev=suite, iid=0, ood=0)
    return verify_states(candidate, lambda _: made, DEV, options)
