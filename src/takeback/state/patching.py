"""What one edit of a record changed, done to another version of it: fields by name, items of lists by what they say.

An element of a chain is one slot; where its record has fields and lists of its own, as a client's group of hooks has,
entries that changed different ones of them can be taken back one by one all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from takeback.canonical import encode
from takeback.state.chain import Link
from takeback.state.pmap import PMap
from takeback.state.values import freeze, thaw

_NOTHING = object()


def is_group(content: Any) -> bool:
    """Whether a callback is a group as clients write them: a list of hooks, and what says when they run."""
    options = content.record.get("options") if isinstance(content, Link) else None
    return isinstance(options, PMap) and type(options.get("hooks")) is tuple


def patched_group(here: Any, before: Any, after: Any) -> Any:
    """A group with what made `after` of `before`: its place, its fields, each of its hooks."""
    if not (is_group(here) and is_group(before) and is_group(after)):
        return after
    place = here.place if before.place == after.place else after.place
    options = patched(*(thaw(one.record["options"]) for one in (here, before, after)))
    return Link(place, after.id, after.record.put("options", freeze(options, "options")))


def patched(here: Any, before: Any, after: Any) -> Any:
    """`here` with what made `after` of `before`; where both changed the same, that of `after`."""
    if encode(here) == encode(before):
        return after
    if all(isinstance(one, dict) for one in (here, before, after)):
        return _patched_fields(here, before, after)
    if all(isinstance(one, list) for one in (here, before, after)):
        return _patched_items(here, before, after)
    return after


def _patched_fields(here: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(here)
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key, _NOTHING), after.get(key, _NOTHING)
        if new is _NOTHING:
            found.pop(key, None)
        elif old is _NOTHING or encode(old) != encode(new):
            there = here.get(key, _NOTHING)
            found[key] = new if old is _NOTHING or there is _NOTHING else patched(there, old, new)
    return found


def _patched_items(here: Sequence[Any], before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    partner, now = _pairs(before, here), _pairs(before, after)
    result: list[Any] = list(here)
    gone: set[int] = set()
    for at, item in enumerate(before):
        place, new = partner.get(at), now.get(at)
        if place is None:
            continue
        if new is None:
            gone.add(place)
        elif encode(item) != encode(after[new]):
            result[place] = patched(here[place], item, after[new])
    came: dict[int, list[Any]] = {}
    kept = {new: at for at, new in now.items()}
    anchor = 0
    for at, item in enumerate(after):
        if at in kept:
            anchor = partner.get(kept[at], anchor - 1) + 1
        else:
            came.setdefault(anchor, []).append(item)
    found: list[Any] = []
    for at in range(len(result) + 1):
        found += came.get(at, [])
        found += [result[at]] if at < len(result) and at not in gone else []
    return found


def _pairs(before: Sequence[Any], after: Sequence[Any]) -> dict[int, int]:
    """Which item became which: equal ones in order, and between them mappings that were changed."""
    texts = [[encode(item) for item in items] for items in (before, after)]
    found: dict[int, int] = {}
    for kind, low, high, first, end in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if kind == "equal":
            found |= {low + at: first + at for at in range(high - low)}
        elif kind == "replace":
            pairs = zip(range(low, high), range(first, end), strict=False)
            found |= {
                one: two for one, two in pairs if isinstance(before[one], dict) and isinstance(after[two], dict)
            }
    return found
