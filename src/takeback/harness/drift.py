"""Drift counts only where a change touches it: what was changed outside Takeback elsewhere is left as it is.

A change is worked out on the journal's state. Where nothing that it writes, or that lies around or in that, was
changed outside Takeback, it is made on the things as they are: what others did stays there, and stays drift. A file
that cannot be read stands in the way only of changes of that file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from takeback.errors import CannotSplice, OperationFailed
from takeback.harness.adapter import Broken
from takeback.harness.engine import Engine, Look
from takeback.harness.recorded import recorded_paths
from takeback.harness.results import Refused, Why
from takeback.language import Program
from takeback.state import ABSENT, SURFACES, PMap, State, diff
from takeback.state.inside import reserve
from takeback.state.parts import is_part
from takeback.state.slots import Slot, get_slot, put_slots, slot_title, whole_of
from takeback.undo import SlotChange, Write
from takeback.undo.recording import run_recorded

SHOWN = 3
"""How many things a refusal names."""


class Footing(NamedTuple):
    """What a change starts from and leads to, as things really are, and what others changed."""

    before: State
    after: State
    touched: tuple[SlotChange, ...] = ()
    """What others changed where the change writes: it cannot be made beside that."""
    elsewhere: tuple[SlotChange, ...] = ()
    """What else they changed; that stays."""
    broken: tuple[Broken, ...] = ()
    """Files that cannot be read and would have to be written."""
    unread: tuple[Broken, ...] = ()
    """Other files that cannot be read."""


def find_footing(
    engine: Engine, look: Look, after: State, changes: Sequence[SlotChange | Write], entries: Collection[int] = ()
) -> Footing:
    """Return what a change of the journal's state into `after` means for things as they are.

    `entries` are those that it takes back or brings back: files that only these changed are touched as well.
    """
    if not look.drift and not look.broken:
        return Footing(engine.ledger.state, after)
    touched = find_touched(look.drift, changes)
    before = look.actual if look.drift else engine.ledger.state
    real = after
    if look.drift and not touched:
        try:
            real = put_changes(before, changes)
        except OperationFailed:  # something stands in the way of a slot
            touched = look.drift
    elsewhere = tuple(change for change in look.drift if change not in touched)
    wrong = _broken_among(engine, look.broken, before, real, entries)
    return Footing(before, real, touched, elsewhere, wrong, tuple(one for one in look.broken if one not in wrong))


def find_touched(drift: Iterable[SlotChange], changes: Sequence[SlotChange | Write]) -> tuple[SlotChange, ...]:
    """Return the drift at, above or below what some changes write."""
    written = {change.slot for change in changes if not _is_container(change)}
    around = {slot[:depth] for slot in written for depth in range(1, len(slot))}
    claims = {slot[0] for slot in written if SURFACES[slot[0]].exclusive}

    def is_touched(slot: Slot) -> bool:
        if slot in written or slot in around or slot[0] in claims:
            return True
        return any(slot[:depth] in written for depth in range(1, len(slot)))

    return tuple(change for change in drift if is_touched(change.slot))


def put_changes(state: State, changes: Iterable[SlotChange | Write]) -> State:
    """Return a state with some changes made in it; a container stays as long as anything is in it."""
    for change in changes:
        there = get_slot(state, change.slot)
        if _is_container(change) and there is not ABSENT and (change.after is not ABSENT or not _is_empty(there)):
            continue
        state = put_slots(state, [(change.slot, change.after)])
    return state


def _is_empty(content: object) -> bool:
    return type(content) is PMap and not content


def _is_container(change: SlotChange | Write) -> bool:
    """Whether a change only makes or removes an empty mapping or directory, which belongs to nobody."""
    contents = [one for one in (change.before, change.after) if one is not ABSENT]
    return len(contents) == 1 and _is_empty(contents[0])


def _broken_among(
    engine: Engine, broken: Sequence[Broken], before: State, after: State, entries: Collection[int]
) -> tuple[Broken, ...]:
    """Return the files that cannot be read and that a change would have to write."""
    adapter = engine.files
    if not broken or adapter is None:
        return tuple(broken)
    try:
        paths = set(adapter.touched(before, after))
    except CannotSplice:  # said by whoever renders it
        paths = set()
    if engine.formatted is not None and entries:
        paths.update(recorded_paths(engine.ledger, entries))
    return tuple(one for one in broken if any(_lies_at(path, one.path) for path in paths))


def _lies_at(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def refuse_drift(footing: Footing) -> Refused | None:
    """Return why a change cannot be made on things as they are, with the ways out; None if it can."""
    if footing.broken:
        fault = footing.broken[0]
        message = f"{fault}; mend it, or put it back with 'takeback discard {fault.path}'"
        return Refused(Why.BROKEN, message, drift=footing.touched, broken=footing.broken)
    if not footing.touched:
        return None
    titles = list(dict.fromkeys(slot_title(whole_of(change.slot)) for change in footing.touched))
    more = f" and {len(titles) - SHOWN} more" if len(titles) > SHOWN else ""
    verb = "was" if len(titles) == 1 else "were"
    return Refused(
        Why.DRIFT,
        f"{', '.join(titles[:SHOWN])}{more} {verb} changed outside Takeback, where this change writes; nothing was "
        "changed: 'takeback adopt' records that as an entry first, 'takeback discard' puts it back",
        drift=footing.touched,
    )


def run_beside(look: Look, known: State, mutation: Program) -> State:
    """Return the state to run a mutation on: the journal's, where no new part gets an id that drift has given."""
    if not look.drift:
        return known
    taken: dict[Slot, list[str]] = {}
    for change in look.drift:
        if is_part(change.slot[-1]) and change.before is ABSENT:
            taken.setdefault(change.slot[:-1], []).append(change.slot[-1])
    surfaces = {op.kind.surface for op in mutation}
    found = [(slot, reserve(get_slot(known, slot), names)) for slot, names in taken.items() if slot[0] in surfaces]
    return put_slots(known, found) if found else known


def does_the_same(mutation: Program, footing: Footing) -> bool:
    """Tell whether a mutation does to things as they are just what it does to the journal's state."""
    there = run_recorded(mutation, footing.before)
    return there.receipt.succeeded and next(diff(there.state, footing.after), None) is None
