"""Slots of whole states: the smallest things an operation writes and an undo takes back.

A slot is a path: the surface, then a key, a config or file path, a middleware id, or an event and a callback, and
for what was edited inside one more name for the part. What is particular to a surface is in the surface.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from sys import intern
from typing import Any, Final

from takeback.canonical import decode, encode
from takeback.state.address import Address, is_frame, is_part
from takeback.state.file_paths import SPARE
from takeback.state.harness_state import State
from takeback.state.operation import Operation
from takeback.state.part_slots import put_parts
from takeback.state.pmap import ABSENT, PMap
from takeback.state.surface import SURFACES, Surface, TreePath
from takeback.state.tree import put_all

Slot = tuple[str, ...]
MANY: Final = 16
"""So many parts of one whole or more are put into it together."""


def format_slot_key(slot: Slot) -> str:
    """Return the slot as a journal's index knows it."""
    return intern(encode(slot, ascii_only=True))


def parse_slot_key(key: str) -> Slot:
    """Return the slot of an index key."""
    return tuple(map(intern, decode(key)))


def is_slot_key(key: str) -> bool:
    """Tell whether an index key stands for a slot; others begin with `@`: files, and what only one slot may hold."""
    return not key.startswith('["@')


def describe_slot(slot: Slot, *states: State) -> str:
    """Return a slot as people write it; a file that was moved by where the first state that has it says it stands."""
    surface = SURFACES.get(slot[0])
    if surface is not None:
        return surface.slot_title(_find_place(surface, slot, states))
    return str(Address(slot[0], "/".join(slot[1:]))) if len(slot) > 1 else slot[0]


def _find_place(surface: Surface, slot: Slot, states: Iterable[State]) -> TreePath:
    whole = find_containing_slot(slot)[1:]
    for state in states:
        content = surface.get_slot(state.part(slot[0]), whole)
        if content is not ABSENT:
            at = getattr(content, "at", None)
            return slot[1:] if at is None else (f"{SPARE}/{at}", *slot[len(whole) + 1 :])
    return slot[1:]


def list_slots_above(slot: Slot) -> list[Slot]:
    """Return the slots that a nested one lies in, the outermost first."""
    return [slot[:depth] for depth in range(2, len(slot))]


def find_containing_slot(slot: Slot) -> Slot:
    """Return the slot of the value that a part lies in; the slot itself where it is none."""
    return slot[:-1] if is_part(slot[-1]) else slot


def dump_state(state: State) -> dict[str, Any]:
    """Return the state as JSON that brings back every place; surfaces that are empty are left out."""
    return {
        name: surface.dump(part)
        for name, surface in SURFACES.items()
        if (part := state.part(name)) is not surface.empty and surface.is_worth_storing(part)
    }


def get_slot(state: State, slot: Slot) -> Any:
    """Return the content of a slot in a state."""
    return SURFACES[slot[0]].get_slot(state.part(slot[0]), slot[1:])


def put_slots(state: State, contents: Iterable[tuple[Slot, Any]]) -> State:
    """Return the state with other contents in some slots, set in the order given."""
    contents = contents if isinstance(contents, Sequence) else list(contents)
    put = _put_in_trees(state, contents) if len(contents) >= MANY else None
    return _put_in_order(state, contents) if put is None else put


def _put_in_trees(state: State, contents: Sequence[tuple[Slot, Any]]) -> State | None:
    """Return the state with other contents in many slots of trees; None where that is not all, or in no order."""
    by_surface: dict[str, list[tuple[TreePath, Any]]] = {}
    for slot, content in contents:
        by_surface.setdefault(slot[0], []).append((slot[1:], content))
    parts = state.parts.copy()
    for name, below in by_surface.items():
        part = parts[name] if name in parts else state.part(name)
        if not SURFACES[name].nested or type(part) is not PMap or not all(path for path, _ in below):
            return None
        put = put_all(part, below)
        if put is None:
            return None
        parts[name] = put
    return State.of(parts)


def _put_in_order(state: State, contents: Iterable[tuple[Slot, Any]]) -> State:
    parts = state.parts.copy()
    for (whole, _), group in groupby(contents, key=lambda pair: _group_slot(pair[0])):
        items = list(group)
        name = whole[0]
        surface, part = SURFACES[name], parts[name] if name in parts else state.part(name)
        together = _put_together(surface, part, whole[1:], items) if len(items) >= MANY else None
        if together is None:
            for slot, content in items:
                part = surface.put_slot(part, slot[1:], content)
        parts[name] = part if together is None else together
    return State.of(parts)


def _group_slot(slot: Slot) -> tuple[Slot, bool]:
    """Return what lets slots be put together: that they are parts of one whole, none or all of them of its frame."""
    return find_containing_slot(slot), is_frame(slot[-1])


def _put_together(surface: Surface, part: Any, path: TreePath, contents: Sequence[tuple[Slot, Any]]) -> Any:
    """A surface's value with many parts of one whole put at once; None where they are not parts of one."""
    if any(len(slot) != len(path) + 2 for slot, _ in contents):
        return None
    changed = put_parts(surface.get_slot(part, path), [(slot[-1], content) for slot, content in contents])
    return None if changed is None else surface.put_slot(part, path, changed)


def find_differing_slots(before: State, after: State) -> Iterator[Slot]:
    """Yield the slots in which two states differ; cost follows what changed."""
    for name, surface in SURFACES.items():
        old, new = before.part(name), after.part(name)
        if old is not new:
            yield from ((name, *path) for path in surface.differing(old, new))


def transfer_places(fresh: State, known: State) -> State:
    """Return a freshly read state with the places and identities that the known one has."""
    changed = {
        name: surface.transfer_places(fresh.part(name), known.part(name))
        for name, surface in SURFACES.items()
        if fresh.part(name) is not known.part(name)
    }
    return State.of({**fresh.parts, **changed}) if changed else fresh


def is_same_content(slot: Slot, old: Any, new: Any) -> bool:
    """Tell whether a slot holds the same in both, place included."""
    if old is new:
        return True
    if old is ABSENT or new is ABSENT:
        return False
    return SURFACES[slot[0]].is_identical(old, new)


def find_written_slots(op: Operation, before: Any, after: Any) -> Iterator[TreePath]:
    """Yield the slots that `op` wrote: its own (also where the value was the same), or whatever differs."""
    surface = SURFACES[op.kind.surface]
    own = None if op.kind.inside else surface.find_written_slots(op)
    yield from surface.differing(before, after) if own is None else own
