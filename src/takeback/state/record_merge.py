"""Three-way merge of records: one edit's changes applied to another version, fields by name, items by content.

An element of a chain is one slot; where its record has fields and lists of its own, as a client's group of
hooks has, entries that changed different ones of them can still be taken back one by one.
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
_ADDED = -1


def is_hook_group(content: Any) -> bool:
    """Tell whether a callback is a client's group: a list of hooks and a matcher that decides when they run."""
    record = content.record if isinstance(content, Link) else None
    options = record.get("options") if isinstance(record, PMap) else None
    return isinstance(options, PMap) and type(options.get("hooks")) is tuple


def merge_hook_group(current: Any, before: Any, after: Any) -> Any:
    """Return a group with what made `after` of `before`: its place, its fields, each of its hooks."""
    if not (is_hook_group(current) and is_hook_group(before) and is_hook_group(after)):
        return after
    place = current.place if before.place == after.place else after.place
    options = merge3_json(*(thaw(link.record["options"]) for link in (current, before, after)))
    return Link(place, after.id, after.record.put("options", freeze(options, "options")))


def merge3_json(current: Any, before: Any, after: Any) -> Any:
    """Return `here` with what made `after` of `before`; where both changed the same, that of `after`."""
    if encode(current) == encode(before):
        return after
    if all(isinstance(value, dict) for value in (current, before, after)):
        return _merge_fields(current, before, after)
    if all(isinstance(value, list) for value in (current, before, after)):
        return _merge_items(current, before, after)
    return after


def _merge_fields(current: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(current)
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key, _NOTHING), after.get(key, _NOTHING)
        if new is _NOTHING:
            merged.pop(key, None)
        elif old is _NOTHING or encode(old) != encode(new):
            there = current.get(key, _NOTHING)
            merged[key] = new if old is _NOTHING or there is _NOTHING else merge3_json(there, old, new)
    return merged


def _merge_items(current: Sequence[Any], before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """Return the items of `here` changed, removed, added and moved as they were between the other two."""
    partner, now = match_items(before, current), match_items(before, after)
    was = {new: at for at, new in now.items()}
    changed = dict(enumerate(current))
    for at, new in now.items():
        if at in partner and encode(before[at]) != encode(after[new]):
            changed[partner[at]] = merge3_json(current[partner[at]], before[at], after[new])
    known = set(partner.values())
    ordered = [partner[was[new]] for new in sorted(was) if was[new] in partner]
    if list(now.values()) == sorted(now.values()):
        gone = {place for at, place in partner.items() if at not in now}
        ordered = [place for place in changed if place not in gone]
    else:
        for place in (place for place in changed if place not in known):
            ordered.insert(ordered.index(place - 1) + 1 if place - 1 in ordered else 0, place)
    merged = [(place, changed[place]) for place in ordered]
    for new in (new for new in range(len(after)) if new not in was):
        earlier = (partner[was[at]] for at in range(new - 1, -1, -1) if at in was and was[at] in partner)
        above = next(earlier, None)
        places = [place for place, _ in merged]
        at = places.index(above) + 1 if above in places else 0
        while at < len(merged) and merged[at][0] == _ADDED:
            at += 1
        merged.insert(at, (_ADDED, after[new]))
    return [item for _, item in merged]


def match_items(before: Sequence[Any], after: Sequence[Any]) -> dict[int, int]:
    """Return which item became which: equal ones in order, equal ones that moved, then changed mappings."""
    old, new = ([encode(item) for item in items] for items in (before, after))
    codes = _compare_in_place(old, new) or SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    pairs = {
        low + at: first + at for kind, low, high, first, _ in codes if kind == "equal" for at in range(high - low)
    }
    free = [at for at in range(len(new)) if at not in pairs.values()]
    for at in (at for at in range(len(old)) if at not in pairs):
        moved = next((place for place in free if new[place] == old[at]), None)
        if moved is not None:
            pairs[at] = moved
            free.remove(moved)
    for kind, low, high, first, end in codes:
        left = [at for at in range(low, high) if at not in pairs and isinstance(before[at], dict)]
        came = [at for at in range(first, end) if at in free and isinstance(after[at], dict)]
        pairs |= dict(zip(left, came, strict=False)) if kind == "replace" else {}
    rest = [at for at in range(len(old)) if at not in pairs and isinstance(before[at], dict)]
    came = [at for at in free if at not in pairs.values() and isinstance(after[at], dict)]
    pairs |= dict(zip(rest, came, strict=True)) if len(rest) == len(came) == 1 else {}
    return dict(sorted(pairs.items()))


def _compare_in_place(old: Sequence[str], new: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """Return what differs place by place, where as many items stand and none of those that differ only moved."""
    differing = [at for at, (old, new) in enumerate(zip(old, new, strict=False)) if old != new]
    if len(old) != len(new) or {old[at] for at in differing} & {new[at] for at in differing}:
        return []
    return [("replace" if at in differing else "equal", at, at + 1, at, at + 1) for at in range(len(old))]
