"""A plan in words: what is visible, kept and because of whom, what occurs twice, and other systems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from takeback.harness.adapter import Broken
from takeback.harness.external import NO_ISOLATION, OUTSIDE, is_outside, list_outside_writes
from takeback.present.titles import (
    count_units,
    describe_written_part,
    join_words,
    make_title,
    name_whole,
    point_at_units,
)
from takeback.state import ABSENT, SURFACES, State
from takeback.state.address import APART, PATH, is_part, is_place, make_part_name
from takeback.state.part_slots import get_parts
from takeback.state.slots import Slot, describe_slot, find_containing_slot, get_slot
from takeback.state.surfaces.calls import CALLS, CallFacts, CallsSurface, classify_named, is_made
from takeback.state.surfaces.external import EXTERNAL, parse_key
from takeback.state.text import Text
from takeback.undo.plan_types import Overwritten

if TYPE_CHECKING:
    from takeback.harness import Harness
    from takeback.state.chain import Link
    from takeback.undo import Index, Plan, SlotChange


SHOWN: Final = 3
"""How many things a note names."""


def describe_elsewhere(elsewhere: Iterable[SlotChange], unread: Iterable[Broken]) -> Iterator[str]:
    """Yield the drift where a change does not write, and files that cannot be read."""
    titles = list(dict.fromkeys(describe_slot(find_containing_slot(change.slot)) for change in elsewhere))
    if titles:
        shown = [*titles[:SHOWN], f"{len(titles) - SHOWN} more"] if len(titles) > SHOWN else titles
        verb = "was" if len(titles) == 1 else "were"
        yield f"note: {join_words(shown)} {verb} changed outside Takeback and stays so ('takeback adopt' records it)"
    for fault in unread:
        yield f"note: {fault.path} cannot be read and stays so ('takeback discard {fault.path}' puts it back)"


def make_headline(plan: Plan, *, done: bool) -> str | None:
    """Return what must be read first; None where the plan does all it was asked to."""
    if not plan.visible:
        it = "it" if len(plan.off) + len(plan.on) == 1 else "them"
        start = "nothing visible changed" if done else "nothing visible would change"
        because = "; ".join(_name_later(plan)) if plan.kept else f"everything is the same with and without {it}"
        return f"{start}: {because}"
    if not plan.kept:
        return None
    states = plan.state, plan.before
    changed, kept = [change.slot for change in plan.changes], [overwritten.slot for overwritten in plan.kept]
    verb = "taken back" if not plan.on else "brought back" if not plan.off else "changed"
    units, stays = count_units(changed, *states), count_units(kept, *states)
    number, unit = stays.split(" ", 1)
    if unit.rstrip("s") == units.split(" ", 1)[1].rstrip("s"):
        stays = number
    because = join_words([f"#{entry}" for entry in sorted({overwritten.entry for overwritten in plan.kept})])
    return f"{units} {'' if done else 'would be '}{verb}, {stays} kept because of {because}"


def describe_kept(plan: Plan, *, done: bool) -> Iterator[str]:
    """Yield what is kept, one line each; parts by their position now, after what was done."""
    lines = (
        f"kept: {name_whole(overwritten.slot, *_order_states(plan, done=done))}, "
        f"which #{overwritten.entry} {_choose_verb(plan, overwritten)} as a whole later"
        if _is_covered(overwritten)
        else f"kept: {make_title(overwritten.slot, *_order_states(plan, done=done))}, "
        f"which #{overwritten.entry} {_choose_verb(plan, overwritten)} later"
        for overwritten in plan.kept
    )
    yield from dict.fromkeys(lines)


def list_kept_json(plan: Plan, *, done: bool) -> list[dict[str, Any]]:
    """Return what is kept, as JSON: the slot, which part of it, and the later entry."""
    return [
        {
            "slot": name_whole(overwritten.slot, *_order_states(plan, done=done)),
            "part": describe_written_part(overwritten.slot, *_order_states(plan, done=done)),
            "entry": overwritten.entry,
        }
        for overwritten in plan.kept
    ]


def _order_states(plan: Plan, *, done: bool) -> tuple[State, State]:
    return (plan.state, plan.before) if done else (plan.before, plan.state)


def _name_later(plan: Plan) -> Iterator[str]:
    groups: dict[tuple[int, str], dict[Slot, None]] = {}
    for overwritten in plan.kept:
        slot = find_containing_slot(overwritten.slot) if _is_covered(overwritten) else overwritten.slot
        groups.setdefault((overwritten.entry, _choose_verb(plan, overwritten)), {})[slot] = None
    for (entry, verb), slots in sorted(groups.items()):
        yield f"#{entry} {verb} {point_at_units(slots, plan.state, plan.before)} later"


def _is_covered(overwritten: Overwritten) -> bool:
    """Return whether a line or item lies in a text or list that was written as a whole later."""
    return overwritten.over is not None and is_part(overwritten.slot[-1])


def _choose_verb(plan: Plan, overwritten: Overwritten) -> str:
    slot = find_containing_slot(overwritten.slot) if _is_covered(overwritten) else overwritten.slot
    if is_place(slot[-1]) or slot[-1][1:] == PATH:
        return "moved"
    return "removed" if get_slot(plan.state, slot) is ABSENT else "rewrote"


def find_guards(harness: Harness, slots: Iterable[Slot]) -> dict[str, str]:
    """Return how each binding that some slots are of guards others' writes; empty where none is touched."""
    records = getattr(harness.adapter, "external", None)
    keys = sorted({slot[1] for slot in slots if slot[0] == EXTERNAL})
    return records.describe_guards(keys) if records is not None and keys else {}


