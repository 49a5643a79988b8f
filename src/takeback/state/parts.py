"""Values with parts: a text made of lines, a list made of items, each part with an identity and a place.

A value stays whole (`str`, `tuple`) until it is first edited inside; then it is a `Text` or `Items`.
Untouched parts lie in runs of the original value; a part that was written is a link of its own. A part's id
and home never change, so an edit can be taken back whatever else was edited. Where a part was moved to is a
part of its own, named after it (`PLACE`): content and position are written, and taken back, independently.
`find` and `put` go by homes, everything else by where parts stand. Equality looks at characters and items
only. `Bulk` takes any number of changes and makes them at once; `carry_over` turns one version into another, each
remaining part keeping its identity.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Self, TypeVar

from takeback.sequences import Stretch, find_stretches_between
from takeback.state.address import (
    END,
    FRESH,
    PLACE,
    parse_original_number,
)
from takeback.state.chain import STEP, ChainPlace, Link, make_place_between
from takeback.state.pmap import EMPTY, PMap
from takeback.state.values import Whole, freeze, is_same_value, thaw

if TYPE_CHECKING:
    from takeback.state.alignment import Alignment


SPREAD: Final = 2**24
"""More than any edit adds at once: how far apart the places of parts lie that edits put next to the same one."""
FEW: Final = 32
"""So many changes of a map and no more are made one by one."""
DEEPEST: Final = 8
"""Edits that each add next to what the last one added nest no deeper than this."""
_LAST: Final = "~"
"""Comes after the name of every part: what lies below it stands behind all parts with the same number."""


class Run(NamedTuple):
    """Parts nobody touched: where they stand in the base, the number of the first, and how many there are."""

    start: int
    end: int
    first: int
    size: int


Segment = Run | Link
P = TypeVar("P", bound="Parts")


class Parts(Whole):
    """Immutable sequence of parts.

    `root` is the whole value it grew from; the base is that value in the form in which runs are cut from it.
    """

    __slots__ = ("_base", "_fresh", "_links", "_moved", "_originals", "_reach", "_segments", "root")

    _base: Any
    root: Any
    _originals: int
    _segments: tuple[Segment, ...]
    _links: PMap
    """Parts that were written or moved, by id, each at its home."""
    _moved: PMap
    """Where parts that were moved stand, by id; also of parts that are not there now."""
    _reach: tuple[int, int]
    _fresh: int

    def _begin(self, root: Any, base: Any, count: int) -> None:
        self.root, self._base, self._originals, self._fresh = root, base, count, 0
        self._links = self._moved = EMPTY
        self._segments = (Run(0, len(base), 0, count),) if count else ()
        self._reach = (STEP, max(1, count) * STEP)

    def _grown(self, segments: tuple[Segment, ...], links: PMap, number: int | None = None) -> Self:
        new = type(self).__new__(type(self))
        new.root, new._base, new._originals, new._fresh = self.root, self._base, self._originals, self._fresh
        new._segments, new._links, new._moved = segments, links, self._moved
        low, high = self._reach
        new._reach = self._reach if number is None else (min(low, number), max(high, number))
        return new

    @abstractmethod
    def _offset(self, run: Run, count: int) -> int:
        """Return where in the base the part stands that `count` others of a run come before."""

    @abstractmethod
    def _record(self, start: int, end: int) -> Any:
        """Return the one part between two offsets of the base."""

    def find(self, part: str) -> Link | None:
        """Return a part by its id, at its home; or where it was moved to."""
        if part[0] == PLACE:
            moved = self._moved.get(part[1:])
            return None if moved is None else Link(moved, part, None)
        link: Link | None = self._links.get(part)
        number = parse_original_number(part)
        if link is not None or number is None:
            return link
        _, run = self._segment(make_original_place(number))
        if not isinstance(run, Run) or not run.first <= number < run.first + run.size:
            return None
        return self._original(run, number)

    def _original(self, run: Run, number: int) -> Link:
        start = self._offset(run, number - run.first)
        rest = Run(start, run.end, number, run.first + run.size - number)
        return Link(make_original_place(number), str(number), self._record(start, self._offset(rest, 1)))

    def standing(self, link: Link) -> Link:
        """Return a part where it stands, or would if it were there."""
        moved = self._moved.get(link.id)
        return link if moved is None else Link(moved, link.id, link.record)

    def put(self, link: Link) -> Self:
        """Return the value with a part in place of the one of the same id, or with a part moved."""
        return self.apply_changes(((link.id, link),))

    def drop(self, part: str) -> Self:
        """Return the value without a part, or with a moved one at home again; the value itself if it is not there."""
        return self if self.find(part) is None else self.apply_changes(((part, None),))

    def bulk(self) -> Bulk[Self]:
        """Return what takes many changes of parts and makes them at once."""
        return Bulk(self)

    def apply_changes(self, changes: Iterable[tuple[str, Link | None]]) -> Self:
        """Return the value with many parts put or, where there is None, dropped: as one after the other would."""
        bulk = self.bulk()
        for part, link in changes:
            if link is None:
                bulk.drop(part)
            else:
                bulk.put(link)
        return bulk.done()

    def carry_over(
        self, old: Sequence[Link], new: Sequence[Any], alignment: Alignment, low: Link | None, high: Link | None
    ) -> Self:
        """Return the value with neighbouring parts (`old`, between `low` and `high`) made `new` as they are aligned.

        What came stands right behind the part before it, in front of those that went from there; at the beginning of
        the stretch right in front of the part behind it.
        """
        moved = {to: old[at] for at, to in alignment.moved}
        gone = {link.id for link in old} - {link.id for link in moved.values()}
        near, placed = low, False
        bulk = self.bulk()
        between = find_stretches_between(alignment.stays, Stretch(0, len(old), 0, len(new)))
        for (_, at, first, last), stays in zip(between, (*alignment.stays, None), strict=True):
            later = old[at] if at < len(old) else high
            for to in range(first, last):
                beside = {"before": near is low and at < len(old), "follows": placed}
                if to in moved:
                    near = bulk.move(moved[to], near, later, **beside)
                else:
                    near = bulk.add(near, later, new[to], **beside)
                placed = True
            if stays is not None:
                near, placed = old[stays[0]], False
                gone.discard(near.id)
                if not is_same_value(near.record, new[stays[1]]):
                    near = bulk.rewrite(near, new[stays[1]])
        for link in old:
            if link.id in gone:
                bulk.drop(link.id)
        return bulk.done()

    def _assemble(self, parts: Mapping[str, Link | None], moved: Mapping[str, ChainPlace | None]) -> Self:
        """The value with other parts, by id, each at its home, and with parts moved; None: not there, at home."""
        places, links = _with_all(self._moved, moved), _with_all(self._links, parts)
        stand = sorted(
            Link(places.get(part, link.place), part, link.record) for part, link in parts.items() if link is not None
        )
        low, high = self._find_reach(parts.keys(), stand)
        middle = self._merge_links(self._remaining(parts, self._segments[low:high]), stand)
        new = self._grown((*self._segments[:low], *middle, *self._segments[high:]), links)
        new._moved = places
        return new

    def _find_reach(self, gone: Collection[str], stand: Sequence[Link]) -> tuple[int, int]:
        """Return between which segments changes of parts lie; all of them where they are many."""
        if len(gone) > FEW:
            return 0, len(self._segments)
        there = (link for link in map(self.find, gone) if link is not None)
        places = [*(self.standing(link).place for link in there), *(link.place for link in stand)]
        reach = [self._segment(place)[0] for place in places]
        return max(min(reach, default=0), 0), max(reach, default=-1) + 1

    def _remaining(self, gone: Iterable[str], segments: Iterable[Segment]) -> Iterator[Segment]:
        """The segments without some parts."""
        gone = set(gone)
        numbers = sorted(number for number in map(parse_original_number, gone) if number is not None)
        for segment in segments:
            if isinstance(segment, Link):
                if segment.id not in gone:
                    yield segment
                continue
            rest: Run | None = segment
            low = bisect_left(numbers, segment.first)
            for number in numbers[low : bisect_left(numbers, segment.first + segment.size, low)]:
                if rest is not None:
                    left, rest = self._cut_run(rest, number - rest.first)
                    rest = None if rest is None else self._cut_run(rest, 1)[1]
                    if left is not None:
                        yield left
            if rest is not None:
                yield rest

    def _merge_links(self, segments: Iterable[Segment], links: Sequence[Link]) -> Iterator[Segment]:
        """Segments with links among them, both in order; a run is divided where a link goes into it."""
        at = 0
        waiting: Segment | None = None
        for segment in (*segments, None):
            while at < len(links) and (segment is None or links[at].place < _find_start_place(segment)):
                if isinstance(waiting, Run):
                    left, waiting = self._cut_run(waiting, links[at].place[0][0] // STEP - waiting.first)
                    if left is not None:
                        yield left
                elif waiting is not None:
                    yield waiting
                    waiting = None
                yield links[at]
                at += 1
            if waiting is not None:
                yield waiting
            waiting = segment

    def _free_place(
        self, low: Link | None, high: Link | None, part: str, *, before: bool, follows: bool
    ) -> ChainPlace:
        if high is None:
            return make_place_between(((self._reach[1], ""),), None, part)
        if low is None:
            return make_place_between(None, ((self._reach[0], ""),), part)
        place = self._beside(low.place, high.place, part, before=before, follows=follows)
        return place if low.place < place < high.place else make_place_between(low.place, high.place, part)

    def _beside(self, low: ChainPlace, high: ChainPlace, part: str, *, before: bool, follows: bool) -> ChainPlace:
        """Return a place next to `low`, or with `before` next to `high`, whatever was removed between them.

        It lies below that of a part that was there before it: later ones come in front of earlier ones, or behind.
        """
        number = (self._fresh + 1) * SPREAD
        if follows and len(low) > 1:
            return (*low[:-1], (low[-1][0] + 1, part))
        if len(low) > DEEPEST:
            return make_place_between(low, high, part)
        if before and len(high) == 1:
            return ((max(low[0][0], (high[0][0] - 1) // STEP * STEP), _LAST), (number, part))
        return (*low, (-number, part))

    def reserve(self, parts: Iterable[str]) -> Self:
        """Return the value with these ids counting as taken: no new part will get one."""
        taken = [int(part[1:]) + 1 for part in parts if part[:1] == FRESH]
        new = self._grown(self._segments, self._links)
        new._fresh = max((self._fresh, *taken))
        return new

    def reserve_places(self, places: Iterable[ChainPlace]) -> Self:
        """Return the value with these places counting as used: what goes to an end later stands beyond them."""
        numbers = [place[0][0] for place in places]
        new = self._grown(self._segments, self._links)
        low, high = self._reach
        new._reach = (min((low, *numbers)), max((high, *numbers)))
        return new

    def position(self, part: str) -> int | None:
        """Return how many parts stand before one; None where it is not there."""
        part = part[1:] if part[0] == PLACE else part
        link = self.find(part)
        if link is None or part == END:
            return None
        at, segment = self._segment(self.standing(link).place)
        before = sum(earlier.size if isinstance(earlier, Run) else 1 for earlier in self._segments[:at])
        return before + int(part) - segment.first if isinstance(segment, Run) else before

    def _segment(self, place: ChainPlace) -> tuple[int, Segment | None]:
        """Return the position of the last segment that begins at or before a place, and it; -1 before all."""
        at = bisect_right(self._segments, place, key=_find_start_place) - 1
        return at, self._segments[at] if at >= 0 else None

    def _cut_run(self, run: Run, count: int) -> tuple[Run | None, Run | None]:
        if count <= 0:
            return None, run
        if count >= run.size:
            return run, None
        middle, first = self._offset(run, count), run.first + count
        return Run(run.start, middle, run.first, count), Run(middle, run.end, first, run.size - count)

    def find_touched_parts(self) -> set[str]:
        """Return the ids of parts that are not as they were from the start: written, added, or taken out."""
        touched, expected = {*self._links, *(PLACE + part for part in self._moved)}, 0
        for segment in self._segments:
            if isinstance(segment, Run):
                touched.update(map(str, range(expected, segment.first)))
                expected = segment.first + segment.size
        return touched | set(map(str, range(expected, self._originals)))

    def list_gone_parts(self, most: int) -> Iterator[str]:
        """Yield the ids of parts that are gone: all of those from the start, and the last `most` of those added."""
        yield from (
            part
            for part in self.find_touched_parts()
            if parse_original_number(part) is not None and part not in self._links
        )
        fresh = (f"{FRESH}{number}" for number in range(self._fresh - 1, -1, -1))
        yield from islice((part for part in fresh if part not in self._links), most)

    def list_written_parts(self) -> Iterator[Link]:
        """Yield the parts that were written or added, in no particular order."""
        return (link for _, link in self._links.items())

    def differing(self, other: Self) -> list[str]:
        """Return the ids of parts that are not the same in both, in the order of their names."""
        if self is other:
            return []
        ids = self.find_touched_parts() | other.find_touched_parts()
        return sorted((part for part in ids if not self._has_same(other, part)), key=lambda id_: (len(id_), id_))

    def _has_same(self, other: Self, part: str) -> bool:
        mine, theirs = self.find(part), other.find(part)
        if mine is None or theirs is None:
            return mine is theirs
        return mine is theirs or (mine.place == theirs.place and is_same_value(mine.record, theirs.record))

    def links(self, first: int = 0, last: int = 2**62) -> Iterator[Link]:
        """Yield every part in order, or those from one position to another, where they stand."""
        at = 0
        for segment in self._segments:
            if at >= last:
                return
            size = 1 if isinstance(segment, Link) else segment.size
            low, high = max(first - at, 0), min(last - at, size)
            if low < high and isinstance(segment, Link):
                yield segment
            elif low < high and isinstance(segment, Run):
                yield from self._yield_untouched(segment, low, high)
            at += size

    def _yield_untouched(self, run: Run, low: int, high: int) -> Iterator[Link]:
        start = self._offset(run, low)
        for number in range(run.first + low, run.first + high):
            end = self._offset(Run(start, run.end, number, run.first + run.size - number), 1)
            yield Link(make_original_place(number), str(number), self._record(start, end))
            start = end

    @abstractmethod
    def compare(self, whole: Any) -> Alignment:
        """Return which part of another whole continues which part of this value."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how long the value is: characters of a text, items of a list."""

    @abstractmethod
    def revise(self, whole: Any, *, anew: bool = False) -> Self | None:
        """Return the value made another whole, parts that are still there keeping their identity.

        None if no part is still there, unless that is asked for too.
        """

    @abstractmethod
    def _run_to_json(self, run: Run) -> Any:
        """Return what a run holds, as JSON."""

    def to_json(self) -> dict[str, Any]:
        """Return JSON that brings back every id and place; of what nobody touched only what is still there."""
        segments = [
            [segment.first, segment.size, self._run_to_json(segment)]
            if isinstance(segment, Run)
            else [segment.id, _place_to_json(self._links[segment.id].place), thaw(segment.record)]
            for segment in self._segments
        ]
        moved = {part: _place_to_json(place) for part, place in self._moved.items()}
        return {
            "segments": segments,
            "originals": self._originals,
            "reach": list(self._reach),
            "fresh": self._fresh,
            **({"moved": moved} if moved else {}),
        }

    def _load(self, raw: Any, where: str) -> None:
        self._originals, self._reach, self._fresh = raw["originals"], tuple(raw["reach"]), raw["fresh"]
        self._links = EMPTY
        self._moved = PMap({part: _place_from_json(place) for part, place in raw.get("moved", {}).items()})
        segments: list[Segment] = []
        pieces: list[Any] = []
        end = 0
        for first, second, content in raw["segments"]:
            if isinstance(first, int):
                pieces.append(self._run_from_json(content, where))
                segments.append(Run(end, end + len(pieces[-1]), first, second))
                end += len(pieces[-1])
            else:
                link = Link(_place_from_json(second), first, freeze(content, where, stored=True))
                segments.append(self.standing(link))
                self._links = self._links.put(link.id, link)
        self._segments, self._base = tuple(segments), self._join_pieces(pieces)

    @abstractmethod
    def _join_pieces(self, pieces: list[Any]) -> Any:
        """Return a base made of what runs hold."""

    @abstractmethod
    def _run_from_json(self, raw: Any, where: str) -> Any:
        """Return what `_run_to_json` wrote."""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        whole = other.whole() if isinstance(other, Parts) else other
        return is_same_value(self.whole(), whole)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.whole()!r})"


