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
from typing import Any, NamedTuple

from takeback.journal.encoding import encode, sha256
from takeback.state import ABSENT, PMap, State, tree
from takeback.state.pmap import EMPTY
from takeback.undo.history import END, ContentGone, History, View, When
from takeback.undo.index import GONE, Node, Version, Write
from takeback.undo.slots import Slot, get_slot, put_slots, same_content, shape_of

MAX_HELPERS = 12
MAX_HELP = 3
MAX_PARTS = 4096


class SlotChange(NamedTuple):
    """What a plan does to one slot."""

    slot: Slot
    before: Any
    after: Any


class Plan(NamedTuple):
    """A change of which entries are live, and what it does to the state."""

    off: tuple[int, ...]
    """Entries that are taken back."""
    on: tuple[int, ...]
    """Entries that are brought back."""
    changes: tuple[SlotChange, ...]
    state: State
    """The state afterwards."""

    @property
    def token(self) -> str:
        """A digest of everything the plan rests on: the same plan on a changed history has another."""
        changes = sorted(self.changes, key=lambda change: change.slot)
        effects = [[list(c.slot), _plain(c.slot, c.before), _plain(c.slot, c.after)] for c in changes]
        return sha256(encode([list(self.off), list(self.on), effects]))[:24]


@dataclass(frozen=True, slots=True)
class Blocked:
    """The request cannot be done alone. `together` is what doing it with the blocking entries would do."""

    off: tuple[int, ...]
    """Entries that would have to be taken back with it: without the request they could not have happened."""
    on: tuple[int, ...]
    """Entries that would have to be brought back with it, because it could not have happened without them."""
    reasons: tuple[tuple[int, str], ...]
    together: Plan | Gone | None
    """None where nothing that was found would make it possible."""

    @property
    def entries(self) -> tuple[int, ...]:
        """All entries that block."""
        return tuple(sorted((*self.off, *self.on)))


@dataclass(frozen=True, slots=True)
class Gone:
    """Captured content that the request needs was forgotten. `left` is what could still be put back."""

    slots: tuple[Slot, ...]
    left: tuple[SlotChange, ...]


Outcome = Plan | Blocked | Gone


def plan_undo(history: History, state: State, entries: Iterable[int]) -> Outcome:
    """Take live entries back."""
    wanted = frozenset(entries)
    if len(wanted) == 1:
        (entry,) = wanted
        simple = _simple(history, state, entry)
        if simple is not None:
            return simple
    return _outcome(history, state, wanted, frozenset())


def plan_redo(history: History, state: State, entries: Iterable[int]) -> Outcome:
    """Bring undone entries back."""
    return _outcome(history, state, frozenset(), frozenset(entries))


def plan_toggle(history: History, state: State, off: Iterable[int], on: Iterable[int]) -> Outcome:
    """Take some entries back and bring others back, at once."""
    return _outcome(history, state, frozenset(off), frozenset(on))


_tuple: Any = tuple.__new__
"""Makes a named tuple without the cost of its constructor."""


def _simple(history: History, state: State, entry: int) -> Plan | None:
    """The plan for one entry whose slots nobody else's writes can depend on; None where that is not plain to see.

    Says the same as the general way, which it saves for the common case. Written for speed: versions are
    read by position (entry, position, (slot, before, after, strict)).
    """
    nodes = history.index.held.get(entry)
    if nodes is None:
        return None
    undone = history.undone
    parts = state.parts.copy()
    changes: list[SlotChange] = []
    for node in nodes:
        versions, shape = node.versions, node.shape
        newest = versions[-1]
        if newest[0] != entry:
            if shape.plain and newest[0] not in undone:
                continue
            return None
        before, after = newest[2][2], versions[0][2][1]
        if len(versions) > 1:
            for version in versions[-2::-1]:
                if version[0] != entry and version[0] not in undone:
                    after = version[2][2]
                    break
        if not (shape.plain or _unentangled(history, node, after)) or before is GONE or after is GONE:
            return None
        if before is after or (before is not ABSENT and after is not ABSENT and shape.alike(before, after)):
            continue
        changes.append(_tuple(SlotChange, (node.slot, before, after)))
        part = shape.put(parts[node.surface], node.path, after)
        if after is ABSENT and shape.nested and len(node.path) > 1:
            part = _pruned(history, node, part, changes)
            if part is None:
                return None
        parts[node.surface] = part
    plan: Plan = _tuple(Plan, ((entry,), (), tuple(changes), State.of(parts)))
    return plan


def _unentangled(history: History, node: Node, after: Any) -> bool:
    """Whether no other slot's writes can depend on what this one holds."""
    if node.shape.nested:
        return node.alone()
    claim = None if after is GONE else node.shape.claim(after)
    return claim is None or all(
        version.write.slot == node.slot for version in history.index.claiming(node.surface, claim)
    )