def find_outside_writes(harness: Harness) -> tuple[tuple[SlotChange, ...], tuple[str, ...]]:
    """Return what others wrote since to the records of other systems, and why some could not be read."""
    records = getattr(harness.adapter, "external", None)
    return ((), ()) if records is None else list_outside_writes(records, harness.state)


def count_systems(slots: Iterable[Slot]) -> int:
    """Return how many systems some slots are in; the files are one."""
    return len({parse_key(slot[1])[0] if slot[0] == EXTERNAL else "" for slot in slots})


def describe_outside(harness: Harness, slots: Iterable[Slot]) -> Iterator[str]:
    """Yield the lines that a plan has about other systems."""
    touched = list(slots)
    guards = find_guards(harness, touched)
    for name, guard in guards.items():
        yield f"{name}: others' writes are guarded: {guard}"
        if guard.startswith("checked"):
            yield f"note: a write of others to {name} in the same instant may be lost"
    if guards and count_systems(touched) > 1:
        yield f"note: {NO_ISOLATION}"


def outside_to_json(harness: Harness, slots: Iterable[Slot]) -> dict[str, Any]:
    """Return what a plan says of other systems, as JSON; empty where it touches none."""
    touched = list(slots)
    guards = find_guards(harness, touched)
    isolation = {"isolation": NO_ISOLATION} if guards and count_systems(touched) > 1 else {}
    return {"guards": guards, **isolation} if guards else {}


def describe_plan_outside(harness: Harness, plan: Plan) -> Iterator[str]:
    """Yield the lines that the plan of an undo has about other systems and about calls."""
    yield from describe_outside(harness, _list_touched(plan))
    yield from describe_answers(plan.changes)


def plan_outside_to_json(harness: Harness, plan: Plan) -> dict[str, Any]:
    """Return the same as JSON; empty where there is nothing to say."""
    return {**outside_to_json(harness, _list_touched(plan)), **answers_to_json(plan.changes)}


def _list_touched(plan: Plan) -> tuple[Slot, ...]:
    return (*(change.slot for change in plan.changes), *(overwritten.slot for overwritten in plan.kept))


def describe_answers(changes: Iterable[SlotChange]) -> Iterator[str]:
    """Yield what a plan says of calls: which are answered and how, which stay, which are made anew."""
    for change, facts in _list_calls(changes):
        call, key = _name_call(change), change.slot[1]
        if is_made(change.after):
            again = "is made anew" if facts.compensable else "is not made again, as nothing answers it"
            yield f"note: the call {call} ({key}) {again}"
        else:
            answer = facts.compensation if facts.compensable else "nothing answers it"
            yield f"note: the call {call} ({key}) stays {facts.word}: {answer}"


def answers_to_json(changes: Iterable[SlotChange]) -> dict[str, Any]:
    """Return the class of a plan and what stays, as JSON; empty where it concerns no calls."""
    surface, names = SURFACES.get(CALLS), [_name_call(change) for change, _ in _list_calls(changes)]
    if not names or not isinstance(surface, CallsSurface):
        return {}
    kind, stays = classify_named(names, surface.declared)
    return {"class": kind.value, "stays": list(stays)}


def _list_calls(changes: Iterable[SlotChange]) -> Iterator[tuple[SlotChange, CallFacts]]:
    surface = SURFACES.get(CALLS)
    if isinstance(surface, CallsSurface):
        for change in changes:
            if change.slot[0] == CALLS and is_made(change.before) != is_made(change.after):
                yield change, surface.declared.get(_name_call(change), CallFacts(compensable=False))


def _name_call(change: SlotChange) -> str:
    content = change.after if is_made(change.after) else change.before
    return str(content["call"])


def why_kept(harness: Harness, number: int) -> dict[str, str]:
    """Return why something is kept because of an entry, where others wrote it in another system."""
    record = harness.journal.get(number)
    return {"because": OUTSIDE, "version": record.id} if is_outside(record) else {}


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
