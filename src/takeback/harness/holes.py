"""Holes in a state: places whose value was forgotten while it was in use, and how they are filled again.

The journal knows that something is there, of what kind, where in its chain and with which mode, but not the value.
What is really there has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from takeback.journal.packing import Forgotten, blank, is_gone
from takeback.state import ABSENT, SURFACES, PMap, State
from takeback.state.chain import Link
from takeback.state.file import File
from takeback.state.inside import parts_of
from takeback.state.items import Items
from takeback.state.parts import Parts
from takeback.state.slots import Slot, get_slot, put_slots
from takeback.state.text import Text
from takeback.state.values import same, thaw


def without_holes(state: State, holes: Mapping[Slot, Any]) -> State:
    """The state without the places whose values are gone."""
    return put_slots(state, [(slot, ABSENT) for slot in holes]) if holes else state


def found_holes(slot: Slot, content: Any) -> Iterator[tuple[Slot, Any]]:
    """Places at and below a slot whose values are gone, and what stands there instead."""
    if isinstance(content, Forgotten) or (isinstance(content, Link) and is_gone(content)):
        yield slot, content
    elif isinstance(content, Parts | File) and is_gone(content):
        yield slot, Forgotten(mode=content.mode if isinstance(content, File) else None)
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
    if gone.form is not None:
        return _aligned(gone, content)
    if gone.mode is not None:
        return File(content.content, gone.mode) if isinstance(content, File) else ABSENT
    if isinstance(content, File) or SURFACES[slot[0]].divided(content, slot[1:]):
        return ABSENT
    return content


def _aligned(gone: Forgotten, content: Any) -> Any:
    """A text or list that is there, with the identities its parts have in the journal; ABSENT if it does not fit."""
    form, actual = gone.form, parts_of(content)
    if form is None or type(actual) is not type(form) or isinstance(content, File) is not (gone.mode is not None):
        return ABSENT
    plain, there = form.to_json(), actual.to_json()
    records = [thaw(link.record) for link in actual.links()]
    sizes = [second if isinstance(first, int) else 1 for first, second, _ in plain["segments"]]
    if sum(sizes) != len(records):
        return ABSENT
    at, segments = 0, []
    for (first, second, _), size in zip(plain["segments"], sizes, strict=True):
        run = records[at : at + size]
        held = "".join(run) if isinstance(form, Text) else run
        segments.append([first, second, held if isinstance(first, int) else run[0]])
        at += size
    ended = {"end": there["end"]} if isinstance(form, Text) else {}
    raw = {**plain, **ended, "segments": segments}
    if not isinstance(form, Text):
        return Items.from_json(raw, "a list that is there")
    text = Text.from_json(raw, "a text that is there")
    return text if gone.mode is None else File(text, gone.mode)


def edited_hole(gone: Any, part: Slot, after: Any) -> Any:
    """A hole of which a part was written since."""
    if not isinstance(gone, Forgotten) or gone.form is None:
        return gone
    return Forgotten(gone.claim, gone.mode, _written(gone.form, part, after))


def hole_of(content: Any, part: Slot) -> Forgotten:
    """The hole in place of a text or list of which one part is gone."""
    parts = parts_of(content)
    mode = content.mode if isinstance(content, File) else None
    link = None if parts is None else parts.find(part[-1][1:])
    return Forgotten(None, mode, None if parts is None or link is None else _written(parts, part, link))


def _written(form: Parts, part: Slot, after: Any) -> Parts:
    if after is ABSENT:
        return form.drop(part[-1][1:])
    return form.put(after._replace(record=blank(type(form))) if is_gone(after) else after)


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
