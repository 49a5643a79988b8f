"""Whether what someone else did can be told from the versions before and after: which of two equal lines went?

An item that came into a list between two others, where one had been removed earlier, can have been put before that or
after it: only the history tells that there was one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from takeback.state import ABSENT, State
from takeback.state.chain import ChainPlace, Link
from takeback.state.inside import compare, parts_of
from takeback.state.items import Items
from takeback.state.part_names import is_place
from takeback.state.slots import Slot, get_slot, slot_title, whole_of
from takeback.undo import Write
from takeback.undo.versions import Version

FindVersions = Callable[[Slot], Iterable[Version]]
"""Every version of what lies in a whole."""


class Readings(NamedTuple):
    """Addresses of texts and lists of which more could be said than their versions before and after tell."""

    several: tuple[str, ...]
    """They allow several readings."""
    coarse: tuple[str, ...]
    """A stretch of them was too long to be compared line by line: it counts as replaced."""


def read_versions(before: State, after: State, writes: Iterable[Write], below: FindVersions) -> Readings:
    """Return what is open about the texts and lists whose parts were written; `below` is asked about lists only."""
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
        if (one is not None and one.several) or (
            isinstance(parts, Items) and _came_where_one_was(parts, slot, written, below)
        ):
            several.append(slot_title(slot))
    return Readings(tuple(several), tuple(coarse))


def _came_where_one_was(items: Items, whole: Slot, writes: Sequence[Write], below: FindVersions) -> bool:
    """Whether an item came between two others between which one had stood that is not there now."""
    came = {write.slot[-1][1:] for write in writes if write.before is ABSENT and not is_place(write.slot[-1])}
    gaps = list(_gaps(items, came))
    if not gaps:
        return False
    there = {link.id for link in items.links()} | {write.slot[-1][1:] for write in writes}
    links = (link for version in below(whole) for link in (version.write.before, version.write.after))
    stood = (items.standing(link).place for link in links if isinstance(link, Link) and link.id not in there)
    return any(low < place < high for place in stood for low, high in gaps)


def _gaps(items: Items, came: set[str]) -> Iterator[tuple[ChainPlace, ChainPlace]]:
    """Where the items stand between which others came; at an end, what comes stands beyond all that ever was."""
    low: ChainPlace | None = None
    between = False
    for link in items.links():
        if link.id in came:
            between = True
            continue
        if low is not None and between:
            yield low, link.place
        low, between = link.place, False