class Bulk(Generic[P]):
    """Changes of many parts of a value, made one after the other and put into it at once."""

    def __init__(self, parts: P) -> None:
        self._parts = parts
        self._shape = parts._grown((), EMPTY)
        """Knows how far the value reaches and what new parts are called."""
        self._written: dict[str, Link | None] = {}
        self._moved: dict[str, ChainPlace | None] = {}

    def find(self, part: str) -> Link | None:
        """Return a part at its home."""
        return self._written[part] if part in self._written else self._parts.find(part)

    def put(self, link: Link) -> None:
        """Put a part in place of the one of the same id, or move one."""
        if link.id[0] == PLACE:
            self._move_to(link.id[1:], link.place)
        else:
            self._write(link)

    def drop(self, part: str) -> None:
        """Take a part out, or put a moved one back to its home."""
        if part[0] != PLACE:
            self._written[part] = None
        elif self._place(part[1:]) is not None:
            self._move_to(part[1:], None)

    def add(
        self, low: Link | None, high: Link | None, record: Any, *, before: bool = False, follows: bool = False
    ) -> Link:
        """Add a new part between two others (None: at that end), and return it.

        Of parts that were removed between the two it stands in front, next to `low`; behind them, next to `high`,
        with `before`. `low` may be the part that the same edit put there just now: it `follows` that one. What goes
        to an end stands beyond every place ever used there.
        """
        part = f"{FRESH}{self._shape._fresh}"
        link = Link(self._shape._free_place(low, high, part, before=before, follows=follows), part, record)
        self.put(link)
        return link

    def move(
        self, link: Link, low: Link | None, high: Link | None, *, before: bool = False, follows: bool = False
    ) -> Link:
        """Move a part between two others, as `add` puts a new one there, and return it where it stands."""
        place = self._shape._free_place(low, high, link.id, before=before, follows=follows)
        self._move_to(link.id, place)
        return Link(place, link.id, link.record)

    def rewrite(self, link: Link, record: Any) -> Link:
        """Let a part say something else where it stands, and return it."""
        self._write(Link((self.find(link.id) or link).place, link.id, record))
        return Link(link.place, link.id, record)

    def done(self) -> P:
        """Return the value with all that was done."""
        if not self._written and not self._moved:
            return self._parts
        new = self._parts._assemble(self._written, self._moved)
        new._fresh, new._reach = self._shape._fresh, self._shape._reach
        return new

    def _place(self, part: str) -> ChainPlace | None:
        place: ChainPlace | None = self._parts._moved.get(part)
        return self._moved.get(part, place)

    def _write(self, link: Link) -> None:
        self._written[link.id] = link
        number = (self._place(link.id) or link.place)[0][0]
        low, high = self._shape._reach
        self._shape._reach = (min(low, number), max(high, number))
        if link.id[0] == FRESH:
            self._shape._fresh = max(self._shape._fresh, int(link.id[1:]) + 1)

    def _move_to(self, part: str, place: ChainPlace | None) -> None:
        self._moved[part] = place
        if place is not None:
            self._shape._fresh = max(self._shape._fresh, abs(place[-1][0]) // SPREAD)
        link = self.find(part)
        if link is not None:
            self._write(link)


def _with_all(known: PMap, changes: Mapping[str, Any]) -> PMap:
    """A map with many changes made at once; None: the key is gone."""
    if len(changes) > FEW:
        return PMap({key: value for key, value in {**dict(known.items()), **changes}.items() if value is not None})
    for key, value in changes.items():
        known = known.drop(key) if value is None else known.put(key, value)
    return known


def make_original_place(number: int) -> ChainPlace:
    """Return the place of a part that was there from the start."""
    return (((number + 1) * STEP, str(number)),)


def _place_to_json(place: ChainPlace) -> list[list[Any]]:
    return [list(step) for step in place]


def _place_from_json(raw: Any) -> ChainPlace:
    return tuple((number, step) for number, step in raw)


def _find_start_place(segment: Segment) -> ChainPlace:
    return make_original_place(segment.first) if isinstance(segment, Run) else segment.place
