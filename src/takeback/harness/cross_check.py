"""A cross-check of undo: the recorded slots and the admitted recovery must end in the same state.

An entry was admitted with a witness and a recovery. Where no later live entry touches what it touched or
captured, undoing it by the journal and running its recovery must give the same result. A difference is a
fault: nothing is changed, and the entry is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from takeback.errors import HarnessError, OperationFailed
from takeback.harness.ledger import TOGGLES, Ledger, has_admitted_recovery
from takeback.harness.records import load_candidate, load_record_writes, read_slots, with_evidence
from takeback.journal import Record, Store
from takeback.language import Candidate
from takeback.runtime import capture, recover
from takeback.state import ABSENT, SURFACES, State, diff
from takeback.state.forgotten import has_forgotten
from takeback.state.pmap import EMPTY
from takeback.state.slots import Slot, get_slot, put_slots
from takeback.undo import Plan, Version, Write
from takeback.undo.history import END, LAST, History, View


class CrossCheck(StrEnum):
    """What comparing the two roads came to."""

    AGREE = "agree"
    ALONE = "alone"
    """There is no admitted recovery to compare with."""
    BY_SLOTS = "by slots"
    """It was proved when it was recorded; the project's files, which no operation writes, go back by slots alone."""
    MISSING = "missing"
    """It is about a surface that is not installed."""
    OVERLAID = "overlaid"
    """Other entries touch what the entry touched or captured: the recovery was not made for that."""


def load_admitted_candidate(store: Store, record: Record) -> Candidate | None:
    """Return the candidate an entry was admitted with, or that was proved for it later; None if there is none."""
    admitted = with_evidence(store, record)
    return load_candidate(store, admitted) if has_admitted_recovery(admitted) else None


def list_unadmitted(ledger: Ledger, plan: Plan) -> tuple[int, ...]:
    """Return the entries of a plan that have no admitted recovery."""
    return tuple(
        record.entry
        for record in ledger.store.many(plan.off + plan.on)
        if not has_admitted_recovery(with_evidence(ledger.store, record))
    )


def cross_check_recovery(ledger: Ledger, state: State, plan: Plan) -> CrossCheck:
    """Run the recoveries of what a plan takes back, newest first, and compare; a difference raises."""
    if plan.on or not plan.off:
        return CrossCheck.ALONE
    reached = state
    view = View(ledger.history.undone, frozenset(plan.off))
    for number in sorted(plan.off, reverse=True):
        record = ledger.store.get(number)
        if not all(SURFACES[name].kinds for name in {slot[0] for slot in read_slots(record)}):
            proved = has_admitted_recovery(with_evidence(ledger.store, record))
            return CrossCheck.BY_SLOTS if proved else CrossCheck.ALONE
        candidate = load_admitted_candidate(ledger.store, record)
        if candidate is None:
            return CrossCheck.ALONE
        writes = load_record_writes(ledger.store, record)
        if any(has_forgotten(write.before) for write in writes):
            return CrossCheck.ALONE
        region = {write.slot for write in writes} | set(_iter_named_slots(candidate, reached))
        if any(_has_later_write(ledger.history, slot, view, number) for slot in region):
            return CrossCheck.OVERLAID
        try:
            before = _rebuild_before(ledger, reached, writes, view)
            reached = recover(candidate.recovery, reached, capture(candidate.witness, before))
        except OperationFailed as fault:
            return _explain_difference(ledger, plan, f"its recovery fails ({fault.message})")
    if reached == plan.state:
        return CrossCheck.AGREE
    where = next((str(change.address) for change in diff(reached, plan.state)), "the order of a chain")
    return _explain_difference(ledger, plan, f"its recovery and the journal's history differ at {where}")


def _has_later_write(history: History, slot: Slot, view: View, entry: int) -> bool:
    if any(history.next(slot[:depth], view, entry) is not None for depth in range(1, len(slot) + 1)):
        return True
    return next(history.live_below(slot, view, (entry, LAST), END), None) is not None


def _rebuild_before(ledger: Ledger, state: State, writes: Sequence[Write], view: View) -> State:
    """Return the state before an entry: its slots as they were, without the containers that it made."""
    rebuilt = put_slots(state, [(write.slot, write.before) for write in reversed(writes)])
    above = {write.slot[:depth] for write in writes if write.before is ABSENT for depth in range(2, len(write.slot))}
    for slot in sorted(above, key=len, reverse=True):
        if (
            SURFACES[slot[0]].nested
            and get_slot(rebuilt, slot) == EMPTY
            and not ledger.history.is_container(slot, view)
        ):
            rebuilt = put_slots(rebuilt, [(slot, ABSENT)])
    return rebuilt


def _explain_difference(ledger: Ledger, plan: Plan, what: str) -> CrossCheck:
    """Raise, unless an earlier entry that matters here was taken back or brought back since."""
    toggled = _list_toggled(ledger, ledger.store.get(min(plan.off)).seq + 1)
    for number in sorted(plan.off, reverse=True):
        record = ledger.store.get(number)
        candidate = load_admitted_candidate(ledger.store, record)
        named = set(_iter_named_slots(candidate, plan.before)) if candidate is not None else set()
        region = {write.slot for write in load_record_writes(ledger.store, record)} | named
        earlier = {version.entry for version in _iter_versions(ledger, region) if version.entry < number}
        if any(toggled.get(entry, 0) > record.seq for entry in earlier):
            return CrossCheck.OVERLAID
    names = ", ".join(f"{ledger.store.get(number).id[:12]} (#{number})" for number in plan.off)
    raise HarnessError(
        f"entry {names}: {what}; nothing was changed",
        hint="this should not happen: please report it, with the output of 'takeback doctor --deep'",
    )


def _list_toggled(ledger: Ledger, start: int) -> dict[int, int]:
    toggled: dict[int, int] = {}
    for record in ledger.store.records(start):
        if record.kind in TOGGLES:
            toggled.update(dict.fromkeys((*record.off, *record.on), record.seq))
    return toggled


def _iter_named_slots(candidate: Candidate, state: State) -> Iterator[Slot]:
    """Yield slots that a witness or a recovery names in a state: `*` is all that the surface has there."""
    for op in (*candidate.witness, *candidate.recovery):
        name, path = op.kind.surface, op.path
        if op.target == "*":
            yield from ((name, *slot) for slot in SURFACES[name].differing(SURFACES[name].empty, state.part(name)))
        else:
            yield (name, *((path,) if isinstance(path, str) else tuple(path)))


def _iter_versions(ledger: Ledger, slots: set[Slot]) -> Iterator[Version]:
    index = ledger.history.index
    for slot in slots:
        yield from index.below(slot)
        for depth in range(1, len(slot) + 1):
            yield from index.at(slot[:depth])
