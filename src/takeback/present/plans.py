"""A plan in words: whether anything visible changes, what is kept and because of whom, as the first line to read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from takeback.harness.adapter import Broken
from takeback.present.titles import counted, listed, part_in, pointed, title_in
from takeback.state import ABSENT, State
from takeback.state.part_names import is_place
from takeback.state.parts import is_part
from takeback.state.slots import Slot, get_slot, slot_title, whole_of
from takeback.undo import Plan, SlotChange
from takeback.undo.outcome import Kept

SHOWN: Final = 3
"""How many things a note names."""


def elsewhere_lines(elsewhere: Iterable[SlotChange], unread: Iterable[Broken]) -> Iterator[str]:
    """What was changed outside Takeback where a change does not write, and files that cannot be read."""
    titles = list(dict.fromkeys(slot_title(whole_of(change.slot)) for change in elsewhere))
    if titles:
        shown = [*titles[:SHOWN], f"{len(titles) - SHOWN} more"] if len(titles) > SHOWN else titles
        verb = "was" if len(titles) == 1 else "were"
        yield f"note: {listed(shown)} {verb} changed outside Takeback and stays so ('takeback adopt' records it)"
    for fault in unread:
        yield f"note: {fault.path} cannot be read and stays so ('takeback discard {fault.path}' puts it back)"


def headline(plan: Plan, *, done: bool) -> str | None:
    """What must be read first; None where the plan does all it was asked to."""
    if not plan.visible:
        it = "it" if len(plan.off) + len(plan.on) == 1 else "them"
        start = "nothing visible changed" if done else "nothing visible would change"
        because = "; ".join(_later(plan)) if plan.kept else f"everything is the same with and without {it}"
        return f"{start}: {because}"
    if not plan.kept:
        return None
    states = plan.state, plan.before
    changed, kept = [change.slot for change in plan.changes], [one.slot for one in plan.kept]
    verb = "taken back" if not plan.on else "brought back" if not plan.off else "changed"
    told, stays = counted(changed, *states), counted(kept, *states)
    number, unit = stays.split(" ", 1)
    if unit.rstrip("s") == told.split(" ", 1)[1].rstrip("s"):
        stays = number
    because = listed([f"#{entry}" for entry in sorted({one.entry for one in plan.kept})])
    return f"{told} {'' if done else 'would be '}{verb}, {stays} kept because of {because}"


def kept_lines(plan: Plan, *, done: bool) -> Iterator[str]:
    """What is kept, one line each; parts by where they stand now, after what was done."""
    told = (
        f"kept: {slot_title(whole_of(one.slot))}, which #{one.entry} {_verb(plan, one)} as a whole later"
        if _covered(one)
        else f"kept: {title_in(one.slot, *_states(plan, done=done))}, which #{one.entry} {_verb(plan, one)} later"
        for one in plan.kept
    )
    yield from dict.fromkeys(told)


def kept_json(plan: Plan, *, done: bool) -> list[dict[str, Any]]:
    """What is kept, as JSON: the slot, which part of it, and the later entry."""
    return [
        {
            "slot": slot_title(whole_of(one.slot)),
            "part": part_in(one.slot, *_states(plan, done=done)),
            "entry": one.entry,
        }
        for one in plan.kept
    ]


def _states(plan: Plan, *, done: bool) -> tuple[State, State]:
    """The states in which to look for a part: first the one that is there now."""
    return (plan.state, plan.before) if done else (plan.before, plan.state)


def _later(plan: Plan) -> Iterator[str]:
    groups: dict[tuple[int, str], dict[Slot, None]] = {}
    for one in plan.kept:
        slot = whole_of(one.slot) if _covered(one) else one.slot
        groups.setdefault((one.entry, _verb(plan, one)), {})[slot] = None
    for (entry, verb), slots in sorted(groups.items()):
        yield f"#{entry} {verb} {pointed(slots, plan.state, plan.before)} later"


def _covered(one: Kept) -> bool:
    """Whether a line or item lies in a text or list that was written as a whole later."""
    return one.over is not None and is_part(one.slot[-1])


def _verb(plan: Plan, one: Kept) -> str:
    slot = whole_of(one.slot) if _covered(one) else one.slot
    if is_place(slot[-1]):
        return "moved"
    return "removed" if get_slot(plan.state, slot) is ABSENT else "rewrote"
