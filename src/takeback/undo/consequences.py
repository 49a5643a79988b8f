"""Consequences of a request: which entries could not have happened if others were undone or brought back, and why.

A part lies in a whole that its parent write put there. A write that needs a thing (a move, a replacement in
place, the removal of an item) could not have happened where that is missing. An item of a list that belongs
to nobody makes the list where there is none. Entries are followed in order of time, so the set that blocks a
request is exactly what cannot be kept. Where a request needs other entries toggled with it, the smallest set
is searched among the possible causes, at most `MAX_HELP` of them and `MAX_TRIES` sets; where that finds none,
a set of any size of which no entry can be left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import chain, combinations, islice
from typing import Any, Final

from takeback.progress import track_progress
from takeback.state import ABSENT, SURFACES, PMap
from takeback.state.address import FRAMES, PATH, is_frame, is_part, is_place, make_part_name
from takeback.state.slots import Slot, list_slots_above
from takeback.undo.clashes import Clash, ClashFinder, find_standing, list_rivals
from takeback.undo.history import END, LAST, History, View, When, find_parent_write
from takeback.undo.index import Version, Write, find_content_claim, find_write_claim, get_write_time


def why_impossible(history: History, version: Version, view: View) -> str | None:
    """Return why a write could not have happened in this view; None if it could."""
    write = version.write
    if is_part(write.slot[-1]):
        return _why_ungrounded(history, version, view) or _why_missing(history, version, view)
    return (
        _why_missing(history, version, view)
        or _why_claimed(history, version, view)
        or _why_misplaced(history, version, view)
    )


def _why_ungrounded(history: History, version: Version, view: View) -> str | None:
    """Return why a part could not have been written: its parent write is not there."""
    slot, ground = version.write.slot, find_parent_write(version)
    if is_frame(slot[-1]):
        return _why_unframed(history, version, view)
    makes = version.write.shared and not is_place(slot[-1])  # one that is shared makes its list itself
    content, when, founder = history.footing(slot[:-1], view, (version.entry, version.position + makes))
    if version.write.shared and not makes and content is ABSENT:
        return None  # where an item was moved to does nothing where the list is gone with its last item
    if founder is not None and find_parent_write(founder) == ground:
        return _why_crowded(history, slot[:-1], view, get_write_time(version))
    if founder is None and when == ground:
        return None
    return f"it edits {_describe_ground(history, slot, ground)}"


def _why_unframed(history: History, version: Version, view: View) -> str | None:
    """Return why a file's mode or path could not have been changed: the file is not there, or another one is."""
    slot, ground, until = version.write.slot, find_parent_write(version), get_write_time(version)
    if history.is_there(slot[:-1], view, until) and history.ground(slot, view, until) == ground:
        return None
    moves = slot[-1][1:] == PATH
    return f"it {'moves' if moves else 'sets the mode of'} {_describe_ground(history, slot, ground)}"


def _describe_ground(history: History, slot: Slot, ground: When | None) -> str:
    title = SURFACES[slot[0]].slot_title(slot[1:-1])
    now = find_standing(history, slot[:-1], View(history.undone)) if SURFACES[slot[0]].movable else None
    if now is not None:
        title = SURFACES[slot[0]].slot_title(tuple(now.path.split("/")))
    if ground is None or ground[0] < 0:
        return f"the {title} that was there at the beginning"
    return f"the {title} that #{ground[0]} put there"


def _why_crowded(history: History, slot: Slot, view: View, until: When) -> str | None:
    """Return why a list could not be made: a leaf stands above it, or a mapping in its place."""
    above = history.leaf_above(slot, view, until)
    if above is not None:
        return f"{'/'.join(above[1:])!r} is not a mapping"
    return f"{'/'.join(slot[1:])!r} is a mapping" if history.is_container(slot, view, until) else None


def _why_missing(history: History, version: Version, view: View) -> str | None:
    """Return why what a write needs was not there; None if it was, or it needs nothing."""
    write = version.write
    if not write.needs or history.is_there(write.slot, view, get_write_time(version)):
        return None
    return f"it changes {SURFACES[write.slot[0]].slot_title(write.slot[1:])}, which is not there"


def _why_claimed(history: History, version: Version, view: View) -> str | None:
    slot, claim = version.write.slot, find_write_claim(version.write)
    if claim is None:
        return None
    for other in history.holders(slot[0], claim):
        if (
            other != slot
            and find_content_claim(slot[0], history.get_content(other, view, get_write_time(version))) == claim
        ):
            return f"{claim} is held by {other[-1]!r}"
    return None


