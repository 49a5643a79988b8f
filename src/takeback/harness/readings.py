"""Whether what someone else did can be told from the versions before and after: which of two equal lines went?

A line or item that came between two others, where one had been removed earlier, can have been put before that or
after it: only the history tells that there was one, and where.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from takeback.state import ABSENT, State
from takeback.state.chain import ChainPlace, Link
from takeback.state.inside import compare, parts_of
from takeback.state.part_names import PLACE, original, part_name
from takeback.state.parts import Parts, place_of
from takeback.state.slots import Slot, get_slot, slot_title, whole_of
from takeback.undo import Write
from takeback.undo.versions import Versions

FindVersions = Callable[[Slot], Versions]
"""Every version of a slot, oldest first."""
MOST_GONE: Final = 256
"""Of parts that were added and removed again, so many are looked for in the history, the last ones first."""


class Readings(NamedTuple):
    """Addresses of texts and lists of which more could be said than their versions before and after tell."""

    several: tuple[str, ...]
    """They allow several readings."""
    coarse: tuple[str, ...]
    """A stretch of them was too long to be compared line by line: it counts as replaced."""


def read_versions(before: State, after: State, writes: Iterable[Write], at: FindVersions) -> Readings:
    """Return what is open about the texts and lists whose parts were written; `at` tells of parts that are gone."""
    wholes: dict[Slot, list[Write]] = {}
    for write in writes:
        if whole_of(write.slot) is not write.slot:
            wholes.setdefault(whole_of(write.slot), []).append(write)
    several: list[str] = []
    coarse: list[str] = []
    for slot, written in wholes.items():
        one = compare(get_slot(before, slot), get_slot(after, slot))
        parts = parts_of(get_slot(after, slot))
        if one is not None and one.coarse:
            coarse.append(slot_title(slot))
        several_here = one is not None and one.several
        if several_here or (parts is not None and _came_where_one_was(parts, slot, written, at)):
            several.append(slot_title(slot))
    return Readings(tuple(several), tuple(coarse))


def _came_where_one_was(parts: Parts, whole: Slot, writes: Sequence[Write], at: FindVersions) -> bool:
    """Whether a part came between two others between which one had stood that is not there now."""
    written = {write.slot[-1][1:] for write in writes}
    came = {write.slot[-1][1:].removeprefix(PLACE) for write in writes if write.before is ABSENT}
    gaps = list(_gaps(parts, came))
    if not gaps:
        return False
    stood = sorted(_places(parts, [part for part in parts.gone(MOST_GONE) if part not in written], whole, at))
    return any(bisect_left(stood, high) > bisect_right(stood, low) for low, high in gaps)


def _gaps(parts: Parts, came: set[str]) -> Iterator[tuple[ChainPlace, ChainPlace]]:
    """Where the parts stand between which others came; at an end, what comes stands beyond all that ever was."""
    low: ChainPlace | None = None
    between = False
    for link in parts.links():
        if link.id in came:
            between = True
            continue
        if low is not None and between:
            yield low, link.place
        low, between = link.place, False


def _places(parts: Parts, gone: Iterable[str], whole: Slot, at: FindVersions) -> Iterator[ChainPlace]:
    """Where parts stood that are not there now: those from the start at their numbers, others as the history says."""
    for part in gone:
        number = original(part)
        if number is not None:
            yield parts.standing(Link(place_of(number), part, None)).place
            continue
        versions = at((*whole, part_name(part)))
        last = versions[len(versions) - 1].write if len(versions) else None
        link = None if last is None else last.before if last.after is ABSENT else last.after
        if isinstance(link, Link):
            yield parts.standing(link).place