def _pruned(history: History, node: Node, part: PMap, changes: list[SlotChange]) -> PMap | None:
    """The part without containers that held up nothing but this slot; None where others may hold them up."""
    if len(node.versions) > 1:
        return None
    surface, path = node.surface, node.path[:-1]
    while path and not tree.get(part, path):
        if type(history.base_content((surface, *path))) is PMap:
            break
        if node.above is None or len(node.above.children) != 1:
            return None
        node = node.above
        part = tree.drop(part, path)
        changes.append(SlotChange((surface, *path), EMPTY, ABSENT))
        path = path[:-1]
    return part


def _outcome(history: History, state: State, off: frozenset[int], on: frozenset[int]) -> Outcome:
    try:
        settled = _settle(history, off, on)
        if not settled.removed and not settled.unmet:
            return make_plan(history, state, off, on)
        if settled.unmet:
            return _helped(history, state, off, on, settled)
        together = make_plan(history, state, off | settled.removed.keys(), on)
        return Blocked(tuple(sorted(settled.removed)), (), tuple(sorted(settled.removed.items())), together)
    except ContentGone as gone:
        return Gone((gone.slot,), ())


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
    slot, shape = write.slot, shape_of(write.slot[0])
    if shape.nested:
        mask: When = END
        for depth in range(2, len(slot) + 1):
            version = history.next(slot[:depth], view, entry)
            if version is not None:
                mask = min(mask, version[:2])
                yield version
        for version in history.index.below(slot):
            if entry < version.entry and version[:2] < mask and view.live(version.entry):
                yield version
    elif shape.claims:
        content = history.content(slot, view, (entry + 1, 0))
        claim = shape.claim(content)
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
            together = make_plan(history, state, off | taken, on | back)
            return Blocked(tuple(sorted(taken)), tuple(sorted(back)), tuple(sorted(reasons.items())), together)
    reasons = {**settled.unmet, **settled.removed}
    return Blocked(tuple(sorted(settled.removed)), (), tuple(sorted(reasons.items())), None)


def _shrunk(history: History, off: frozenset[int], on: frozenset[int], more_off: frozenset[int],
            more_on: frozenset[int]) -> tuple[frozenset[int], frozenset[int]]:  # fmt: skip
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
            slot, shape = write.slot, shape_of(write.slot[0])
            slots = {slot[:depth] for depth in range(2, len(slot) + 1)} if shape.nested else set()
            claim = shape.claim(write.after) if shape.claims else None
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
            (nested if shape_of(write.slot[0]).nested else flat)[write.slot] = None
    changes: list[SlotChange] = []
    for slot in flat:
        before, after = get_slot(state, slot), history.content(slot, view)
        if before is not after and not same_content(slot, before, after):
            changes.append(SlotChange(slot, before, after))
    after_state = put_slots(state, [(change.slot, change.after) for change in changes])
    if nested:
        after_state = _nested_changes(history, view, nested, after_state, changes)
    return Plan(off, on, tuple(changes), after_state)


def _nested_changes(history: History, view: View, slots: Iterable[Slot], state: State,
                    changes: list[SlotChange]) -> State:  # fmt: skip
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


def relied_on(history: History, writes: Sequence[Write]) -> dict[int, str]:
    """Live entries without which these new writes could not happen, and why: taking those back needs both."""
    footing = {top.entry for write in writes for top in _footing(history, write)}
    found: dict[int, str] = {}
    with history.index.supposing(tuple(writes)) as versions:
        for entry in sorted(footing):
            removed = _settle(history, frozenset({entry}), frozenset()).removed
            why = removed.get(versions[0].entry) if versions else None
            if why is not None:
                found[entry] = why
    return found


def _footing(history: History, write: Write) -> Iterator[Version]:
    """The writes now in force where a new write looks before it happens."""
    view = View(history.undone)
    slot, shape = write.slot, shape_of(write.slot[0])
    if shape.nested:
        for depth in range(2, len(slot) + 1):
            top = history.cover(slot[:depth], view)
            if top is not None:
                yield top
    elif shape.claims and (claim := shape.claim(write.after)) is not None:
        for holder in history.holders(slot[0], claim) - {slot}:
            top = history.last(holder, view)
            if top is not None:
                yield top


def _plain(slot: Slot, content: Any) -> list[Any]:
    return [] if content is ABSENT else [shape_of(slot[0]).to_json(content)]


__all__ = ["Blocked", "Gone", "Outcome", "Plan", "SlotChange", "make_plan", "plan_redo", "plan_toggle", "plan_undo",
           "relied_on"]  # fmt: skip
