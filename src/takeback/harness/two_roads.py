"""Two roads back, one end: what undo makes of the recorded slots, and what the admitted recovery makes of the model.

An entry was admitted with a witness and a recovery. Where no later live entry touches what it touched or captured,
taking it back by the journal and running its recovery must end in the same state. A difference is a fault: nothing is
changed, and the entry is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum

from takeback.errors import HarnessError, OperationFailed
from takeback.harness.codec import stored_candidate, writes_of
from takeback.harness.ledger import TOGGLES, Ledger, was_admitted
from takeback.journal import Record, Store
from takeback.journal.packing import is_gone
from takeback.language import Candidate
from takeback.runtime import capture, recover
from takeback.state import ABSENT, SURFACES, State, diff
from takeback.state.pmap import EMPTY
from takeback.state.slots import Slot, get_slot, put_slots
from takeback.undo import Plan, Version, Write
from takeback.undo.history import END, LAST, History, View


class Roads(StrEnum):
    """What comparing the two roads came to."""

    AGREE = "agree"
    ALONE = "alone"
    """There is no admitted recovery to compare with."""
    MISSING = "missing"
    """It is about a surface that is not installed."""
    OVERLAID = "overlaid"
    """Other entries touch what the entry touched or captured: the recovery was not made for that."""


def admitted_candidate(store: Store, record: Record) -> Candidate | None:
    """The candidate an entry was admitted with; None for one that was forced, adopted, is no change, or forgotten."""
    return stored_candidate(store, record) if was_admitted(record) else None


def unadmitted(ledger: Ledger, plan: Plan) -> tuple[int, ...]:
    """Entries among those of a plan that have no admitted recovery."""
    return tuple(record.entry for record in ledger.store.many(plan.off + plan.on) if not was_admitted(record))


def compare_roads(ledger: Ledger, state: State, plan: Plan) -> Roads:
    """Run the recoveries of what a plan takes back, newest first, and compare; a difference raises."""
    if plan.on or not plan.off:
        return Roads.ALONE
    reached = state
    view = View(ledger.history.undone, frozenset(plan.off))
    for number in sorted(plan.off, reverse=True):
        record = ledger.store.get(number)
        candidate = admitted_candidate(ledger.store, record)
        writes = writes_of(ledger.store, record)
        if candidate is None or any(is_gone(write.before) for write in writes):
            return Roads.ALONE
        region = {write.slot for write in writes} | set(_named(candidate, reached))
        if any(_written_after(ledger.history, slot, view, number) for slot in region):
            return Roads.OVERLAID
        try:
            before = _before(ledger, reached, writes, view)
            reached = recover(candidate.recovery, reached, capture(candidate.witness, before))
        except OperationFailed as fault:
            return _explained(ledger, plan, f"its recovery fails ({fault.message})")
    if reached == plan.state:
        return Roads.AGREE
    where = next((str(change.address) for change in diff(reached, plan.state)), "the order of a chain")
    return _explained(ledger, plan, f"its recovery and the journal's history differ at {where}")


def _written_after(history: History, slot: Slot, view: View, entry: int) -> bool:
    """Whether a later live entry has written at, above or below a slot."""
    if any(history.next(slot[:depth], view, entry) is not None for depth in range(1, len(slot) + 1)):
        return True
    return next(history.live_below(slot, view, (entry, LAST), END), None) is not None


def _before(ledger: Ledger, state: State, writes: Sequence[Write], view: View) -> State:
    """The state an entry found: what it wrote as it was, and without the containers that it made."""
    found = put_slots(state, [(write.slot, write.before) for write in reversed(writes)])
    above = {write.slot[:depth] for write in writes if write.before is ABSENT for depth in range(2, len(write.slot))}
    for slot in sorted(above, key=len, reverse=True):
        if (
            SURFACES[slot[0]].nested
            and get_slot(found, slot) == EMPTY
            and not ledger.history.is_container(slot, view)
        ):
            found = put_slots(found, [(slot, ABSENT)])
    return found


def _explained(ledger: Ledger, plan: Plan, what: str) -> Roads:
    """Raise, unless an earlier entry that matters here was taken back or brought back since."""
    toggled = _toggled(ledger, ledger.store.get(min(plan.off)).seq + 1)
    for number in sorted(plan.off, reverse=True):
        record = ledger.store.get(number)
        candidate = admitted_candidate(ledger.store, record)
        named = set(_named(candidate, plan.before)) if candidate is not None else set()
        region = {write.slot for write in writes_of(ledger.store, record)} | named
        earlier = {version.entry for version in _versions(ledger, region) if version.entry < number}
        if any(toggled.get(entry, 0) > record.seq for entry in earlier):
            return Roads.OVERLAID
    names = ", ".join(f"{ledger.store.get(number).id[:12]} (#{number})" for number in plan.off)
    raise HarnessError(
        f"entry {names}: {what}; nothing was changed",
        hint="this should never happen: please report it, with the output of 'takeback doctor --deep'",
    )


def _toggled(ledger: Ledger, start: int) -> dict[int, int]:
    """Entries that were taken back or brought back from a record on, with the last record that did."""
    found: dict[int, int] = {}
    for record in ledger.store.records(start):
        if record.kind in TOGGLES:
            found.update(dict.fromkeys((*record.off, *record.on), record.seq))
    return found


def _named(candidate: Candidate, state: State) -> Iterator[Slot]:
    """Slots that a witness or a recovery names in a state: `*` is all that the surface has there."""
    for op in (*candidate.witness, *candidate.recovery):
        name, path = op.kind.surface, op.path
        if op.target == "*":
            yield from ((name, *slot) for slot in SURFACES[name].differing(SURFACES[name].empty, state.part(name)))
        else:
            yield (name, *((path,) if isinstance(path, str) else tuple(path)))


def _versions(ledger: Ledger, slots: set[Slot]) -> Iterator[Version]:
    """Every write at, above and below some slots."""
    index = ledger.history.index
    for slot in slots:
        yield from index.below(slot)
        for depth in range(1, len(slot) + 1):
            yield from index.at(slot[:depth])
