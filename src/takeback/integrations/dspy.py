"""A gate for DSPy (extra `dspy`), through its GEPA optimizer: instructions of predictors as prompts of a harness.

`gate_options` goes into `dspy.GEPA`; merging is off in it, because GEPA never asks about merges. What any optimizer
compiled, also one that asks nobody, is recorded only if it can be taken back: `record_program`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from takeback.errors import InputError
from takeback.harness import Applied, Harness, Refused
from takeback.integrations.evolver_checks import build_prompts_check, record_prompts
from takeback.integrations.gepa import CheckedAcceptance


def read_instructions(program: Any) -> dict[str, str]:
    """Return the instructions of a DSPy program, by the names of its predictors."""
    return {name: predictor.signature.instructions for name, predictor in program.named_predictors()}


def build_gepa_options(student: Any, bound: Mapping[str, str], *, merge: bool = False) -> dict[str, Any]:
    """Return options of `dspy.GEPA` under which only what can be taken back is kept.

    `bound` names the prompt of the harness for each predictor that has one. With `merge`, merged programs are not
    checked before the end: `record_program` refuses them then.
    """
    start = read_instructions(student)
    unknown = sorted(set(bound) - set(start))
    if unknown:
        raise InputError("bound", found=", ".join(unknown), expected=f"predictors: {', '.join(start)}")
    criterion = CheckedAcceptance(build_prompts_check(bound, start))
    return {"use_merge": merge, "gepa_kwargs": {"acceptance_criterion": criterion}}


def record_program(
    harness: Harness, student: Any, compiled: Any, bound: Mapping[str, str], *, note: str = "", by: str = ""
) -> Applied | Refused | None:
    """Make a compiled program's instructions the harness's prompts, as one entry; None if they are that already.

    A program in which something else changed than what is bound is an `InputError`.
    """
    texts = read_instructions(compiled)
    reasons = build_prompts_check(bound, read_instructions(student))(texts)
    if reasons:
        raise InputError("the compiled program", found="; ".join(reasons), expected="one that can be taken back")
    return record_prompts(harness, bound, texts, note=note, by=by)
