"""Runs of mutations, and changes made by others, recorded slot by slot.

What an operation resolved when it ran (a place in a chain, the mode of a file it kept) is part of the
recorded content, so later plans need not run it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from takeback.state import ABSENT, SURFACES, PMap, State
from takeback.state.address import is_frame, is_part, is_place
from takeback.state.chain import is_moved
from takeback.state.file import File
from takeback.state.part_slots import get_part, get_parts, list_differing_frames
from takeback.state.parts import Parts
from takeback.state.slots import (
    Slot,
    find_differing_slots,
    find_written_slots,
    get_slot,
)
from takeback.undo.index import Write

if TYPE_CHECKING:
    from takeback.language import Program
    from takeback.runtime import Receipt
    from takeback.runtime import TracedWrite as Traced


@dataclass(frozen=True, slots=True)
class Recorded:
    """A mutation that was run: the state after it, its receipt, and its writes (none if it failed)."""

    state: State
    receipt: Receipt
    writes: tuple[Write, ...]


def run_and_record(mutation: Program, state: State) -> Recorded:
    """Run a mutation on a state; on failure the state is as before."""
    from takeback.runtime import Receipt, run_forward  # noqa: PLC0415 - start-up

    writes: list[Write] = []
    traced: list[Traced] = []
    now = state
    for at, op in enumerate(mutation):
        why = SURFACES[op.kind.surface].why_moved(state.part(op.kind.surface), op)
        if why is not None:
            return Recorded(state, Receipt((), at, f"mutation[{at}] {op.kind.name}: {why}"), ())
        then, (now, receipt) = now, run_forward((op,), now)
        if not receipt.succeeded:
            return Recorded(state, run_forward(mutation, state)[1], ())
        traced += [write._replace(position=at) for write in receipt.writes]
        surface = op.kind.surface
        strict = SURFACES[surface].strict and not op.kind.clears
        for path in find_written_slots(op, then.part(surface), now.part(surface)):
            slot = (surface, *path)
            before, after = get_slot(then, slot), get_slot(now, slot)
            edits = SURFACES[surface].can_merge_in_place(before) and SURFACES[surface].can_merge_in_place(after)
            needs = before is not ABSENT and (op.kind.needs or edits)
            shared = before is ABSENT and SURFACES[surface].listed and set(_list_lengths(after)) == {1}
            writes.append(Write(slot, before, after, strict and not is_part(slot[-1]), None, needs, shared))
    return Recorded(now, Receipt(tuple(traced)), tuple(writes))


def list_writes_between(before: State, after: State) -> tuple[Write, ...]:
    """Return what turns one state into another, as writes: for changes made by others."""
    writes: list[Write] = []
    then, now = _Contents(before), _Contents(after)
    for slot in sorted(find_differing_slots(before, after)):
        old, new = then.get(slot), now.get(slot)
        shared = old is ABSENT and SURFACES[slot[0]].listed and any(_list_lengths(new))
        bare = isinstance(old, File) and isinstance(new, File) and old.kind == new.kind
        strict = SURFACES[slot[0]].movable and old is ABSENT and isinstance(new, File)
        needs = _is_needed(then, slot, old, new)
        writes.append(Write(slot, old, new, strict, needs=needs, shared=shared, bare=bare))
        frames = list_differing_frames(old, new) if bare else ()
        writes += [Write((*slot, name), get_part(old, name), get_part(new, name)) for name in frames]
    return tuple(writes)


class _Contents:
    """What slots of a state hold; a whole that is asked for one part after the other is divided once."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._whole: Slot | None = None
        self._parts: Parts | None = None

    def get(self, slot: Slot) -> Any:
        """Return the content of a slot."""
        parts = self.parts(slot[:-1]) if is_part(slot[-1]) and not is_frame(slot[-1]) else None
        return get_slot(self._state, slot) if parts is None else get_part(parts, slot[-1])

    def parts(self, whole: Slot) -> Parts | None:
        """Return the parts of a whole; None where it has none."""
        if whole != self._whole:
            self._whole, self._parts = whole, get_parts(get_slot(self._state, whole))
        return self._parts


def _list_lengths(content: Any) -> Iterator[int]:
    """Yield how long each list in a content is that others could add items to."""
    from takeback.state.items import Items  # noqa: PLC0415 - start-up

    if type(content) is PMap:
        for name in content:
            yield from _list_lengths(content[name])
    elif type(content) is tuple or isinstance(content, Items):
        yield len(content)


def _is_needed(contents: _Contents, slot: Slot, before: Any, after: Any) -> bool:
    """Tell whether a change made by others could not have happened without what was there before.

    What was moved, an element that was changed in place and an item that was taken out had to be there. A line that
    was rewritten or taken out was not needed: whoever wrote it last decides about it. Where a line or item was moved
    to says nothing about whether it is there.
    """
    from takeback.state.items import Items  # noqa: PLC0415 - start-up

    if before is ABSENT or is_place(slot[-1]):
        return False
    if not is_part(slot[-1]):
        return after is not ABSENT and SURFACES[slot[0]].ordered
    if after is not ABSENT:
        return is_moved(before, after)
    return isinstance(contents.parts(slot[:-1]), Items)
