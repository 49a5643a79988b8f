"""Brings real things from an old state to a new one when some are already there and some were changed by others.

Leaf by leaf: what is as it was, or already as it should be, becomes new; anything else is someone else's and
is left alone. Doing it twice changes nothing more, which is what recovery after a crash rests on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from takeback.state import ABSENT, SURFACES, PMap, State, tree
from takeback.state.slots import Slot, get_slot, put_slots, same_content, slots_above


def bring_forward(actual: State, old: State, new: State) -> tuple[State, tuple[Slot, ...]]:
    """`actual` with everything that differs between `old` and `new` made new; and the slots left alone."""
    removed: list[tuple[Slot, Any]] = []
    written: list[tuple[Slot, Any]] = []
    foreign: list[Slot] = []
    vanishing: list[Slot] = []
    for slot, before, after in _changes(old, new):
        now = _leaf(actual, slot)
        if after is ABSENT:
            vanishing.append(slot)
        if not same_content(slot, now, before) and not same_content(slot, now, after):
            foreign.append(slot)
        elif not same_content(slot, now, after):
            (removed if after is ABSENT else written).append((slot, after))
    state = put_slots(actual, [*reversed(removed), *written])
    return _without_empty(state, new, vanishing), tuple(foreign)


def _changes(old: State, new: State) -> Iterator[tuple[Slot, Any, Any]]:
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
            before, after = (dict(_leaves(tree.get(part, path), path)) for part in (one, two))
            for leaf in sorted(before.keys() | after.keys()):
                yield (name, *leaf), before.get(leaf, ABSENT), after.get(leaf, ABSENT)


def _leaves(node: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if type(node) is PMap and node:
        for name, below in node.items():
            yield from _leaves(below, (*path, name))
    elif node is not ABSENT:
        yield path, node


def _leaf(state: State, slot: Slot) -> Any:
    content = get_slot(state, slot)
    if SURFACES[slot[0]].nested and type(content) is PMap and content:
        return ABSENT
    return content


def _without_empty(state: State, new: State, slots: list[Slot]) -> State:
    """Take away containers that were emptied and are not in the new state."""
    above = {place for slot in slots if SURFACES[slot[0]].nested for place in slots_above(slot)}
    for slot in sorted(above, key=len, reverse=True):
        node = get_slot(state, slot)
        if type(node) is PMap and not node and get_slot(new, slot) is ABSENT:
            state = put_slots(state, [(slot, ABSENT)])
    return state
