"""Judges: a rule of admission bound to a language and a nominal state, as the repair loop wants it.

A judge fails closed: a candidate too large to be proved is rejected, with that as the reason. What
`recovery_judge` and `dev_judge` decide is for experiments and no evidence for a harness.
"""

from __future__ import annotations

from dataclasses import replace

from takeback.language import Candidate, gate
from takeback.state import Level, State
from takeback.synthesize.loop import Judge
from takeback.verify import Code, Reason, Verdict, verify
from takeback.verify.sampled import rejected, verify_dev

SYNTHESISED = ("witness", "recovery")


def judge_for(rule: str, level: Level, nominal: State) -> Judge:
    """A judge by the name of a rule; `proof` looks at every state, the others at samples around `nominal`."""
    return lambda candidate: verify(candidate, rule=rule, level=level, nominal=nominal)


def recovery_judge(rule: str, level: Level, nominal: State, *, mutation: Level = Level.L1) -> Judge:
    """A judge as in the paper's factorial: the language bounds witness and recovery, `mutation` the mutation."""
    inner = judge_for(rule, max(mutation, level), nominal)

    def judge(candidate: Candidate) -> Verdict:
        outside = [Reason(Code.OUT_OF_LANGUAGE, str(out)) for out in gate(candidate, level, SYNTHESISED)]
        if outside:
            return rejected(outside, rule, level, candidate)
        return replace(inner(candidate), language=level.value)

    return judge


def dev_judge(suite: str, level: Level, nominal: State) -> Judge:
    """A judge that sees the states of one dev suite and nothing hidden: every one of them must pass."""
    return lambda candidate: verify_dev(candidate, suite, level=level, nominal=nominal)
