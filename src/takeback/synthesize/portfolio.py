"""Ways to find a recovery for a locked mutation: the oracle, a model, or the oracle first and a model after it.

The portfolio is the practical default: the oracle answers at once wherever it has an inverse the judge admits; a
model is asked only where it has none.
"""

from __future__ import annotations

from dataclasses import replace

from takeback.errors import InputError
from takeback.state import State
from takeback.synthesize.attempt import Attempt
from takeback.synthesize.loop import Judge, Repair, Settings, assess, repair, unsayable_in
from takeback.synthesize.models import ChatModel
from takeback.synthesize.oracle import invert


def repair_with_oracle(start: Attempt, judge: Judge, settings: Settings, nominal: State | None = None) -> Repair:
    """The oracle's recovery, judged; one pass, no turns."""
    if start.mutation is None:
        raise InputError("candidate", found="no readable mutation", expected="a mutation to find a recovery for")
    found = invert(start.mutation, nominal)
    verdict = judge(found)
    unsayable = unsayable_in(start.mutation, settings)
    return Repair(found if verdict.admitted else None, verdict, unsayable=unsayable, source="oracle")


def repair_with_portfolio(
    start: Attempt, model: ChatModel | None, judge: Judge, settings: Settings, nominal: State | None = None
) -> Repair:
    """The start if it is good already, else the oracle's recovery, else a model's."""
    verdict = assess(start, judge, settings.level)
    if verdict.admitted:
        return Repair(start.candidate, verdict, source="start")
    first = repair_with_oracle(start, judge, settings, nominal)
    if first.admitted is not None or model is None or first.unsayable:
        return first
    return replace(repair(start, model, judge, settings, nominal), source="model")