def _why_misplaced(history: History, version: Version, view: View) -> str | None:
    """Return why a path could not be written: what stands above it is no container, or a container is there."""
    write, until = version.write, get_write_time(version)
    slot, surface = write.slot, SURFACES[write.slot[0]]
    if not surface.nested or (write.after is ABSENT and not write.strict):
        return None
    if len(slot) > 2 and write.after is not ABSENT:  # noqa: PLR2004 - surface and one name: nothing is above it
        if surface.rooted and history.node(slot[:2], view, until)[0] is ABSENT:
            return f"it changes {surface.slot_title(slot[1:2])}, which is not there"
        above = history.leaf_above(slot, view, until)
        if above is not None:
            return f"{'/'.join(above[1:])!r} is not a {'directory' if surface.strict else 'mapping'}"
    if write.strict and history.is_container(slot, view, until):
        return f"{'/'.join(slot[1:])!r} is a directory"
    return None


MAX_HELP: Final = 6
MAX_TRIES: Final = 600
MAX_PARTS: Final = 4096

Entries = frozenset[int]


@dataclass(frozen=True, slots=True)
class Consequences:
    """What follows from a request."""

    removed: dict[int, str]
    """Live entries that could not have happened, and why."""
    unmet: dict[int, str]
    """Entries asked back that could not have happened, and why."""
    causes: dict[int, frozenset[int]]
    """For each unmet entry, other entries that may have to be toggled for it to be possible."""

    @property
    def nothing(self) -> bool:
        """Whether nothing follows: the request is possible as it is."""
        return not self.removed and not self.unmet


def find_consequences(history: History, off: Entries, on: Entries) -> Consequences:
    """Follow the consequences of a request through time; then, of two files in one place, drop the later one."""
    pursuit = _Pursuit(history, off, on)
    removals = pursuit.found
    history.index.read_ahead((*off, *on))
    for entry in track_progress("entries looked at", chain(off, on), len(off) + len(on)):
        pursuit.begin(entry)
    pursuit.follow()
    clashes = ClashFinder(history, pursuit.view)
    while (clash := clashes.find((*off, *on, *removals.removed, *removals.unmet))) is not None:
        pursuit.give_up(clash.late.since[0], clash.why, _find_clash_causes(history, clash))
        pursuit.follow()
    return removals


class _Pursuit:
    """Writes that may have become impossible, looked at in order of time."""

    def __init__(self, history: History, off: Entries, on: Entries) -> None:
        self.view = View(history.undone, off, on)
        self.found = Consequences({}, {}, {})
        self._history, self._on = history, on
        self._waiting: list[tuple[int, int, Slot, Version]] = []
        self._seen: set[When] = set()

    def begin(self, entry: int) -> None:
        """Note what a toggled entry affects; one that is asked back must itself be possible."""
        self._spread(entry)
        if entry in self._on:
            for position, write in enumerate(self._history.index.writes(entry)):
                heappush(self._waiting, (entry, position, write.slot, Version(entry, position, write)))

    def _spread(self, entry: int) -> None:
        for write in self._history.index.writes(entry):
            for version in _find_affected(self._history, entry, write, self.view):
                heappush(self._waiting, (version.entry, version.position, version.write.slot, version))

    def give_up(self, entry: int, why: str, causes: Iterable[int]) -> None:
        """Note that an entry could not have happened, and what follows from that."""
        (self.found.unmet if entry in self._on else self.found.removed)[entry] = why
        if entry in self._on:
            self.found.causes[entry] = frozenset(causes) - {entry}
        self.view.off.add(entry)
        self._spread(entry)

    def follow(self) -> None:
        """Look at what is waiting, and at what follows from it; what was possible before may not be now."""
        self._seen.clear()
        while self._waiting:
            entry, position, _, version = heappop(self._waiting)
            if (entry, position) in self._seen or not self.view.live(entry):
                continue
            self._seen.add((entry, position))
            why = why_impossible(self._history, version, self.view)
            if why is not None:
                causes = _find_causes(self._history, version, self.view) if entry in self._on else ()
                self.give_up(entry, why, causes)


def _find_clash_causes(history: History, clash: Clash) -> Iterator[int]:
    """Yield entries that decide where the earlier of two files stands, or whether it is there."""
    slot = clash.early.slot
    for place in (*list_slots_above(slot), slot, (*slot, make_part_name(PATH))):
        yield from (version.entry for version in history.index.at(place))


