"""An ordered chain whose elements carry their place with them.

A place is a tuple of (number, id) pairs, ordered as tuples are. `between` always finds a new place between
two others and no two elements ever share one, because a place ends with its element's id. Restoring an
element puts its old place back, so the order comes out right whatever else has come or gone since. What is put
at an end stands beyond every place ever used there, also by elements that have moved away or gone: a last one
stays last when they come back. Equality looks at membership, order and records, never at places.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from takeback.state.values import same

Place = tuple[tuple[int, str], ...]
_STEP = 1024


class Link(NamedTuple):
    """One element of a chain: where it stands, what it is called, what it holds."""

    place: Place
    id: str
    record: Any


def between(low: Place | None, high: Place | None, name: str) -> Place:
    """Return a place after `low` and before `high` (None: no bound on that side) for element `name`."""
    if low is None:
        return ((_STEP if high is None else high[0][0] - _STEP, name),)
    if high is None:
        return ((low[0][0] + _STEP, name),)
    left, right = low[0][0], high[0][0]
    if right - left > 1:
        return (((left + right) // 2, name),)
    if high[: len(low)] == low:
        return (*low, (high[len(low)][0] - _STEP, name))
    return (*low, (0, name))


class Chain:
    """Immutable sequence of links in the order of their places."""

    __slots__ = ("_reach", "links")

    def __init__(self, links: tuple[Link, ...] = (), reach: tuple[int, int] | None = None) -> None:
        self.links = links
        self._reach = reach

    @classmethod
    def of(cls, records: Iterable[tuple[str, Any]]) -> Chain:
        """Return a chain of `(id, record)` pairs with evenly spaced places."""
        return cls(
            tuple(Link((((at + 1) * _STEP, name),), name, record) for at, (name, record) in enumerate(records))
        )

    @property
    def reach(self) -> tuple[int, int] | None:
        """The smallest and largest number of a place ever used; None if none was."""
        if self._reach is None and self.links:
            self._reach = self.links[0].place[0][0], self.links[-1].place[0][0]
        return self._reach

    def find(self, name: str) -> Link | None:
        """Return the link called `name`, or None."""
        for link in self.links:
            if link[1] == name:
                return link
        return None

    def index(self, name: str) -> int:
        """Return the position of `name`, or -1."""
        for at, link in enumerate(self.links):
            if link[1] == name:
                return at
        return -1

    def put(self, link: Link) -> Chain:
        """Return this chain with `link` at its own place, in place of any link of the same id."""
        links = [other for other in self.links if other[1] != link[1]]
        links.insert(bisect_left(links, link[0], key=lambda other: other[0]), link)
        return Chain(tuple(links), self._reaching(link))

    def insert(self, at: int, name: str, record: Any) -> tuple[Chain, Link]:
        """Return this chain with `name` moved or added to position `at` among the others, and its link."""
        links = [other for other in self.links if other[1] != name]
        reach = self.reach
        if at >= len(links):
            place = between(reach and ((reach[1], ""),), None, name)
        elif at == 0:
            place = between(None, reach and ((reach[0], ""),), name)
        else:
            place = between(links[at - 1][0], links[at][0], name)
        link = Link(place, name, record)
        links.insert(at, link)
        return Chain(tuple(links), self._reaching(link)), link

    def drop(self, name: str) -> Chain:
        """Return this chain without `name`; the chain itself if it is not there."""
        links = tuple(other for other in self.links if other[1] != name)
        return self if len(links) == len(self.links) else Chain(links, self.reach)

    def _reaching(self, link: Link) -> tuple[int, int]:
        number, reach = link.place[0][0], self.reach
        return (number, number) if reach is None else (min(reach[0], number), max(reach[1], number))

    def ids(self) -> tuple[str, ...]:
        """Return the ids in order."""
        return tuple(link[1] for link in self.links)

    def moved(self, other: Chain) -> set[str]:
        """Return a set of ids whose moving explains the difference in order between two chains."""
        shared = set(self.ids()) & set(other.ids())
        before = [link for link in self.links if link.id in shared]
        after = [link for link in other.links if link.id in shared]
        if [link.id for link in before] == [link.id for link in after]:
            return set()
        places = {link.id: link.place for link in before}
        shifted = {link.id for link in after if link.place != places[link.id]}
        if len(shifted) < len(after):
            return shifted
        rank = {link.id: at for at, link in enumerate(before)}
        kept = _longest_increasing([rank[link.id] for link in after])
        return {link.id for link in after if rank[link.id] not in kept}

    def __iter__(self) -> Iterator[Link]:
        return iter(self.links)

    def __len__(self) -> int:
        return len(self.links)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Chain):
            return NotImplemented
        if len(self.links) != len(other.links):
            return False
        return all(
            one.id == two.id and same(one.record, two.record)
            for one, two in zip(self.links, other.links, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Chain({[(link.id, link.record) for link in self.links]!r})"


def _longest_increasing(ranks: list[int]) -> set[int]:
    tails: list[int] = []
    back: dict[int, int | None] = {}
    for rank in ranks:
        at = bisect_left(tails, rank)
        back[rank] = tails[at - 1] if at else None
        tails[at : at + 1] = [rank]
    kept: set[int] = set()
    step = tails[-1] if tails else None
    while step is not None:
        kept.add(step)
        step = back[step]
    return kept


NO_LINKS = Chain()
