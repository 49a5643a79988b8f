"""What depends on what: an entry depends on another if taking that back would have to take it along.

Asked of the planner itself, entry by entry, so that it says what an undo would say.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from takeback.errors import UnknownSurfaceError
from takeback.harness.ledger import Ledger
from takeback.harness.missing import installed, not_installed
from takeback.harness.results import PlanOutcome
from takeback.state import SURFACES
from takeback.undo import Blocked, Plan, plan_toggle
from takeback.undo.index import claim_of

MOST: Final = 100
"""So many earlier entries are asked about at most, the nearest."""


def dependents(ledger: Ledger, number: int) -> tuple[tuple[int, str], ...]:
    """Later entries that an entry could not be taken back without, and why; nothing for one that is not live."""
    if number in ledger.history.undone:
        return ()
    outcome = _without(ledger, number)
    return outcome.reasons if isinstance(outcome, Blocked) else ()


def needs(ledger: Ledger, number: int) -> tuple[tuple[int, str], ...]:
    """Earlier entries that could not be taken back without this one, and why."""
    if number in ledger.history.undone:
        return ()
    found: list[tuple[int, str]] = []
    for earlier in _nearest(ledger, number):
        why = dict(dependents(ledger, earlier)).get(number)
        if why is not None:
            found.append((earlier, why))
    return tuple(found)


def all_needs(ledger: Ledger, numbers: Iterable[int]) -> dict[int, set[int]]:
    """For entries that depend on some of these, which: taking one of those back would have to take them along."""
    found: dict[int, set[int]] = {}
    for number in numbers:
        for later, _ in dependents(ledger, number):
            found.setdefault(later, set()).add(number)
    return found


def kept_by(ledger: Ledger, number: int) -> tuple[int, ...]:
    """Later entries that wrote again what this one wrote, which would stay if it were taken back."""
    if number in ledger.history.undone:
        return ()
    outcome = _without(ledger, number)
    plan = outcome.together if isinstance(outcome, Blocked) else outcome
    return tuple(sorted({one.entry for one in plan.kept})) if isinstance(plan, Plan) else ()


def _without(ledger: Ledger, number: int) -> PlanOutcome:
    """What taking an entry back would do."""
    try:
        return plan_toggle(ledger.history, ledger.state, (number,), ())
    except UnknownSurfaceError as fault:
        return not_installed(fault)


def _nearest(ledger: Ledger, number: int) -> list[int]:
    """Live entries before this one that wrote at, above or below its slots, or held what it claims."""
    index, undone = ledger.history.index, ledger.history.undone
    found: set[int] = set()
    for write in installed(index.writes(number), ledger.missing):
        slot, surface = write.slot, SURFACES[write.slot[0]]
        depths = range(2, len(slot) + 1) if surface.nested else (len(slot),)
        versions = [version for depth in depths for version in index.at(slot[:depth])]
        if surface.nested:
            versions += index.below(slot)
        claim = claim_of(write) if surface.exclusive else None
        if claim is not None:
            held = ledger.history.holders(surface.name, claim) - {slot}
            versions += [version for other in held for version in index.at(other)]
        found |= {version.entry for version in versions if version.entry < number}
    return sorted(found - undone, reverse=True)[:MOST]
