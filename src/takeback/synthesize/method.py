"""A way to find a recovery, by the name of a synthesizer: one call signature for oracle, model and portfolio."""

from __future__ import annotations

from collections.abc import Callable

from takeback.errors import InputError
from takeback.state import State
from takeback.synthesize.attempt import Attempt
from takeback.synthesize.loop import Judge, Repair, Settings, repair
from takeback.synthesize.models import ChatModel
from takeback.synthesize.portfolio import repair_with_oracle, repair_with_portfolio
from takeback.synthesize.spec import Spec

Method = Callable[[Attempt, Judge, Settings, State | None], Repair]


def method_of(spec: Spec, model: ChatModel | None) -> Method:
    """The method a specification names; `model` is the one behind it, where it has one."""
    if spec.kind == "oracle":
        return repair_with_oracle
    if spec.kind == "portfolio":
        return lambda start, judge, settings, nominal: repair_with_portfolio(start, model, judge, settings, nominal)
    if model is None:
        raise InputError("--synthesizer", found=str(spec), expected="a model that was opened")
    return lambda start, judge, settings, nominal: repair(start, model, judge, settings, nominal)
