"""Lines that come back beside equal ones that a later entry wrote: they then occur twice, and the plan reports it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from takeback.present.titles import name_whole
from takeback.state import ABSENT
from takeback.state.part_names import APART, is_part, is_place, make_part_name
from takeback.state.part_slots import get_parts
from takeback.state.slots import Slot, find_containing_slot, get_slot
from takeback.state.text import Text

if TYPE_CHECKING:
    from takeback.state.chain import Link
    from takeback.undo import Index, Plan

MOST: Final = 1000
"""Of so many lines that come back in one text, no repetition is looked for."""


class Repeat(NamedTuple):
    """Lines that come back where a later entry has written the same."""

    slot: Slot
    """The text they are in."""
    first: int
    """Where they come to stand: so many lines stand above them."""
    lines: tuple[str, ...]
    entry: int
    """The later entry."""


def find_repeats(plan: Plan, index: Index) -> Iterator[Repeat]:
    """Yield what a plan brings back directly above or below equal lines of a later entry."""
    came: defaultdict[Slot, list[str]] = defaultdict(list)
    for change in plan.changes:
        name = change.slot[-1]
        if is_part(name) and not is_place(name) and name[1:] not in APART and change.before is ABSENT:
            came[find_containing_slot(change.slot)].append(name[1:])
    since = max((*plan.off, *plan.on), default=0)
    for slot, parts in came.items():
        content = get_slot(plan.state, slot)
        text = None if content is ABSENT else get_parts(content)
        if isinstance(text, Text) and len(parts) <= MOST:
            yield from _find_in_text(slot, text, parts, index, since)


def describe_repeats(plan: Plan, index: Index, *, done: bool) -> Iterator[str]:
    """Yield what comes back a second time, one line each."""
    for repeat in find_repeats(plan, index):
        where = name_whole(repeat.slot, *((plan.state, plan.before) if done else (plan.before, plan.state)))
        first, last = repeat.first + 1, repeat.first + len(repeat.lines)
        lines, come = (f"line {first}", "comes") if first == last else (f"lines {first} to {last}", "come")
        later = f"which #{repeat.entry} wrote later and which stays"
        yield f"twice: {lines} of {where} {come} back beside the same, {later}"


def list_repeats_json(plan: Plan, index: Index, *, done: bool) -> list[dict[str, Any]]:
    """Return what comes back a second time, as JSON: the text, the first of the lines, how many, the later entry."""
    states = (plan.state, plan.before) if done else (plan.before, plan.state)
    return [
        {
            "slot": name_whole(repeat.slot, *states),
            "line": repeat.first + 1,
            "lines": len(repeat.lines),
            "entry": repeat.entry,
        }
        for repeat in find_repeats(plan, index)
    ]


def _find_in_text(slot: Slot, text: Text, parts: list[str], index: Index, since: int) -> Iterator[Repeat]:
    places = sorted(place for part in parts if (place := text.position(part)) is not None)
    for first, last in _join_runs(places):
        mine, size = list(text.links(first, last)), last - first
        lines = tuple(str(link.record) for link in mine)
        if not any(line.strip() for line in lines):
            continue
        for start in (last, first - size):
            others = list(text.links(start, start + size)) if start >= 0 else []
            if tuple(link.record for link in others) == lines:
                writers = [_find_writer(slot, link, index) for link in others]
                if min(writers) > since:
                    yield Repeat(slot, first, lines, max(writers))
                    break


def _find_writer(slot: Slot, link: Link, index: Index) -> int:
    """Return the entry that put a line there; 0 where it was there from the start."""
    return max((version.entry for version in index.at((*slot, make_part_name(link.id)))), default=0)


def _join_runs(places: list[int]) -> Iterator[tuple[int, int]]:
    """Yield neighbouring places as one run each: its first, and the one behind its last."""
    start = end = -1
    for place in places:
        if place != end:
            if end > 0:
                yield start, end
            start = place
        end = place + 1
    if end > 0:
        yield start, end
