"""Where files stand in a history: never two at one path, nor one where another has a folder.

A file that was never moved stands at its slot's own path, so that only surfaces on which something moved are looked
at. What counts is where files stand at the end: of two at one path, whichever came there later could not have
come, and its entry is named. Only files of the entries that are toggled can come to stand elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from takeback.state import SURFACES, PMap, tree
from takeback.state.address import PATH, is_part
from takeback.state.file_paths import list_folders_above, name_slot
from takeback.state.slots import Slot, find_containing_slot, list_slots_above
from takeback.undo.history import ContentGone, History, View, When
from takeback.undo.index import Write


class Standing(NamedTuple):
    """Where a file stands, and since when."""

    slot: Slot
    path: str
    since: When


class Clash(NamedTuple):
    """Two files that cannot both stand where they would; `late` came later."""

    late: Standing
    early: Standing

    @property
    def why(self) -> str:
        """Why the later one could not have come."""
        path, other = self.late.path, self.early.path
        if path == other:
            return f"it puts a file at {path!r}, where another one would stand"
        inner, outer = (path, other) if len(path) > len(other) else (other, path)
        return f"it puts a file at {path!r}, and {outer!r} would be both a file and the folder of {inner!r}"


class ClashFinder:
    """Looks for clashes of files that entries wrote; one that has none is looked at again only if another moves."""

    def __init__(self, history: History, view: View) -> None:
        self._history, self._view = history, view
        self._seen: set[int] = set()
        self._suspects: set[Slot] = set()

    def find(self, entries: Iterable[int]) -> Clash | None:
        """Return the first clash, in order of time, of files that some entries wrote; None where there is none."""
        history = self._history
        for entry in entries:
            if entry not in self._seen:
                self._seen.add(entry)
                for write in history.index.writes(entry):
                    self._suspects.update(_list_moving(history, write))
        clashes = {slot: list(_find_clashes(history, self._view, slot)) for slot in self._suspects}
        self._suspects = {slot for slot, clashing in clashes.items() if clashing}
        every = (clash for some in clashes.values() for clash in some)
        return min(every, key=lambda clash: (clash.late.since, clash.early.since, clash.late.slot), default=None)


def list_rivals(history: History, write: Write) -> set[Slot]:
    """Return other slots whose files ever stood where a write, which may be new, puts some, above or below."""
    rivals: set[Slot] = set()
    claimed = [claim for claim in SURFACES[write.slot[0]].list_claims(write.after) if not claim.endswith("/")]
    for slot in _list_moving(history, write):
        standing = find_standing(history, slot, View(history.undone))
        own = [name_slot(slot[1:])] if standing is None else [name_slot(slot[1:]), standing.path]
        for path in dict.fromkeys((*own, *claimed)):
            rivals |= {*_list_at_or_above(history, slot[0], path), *_list_below(history, slot, path)} - {slot}
    return rivals


def find_standing(history: History, slot: Slot, view: View) -> Standing | None:
    """Return where the file of a slot stands; None where there is none."""
    try:
        versions = history.path(slot, view)
    except ContentGone:
        return None
    if versions is None:
        return None
    path, since = versions
    return Standing(slot, name_slot(slot[1:]) if path is None else path, since)


def _list_moving(history: History, write: Write) -> Iterator[Slot]:
    """Yield the slots of files that a write may put somewhere: of its whole, or whose frame it is."""
    surface = SURFACES[write.slot[0]]
    if not surface.movable or not (history.index.has_moved(surface.name) or any(surface.list_claims(write.after))):
        return
    if is_part(write.slot[-1]):
        if write.slot[-1][1:] == PATH:
            yield write.slot[:-1]
        return
    yield from _list_leaves(history, write.slot)
    if isinstance(write.after, PMap):
        yield from ((*write.slot, *path) for path, _ in tree.iter_leaves(write.after))


def _list_leaves(history: History, slot: Slot) -> set[Slot]:
    """Return the slots at and below one where a file ever was; none of the root."""
    leaves: set[Slot] = {slot} if len(slot) > 1 else set()

    def add(content: object, place: Slot) -> None:
        if isinstance(content, PMap):
            leaves.update((*place, *path) for path, _ in tree.iter_leaves(content) if path)

    with suppress(ContentGone):
        add(history.base_content(slot), slot)
    for place in (*list_slots_above(slot), slot):
        for version in history.index.at(place):
            after = version.write.after
            if isinstance(after, PMap):
                add(tree.get(PMap({"": after}), ("", *slot[len(place) :])), slot)
    for version in history.index.below(slot):
        place = find_containing_slot(version.write.slot)
        leaves.add(place)
        add(version.write.after, place)
    return leaves


def _find_clashes(history: History, view: View, slot: Slot) -> Iterator[Clash]:
    mine = find_standing(history, slot, view)
    if mine is None:
        return
    for other in {*_list_at_or_above(history, slot[0], mine.path), *_list_below(history, slot, mine.path)} - {slot}:
        theirs = find_standing(history, other, view)
        if theirs is None or not _is_in_the_way(mine.path, theirs.path):
            continue
        early, late = sorted((mine, theirs), key=lambda claim: (claim.since, claim.slot))
        if late.since[0] >= 0:  # what was there from the start stands beside itself
            yield Clash(late, early)


def _is_in_the_way(name: str, two: str) -> bool:
    return name == two or name.startswith(f"{two}/") or two.startswith(f"{name}/")


def _list_at_or_above(history: History, surface: str, path: str) -> Iterator[Slot]:
    """Yield slots whose files may stand at a path or where a folder above it is."""
    for place in (path, *list_folders_above(path)):
        own = (surface, *place.split("/"))
        if not any(map(is_part, own)):
            yield own
        yield from _list_claiming(history, surface, place)


def _list_below(history: History, slot: Slot, path: str) -> Iterator[Slot]:
    """Yield slots whose files may stand below a path."""
    own = (slot[0], *path.split("/"))
    if own != slot and not any(map(is_part, own)):
        yield from _list_leaves(history, own)
    yield from _list_claiming(history, slot[0], f"{path}/")


def _list_claiming(history: History, surface: str, claim: str) -> Iterator[Slot]:
    for version in history.index.list_claims(surface, claim):
        slot = find_containing_slot(version.write.slot)
        if isinstance(version.write.after, PMap):
            yield from ((*slot, *path) for path, _ in tree.iter_leaves(version.write.after))
        else:
            yield slot
