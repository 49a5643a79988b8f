"""A plan in words: whether anything visible changes, what is kept and because of whom, as the first line to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from takeback.harness.adapter import Broken
from takeback.present.titles import (
    count_units,
    describe_written_part,
    join_words,
    make_title,
    name_whole,
    point_at_units,
)
from takeback.state import ABSENT, State
from takeback.state.part_names import PATH, is_part, is_place
from takeback.state.slots import Slot, describe_slot, find_containing_slot, get_slot
from takeback.undo.plan_types import Overwritten

if TYPE_CHECKING:
    from takeback.undo import Plan, SlotChange

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
