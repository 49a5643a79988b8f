"""Values with parts: a text made of lines, a list made of items, each part with an identity and a place.

A value stays whole (`str`, `tuple`) until it is first edited inside; then it is a `Text` or `Items`. Parts that
nobody touched lie in runs of the value as it was; a part that was written is a link of its own. A part's id and place
never change, so an edit can be taken back whatever else was edited. Equality looks at characters and items only.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, Self

from takeback.state.chain import STEP, ChainPlace, Link, between
from takeback.state.pmap import EMPTY, PMap
from takeback.state.values import MARK, Whole, freeze, same, thaw

END: Final = "end"
"""The part of a text that says what is missing at the end of its last line."""
FRAME: Final = "frame"
"""The part of a file that is its permission bits: they change without its lines, and its lines without them."""
FRESH: Final = "n"
"""Begins the id of a part that an edit added; those that were there from the start are numbered."""
SPREAD: Final = 2**24
"""More than any edit adds at once: how far apart the places of parts lie that edits put next to the same one."""
DEEPEST: Final = 8
"""Edits that each add next to what the last one added nest no deeper than this."""
_LAST: Final = "~"
"""Comes after the name of every part: what lies below it stands behind all parts with the same number."""


def part_name(part: str) -> str:
    """Return how a part is named in a slot."""
    return MARK + part


def is_part(name: str) -> bool:
    """Tell whether a name in a slot is that of a part."""
    return name[:1] == MARK


def part_title(name: str, word: str, position: int | None = None) -> str:
    """Return a part's name for people: `word` and where it stands.

    Without a position: which one of those there were from the start, or of those added since.
    """
    part = name[1:]
    if part == END:
        return "newline at the end"
    if part == FRAME:
        return "mode"
    number = original(part)
    if position is not None:
        return f"{word} {position + 1}"
    return f"added {word} {int(part[1:]) + 1}" if number is None else f"{word} {number + 1}"


class Run(NamedTuple):
    """Parts nobody touched: where they stand in the base, the number of the first, and how many there are."""

    start: int
    end: int
    first: int
    size: int


Segment = Run | Link


class Parts(Whole):
    """Immutable sequence of parts.

    `root` is the whole value it grew from; the base is that value in the form in which runs are cut from it.
    """

    __slots__ = ("_base", "_fresh", "_links", "_originals", "_reach", "_segments", "root")

    _base: Any
    root: Any
    _originals: int
    _segments: tuple[Segment, ...]
    _links: PMap
    _reach: tuple[int, int]
    _fresh: int

    def _begin(self, root: Any, base: Any, count: int) -> None:
        """Begin with one run of all parts of a base."""
        self.root, self._base, self._originals, self._links, self._fresh = root, base, count, EMPTY, 0
        self._segments = (Run(0, len(base), 0, count),) if count else ()
        self._reach = (STEP, max(1, count) * STEP)

    def _grown(self, segments: tuple[Segment, ...], links: PMap, number: int | None = None) -> Self:
        new = type(self).__new__(type(self))
        new.root, new._base, new._originals, new._fresh = self.root, self._base, self._originals, self._fresh
        new._segments, new._links = segments, links
        low, high = self._reach
        new._reach = self._reach if number is None else (min(low, number), max(high, number))
        return new

    @abstractmethod
    def _offset(self, run: Run, count: int) -> int:
        """Where in the base the part stands that `count` others of a run come before."""

    @abstractmethod
    def _record(self, start: int, end: int) -> Any:
        """The one part between two offsets of the base."""

    def find(self, part: str) -> Link | None:
        """Return a part by its id."""
        link: Link | None = self._links.get(part)
        number = original(part)
        if link is not None or number is None:
            return link
        _, run = self._segment(place_of(number))
        if not isinstance(run, Run) or not run.first <= number < run.first + run.size:
            return None
        return self._original(run, number)

    def _original(self, run: Run, number: int) -> Link:
        start = self._offset(run, number - run.first)
        rest = Run(start, run.end, number, run.first + run.size - number)
        return Link(place_of(number), str(number), self._record(start, self._offset(rest, 1)))

    def put(self, link: Link) -> Self:
        """Return the value with a part at its place, in place of the one of the same id."""
        there = self._links.get(link.id)
        links = self._links.put(link.id, link)
        if there is not None:
            return self._grown(tuple(link if old is there else old for old in self._segments), links)
        at, before, after = self._opened(link.place, original(link.id))
        segments = (*self._segments[: max(at, 0)], *before, link, *after, *self._segments[at + 1 :])
        new = self._grown(segments, links, link.place[0][0])
        if link.id[0] == FRESH:
            new._fresh = max(self._fresh, int(link.id[1:]) + 1)
        return new

    def drop(self, part: str) -> Self:
        """Return the value without a part; the value itself if it is not there."""
        there = self._links.get(part)
        if there is not None:
            return self._grown(tuple(old for old in self._segments if old is not there), self._links.drop(part))
        number = original(part)
        if number is None or self.find(part) is None:
            return self
        at, before, after = self._opened(place_of(number), number)
        return self._grown((*self._segments[:at], *before, *after, *self._segments[at + 1 :]), self._links)

    def add(
        self, low: Link | None, high: Link | None, record: Any, *, before: bool = False, follows: bool = False
    ) -> tuple[Self, Link]:
        """Return the value with a new part between two others (None: at that end), and the part.

        Of parts that were removed between the two it stands in front, next to `low`; behind them, next to `high`,
        with `before`. `low` may be the part that the same edit added just now: it `follows` that one. What goes to
        an end stands beyond every place ever used there.
        """
        part = f"{FRESH}{self._fresh}"
        if low is not None and high is not None:
            place = self._beside(low.place, high.place, part, before=before, follows=follows)
        elif high is not None:
            place = between(None, ((self._reach[0], ""),), part)
        else:
            place = between(((self._reach[1], ""),), None, part)
        link = Link(place, part, record)
        return self.put(link), link

    def _beside(self, low: ChainPlace, high: ChainPlace, part: str, *, before: bool, follows: bool) -> ChainPlace:
        """A place next to `low`, or with `before` next to `high`, whatever was removed between them.

        It lies below that of a part that was there before it: later ones come in front of earlier ones, or behind.
        """
        number = (self._fresh + 1) * SPREAD
        if follows and len(low) > 1:
            return (*low[:-1], (low[-1][0] + 1, part))
        if len(low) > DEEPEST:
            return between(low, high, part)
        if before and len(high) == 1:
            return ((max(low[0][0], (high[0][0] - 1) // STEP * STEP), _LAST), (number, part))
        return (*low, (-number, part))

    def reserve(self, parts: Iterable[str]) -> Self:
        """Return the value with these ids counting as taken: no new part will get one."""
        taken = [int(part[1:]) + 1 for part in parts if part[:1] == FRESH]
        new = self._grown(self._segments, self._links)
        new._fresh = max((self._fresh, *taken))
        return new

    def position(self, part: str) -> int | None:
        """Return how many parts stand before one; None where it is not there."""
        link = self.find(part)
        if link is None or part == END:
            return None
        at, segment = self._segment(link.place)
        before = sum(one.size if isinstance(one, Run) else 1 for one in self._segments[:at])
        return before + int(part) - segment.first if isinstance(segment, Run) else before

    def _segment(self, place: ChainPlace) -> tuple[int, Segment | None]:
        """The position of the last segment that begins at or before a place, and the segment; -1 before all."""
        at = bisect_right(self._segments, place, key=_begins) - 1
        return at, self._segments[at] if at >= 0 else None

    def _opened(self, place: ChainPlace, number: int | None) -> tuple[int, tuple[Segment, ...], tuple[Segment, ...]]:
        """Which segment to replace to get at a place, and what stays of it before and after.

        `number` is that of the untouched part to be cut out; None: nothing is, something goes in between.
        """
        at, segment = self._segment(place)
        if segment is None or isinstance(segment, Link):
            return at, () if segment is None else (segment,), ()
        left, right = self._split(segment, (place[0][0] // STEP if number is None else number) - segment.first)
        if number is not None and right is not None:
            right = self._split(right, 1)[1]
        return at, () if left is None else (left,), () if right is None else (right,)

    def _split(self, run: Run, count: int) -> tuple[Run | None, Run | None]:
        if count <= 0:
            return None, run
        if count >= run.size:
            return run, None
        middle, first = self._offset(run, count), run.first + count
        return Run(run.start, middle, run.first, count), Run(middle, run.end, first, run.size - count)

    def touched(self) -> set[str]:
        """Return the ids of parts that are not as they were from the start: written, added, or taken out."""
        found, expected = set(self._links), 0
        for segment in self._segments:
            if isinstance(segment, Run):
                found.update(map(str, range(expected, segment.first)))
                expected = segment.first + segment.size
        return found | set(map(str, range(expected, self._originals)))

    def written(self) -> Iterator[Link]:
        """Yield the parts that were written or added, in no particular order."""
        return (link for _, link in self._links.items())

    def differing(self, other: Self) -> list[str]:
        """Return the ids of parts that are not the same in both, in the order of their names."""
        if self is other:
            return []
        ids = self.touched() | other.touched()
        return sorted((part for part in ids if self.find(part) != other.find(part)), key=lambda id_: (len(id_), id_))

    def links(self) -> Iterator[Link]:
        """Yield every part in order."""
        for segment in self._segments:
            if isinstance(segment, Link):
                yield segment
            else:
                yield from self._untouched(segment)

    def _untouched(self, run: Run) -> Iterator[Link]:
        start = run.start
        for number in range(run.first, run.first + run.size):
            end = self._offset(Run(start, run.end, number, run.first + run.size - number), 1)
            yield Link(place_of(number), str(number), self._record(start, end))
            start = end

    @abstractmethod
    def revised(self, whole: Any) -> Self | None:
        """Return the value made another whole, parts that are still there keeping their identity; None if none is."""

    @abstractmethod
    def _run_to_json(self, run: Run) -> Any:
        """What a run holds, as JSON."""

    def to_json(self) -> dict[str, Any]:
        """Return JSON that brings back every id and place; of what nobody touched only what is still there."""
        segments = [
            [segment.first, segment.size, self._run_to_json(segment)]
            if isinstance(segment, Run)
            else [segment.id, [list(step) for step in segment.place], thaw(segment.record)]
            for segment in self._segments
        ]
        return {
            "segments": segments,
            "originals": self._originals,
            "reach": list(self._reach),
            "fresh": self._fresh,
        }

    def _load(self, raw: Any, where: str) -> None:
        """Fill in what `to_json` wrote down."""
        self._originals, self._reach, self._fresh = raw["originals"], tuple(raw["reach"]), raw["fresh"]
        self._links = EMPTY
        segments: list[Segment] = []
        pieces: list[Any] = []
        end = 0
        for first, second, content in raw["segments"]:
            if isinstance(first, int):
                pieces.append(self._run_from_json(content, where))
                segments.append(Run(end, end + len(pieces[-1]), first, second))
                end += len(pieces[-1])
            else:
                place = tuple((number, step) for number, step in second)
                link = Link(place, first, freeze(content, where, stored=True))
                segments.append(link)
                self._links = self._links.put(link.id, link)
        self._segments, self._base = tuple(segments), self._joined(pieces)

    @abstractmethod
    def _joined(self, pieces: list[Any]) -> Any:
        """A base made of what runs hold."""

    @abstractmethod
    def _run_from_json(self, raw: Any, where: str) -> Any:
        """What `_run_to_json` wrote down."""

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        whole = other.whole() if isinstance(other, Parts) else other
        return same(self.whole(), whole)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.whole()!r})"


def original(part: str) -> int | None:
    """Return the number of a part that was there from the start; None for one that was added."""
    return int(part) if part.isdecimal() else None


def place_of(number: int) -> ChainPlace:
    """Return the place of a part that was there from the start."""
    return (((number + 1) * STEP, str(number)),)


def _begins(segment: Segment) -> ChainPlace:
    return place_of(segment.first) if isinstance(segment, Run) else segment.place
