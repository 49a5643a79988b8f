"""Judges for experiments: a rule of admission bound to a task's states, as the loop wants it."""

from __future__ import annotations

from takeback.language import Candidate
from takeback.state import Level, State
from takeback.synthesize.loop import Judge
from takeback.verify import Verdict, verify, verify_sampled


def judge_for(rule: str, level: Level, nominal: State) -> Judge:
    """A judge by the name of a rule; `proof` looks at every state, the others at samples around `nominal`."""
    if rule == "proof":
        return lambda candidate: verify(candidate, level=level)
    return lambda candidate: verify_sampled(candidate, rule=rule, level=level, nominal=nominal)


def dev_judge(suite: str, level: Level, nominal: State) -> Judge:
    """A judge that sees the states of one dev suite and nothing hidden: every one of them must pass."""

    def judge(candidate: Candidate) -> Verdict:
        return verify_sampled(candidate, level=level, nominal=nominal, dev=suite, iid=0, ood=0, threshold=0.0)

    return judge
