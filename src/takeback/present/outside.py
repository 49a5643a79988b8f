"""What a plan says of other systems: how each guards others' writes, that nothing isolates them, who wrote since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from takeback.harness.external import NO_ISOLATION, OUTSIDE, is_outside
from takeback.state.slots import Slot
from takeback.state.surfaces.external import EXTERNAL, parse_key

if TYPE_CHECKING:
    from takeback.harness import Harness


def find_guards(harness: Harness, slots: Iterable[Slot]) -> dict[str, str]:
    """Return how each binding that some slots are of guards others' writes; empty where none is touched."""
    records = getattr(harness.adapter, "external", None)
    keys = sorted({slot[1] for slot in slots if slot[0] == EXTERNAL})
    return records.describe_guards(keys) if records is not None and keys else {}


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


def why_kept(harness: Harness, number: int) -> dict[str, str]:
    """Return why something is kept because of an entry, where others wrote it in another system."""
    record = harness.journal.get(number)
    return {"because": OUTSIDE, "version": record.id} if is_outside(record) else {}
