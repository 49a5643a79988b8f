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
        "open": [one.to_json() for one in steps if not one.is_doubt],
        "doubt": [one.to_json() for one in steps if one.is_doubt],
    }


def show_open(steps: Sequence[OpenStep]) -> None:
    """Print what is open, each with the way out."""
    for one in steps:
        out.print(localize_hints(f"! {one.describe()}"), style="yellow")


def describe_grade(verdict: Verdict) -> str:
    """Return the grade of a verdict, with its class beside it where something stays."""
    return with_class(verdict.grade.value, verdict.to_json())


def with_class(grade: str, evidence: Mapping[str, Any]) -> str:
    """Return a grade with the class beside it, by the JSON of a verdict; the grade alone where nothing stays."""
    from takeback.state.surfaces.calls import describe_stays  # noqa: PLC0415 - start-up

    told = describe_stays(evidence.get("class", ""), evidence.get("stays", ()))
    return f"{grade}, {told}" if told else grade
