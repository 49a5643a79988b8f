"""What a plan says of other systems: how each guards others' writes, that nothing isolates them, who wrote since.

And of calls: which are answered when it is done, and what stays of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from takeback.harness.external import NO_ISOLATION, OUTSIDE, is_outside, list_outside_writes
from takeback.state import SURFACES
from takeback.state.slots import Slot
from takeback.state.surfaces.calls import CALLS, CallFacts, CallsSurface, classify_named, is_made
from takeback.state.surfaces.external import EXTERNAL, parse_key

if TYPE_CHECKING:
    from takeback.harness import Harness
    from takeback.undo import Plan, SlotChange


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
