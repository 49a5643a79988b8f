"""An ordered chain whose elements carry their place with them.

A place is a tuple of (number, id) pairs, ordered as tuples are. `between` always finds a new place between
two others and no two elements ever share one, because a place ends with its element's id. Restoring an
element puts its old place back, so the order comes out right whatever else has come or gone since. What is put
at an end stands beyond every place ever used there, also by elements that have moved away or gone: a last one
stays last when they come back. Equality looks at membership, order and records, never at places. Elements are
kept in chunks, with an index by id once there are many, so that one operation costs the same on long chains.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

from takeback.sequences import find_longest_rising
from takeback.state.pmap import PMap, fast_tuple
from takeback.state.values import is_same_value

ChainPlace = tuple[tuple[int, str], ...]
STEP: Final = 1024
SMALL: Final = 64
"""Up to this length a chain is one tuple and is searched from the front."""
CHUNK: Final = 512


class Link(NamedTuple):
    """One element of a chain: where it stands, what it is called, what it holds."""

    place: ChainPlace
    id: str
    record: Any


_new = object.__new__
_TOP: Final = chr(0x10FFFF) * 256
"""Behind every id."""
Chunks = tuple[tuple[Link, ...], ...]
LinkDifference = tuple[str, Link | None, Link | None]


def make_place_between(low: ChainPlace | None, high: ChainPlace | None, name: str) -> ChainPlace:
    """Return a place after `low` and before `high` (None: no bound on that side) for element `name`."""
    if low is None:
        return ((STEP if high is None else high[0][0] - STEP, name),)
    if high is None:
        return ((low[0][0] + STEP, name),)
    if high[: len(low)] == low:
        return (*low, (high[len(low)][0] - STEP, name))
    level = next(at for at, (below, above) in enumerate(zip(low, high, strict=False)) if below != above)
    if level < len(low) - 1:
        return (*low[:-1], (low[-1][0] + STEP, name))
    left, right = low[level][0], high[level][0]
    if right - left > 1:
        return (*low[:level], ((left + right) // 2, name))
    return (*low, (0, name))


class Chain:
    """Immutable sequence of links in the order of their places."""

    __slots__ = ("_chunks", "_index", "_reach", "_size")

    def __init__(self, links: tuple[Link, ...] = (), reach: tuple[int, int] | None = None) -> None:
        self._size = len(links)
        self._reach = reach
        self._chunks: Chunks
        self._index: PMap | None = None
        if self._size <= SMALL:
            self._chunks = (links,) if links else ()
        else:
            self._chunks = tuple(links[at : at + CHUNK] for at in range(0, self._size, CHUNK))
            self._index = PMap({link.id: link for link in links})

    @classmethod
    def of(cls, records: Iterable[tuple[str, Any]]) -> Chain:
        """Return a chain of `(id, record)` pairs with evenly spaced places."""
        return cls(tuple(Link((((at + 1) * STEP, name),), name, record) for at, (name, record) in enumerate(records)))

    @property
    def links(self) -> tuple[Link, ...]:
        """All links in order."""
        chunks = self._chunks
        return chunks[0] if len(chunks) == 1 else tuple(link for chunk in chunks for link in chunk)

    @property
    def reach(self) -> tuple[int, int] | None:
        """The smallest and largest number of a place ever used; None if none was."""
        if self._reach is None and self._chunks:
            self._reach = self._chunks[0][0].place[0][0], self._chunks[-1][-1].place[0][0]
        return self._reach

    def find(self, name: str) -> Link | None:
        """Return the link called `name`, or None."""
        if self._index is not None:
            known: Link | None = self._index.get(name)
            return known
        for chunk in self._chunks:
            for link in chunk:
                if link[1] == name:
                    return link
        return None

    def index(self, name: str) -> int:
        """Return the position of `name`, or -1."""
        link = self.find(name)
        if link is None:
            return -1
        at, within = _locate(self._chunks, link.place)
        return sum(map(len, self._chunks[:at])) + within

    def put(self, link: Link) -> Chain:
        """Return this chain with `link` at its own place, in place of any link of the same id."""
        if self._index is None and self._size < SMALL:
            rest = self._others(link[1])
            at = bisect_left(rest, (link[0],))
            return _assemble_chain(
                ((*rest[:at], link, *rest[at:]),), len(rest) + 1, self._extend_reach(link[0]), None
            )
        chunks, size, index = self._without(self.find(link[1]))
        return self._with(chunks, size, index, link)

    def insert(self, at: int, name: str, record: Any) -> tuple[Chain, Link]:
        """Return this chain with `name` moved or added to position `at` among the others, and its link."""
        if self._index is None and self._size < SMALL:
            rest = self._others(name)
            size, inside = len(rest), 0 < at < len(rest)
            at = at if inside else 0 if at <= 0 else size
            place = self._place(rest[at - 1] if inside else None, rest[at] if inside else None, name, front=at < size)
            link = fast_tuple(Link, (place, name, record))
            return _assemble_chain(((*rest[:at], link, *rest[at:]),), size + 1, self._extend_reach(place), None), link
        chunks, size, index = self._without(self.find(name))
        low = _find_nth(chunks, at - 1) if 0 < at < size else None
        high = _find_nth(chunks, at) if 0 < at < size else None
        link = Link(self._place(low, high, name, front=at <= 0 < size), name, record)
        return self._with(chunks, size, index, link), link

    def insert_beside(self, anchor: str, name: str, record: Any, *, after: bool) -> tuple[Chain, Link] | None:
        """Return this chain with `name` moved or added beside another element, and its link; None: no such one."""
        beside = None if anchor == name else self.find(anchor)
        if beside is None:
            return None
        chunks, size, index = self._without(self.find(name))
        at, within = _locate(chunks, beside.place)
        near = _find_beside(chunks, at, within, after=after)
        low, high = (beside, near) if after else (near, beside)
        inside = low is not None and high is not None
        place = self._place(low if inside else None, high if inside else None, name, front=not after)
        link = Link(place, name, record)
        return self._with(chunks, size, index, link), link

    def _place(self, low: Link | None, high: Link | None, name: str, *, front: bool) -> ChainPlace:
        """Return a place between two links, or beyond everything ever used at an end."""
        if low is not None and high is not None:
            return make_place_between(low.place, high.place, name)
        reach = self.reach
        if reach is None:
            return make_place_between(None, None, name)
        return ((reach[0] - STEP if front else reach[1] + STEP, name),)

    def drop(self, name: str) -> Chain:
        """Return this chain without `name`; the chain itself if it is not there."""
        if self._index is None:
            rest = self._others(name)
            if len(rest) == self._size:
                return self
            chain = _new(Chain)
            chain._chunks, chain._size = (rest,) if rest else (), len(rest)
            chain._reach, chain._index = self._reach or self.reach, None
            return chain
        link = self.find(name)
        if link is None:
            return self
        chunks, size, index = self._without(link)
        return _assemble_chain(chunks, size, self.reach, index)

    def with_reach(self, reach: tuple[int, int] | None) -> Chain:
        """Return this chain with places used up to the bounds given as well."""
        mine = self.reach
        if reach is None or mine == reach:
            return self
        both = reach if mine is None else (min(mine[0], reach[0]), max(mine[1], reach[1]))
        return _assemble_chain(self._chunks, self._size, both, self._index)

    def _others(self, name: str) -> tuple[Link, ...]:
        links = self._chunks[0] if self._chunks else ()
        for at, link in enumerate(links):
            if link[1] == name:
                return links[:at] + links[at + 1 :]
        return links

    def _extend_reach(self, place: ChainPlace) -> tuple[int, int]:
        number, reach = place[0][0], self._reach or self.reach
        if reach is None:
            return number, number
        low, high = reach
        return reach if low <= number <= high else (number, high) if number < low else (low, number)

    def _without(self, link: Link | None) -> tuple[Chunks, int, PMap | None]:
        if link is None:
            return self._chunks, self._size, self._index
        chunks, (at, within) = self._chunks, _locate(self._chunks, link.place)
        rest = chunks[at][:within] + chunks[at][within + 1 :]
        index = None if self._index is None else self._index.drop(link.id)
        return chunks[:at] + ((rest,) if rest else ()) + chunks[at + 1 :], self._size - 1, index

    def _with(self, chunks: Chunks, size: int, index: PMap | None, link: Link) -> Chain:
        reach = self._extend_reach(link.place)
        if not chunks:
            return _assemble_chain(((link,),), 1, reach, None)
        at, within = _locate(chunks, link.place)
        grown = (*chunks[at][:within], link, *chunks[at][within:])
        if index is None and size < SMALL:
            return _assemble_chain((grown,), size + 1, reach, None)
        if index is None:
            return Chain(grown, reach)
        half = len(grown) // 2
        fresh = (grown,) if len(grown) <= 2 * CHUNK else (grown[:half], grown[half:])
        return _assemble_chain(chunks[:at] + fresh + chunks[at + 1 :], size + 1, reach, index.put(link.id, link))

    def position(self, is_wanted: Callable[[Link], bool], *, without: str) -> int:
        """Return the position, among the others, of the first element that `found` says yes to; else their number."""
        at = 0
        for chunk in self._chunks:
            for link in chunk:
                if link[1] != without:
                    if is_wanted(link):
                        return at
                    at += 1
        return at

    def ids(self) -> tuple[str, ...]:
        """Return the ids in order."""
        return tuple(link[1] for chunk in self._chunks for link in chunk)

    def differences(self, other: Chain) -> list[LinkDifference]:
        """Return `(id, mine, theirs)` for every element that is not the identical link in both."""
        if self._index is not None and other._index is not None:
            pairs = self._index.candidates(other._index)
            return [
                (name, mine if isinstance(mine, Link) else None, two if isinstance(two, Link) else None)
                for name, mine, two in pairs
            ]
        before, after = self.links, other.links
        low, high, end = 0, len(before), len(after)
        while low < high and low < end and before[low] is after[low]:
            low += 1
        while high > low and end > low and before[high - 1] is after[end - 1]:
            high, end = high - 1, end - 1
        if low == high:
            return [(link[1], None, link) for link in after[low:end]]
        if low == end:
            return [(link[1], link, None) for link in before[low:high]]
        old = {link[1]: link for link in before[low:high]}
        new = {link[1]: link for link in after[low:end]}
        return [(name, mine, two) for name in old | new if (mine := old.get(name)) is not (two := new.get(name))]

    def find_moved(self, other: Chain, changed: Sequence[LinkDifference] | None = None) -> set[str]:
        """Return a set of ids whose moving explains the difference in order between two chains.

        `changed` are their differences, where those are at hand.
        """
        changed = self.differences(other) if changed is None else changed
        shifted = {name for name, old, new in changed if old and new and old.place != new.place}
        if not shifted:
            return set()
        gone = {name for name, old, new in changed if old is None or new is None}
        if self._order(shifted, gone) == other._order(shifted, gone):
            return set()
        shared = self._size - sum(two is None for _, _, two in changed)
        if len(shifted) < shared:
            return shifted
        after = [link for link in other if link.id in shifted]
        rank = {link.id: at for at, link in enumerate(link for link in self if link.id in shifted)}
        kept = find_longest_rising([rank[link.id] for link in after])
        return {link.id for link in after} - {after[at].id for at in kept}

    def _order(self, shifted: set[str], gone: set[str]) -> list[tuple[str, str | None]]:
        """Return the elements in `shifted` in order, each with the nearest one before it that is in neither set."""
        order = []
        for link in sorted(link for name in shifted if (link := self.find(name)) is not None):
            at, within = _locate(self._chunks, link.place)
            near = _find_beside(self._chunks, at, within, after=False)
            while near is not None and (near.id in shifted or near.id in gone):
                near = _find_beside(self._chunks, *_locate(self._chunks, near.place), after=False)
            order.append((link.id, None if near is None else near.id))
        return order

    def __iter__(self) -> Iterator[Link]:
        chunks = self._chunks
        if len(chunks) == 1:
            return iter(chunks[0])
        return (link for chunk in chunks for link in chunk)

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Chain):
            return NotImplemented
        if self._size != other._size:
            return False
        if self._index is None:
            pairs = zip(self, other, strict=True)
            return all(mine.id == theirs.id and is_same_value(mine.record, theirs.record) for mine, theirs in pairs)
        changed = self.differences(other)
        return all(
            mine and theirs and is_same_value(mine.record, theirs.record) for _, mine, theirs in changed
        ) and not self.find_moved(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Chain({[(link.id, link.record) for link in self]!r})"


def is_moved(before: Link, after: Link) -> bool:
    """Tell whether an element is the same in both and stands elsewhere."""
    return before.place != after.place and is_same_value(before.record, after.record)


def _assemble_chain(chunks: Chunks, size: int, reach: tuple[int, int] | None, index: PMap | None) -> Chain:
    chain = _new(Chain)
    chain._chunks, chain._size, chain._reach, chain._index = chunks, size, reach, index
    return chain


def _locate(chunks: Chunks, place: ChainPlace) -> tuple[int, int]:
    """Return which chunk a place is in, or would go to, and where in it.

    Links are compared as tuples: no two have one place, so that what follows the place never matters.
    """
    at = max(0, bisect_left(chunks, ((place, _TOP),)) - 1) if len(chunks) > 1 else 0
    return at, bisect_left(chunks[at], (place,))


def _find_nth(chunks: Chunks, position: int) -> Link:
    if len(chunks) == 1:
        return chunks[0][position]
    ends = list(accumulate(map(len, chunks)))
    at = bisect_right(ends, position)
    return chunks[at][position - (ends[at - 1] if at else 0)]


def _find_beside(chunks: Chunks, at: int, within: int, *, after: bool) -> Link | None:
    within += 1 if after else -1
    if 0 <= within < len(chunks[at]):
        return chunks[at][within]
    at += 1 if after else -1
    if 0 <= at < len(chunks):
        return chunks[at][0 if after else -1]
    return None


NO_LINKS = Chain()
