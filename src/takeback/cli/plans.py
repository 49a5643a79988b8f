"""A plan in lines, each with its style: what it keeps, when it takes effect, which entries are not like others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from takeback.cli.here import here
from takeback.cli.workspaces import SHORT
from takeback.harness import Harness
from takeback.harness.drift import Footing, refuse_drift
from takeback.journal import Record
from takeback.present.looser import weigh_plan
from takeback.present.plans import elsewhere_lines, kept_lines
from takeback.undo import Plan

SEVERAL = "can be read in several ways from the versions alone; it was recorded as shown"
Styled = tuple[str, str]
"""A text and its style."""


def notes_of(plan: Plan, harness: Harness, *, done: bool = False) -> Iterator[Styled]:
    """What there is to say of a plan beside its changes."""
    for path in plan.layout:
        yield f"{path}: comments, formatting or permission bits", ""
    effect = ", ".join(harness.effect_of(plan))
    if effect:
        yield f"takes effect: {effect}", ""
    for reason in weigh_plan(harness, plan):
        yield f"looser: {reason}", "yellow"
    for line in kept_lines(plan, done=done):
        yield line, "yellow"
    for number in plan.unadmitted:
        how = unadmitted_because(harness.journal.get(number))
        yield f"note: {named(number, harness)} has no admitted recovery: it was {how}", "yellow"
    for number, address in ambiguous(plan, harness):
        yield f"note: what {named(number, harness)} did to {address} {SEVERAL}", "yellow"
    if not done:
        yield from drift_notes(harness.drift_beside(plan))


def drift_notes(footing: Footing) -> Iterator[Styled]:
    """What was changed outside Takeback beside a change: where it writes, and elsewhere."""
    refused = refuse_drift(footing)
    if refused is not None:
        yield here(f"it would be refused now: {refused.message}"), "red"
    for line in elsewhere_lines(footing.elsewhere, footing.unread):
        yield here(line), "yellow"


def unadmitted_because(record: Record) -> str:
    """Why an entry has no admitted recovery."""
    match record.kind:
        case "apply":
            return "forced"
        case "salvage":
            return "what was left of another undo"
        case _:
            return "made outside Takeback and adopted"


def ambiguous(plan: Plan, harness: Harness) -> Iterator[tuple[int, str]]:
    """Entries of a plan that were adopted from versions which allow several readings, and where."""
    for number in (*plan.off, *plan.on):
        found: Any = harness.journal.get(number).payload.get("ambiguous", ())
        yield from ((number, str(address)) for address in found)


def toggled(plan: Plan, harness: Harness, off: str, on: str) -> str:
    """Which entries a plan takes back and brings back, with the verbs to say it."""
    told = [f"{verb} {names(found, harness)}" for verb, found in ((off, plan.off), (on, plan.on)) if found]
    return ", ".join(told) or f"{off} nothing"


def names(numbers: Iterable[int], harness: Harness) -> str:
    """Entries, listed."""
    return ", ".join(named(number, harness) for number in numbers)


def named(number: int, harness: Harness) -> str:
    """An entry, by id and number."""
    return f"{harness.journal.get(number).id[:SHORT]} (#{number})"
