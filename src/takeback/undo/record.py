"""Runs of mutations recorded slot by slot, and merges of recorded changes into real things.

What an operation resolved when it ran (a place in a chain, the mode of a file it kept) is part of the
recorded content, so later plans need not run it again. `merge_forward` brings real things from an old state
to a new one, leaf by leaf: what is as it was, or already as it should be, becomes new; anything else belongs
to others and is left alone. Doing it twice changes nothing more, which recovery after a crash relies on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from takeback.state import ABSENT, SURFACES, PMap, State, tree
from takeback.state.chain import is_moved
from takeback.state.part_slots import get_part, get_parts
from takeback.state.parts import FRAME, Parts, is_part, is_place, make_part_name
from takeback.state.slots import (
    Slot,
    find_differing_slots,
    find_written_slots,
    get_slot,
    is_same_content,
    list_slots_above,
    put_slots,
)
from takeback.undo.index import Write

if TYPE_CHECKING:
    from takeback.language import Program
    from takeback.runtime import Receipt
    from takeback.runtime import TracedWrite as Traced

_FRAME: Final = make_part_name(FRAME)


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
        then, (now, receipt) = now, run_forward((op,), now)
        if not receipt.succeeded:
            return Recorded(state, run_forward(mutation, state)[1], ())
        traced += [write._replace(position=at) for write in receipt.writes]
        surface = op.kind.surface
        strict = SURFACES[surface].strict
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
    found: list[Write] = []
    then, now = _Contents(before), _Contents(after)
    for slot in sorted(find_differing_slots(before, after)):
        one, two = then.get(slot), now.get(slot)
        shared = one is ABSENT and SURFACES[slot[0]].listed and any(_list_lengths(two))
        found.append(Write(slot, one, two, needs=_is_needed(then, slot, one, two), shared=shared))
    return tuple(found)


class _Contents:
    """What slots of a state hold; a whole that is asked for one part after the other is divided once."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._whole: Slot | None = None
        self._parts: Parts | None = None

    def get(self, slot: Slot) -> Any:
        """Return the content of a slot."""
        parts = self.parts(slot[:-1]) if is_part(slot[-1]) and slot[-1] != _FRAME else None
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


def merge_forward(actual: State, old: State, new: State) -> tuple[State, tuple[Slot, ...]]:
    """Return `actual` with all that differs between `old` and `new` made new, and the slots left alone."""
    removed: list[tuple[Slot, Any]] = []
    written: list[tuple[Slot, Any]] = []
    foreign: list[Slot] = []
    vanishing: list[Slot] = []
    for slot, before, after in _list_changes(old, new):
        now = _get_leaf(actual, slot)
        if after is ABSENT:
            vanishing.append(slot)
        if not is_same_content(slot, now, before) and not is_same_content(slot, now, after):
            foreign.append(slot)
        elif not is_same_content(slot, now, after):
            (removed if after is ABSENT else written).append((slot, after))
    state = put_slots(actual, [*reversed(removed), *written])
    return _drop_emptied(state, new, vanishing), tuple(foreign)


def _list_changes(old: State, new: State) -> Iterator[tuple[Slot, Any, Any]]:
    for name in SURFACES:
        one, two = old.part(name), new.part(name)
        if one is two:
            continue
        surface = SURFACES[name]
        if not surface.nested:
            for path in surface.differing(one, two):
                yield (name, *path), surface.get_slot(one, path), surface.get_slot(two, path)
            continue
        for path in surface.differing(one, two):
            before, after = (dict(_list_leaves(tree.get(part, path), path)) for part in (one, two))
            for leaf in sorted(before.keys() | after.keys()):
                yield (name, *leaf), before.get(leaf, ABSENT), after.get(leaf, ABSENT)


def _list_leaves(node: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if type(node) is PMap and node:
        for name, below in node.items():
            yield from _list_leaves(below, (*path, name))
    elif node is not ABSENT:
        yield path, node


def _get_leaf(state: State, slot: Slot) -> Any:
    content = get_slot(state, slot)
    if SURFACES[slot[0]].nested and type(content) is PMap and content:
        return ABSENT
    return content


def _drop_emptied(state: State, new: State, slots: list[Slot]) -> State:
    above = {place for slot in slots if SURFACES[slot[0]].nested for place in list_slots_above(slot)}
    for slot in sorted(above, key=len, reverse=True):
        node = get_slot(state, slot)
        if type(node) is PMap and not node and get_slot(new, slot) is ABSENT:
            state = put_slots(state, [(slot, ABSENT)])
    return state
