"""What taking entries back, or bringing them back, would do: a plan, or why it cannot be done alone.

The result of a plan is the history without the undone entries, each other write where it was. A write that
could not have happened in that history stands in the way; entries are settled in order of time, so the set
that blocks is the smallest there is. Nothing is changed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain, combinations, islice
from typing import Any

from takeback.state import ABSENT, SURFACES, PMap, State
from takeback.state.pmap import EMPTY
from takeback.state.slots import Slot, get_slot, put_slots, same_content
from takeback.undo.history import END, ContentGone, History, View, When
from takeback.undo.index import Version, Write, claim_of
from takeback.undo.outcome import Blocked, Gone, Outcome, Plan, SlotChange
from takeback.undo.short import short_plan

MAX_HELPERS = 12
MAX_HELP = 3
MAX_PARTS = 4096


def plan_undo(history: History, state: State, entries: Iterable[int]) -> Outcome:
    """Take live entries back."""
    wanted = frozenset(entries)
    if len(wanted) == 1:
        (entry,) = wanted
        simple = short_plan(history, state, entry)
        if simple is not None:
            return simple
    return _outcome(history, state, wanted, frozenset())


def plan_redo(history: History, state: State, entries: Iterable[int]) -> Outcome:
    """Bring undone entries back."""
    return _outcome(history, state, frozenset(), frozenset(entries))


def plan_toggle(history: History, state: State, off: Iterable[int], on: Iterable[int]) -> Outcome:
    """Take some entries back and bring others back, at once."""
    return _outcome(history, state, frozenset(off), frozenset(on))


def _outcome(history: History, state: State, off: frozenset[int], on: frozenset[int]) -> Outcome:
    settled = _settle(history, off, on)
    if settled.unmet:
        return _helped(history, state, off, on, settled)
    if settled.removed:
        together = _possible(history, state, off | settled.removed.keys(), on)
        return Blocked(tuple(sorted(settled.removed)), (), tuple(sorted(settled.removed.items())), together)
    return _possible(history, state, off, on)


def _possible(history: History, state: State, off: frozenset[int], on: frozenset[int]) -> Plan | Gone:
    """The plan for a request that nothing stands in the way of, unless what it needs was forgotten."""
    try:
        return make_plan(history, state, off, on)
    except ContentGone:
        return _what_is_left(history, state, off, on)


@dataclass(frozen=True, slots=True)
class _Settled:
    removed: dict[int, str]
    """Live entries that could not have happened, and why."""
    unmet: dict[int, str]
    """Entries asked back that could not have happened, and why."""


def _settle(history: History, off: frozenset[int], on: frozenset[int]) -> _Settled:
    """Follow the consequences of a request through time."""
    view = View(history.undone, off, on)
    waiting: list[tuple[int, int, Slot, Version]] = []
    removed: dict[int, str] = {}
    unmet: dict[int, str] = {}

    def spread(entry: int) -> None:
        for write in history.index.writes(entry):
            for version in _affected(history, entry, write, view):
                heappush(waiting, (version.entry, version.position, version.write.slot, version))

    for entry in chain(off, on):
        spread(entry)
        if entry in on:
            for position, write in enumerate(history.index.writes(entry)):
                heappush(waiting, (entry, position, write.slot, Version(entry, position, write)))
    seen: set[tuple[int, int]] = set()
    while waiting:
        entry, position, _, version = heappop(waiting)
        if (entry, position) in seen or not view.live(entry):
            continue
        seen.add((entry, position))
        why = history.objection(version, view)
        if why is not None:
            (unmet if entry in on else removed)[entry] = why
            view.on.discard(entry)
            view.off.add(entry)
            spread(entry)
    return _Settled(removed, unmet)


def _affected(history: History, entry: int, write: Write, view: View) -> Iterator[Version]:
    """Later live writes that could depend on this one being there or not."""
    slot, surface = write.slot, SURFACES[write.slot[0]]
    if surface.nested:
        mask: When = END
        for depth in range(2, len(slot) + 1):
            version = history.next(slot[:depth], view, entry)
            if version is not None:
                mask = min(mask, version[:2])
                yield version
        for version in history.index.below(slot):
            if entry < version.entry and version[:2] < mask and view.live(version.entry):
                yield version
    elif surface.exclusive:
        claim = claim_of(slot[0], history.held(slot, view, (entry + 1, 0)))
        if claim is not None:
            masking = history.next(slot, view, entry)
            mask = END if masking is None else masking[:2]
            for version in history.index.claiming(slot[0], claim):
                if entry < version.entry and version[:2] < mask and version.write.slot != slot:
                    yield version


def _helped(history: History, state: State, off: frozenset[int], on: frozenset[int], settled: _Settled) -> Outcome:
    """The smallest set of other entries that makes a request possible which is not possible alone."""
    helpers = _helpers(history, settled.unmet, off | on)
    for size in range(1, MAX_HELP + 1):
        best: tuple[frozenset[int], frozenset[int], _Settled] | None = None
        for chosen in combinations(helpers, size):
            more_on = frozenset(entry for entry in chosen if entry in history.undone)
            more_off = frozenset(chosen) - more_on
            found = _settle(history, off | more_off, on | more_on)
            if not found.unmet and (best is None or len(found.removed) < len(best[2].removed)):
                best = more_off, more_on, found
        if best is not None:
            more_off, more_on, found = best
            taken, back = _shrunk(history, off, on, more_off | found.removed.keys(), more_on)
            reasons = {**settled.unmet, **{entry: found.removed[entry] for entry in taken & found.removed.keys()}}
            together = _possible(history, state, off | taken, on | back)
            return Blocked(tuple(sorted(taken)), tuple(sorted(back)), tuple(sorted(reasons.items())), together)
    reasons = {**settled.unmet, **settled.removed}
    return Blocked(tuple(sorted(settled.removed)), (), tuple(sorted(reasons.items())), None)


def _shrunk(
    history: History, off: frozenset[int], on: frozenset[int], more_off: frozenset[int], more_on: frozenset[int]
) -> tuple[frozenset[int], frozenset[int]]:
    """The smallest part of a set of helping entries that is enough."""
    every = sorted(more_off | more_on)
    parts = (frozenset(chosen) for size in range(1, len(every)) for chosen in combinations(every, size))
    for part in islice(parts, MAX_PARTS):
        settled = _settle(history, off | (more_off & part), on | (more_on & part))
        if not settled.removed and not settled.unmet:
            return more_off & part, more_on & part
    return more_off, more_on


def _helpers(history: History, unmet: Iterable[int], asked: frozenset[int]) -> list[int]:
    """Earlier entries that wrote where the unmet ones look, nearest first."""
    found: set[int] = set()
    for entry in unmet:
        for write in history.index.writes(entry):
            slot, surface = write.slot, SURFACES[write.slot[0]]
            slots = {slot[:depth] for depth in range(2, len(slot) + 1)} if surface.nested else set()
            claim = claim_of(slot[0], write.after) if surface.exclusive else None
            if claim is not None:
                slots.update(history.holders(slot[0], claim))
            versions = [version for near in slots for version in history.index.at(near)]
            if write.strict:
                versions += history.index.below(slot)
            found.update(version.entry for version in versions if version.entry < entry)
    return sorted(found - asked, reverse=True)[:MAX_HELPERS]


def make_plan(history: History, state: State, off: Iterable[int], on: Iterable[int]) -> Plan:
    """The plan for a request that nothing stands in the way of."""
    off, on = tuple(sorted(off)), tuple(sorted(on))
    view = View(history.undone, off, on)
    flat: dict[Slot, None] = {}
    nested: dict[Slot, None] = {}
    for entry in chain(off, on):
        for write in history.index.writes(entry):
            (nested if SURFACES[write.slot[0]].nested else flat)[write.slot] = None
    changes: list[SlotChange] = []
    for slot in flat:
        before, after = get_slot(state, slot), history.content(slot, view)
        if before is not after and not same_content(slot, before, after):
            changes.append(SlotChange(slot, before, after))
    after_state = put_slots(state, [(change.slot, change.after) for change in changes])
    if nested:
        after_state = _nested_changes(history, view, nested, after_state, changes)
    return Plan(off, on, tuple(changes), after_state)


def _nested_changes(
    history: History, view: View, slots: Iterable[Slot], state: State, changes: list[SlotChange]
) -> State:
    roots = {slot for slot in slots if not any(slot[:depth] in slots for depth in range(2, len(slot)))}
    wanted = [(slot, history.subtree(slot, view)) for slot in sorted(roots)]

    def change(slot: Slot, after: Any) -> None:
        nonlocal state
        before = get_slot(state, slot)
        if before is not after and not same_content(slot, before, after):
            changes.append(SlotChange(slot, before, after))
            state = put_slots(state, [(slot, after)])

    for slot, content in wanted:
        if content is ABSENT:
            change(slot, ABSENT)
    for slot, content in wanted:
        if content is not ABSENT:
            change(slot, content)
    above = sorted({slot[:depth] for slot, content in wanted if content is ABSENT for depth in range(2, len(slot))})
    for slot in reversed(above):
        node = get_slot(state, slot)
        if type(node) is PMap and not node and not history.is_container(slot, view):
            change(slot, ABSENT)
    for slot in above:
        if get_slot(state, slot) is ABSENT and history.is_container(slot, view):
            change(slot, EMPTY)
    return state


def _what_is_left(history: History, state: State, off: frozenset[int], on: frozenset[int]) -> Gone:
    """Slot by slot: whose content was forgotten, and what could still be put back."""
    view = View(history.undone, off, on)
    gone: list[Slot] = []
    left: list[SlotChange] = []
    nested: dict[Slot, None] = {}
    slots = dict.fromkeys(write.slot for entry in sorted(off | on) for write in history.index.writes(entry))
    for slot in slots:
        before, deep = get_slot(state, slot), SURFACES[slot[0]].nested
        try:
            after = (history.subtree if deep else history.content)(slot, view)
        except ContentGone:
            gone.append(slot)
            continue
        if deep and _known_above(history, slot, view):
            nested[slot] = None
        elif not same_content(slot, before, after) and not (deep and _leaf_above(state, slot)):
            left.append(SlotChange(slot, before, after))
    _nested_changes(history, view, nested, state, left)
    return Gone(tuple(gone), tuple(left))


def _known_above(history: History, slot: Slot, view: View) -> bool:
    """Whether nothing is forgotten of what a slot lies in."""
    try:
        for depth in range(2, len(slot)):
            history.is_container(slot[:depth], view)
    except ContentGone:
        return False
    return True


def _leaf_above(state: State, slot: Slot) -> bool:
    """Whether something that is no container stands where a slot would have to lie."""
    above = (get_slot(state, slot[:depth]) for depth in range(2, len(slot)))
    return any(content is not ABSENT and type(content) is not PMap for content in above)


def relied_on(history: History, writes: Sequence[Write]) -> dict[int, str]:
    """Live entries without which these new writes could not happen, and why: taking those back needs both."""
    footing = {top.entry for write in writes for top in _footing(history, write)}
    found: dict[int, str] = {}
    with history.index.supposing(tuple(writes)) as versions:
        for entry in sorted(footing):
            alone = View(history.undone, {entry})
            if all(history.objection(version, alone) is None for version in versions):
                continue
            why = _settle(history, frozenset({entry}), frozenset()).removed.get(versions[0].entry)
            if why is not None:
                found[entry] = why
    return found


def _footing(history: History, write: Write) -> Iterator[Version]:
    """The writes now in force where a new write looks before it happens."""
    view = View(history.undone)
    slot, surface = write.slot, SURFACES[write.slot[0]]
    if surface.nested:
        for depth in range(2, len(slot) + 1):
            top = history.cover(slot[:depth], view)
            if top is not None:
                yield top
    elif surface.exclusive and (claim := surface.claim(write.after)) is not None:
        for holder in history.holders(slot[0], claim) - {slot}:
            top = history.last(holder, view)
            if top is not None:
                yield top