def _find_affected(history: History, entry: int, write: Write, view: View) -> Iterator[Version]:
    slot, surface = write.slot, SURFACES[write.slot[0]]
    if is_part(slot[-1]) or not surface.nested:
        following = history.next(slot, view, entry)
        if following is not None and following.write.needs:
            yield following
    if is_part(slot[-1]):
        if write.shared:
            mine = find_parent_write(Version(entry, 0, write))
            below = history.live_below(slot[:-1], view, (entry, LAST), END)
            yield from (
                other for other in below if not is_part(other.write.slot[-1]) or find_parent_write(other) != mine
            )
            yield from _find_lists_above(history, entry, slot[:-1], view)
        return
    if surface.nested:
        mask: When = END
        for place in (*list_slots_above(slot), slot):
            version = history.next(place, view, entry)
            if version is not None:
                mask = min(mask, get_write_time(version))
                yield version
        yield from history.live_below(slot, view, (entry, LAST), mask)
        yield from _find_frames_behind(history, slot, view, mask)
        yield from _find_lists_above(history, entry, slot, view)
    elif surface.exclusive:
        claim = find_content_claim(slot[0], history.get_content(slot, view, (entry + 1, 0)))
        if claim is not None:
            masking = history.next(slot, view, entry)
            mask = END if masking is None else get_write_time(masking)
            for version in history.index.list_claims(slot[0], claim):
                if entry < version.entry and get_write_time(version) < mask and version.write.slot != slot:
                    yield version


def _find_frames_behind(history: History, slot: Slot, view: View, mask: When) -> Iterator[Version]:
    """Yield live writes of a file's frame after a write of its content alone: that does not come between."""
    if mask != END and SURFACES[slot[0]].movable:
        frames = (version for part in FRAMES for version in history.index.at((*slot, make_part_name(part))))
        yield from (version for version in frames if get_write_time(version) > mask and view.live(version.entry))


def _find_lists_above(history: History, entry: int, slot: Slot, view: View) -> Iterator[Version]:
    """Yield later live items that make a list above a slot, which must not be a mapping then."""
    for place in list_slots_above(slot) if SURFACES[slot[0]].listed else ():
        for version in history.index.list_shared_parts(place):
            if version.entry > entry and view.live(version.entry):
                yield version


def _find_causes(history: History, version: Version, view: View) -> Iterator[int]:
    """Yield earlier entries that may be why a write could not have happened: toggling one may make it possible."""
    slot, until, surface = version.write.slot, get_write_time(version), SURFACES[version.write.slot[0]]
    if is_part(slot[-1]):
        ground = find_parent_write(version)
        near = [
            (get_write_time(other), other.entry)
            for place in list_slots_above(slot)
            for other in history.index.at(place)
        ]
        yield from (entry for when, entry in near if when == ground or (when < until and view.live(entry)))
    if version.write.needs:
        yield from (other.entry for other in history.index.at(slot) if get_write_time(other) < until)
    if is_part(slot[-1]):
        return
    claim = find_write_claim(version.write)
    if claim is not None:
        for holder in history.holders(slot[0], claim) - {slot}:
            yield from (other.entry for other in history.index.at(holder) if get_write_time(other) < until)
    if surface.nested:
        above = None if version.write.after is ABSENT else history.leaf_above(slot, view, until)
        reach = slot if above is None else above
        for place in (*list_slots_above(reach), reach):
            yield from (other.entry for other in history.index.at(place) if get_write_time(other) < until)
        if version.write.strict and above is None:
            yield from (other.entry for other in history.index.below(slot) if get_write_time(other) < until)


def find_smallest_unblocking_set(
    history: History, off: Entries, on: Entries, settled: Consequences
) -> tuple[Entries, Entries] | None:
    """Return the smallest set found of other entries that makes a request possible: undone, and brought back."""
    tried: set[Entries] = {frozenset()}
    best: tuple[Entries, Entries] | None = None
    layer: list[tuple[Entries, Consequences]] = [(frozenset(), settled)]
    for _ in range(MAX_HELP):
        deeper: list[tuple[Entries, Consequences]] = []
        for chosen, consequences in layer:
            causes = frozenset().union(*consequences.causes.values()) - off - on - chosen
            for cause in sorted(causes, reverse=True):
                more = chosen | {cause}
                if more in tried or len(tried) >= MAX_TRIES:
                    continue
                tried.add(more)
                back = frozenset(entry for entry in more if entry in history.undone)
                result = find_consequences(history, off | (more - back), on | back)
                if not result.unmet:
                    taken = (more - back) | result.removed.keys()
                    if best is None or _count_entries((taken, back)) < _count_entries(best):
                        best = taken, back
                else:
                    deeper.append((more, result))
        if best is not None:
            return _shrink_unblocking_set(history, off, on, *best)
        layer = deeper
    return _find_unblocking_set(history, off, on, settled)


