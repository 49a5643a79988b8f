"""Calls that stay, and calls that have not ended, as commands print them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from takeback.cli.hints import localize_hints
from takeback.cli.output import out

if TYPE_CHECKING:
    from takeback.harness.calls_steps import OpenStep
    from takeback.verify import Verdict


def open_to_json(steps: Sequence[OpenStep]) -> dict[str, Any]:
    """Return what is open and what is in doubt, as JSON; nothing where nothing is."""
    if not steps:
        return {}
    return {
        "open": [step.to_json() for step in steps if not step.is_doubt],
        "doubt": [step.to_json() for step in steps if step.is_doubt],
    }


def show_open(steps: Sequence[OpenStep]) -> None:
    """Print what is open, each with the way out."""
    for step in steps:
        out.print(localize_hints(f"! {step.describe()}"), style="yellow")


def describe_grade(verdict: Verdict) -> str:
    """Return the grade of a verdict, with its class beside it where something stays."""
    return with_class(verdict.grade.value, verdict.to_json())


def with_class(grade: str, evidence: Mapping[str, Any]) -> str:
    """Return a grade with the class beside it, by the JSON of a verdict; the grade alone where nothing stays."""
    from takeback.state.surfaces.calls import describe_stays  # noqa: PLC0415 - start-up

    stays = describe_stays(evidence.get("class", ""), evidence.get("stays", ()))
    return f"{grade}, {stays}" if stays else grade
