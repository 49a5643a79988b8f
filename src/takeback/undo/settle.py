"""Which entries could not have happened if others were taken back or brought back.

Entries are settled in order of time, so the set that blocks a request is exactly what cannot be kept. Where a request
needs other entries toggled with it, the smallest set is looked for among those that can be the cause of an
objection, at most `MAX_HELP` of them and `MAX_TRIES` sets; where that finds none, a set of any size of which no entry
can be left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain, combinations, islice
from typing import Any, Final

from takeback.journal.counted import counted
from takeback.state import ABSENT, SURFACES, PMap
from takeback.state.parts import is_part
from takeback.state.slots import Slot, slots_above
from takeback.undo.history import END, LAST, History, View, When, grounded_on
from takeback.undo.index import claim_of, claimed
from takeback.undo.objections import why_impossible
from takeback.undo.versions import Version, Write, time_of

MAX_HELP: Final = 6
MAX_TRIES: Final = 600
MAX_PARTS: Final = 4096

Entries = frozenset[int]


@dataclass(frozen=True, slots=True)
class Settled:
    """What follows from a request."""

    removed: dict[int, str]
    """Live entries that could not have happened, and why."""
    unmet: dict[int, str]
    """Entries asked back that could not have happened, and why."""
    causes: dict[int, frozenset[int]]
    """For each unmet entry, other entries that may have to be toggled for it to be possible."""


def settle(history: History, off: Entries, on: Entries) -> Settled:
    """Follow the consequences of a request through time."""
    view = View(history.undone, off, on)
    waiting: list[tuple[int, int, Slot, Version]] = []
    found = Settled({}, {}, {})

    def spread(entry: int) -> None:
        for write in history.index.writes(entry):
            for version in _affected(history, entry, write, view):
                heappush(waiting, (version.entry, version.position, version.write.slot, version))

    history.index.read_ahead((*off, *on))
    for entry in counted("entries looked at", chain(off, on), len(off) + len(on)):
        spread(entry)
        if entry in on:
            for position, write in enumerate(history.index.writes(entry)):
                heappush(waiting, (entry, position, write.slot, Version(entry, position, write)))
    seen: set[When] = set()
    while waiting:
        entry, position, _, version = heappop(waiting)
        if (entry, position) in seen or not view.live(entry):
            continue
        seen.add((entry, position))
        why = why_impossible(history, version, view)
        if why is not None:
            (found.unmet if entry in on else found.removed)[entry] = why
            if entry in on:
                found.causes[entry] = frozenset(_causes(history, version, view)) - {entry}
            view.off.add(entry)
            spread(entry)
    return found


def _affected(history: History, entry: int, write: Write, view: View) -> Iterator[Version]:
    """Later live writes that could depend on this one being there or not."""
    slot, surface = write.slot, SURFACES[write.slot[0]]
    if is_part(slot[-1]) or not surface.nested:
        following = history.next(slot, view, entry)
        if following is not None and following.write.needs:
            yield following
    if is_part(slot[-1]):
        if write.shared:
            mine = grounded_on(Version(entry, 0, write))
            below = history.live_below(slot[:-1], view, (entry, LAST), END)
            yield from (other for other in below if not is_part(other.write.slot[-1]) or grounded_on(other) != mine)
        return
    if surface.nested:
        mask: When = END
        for place in (*slots_above(slot), slot):
            version = history.next(place, view, entry)
            if version is not None:
                mask = min(mask, time_of(version))
                yield version
        yield from history.live_below(slot, view, (entry, LAST), mask)
        yield from _made_above(history, entry, slot, view)
    elif surface.exclusive:
        claim = claimed(slot[0], history.held(slot, view, (entry + 1, 0)))
        if claim is not None:
            masking = history.next(slot, view, entry)
            mask = END if masking is None else time_of(masking)
            for version in history.index.claiming(slot[0], claim):
                if entry < version.entry and time_of(version) < mask and version.write.slot != slot:
                    yield version


def _made_above(history: History, entry: int, slot: Slot, view: View) -> Iterator[Version]:
    """Later live items that make a list above a slot, which must not be a mapping then."""
    for place in slots_above(slot) if SURFACES[slot[0]].listed else ():
        for version in history.index.sharing(place):
            if version.entry > entry and view.live(version.entry):
                yield version


def _causes(history: History, version: Version, view: View) -> Iterator[int]:
    """Earlier entries that can be why a write could not have happened: toggling one of them may make it possible."""
    slot, until, surface = version.write.slot, time_of(version), SURFACES[version.write.slot[0]]
    if is_part(slot[-1]):
        ground = grounded_on(version)
        near = [(time_of(other), other.entry) for place in slots_above(slot) for other in history.index.at(place)]
        yield from (entry for when, entry in near if when == ground or (when < until and view.live(entry)))
    if version.write.needs:
        yield from (other.entry for other in history.index.at(slot) if time_of(other) < until)
    if is_part(slot[-1]):
        return
    claim = claim_of(version.write)
    if claim is not None:
        for holder in history.holders(slot[0], claim) - {slot}:
            yield from (other.entry for other in history.index.at(holder) if time_of(other) < until)
    if surface.nested:
        above = None if version.write.after is ABSENT else history.leaf_above(slot, view, until)
        reach = slot if above is None else above
        for place in (*slots_above(reach), reach):
            yield from (other.entry for other in history.index.at(place) if time_of(other) < until)
        if version.write.strict and above is None:
            yield from (other.entry for other in history.index.below(slot) if time_of(other) < until)


def helpers(history: History, off: Entries, on: Entries, settled: Settled) -> tuple[Entries, Entries] | None:
    """The smallest set of other entries found that makes a request possible: taken back, and brought back."""
    tried: set[Entries] = {frozenset()}
    best: tuple[Entries, Entries] | None = None
    layer: list[tuple[Entries, Settled]] = [(frozenset(), settled)]
    for _ in range(MAX_HELP):
        deeper: list[tuple[Entries, Settled]] = []
        for chosen, found in layer:
            causes = frozenset().union(*found.causes.values()) - off - on - chosen
            for cause in sorted(causes, reverse=True):
                more = chosen | {cause}
                if more in tried or len(tried) >= MAX_TRIES:
                    continue
                tried.add(more)
                back = frozenset(entry for entry in more if entry in history.undone)
                result = settle(history, off | (more - back), on | back)
                if not result.unmet:
                    taken = (more - back) | result.removed.keys()
                    if best is None or _size((taken, back)) < _size(best):
                        best = taken, back
                else:
                    deeper.append((more, result))
        if best is not None:
            return _shrunk(history, off, on, *best)
        layer = deeper
    return _many(history, off, on, settled)


def _many(history: History, off: Entries, on: Entries, settled: Settled) -> tuple[Entries, Entries] | None:
    """A set of helping entries of any size, none of which can be left out; None if no set was found.

    All causes are toggled together, then those that are still causes, and so on: live ones, undone ones, any.
    """
    found: list[tuple[Entries, Entries]] = []
    for choice in (_live_among, _undone_among, _any_among):
        chosen: Entries = frozenset()
        result = settled
        while result.unmet:
            causes = choice(history, frozenset().union(*result.causes.values())) - off - on - chosen
            if not causes:
                break
            chosen |= causes
            back = chosen & history.undone
            result = settle(history, off | (chosen - back), on | back)
        else:
            back = chosen & history.undone
            found.append(_irreducible(history, off, on, (chosen - back) | result.removed.keys(), back))
    return min(found, key=_size, default=None)


def _size(helping: tuple[Entries, Entries]) -> int:
    """How many entries a set that helps has."""
    taken, back = helping
    return len(taken) + len(back)


def _live_among(history: History, entries: Entries) -> Entries:
    return entries - history.undone


def _undone_among(history: History, entries: Entries) -> Entries:
    return entries & history.undone


def _any_among(_: History, entries: Entries) -> Entries:
    return entries


def _irreducible(
    history: History, off: Entries, on: Entries, more_off: Entries, more_on: Entries
) -> tuple[Entries, Entries]:
    """Helping entries without those that can be left out one after the other."""
    for entry in sorted(more_off | more_on, reverse=True):
        less_off, less_on = more_off - {entry}, more_on - {entry}
        settled = settle(history, off | less_off, on | less_on)
        if not settled.removed and not settled.unmet:
            more_off, more_on = less_off, less_on
    return more_off, more_on


def _shrunk(
    history: History, off: Entries, on: Entries, more_off: Entries, more_on: Entries
) -> tuple[Entries, Entries]:
    """The smallest part of a set of helping entries that is enough."""
    every = sorted(more_off | more_on)
    parts = (frozenset(chosen) for size in range(1, len(every)) for chosen in combinations(every, size))
    for part in islice(parts, MAX_PARTS):
        settled = settle(history, off | (more_off & part), on | (more_on & part))
        if not settled.removed and not settled.unmet:
            return more_off & part, more_on & part
    return _irreducible(history, off, on, more_off, more_on)


def relied_on(history: History, writes: tuple[Write, ...]) -> dict[int, str]:
    """Live entries without which these new writes could not happen, and why: taking those back needs both."""
    writes = history.grounded(writes)
    found: dict[int, str] = {}
    footing = _footing(history, writes)
    if not footing:
        return found
    with history.index.supposing(writes) as versions:
        for entry in sorted(footing):
            why = settle(history, frozenset({entry}), frozenset()).removed.get(versions[0].entry)
            if why is not None:
                found[entry] = why
    return found


def _footing(history: History, writes: tuple[Write, ...]) -> set[int]:
    """Entries whose writes are in force where new writes look before they happen, and what those stand on in turn."""
    view = View(history.undone)
    found: set[int] = set()
    seen: set[int] = set()
    waiting = [(write, END) for write in writes]
    while waiting:
        write, until = waiting.pop()
        for version in _grounds(history, write, view, until):
            if version.entry not in found and not _leaf_over_leaf(history, write, version, view):
                found.add(version.entry)
            if version.entry not in seen:
                seen.add(version.entry)
                near = history.index.writes(version.entry)
                waiting += [(other, (version.entry, at)) for at, other in enumerate(near)]
    return found


def _leaf_over_leaf(history: History, write: Write, version: Version, view: View) -> bool:
    """Whether a write lies where a leaf stood before and after another: whether there is one is all it looks at."""
    if not SURFACES[write.slot[0]].nested or version.write.slot != write.slot or not _is_leaf(version.write.after):
        return False
    return _is_leaf(history.node(write.slot, view, time_of(version))[0])


def _is_leaf(content: Any) -> bool:
    return content is not ABSENT and type(content) is not PMap


def _grounds(history: History, write: Write, view: View, until: When) -> Iterator[Version]:
    """The writes in force at a time where a write looks: above it, and at its own slot if a container may not be."""
    slot, surface = write.slot, SURFACES[write.slot[0]]
    needed = history.last(slot, view, until) if write.needs else None
    if needed is not None:
        yield needed
    if surface.nested:
        for place in (*slots_above(slot), slot) if write.strict else slots_above(slot):
            top = history.cover(place, view, until)
            if top is not None:
                yield top
    elif surface.exclusive and (claim := claim_of(write)) is not None:
        for holder in history.holders(slot[0], claim) - {slot}:
            held = history.last(holder, view, until)
            if held is not None:
                yield held
