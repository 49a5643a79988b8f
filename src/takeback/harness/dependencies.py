"""Dependencies between entries: one depends on another if undoing that would have to undo it too.

The planner itself is asked, entry by entry, so that the answer is the one an undo would give.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from takeback.errors import UnknownSurfaceError
from takeback.harness.ledger import Ledger
from takeback.harness.outcomes import PlanOutcome, refuse_not_installed, skip_uninstalled
from takeback.state import SURFACES
from takeback.state.address import PATH, make_part_name
from takeback.undo import Blocked, Plan, plan_toggle
from takeback.undo.clashes import list_rivals
from takeback.undo.index import find_write_claim

MOST: Final = 100
"""So many earlier entries are asked about at most, the nearest."""


def find_dependents(ledger: Ledger, number: int) -> tuple[tuple[int, str], ...]:
    """Return later entries that an entry could not be taken back without, and why; none if it is not live."""
    if number in ledger.history.undone:
        return ()
    outcome = _plan_without(ledger, number)
    return outcome.reasons if isinstance(outcome, Blocked) else ()


def find_dependencies(ledger: Ledger, number: int) -> tuple[tuple[int, str], ...]:
    """Return earlier entries that could not be taken back without this one, and why."""
    if number in ledger.history.undone:
        return ()
    dependencies: list[tuple[int, str]] = []
    for earlier in _find_nearest(ledger, number):
        why = dict(find_dependents(ledger, earlier)).get(number)
        if why is not None:
            dependencies.append((earlier, why))
    return tuple(dependencies)


def find_all_dependencies(ledger: Ledger, numbers: Iterable[int]) -> dict[int, set[int]]:
    """Return, for entries that depend on some of these, on which: undoing those would have to undo them too."""
    dependencies: dict[int, set[int]] = {}
    for number in numbers:
        for later, _ in find_dependents(ledger, number):
            dependencies.setdefault(later, set()).add(number)
    return dependencies


def find_later_writers(ledger: Ledger, number: int) -> tuple[int, ...]:
    """Return later entries that wrote again what this one wrote, and would stay if it were taken back."""
    if number in ledger.history.undone:
        return ()
    outcome = _plan_without(ledger, number)
    plan = outcome.together if isinstance(outcome, Blocked) else outcome
    return tuple(sorted({overwritten.entry for overwritten in plan.kept})) if isinstance(plan, Plan) else ()


def _plan_without(ledger: Ledger, number: int) -> PlanOutcome:
    try:
        return plan_toggle(ledger.history, ledger.state, (number,), ())
    except UnknownSurfaceError as fault:
        return refuse_not_installed(fault)


def _find_nearest(ledger: Ledger, number: int) -> list[int]:
    """Return live entries before this one that wrote at, above or below its slots, or held what it claims."""
    index, undone = ledger.history.index, ledger.history.undone
    entries: set[int] = set()
    for write in skip_uninstalled(index.writes(number), ledger.missing):
        slot, surface = write.slot, SURFACES[write.slot[0]]
        depths = range(2, len(slot) + 1) if surface.nested else (len(slot),)
        versions = [version for depth in depths for version in index.at(slot[:depth])]
        if surface.nested:
            versions += index.below(slot)
        claim = find_write_claim(write) if surface.exclusive else None
        if claim is not None:
            held = ledger.history.holders(surface.name, claim) - {slot}
            versions += [version for other in held for version in index.at(other)]
        rivals = list_rivals(ledger.history, write) if surface.movable else ()
        paths = [(*rival, make_part_name(PATH)) for rival in rivals]
        versions += [version for other in (*rivals, *paths) for version in index.at(other)]
        entries |= {version.entry for version in versions if version.entry < number}
    return sorted(entries - undone, reverse=True)[:MOST]
