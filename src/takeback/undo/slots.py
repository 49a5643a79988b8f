"""Slots: the smallest things an operation writes and an undo takes back, in whole states.

A slot is a path: the surface, then a key, a config or file path, a middleware id, or an event and a callback.
What is particular to a surface is in `shapes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from takeback.state import ABSENT, SURFACES, Level, Operation, State
from takeback.undo.shapes import Path, Shape, Slot, shape_of, slot_key, slot_of_key

__all__ = [
    "Path",
    "Shape",
    "Slot",
    "differing_slots",
    "dump_state",
    "get_slot",
    "load_state",
    "put_slots",
    "same_content",
    "shape_of",
    "slot_key",
    "slot_of_key",
    "slots_written",
]


def dump_state(state: State) -> dict[str, Any]:
    """The state as JSON that brings back every place; surfaces that are empty are left out."""
    return {
        name: shape_of(name).dump(state.part(name))
        for name, surface in SURFACES.items()
        if surface.size(state.part(name))
    }


def load_state(raw: Any) -> State:
    """The inverse of `dump_state`."""
    return State({name: shape_of(name).load(part) for name, part in raw.items()})


def get_slot(state: State, slot: Slot) -> Any:
    """Content of a slot in a state."""
    return shape_of(slot[0]).get(state.part(slot[0]), slot[1:])


def put_slots(state: State, contents: list[tuple[Slot, Any]]) -> State:
    """The state with other contents in some slots, set in the order given."""
    parts = state.parts.copy()
    for slot, content in contents:
        name = slot[0]
        parts[name] = shape_of(name).put(state.part(name) if name not in parts else parts[name], slot[1:], content)
    return State.of(parts)


def differing_slots(before: State, after: State) -> Iterator[Slot]:
    """Slots in which two states differ; cost follows what changed."""
    for name in SURFACES:
        one, two = before.part(name), after.part(name)
        if one is not two:
            yield from ((name, *path) for path in shape_of(name).differing(one, two))


def same_content(slot: Slot, one: Any, two: Any) -> bool:
    """Whether a slot holds the same in both, place included."""
    if one is two:
        return True
    if one is ABSENT or two is ABSENT:
        return False
    return shape_of(slot[0]).alike(one, two)


def slots_written(op: Operation, before: Any, after: Any) -> Iterator[Path]:
    """Slots that `op` wrote: its own (also where the value was the same), or whatever differs."""
    shape = shape_of(op.kind.surface)
    own = shape.own(op) if Level.L1.includes(op.kind.level) else None
    if own is not None:
        yield own
    else:
        yield from shape.differing(before, after)