def _find_unblocking_set(
    history: History, off: Entries, on: Entries, settled: Consequences
) -> tuple[Entries, Entries] | None:
    """Return an unblocking set of any size, none of which can be left out; None if no set was found.

    All causes are toggled together, then those that are still causes, and so on: live ones, undone ones, any.
    """
    sets: list[tuple[Entries, Entries]] = []
    live, undone = (lambda entries: entries - history.undone), (lambda entries: entries & history.undone)
    for select in (live, undone, frozenset[int]):
        chosen: Entries = frozenset()
        result = settled
        while result.unmet:
            causes = select(frozenset().union(*result.causes.values())) - off - on - chosen
            if not causes:
                break
            chosen |= causes
            back = chosen & history.undone
            result = find_consequences(history, off | (chosen - back), on | back)
        else:
            back = chosen & history.undone
            sets.append(_drop_unneeded(history, off, on, (chosen - back) | result.removed.keys(), back))
    return min(sets, key=_count_entries, default=None)


def _count_entries(helping: tuple[Entries, Entries]) -> int:
    taken, back = helping
    return len(taken) + len(back)


def _drop_unneeded(
    history: History, off: Entries, on: Entries, more_off: Entries, more_on: Entries
) -> tuple[Entries, Entries]:
    for entry in sorted(more_off | more_on, reverse=True):
        less_off, less_on = more_off - {entry}, more_on - {entry}
        if find_consequences(history, off | less_off, on | less_on).nothing:
            more_off, more_on = less_off, less_on
    return more_off, more_on


def _shrink_unblocking_set(
    history: History, off: Entries, on: Entries, more_off: Entries, more_on: Entries
) -> tuple[Entries, Entries]:
    every = sorted(more_off | more_on)
    parts = (frozenset(chosen) for size in range(1, len(every)) for chosen in combinations(every, size))
    for part in islice(parts, MAX_PARTS):
        if find_consequences(history, off | (more_off & part), on | (more_on & part)).nothing:
            return more_off & part, more_on & part
    return _drop_unneeded(history, off, on, more_off, more_on)


def find_dependencies(history: History, writes: tuple[Write, ...]) -> dict[int, str]:
    """Return the live entries without which these new writes could not happen, and why."""
    writes = history.with_parents(writes)
    reasons: dict[int, str] = {}
    footing = _find_candidate_dependencies(history, writes)
    if not footing:
        return reasons
    with history.index.suppose_entry(writes) as versions:
        for entry in sorted(footing):
            why = find_consequences(history, frozenset({entry}), frozenset()).removed.get(versions[0].entry)
            if why is not None:
                reasons[entry] = why
    return reasons


def _find_candidate_dependencies(history: History, writes: tuple[Write, ...]) -> set[int]:
    """Return the entries whose writes are in force where new writes look, and what those depend on in turn."""
    view = View(history.undone)
    entries: set[int] = set()
    seen: set[int] = set()
    waiting = [(write, END) for write in writes]
    while waiting:
        write, until = waiting.pop()
        for version in _find_foundations(history, write, view, until):
            if version.entry not in entries and not _is_leaf_over_leaf(history, write, version, view):
                entries.add(version.entry)
            if version.entry not in seen:
                seen.add(version.entry)
                near = history.index.writes(version.entry)
                waiting += [(other, (version.entry, at)) for at, other in enumerate(near)]
    return entries


def _is_leaf_over_leaf(history: History, write: Write, version: Version, view: View) -> bool:
    """Tell whether a write lies where a leaf stood before and after another: its existence is all it looks at."""
    if not SURFACES[write.slot[0]].nested or version.write.slot != write.slot or not _is_leaf(version.write.after):
        return False
    return _is_leaf(history.node(write.slot, view, get_write_time(version))[0])


def _is_leaf(content: Any) -> bool:
    return content is not ABSENT and type(content) is not PMap


def _find_foundations(history: History, write: Write, view: View, until: When) -> Iterator[Version]:
    """Yield the writes in force at a time where a write looks: above it, and at its slot if no container may be."""
    slot, surface = write.slot, SURFACES[write.slot[0]]
    needed = history.last(slot, view, until) if write.needs else None
    if needed is not None:
        yield needed
    if surface.nested:
        for place in (*list_slots_above(slot), slot) if write.strict else list_slots_above(slot):
            top = history.find_cover(place, view, until)
            if top is not None:
                yield top
        if is_frame(slot[-1]) and (framing := history.find_framing(slot[:-1], view, until)) is not None:
            yield framing
        for rival in list_rivals(history, write) if surface.movable else ():
            for place in (rival, (*rival, make_part_name(PATH))):
                if (version := history.last(place, view, until)) is not None:
                    yield version
    elif surface.exclusive and (claim := find_write_claim(write)) is not None:
        for holder in history.holders(slot[0], claim) - {slot}:
            held = history.last(holder, view, until)
            if held is not None:
                yield held
