"""Lists whose items can be added, removed and taken back one by one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, Self

from takeback.canonical import encode
from takeback.errors import OperationFailed
from takeback.state.chain import Link
from takeback.state.parts import Parts, Run, Segment, make_original_place
from takeback.state.pmap import EMPTY, PMap
from takeback.state.values import freeze, is_same_value, thaw

if TYPE_CHECKING:
    from takeback.state.alignment import Alignment

MANY: Final = 256
"""A list at least this long is searched by an index from the second search on."""


class Positions:
    """Where items stand in a long list; shared by every list that grew from the same one."""

    __slots__ = ("_found", "_items", "_searched")

    def __init__(self, items: tuple[Any, ...]) -> None:
        self._items = items
        self._searched = False
        self._found: dict[Any, list[int]] | None = None

    def of(self, item: Any, start: int, end: int, most: int) -> list[int]:
        """Return the first few positions of an item between two others."""
        if len(self._items) < MANY or not self._searched:
            self._searched = True
            return list(islice(self._scan_for(item, start, end), most))
        if self._found is None:
            self._found = {}
            for at, element in enumerate(self._items):
                self._found.setdefault(_make_item_key(element), []).append(at)
        places = self._found.get(_make_item_key(item), [])
        first = bisect_left(places, start)
        return [at for at in places[first : first + most] if at < end]

    def _scan_for(self, item: Any, at: int, end: int) -> Iterator[int]:
        while True:
            try:
                at = self._items.index(item, at, end)
            except ValueError:
                return
            if is_same_value(self._items[at], item):
                yield at
            at += 1


class Items(Parts):
    """Immutable list of items with identity."""

    __slots__ = ("_positions",)

    _positions: Positions

    @classmethod
    def of(cls, items: tuple[Any, ...]) -> Items:
        """Return a list that was never edited inside."""
        new = cls.__new__(cls)
        new._begin(items, items, len(items))
        new._positions = Positions(items)
        return new

    def _grown(self, segments: tuple[Segment, ...], links: PMap, number: int | None = None) -> Self:
        new = super()._grown(segments, links, number)
        new._positions = self._positions
        return new

    def whole(self) -> tuple[Any, ...]:
        items: list[Any] = []
        for segment in self._segments:
            if isinstance(segment, Run):
                items += self._base[segment.start : segment.end]
            else:
                items.append(segment.record)
        return tuple(items)

    def __len__(self) -> int:
        return sum(segment.size if isinstance(segment, Run) else 1 for segment in self._segments)

    def _offset(self, run: Run, count: int) -> int:
        return run.start + count

    def _record(self, start: int, end: int) -> Any:
        return self._base[start]

    def without_items(self) -> Self:
        """Return the list without its items; what is added now stands where it would beside them."""
        new = self._grown((), EMPTY)
        new._moved = EMPTY
        return new

    def only(self, item: Any) -> Link:
        """Return the one part that holds an item; it must be there exactly once."""
        links: list[Link] = []
        for segment in self._segments:
            if isinstance(segment, Link):
                if is_same_value(segment.record, item):
                    links.append(segment)
            else:
                links += self._in_run(segment, item, 2 - len(links))
            if len(links) > 1:
                break
        if len(links) == 1:
            return links[0]
        times = "is not in it" if not links else "is in it more than once"
        raise OperationFailed(f"the item must be in the list exactly once, and {times}")

    def _in_run(self, run: Run, item: Any, most: int) -> Iterator[Link]:
        for at in self._positions.of(item, run.start, run.end, most):
            number = run.first + at - run.start
            yield Link(make_original_place(number), str(number), self._base[at])

    def nth(self, position: int) -> Link | None:
        """Return the part at a position; None beyond the ends."""
        if position < 0:
            return None
        for segment in self._segments:
            if isinstance(segment, Link):
                if position == 0:
                    return segment
                position -= 1
            elif position < segment.size:
                number = segment.first + position
                return Link(make_original_place(number), str(number), self._base[segment.start + position])
            else:
                position -= segment.size
        return None

    def insert_item(self, position: int, item: Any) -> Self:
        """Return the list with an item at a position; beyond the end it is appended."""
        size = len(self)
        at = min(position, size)
        bulk = self.bulk()
        bulk.add(self.nth(at - 1) if at else None, self.nth(at) if at < size else None, item)
        return bulk.done()

    def beside(self, anchor: Link, item: Any, *, after: bool) -> Self:
        """Return the list with an item next to another one."""
        near = self._next(anchor, after=after)
        low, high = (anchor, near) if after else (near, anchor)
        bulk = self.bulk()
        bulk.add(low, high, item, before=not after)
        return bulk.done()

    def _next(self, link: Link, *, after: bool) -> Link | None:
        at, segment = self._segment(link.place)
        position = sum(s.size if isinstance(s, Run) else 1 for s in self._segments[:at])
        if isinstance(segment, Run):
            position += int(link.id) - segment.first
        return self.nth(position + (1 if after else -1))

    def _run_to_json(self, run: Run) -> Any:
        return thaw(self._base[run.start : run.end])

    def _run_from_json(self, raw: Any, where: str) -> Any:
        return freeze(raw, where, stored=True)

    def _join_pieces(self, pieces: list[Any]) -> Any:
        return tuple(chain.from_iterable(pieces))

    @classmethod
    def from_json(cls, raw: Any, where: str) -> Items:
        """Return what `to_json` wrote down."""
        new = cls.__new__(cls)
        new._load(raw, where)
        new._positions = Positions(new._base)
        new.root = new.whole()
        return new

    def revise(self, whole: Any, *, anew: bool = False) -> Self | None:
        new: tuple[Any, ...] = whole
        old = list(self.links())
        if not anew and not {encode(thaw(link.record)) for link in old} & {encode(thaw(item)) for item in new}:
            return None
        return self.carry_over(old, new, self.compare(new), None, None)

    def compare(self, whole: Any) -> Alignment:
        from takeback.state.alignment import align  # noqa: PLC0415 - start-up

        old = [encode(thaw(link.record)) for link in self.links()]
        return align(old, [encode(thaw(item)) for item in whole], lines=False)


def _make_item_key(item: Any) -> Any:
    """Return the key an item is found by: equal keys are the same item, type included."""
    return item if type(item) is str else (encode(thaw(item)),)
