"""Examines an open harness: replay, drift, broken files, leftovers, and with `deep` every live entry's recovery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from takeback.errors import KEYS_HINT, HarnessError, UnknownSurfaceError
from takeback.harness.cross_check import CrossCheck, cross_check_recovery
from takeback.harness.harness import Harness
from takeback.harness.ledger import CHANGES
from takeback.journal.store import Sealing
from takeback.progress import track_progress
from takeback.state.slots import describe_slot
from takeback.undo import Plan, plan_toggle

SELDOM: Final = {
    CrossCheck.BY_SLOTS: "of the project's files, proved when they were recorded",
    CrossCheck.MISSING: "about a surface that is not installed",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    check: str
    good: bool
    detail: str


def examine_harness(harness: Harness, *, deep: bool = False) -> Iterator[Finding]:
    """Look at an open harness."""
    yield _check_recovery(harness)
    replayed = harness.ledger.replay_state() == harness.state
    yield Finding(
        "replay",
        good=replayed,
        detail="all records that hold their contents add up to the state"
        if replayed
        else "the records do not add up to the state of the last checkpoint",
    )
    yield from _keys(harness)
    status = harness.status()
    for fault in status.broken:
        yield Finding("files", good=False, detail=f"{fault} ('takeback discard {fault.path}' puts it back)")
    for change in status.drift:
        yield Finding("drift", good=False, detail=f"{describe_slot(change.slot)} was changed outside Takeback")
    if not status.drift and not status.broken:
        yield Finding("drift", good=True, detail="no file differs from the journal")
    for path in status.leftovers:
        yield Finding("leftovers", good=False, detail=path)
    if not status.leftovers:
        yield Finding("leftovers", good=True, detail="none")
    for problem in status.problems:
        yield Finding("problems", good=False, detail=problem)
    for note in status.notes:
        yield Finding("notes", good=True, detail=note)
    if deep:
        yield from _check_recoveries(harness)


def _keys(harness: Harness) -> Iterator[Finding]:
    """Say whether the keys of all sealed contents are here; nothing of a journal that is not sealed."""
    journal = harness.journal
    if not isinstance(journal, Sealing) or not journal.key_place:
        return
    lacking, place = journal.count_keyless(), journal.key_place
    if lacking:
        problem = f"{lacking} contents are sealed with keys that are not in {place}; {KEYS_HINT}"
        yield Finding("keys", good=False, detail=problem)
    else:
        yield Finding("keys", good=True, detail=f"the keys of all contents are in {place}")


def _check_recovery(harness: Harness) -> Finding:
    recovered = harness.recovered
    if recovered.fault:
        return Finding("recovery", good=False, detail=recovered.fault)
    if recovered.entry is None:
        return Finding("recovery", good=True, detail="nothing was unfinished")
    done = "gave up" if recovered.given_up else "finished"
    return Finding("recovery", good=True, detail=f"{done} entry {recovered.entry.id[:12]}")


def _check_recoveries(harness: Harness) -> Iterator[Finding]:
    ledger = harness.ledger
    came_to: Counter[CrossCheck] = Counter()
    bad = False
    for record in track_progress("entries compared", ledger.entries(), sum(ledger.tally())):
        if record.kind not in CHANGES or record.entry in ledger.history.undone:
            continue
        try:
            plan = plan_toggle(ledger.history, harness.state, frozenset({record.entry}), frozenset())
            came_to[
                cross_check_recovery(ledger, harness.state, plan) if isinstance(plan, Plan) else CrossCheck.OVERLAID
            ] += 1
        except UnknownSurfaceError:
            came_to[CrossCheck.MISSING] += 1
        except HarnessError as fault:
            bad = True
            yield Finding("recoveries", good=False, detail=fault.message)
    if not bad:
        yield Finding(
            "recoveries",
            good=True,
            detail=f"{came_to[CrossCheck.AGREE]} run and compared, "
            f"{came_to[CrossCheck.OVERLAID]} overlaid by other entries, "
            f"{came_to[CrossCheck.ALONE]} without an admitted recovery"
            + "".join(f", {came_to[name]} {meaning}" for name, meaning in SELDOM.items() if came_to[name]),
        )
