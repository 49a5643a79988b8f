"""Holes in a state: places whose value was forgotten while it was in use, and how they are filled again.

The journal knows that something is there, of what kind, where in its chain and with which mode, but not the value.
What is really there has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from takeback.journal.packing import Forgotten, is_gone
from takeback.state import ABSENT, SURFACES, PMap, State
from takeback.state.chain import Link
from takeback.state.file import File
from takeback.state.slots import Slot, get_slot, put_slots
from takeback.state.values import same


def without_holes(state: State, holes: Mapping[Slot, Any]) -> State:
    """The state without the places whose values are gone."""
    return put_slots(state, [(slot, ABSENT) for slot in holes]) if holes else state


def found_holes(slot: Slot, content: Any) -> Iterator[tuple[Slot, Any]]:
    """Places at and below a slot whose values are gone, and what stands there instead."""
    if isinstance(content, Forgotten) or (isinstance(content, Link) and is_gone(content)):
        yield slot, content
    elif isinstance(content, PMap) and SURFACES[slot[0]].nested:
        for name, item in content.items():
            yield from found_holes((*slot, name), item)


def filling(slot: Slot, gone: Any, actual: State) -> Any:
    """What fills a hole, from what is really there; ABSENT if that is no such thing."""
    content = get_slot(actual, slot)
    if content is ABSENT or is_gone(content):
        return ABSENT
    if isinstance(gone, Link):
        return Link(gone.place, gone.id, content.record) if isinstance(content, Link) else ABSENT
    if gone.mode is not None:
        return File(content.content, gone.mode) if isinstance(content, File) else ABSENT
    if SURFACES[slot[0]].nested and isinstance(content, PMap | File):
        return ABSENT
    return content


def value_in(content: Any) -> Any:
    """The value in a slot's content that is stored on its own."""
    return content.record if isinstance(content, Link) else content


def same_value(one: Any, two: Any) -> bool:
    """Tell whether two contents of a slot hold the same value, wherever they stand."""
    if isinstance(one, File) or isinstance(two, File):
        return bool(one == two)
    return one is not ABSENT and same(value_in(one), value_in(two))


def all_holes(contents: Iterable[tuple[Slot, Any]]) -> dict[Slot, Any]:
    """Holes in what several slots are to hold."""
    return {place: gone for slot, content in contents for place, gone in found_holes(slot, content)}
