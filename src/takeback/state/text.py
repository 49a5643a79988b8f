"""Texts made of lines that can be edited and taken back one by one.

A line is its characters and its ending. A text whose last line has no ending is kept as if it had one, with that
missing end as a part of its own (`END`): so a line appended later does not rewrite the line before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import islice
from typing import Any, Final, Self

from takeback.errors import OperationFailed
from takeback.state.align import Alignment, align
from takeback.state.breaks import Breaks
from takeback.state.chain import Link
from takeback.state.common_text import Between, find_differing
from takeback.state.parts import END, Parts, Run, Segment, place_of
from takeback.state.pmap import PMap
from takeback.state.transfer import carry_over
from takeback.state.words import Words

_END_PLACE: Final = ((2**62, END),)
_NEAR: Final = 32
PIECE: Final = 1 << 20
"""Characters of a text that are encoded at a time."""


LONG: Final = 1 << 16
"""Characters from which on what two texts begin and end with is left out of their comparison."""


class Text(Parts):
    """Immutable text of lines with identity."""

    __slots__ = ("_breaks", "_end", "_whole", "_words")

    _breaks: Breaks
    _words: Words
    _end: str
    _whole: str | None

    @classmethod
    def of(cls, text: str) -> Text:
        """Return a text that was never edited inside."""
        new = cls.__new__(cls)
        missing = missing_end(text)
        base = text + missing if missing else text
        new._begin(text, base, base.count("\n"))
        new._breaks, new._words, new._end, new._whole = Breaks(base), Words(base), missing, text
        return new

    def _grown(self, segments: tuple[Segment, ...], links: PMap, number: int | None = None) -> Self:
        new = super()._grown(segments, links, number)
        new._breaks, new._words = self._breaks, self._words
        new._end, new._whole = self._end, None
        return new

    def whole(self) -> str:
        """Return the characters."""
        if self._whole is None:
            joined = "".join(map(self._characters, self._segments))
            self._whole = joined[: len(joined) - self._cut()]
        return self._whole

    def pieces(self) -> Iterator[bytes]:
        """Yield the text in UTF-8, piece by piece, without holding all of it."""
        left = len(self)
        for segment in self._segments:
            size = min(_size(segment), left)
            left -= size
            for start in range(0, size, PIECE):
                yield self._slice(segment, start, min(PIECE, size - start)).encode()

    def encoded(self) -> bytes:
        """Return the text in UTF-8; beside the result, only a piece of it is held."""
        if self._whole is not None:
            return self._whole.encode()
        whole = BytesIO()
        for piece in self.pieces():
            whole.write(piece)
        return whole.getvalue()

    def reads_as_bytes(self, content: bytes) -> bool:
        """Return whether some bytes are this text in UTF-8."""
        at, view = 0, memoryview(content)
        for piece in self.pieces():
            if view[at : at + len(piece)] != piece:
                return False
            at += len(piece)
        return at == len(content)

    def __len__(self) -> int:
        return sum(map(_size, self._segments)) - self._cut()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Text) and other._base is self._base and self is not other:
            return len(self) == len(other) and self._reads_as(other)
        return super().__eq__(other)

    __hash__ = None

    def _reads_as(self, other: Text) -> bool:
        """Whether a text of the same base and length has the same characters; what neither touched is not read."""
        left = len(self)
        mine, theirs = iter(self._segments), iter(other._segments)
        one, two, done, also = None, None, 0, 0
        while left:
            if one is None or done == _size(one):
                one, done = next(mine), 0
            if two is None or also == _size(two):
                two, also = next(theirs), 0
            size = min(_size(one) - done, _size(two) - also, left)
            shared = isinstance(one, Run) and isinstance(two, Run) and one.start + done == two.start + also
            if not shared and self._slice(one, done, size) != self._slice(two, also, size):
                return False
            done, also, left = done + size, also + size, left - size
        return True

    def _slice(self, segment: Segment, start: int, size: int) -> str:
        if isinstance(segment, Run):
            return str(self._base[segment.start + start : segment.start + start + size])
        return str(segment.record[start : start + size])

    def _characters(self, segment: Segment) -> str:
        if isinstance(segment, Run):
            return str(self._base[segment.start : segment.end])
        return str(segment.record)

    def _cut(self) -> int:
        """How many characters of the last line's ending do not show."""
        if not self._end or not self._segments:
            return 0
        last = self._segments[-1]
        stop = self._base[max(0, last.end - 2) : last.end] if isinstance(last, Run) else last.record
        return len(self._end) if stop.endswith(self._end) else 1

    def find(self, part: str) -> Link | None:
        """Return a line, or what is missing at the end."""
        if part == END:
            return Link(_END_PLACE, END, self._end) if self._end else None
        return super().find(part)

    def put(self, link: Link) -> Self:
        """Return the text with a line at its place, or with another end."""
        return self._ended(link.record) if link.id == END else super().put(link)

    def drop(self, part: str) -> Self:
        """Return the text without a line, or with nothing missing at its end."""
        return self._ended("") if part == END else super().drop(part)

    def changed(self, changes: Iterable[tuple[str, Link | None]]) -> Self:
        """Return the text with many lines put or dropped, and with another end where that is among them."""
        told = list(changes)
        new = super().changed((part, link) for part, link in told if part != END)
        for part, link in told:
            if part == END:
                new = new._ended("" if link is None else link.record)
        return new

    def _ended(self, missing: str) -> Self:
        if missing == self._end:
            return self
        new = self._grown(self._segments, self._links)
        new._end = missing
        return new

    def touched(self) -> set[str]:
        """Return the ids of lines that are not as they were, and of the end where it may differ."""
        return super().touched() | {END}

    def _run_to_json(self, run: Run) -> str:
        return self._characters(run)

    def _run_from_json(self, raw: Any, where: str) -> str:
        del where
        return str(raw)

    def to_json(self) -> dict[str, Any]:
        """Return JSON that brings back every line with its identity."""
        return {**super().to_json(), "end": self._end}

    def _joined(self, pieces: list[Any]) -> Any:
        return "".join(pieces)

    @classmethod
    def from_json(cls, raw: Any, where: str) -> Text:
        """Return what `to_json` wrote down."""
        new = cls.__new__(cls)
        new._end, new._whole = raw["end"], None
        new._load(raw, where)
        new._breaks, new._words = Breaks(new._base), Words(new._base)
        new.root = new.whole()
        return new

    def revised(self, whole: str, *, anew: bool = False) -> Self | None:
        """Return the text made another one, each new line standing for the old one it is paired with."""
        between = self._between(whole)
        old, new = between.old, between.new
        if not anew and not between.shared and not {link.record for link in old} & set(new):
            return None
        alignment = align([link.record for link in old], new)
        return carry_over(self, old, new, alignment, between.low, between.high)._ended(between.missing)

    def compare(self, whole: str) -> Alignment:
        """Return which line of this text each of another one stands for; of long ones, where they differ."""
        between = self._between(whole)
        return align([link.record for link in between.old], between.new)

    def _between(self, whole: str) -> Between:
        """What is to be compared of this text and another one."""
        missing = self._missing(whole, next(self.links(), None))
        text = whole + missing
        start, stop = 0, len(text)
        if len(text) >= LONG:
            start, stop = find_differing(self.between, len(self) + self._cut(), text)
        count = sum(1 if isinstance(segment, Link) else segment.size for segment in self._segments)
        first, last = text.count("\n", 0, start), count - text.count("\n", stop)
        around = list(self.links(max(0, first - 1), min(count, last + 1)))
        low, high = around[0] if first else None, around[-1] if last < count else None
        old = around[1 if low else 0 : len(around) - (1 if high else 0)]
        return Between(old, lines_of(text[start:stop]), low, high, missing, shared=start > 0 or stop < len(text))

    def _offset(self, run: Run, count: int) -> int:
        at = run.start
        if count > _NEAR:
            return min(run.end, self._breaks.start(self._breaks.before(at) + count))
        for _ in range(count):
            at = self._base.find("\n", at, run.end) + 1
        return at

    def _record(self, start: int, end: int) -> str:
        return str(self._base[start:end])

    def edited(self, old: str, new: str) -> Self:
        """Return the text with `old`, which must occur exactly once, replaced; an empty `old` appends."""
        start = len(self) if not old else self._only(old)
        return self.spliced(start, start + len(old), new)

    def _only(self, needle: str) -> int:
        found = sorted(self._positions(needle))
        if len(found) == 1:
            return found[0]
        times = "is not in it" if not found else "is in it more than once"
        raise OperationFailed(f"the text to be replaced must occur exactly once, and {times}")

    def _positions(self, needle: str) -> set[int]:
        """Where a text occurs; no more than two places are looked for."""
        found: set[int] = set()
        margin, end, length = len(needle) - 1, 0, len(self)
        stretch = 0
        """Where what was edited began since the last run: matches across edges lie around there."""
        for segment in (*self._segments, None):
            if isinstance(segment, Link):
                end += _size(segment)
                continue
            window = self.between(max(0, stretch - margin), min(length, end + margin))
            found.update(_all(window, needle, 0, len(window), max(0, stretch - margin)))
            if segment is None or len(found) > 1:
                break
            limit = min(segment.end, segment.start + length - end)
            shift = end - segment.start
            found.update(at + shift for at in islice(self._words.places(needle, segment.start, limit), 2))
            end += _size(segment)
            stretch = end
            if len(found) > 1:
                break
        return found

    def between(self, start: int, end: int) -> str:
        """Return the characters from one position to another."""
        found, at = [], 0
        for segment in self._segments:
            size = _size(segment)
            if at < end and at + size > start:
                low, high = max(0, start - at), min(size, end - at)
                if isinstance(segment, Run):
                    found.append(self._base[segment.start + low : segment.start + high])
                else:
                    found.append(segment.record[low:high])
            at += size
            if at >= end:
                break
        return "".join(found)

    def spliced(self, start: int, end: int, new: str) -> Self:
        """Return the text with the characters from one position to another replaced: their lines are written."""
        length, total = len(self), sum(map(_size, self._segments))
        first, _, low = self._line(start)
        head = self.between(first, start) + new
        whole = (not head or head.endswith("\n")) and (end == 0 or self.between(end - 1, end) == "\n")
        last = end if whole else self._line_end(end)
        block = head + self.between(end, min(last, length))
        old = list(self._lines(first, last))
        if last < total:
            return self.aligned(old, lines_of(block), low, self._line(last)[1])
        missing = self._missing(block, low or (old[0] if old else None))
        return self.aligned(old, lines_of(block + missing), low, None)._ended(missing)

    def _missing(self, block: str, near: Link | None) -> str:
        """What is missing at the end of the text if it ends with a block: the same as now where that fits."""
        if self._end and block and not block.endswith(("\n", "\r")):
            return self._end
        return missing_end(block, windows=near is not None and near.record.endswith("\r\n"))

    def aligned(self, old: Sequence[Link], new: Sequence[str], low: Link | None, high: Link | None) -> Self:
        """Return the text with neighbouring lines made others; a new line stands for the one it is paired with."""
        return carry_over(self, old, new, align([link.record for link in old], new, span=True), low, high)

    def _at(self, position: int) -> tuple[int, int]:
        """Which segment a position is in, and where that begins; behind the last one at the end of all."""
        begin = 0
        for at, segment in enumerate(self._segments):
            size = _size(segment)
            if position < begin + size:
                return at, begin
            begin += size
        return len(self._segments), begin

    def _line_end(self, position: int) -> int:
        """Where the line that a position is in ends."""
        at, begin = self._at(position)
        if at == len(self._segments):
            return position
        segment = self._segments[at]
        if isinstance(segment, Link):
            return begin + _size(segment)
        return begin + int(self._base.find("\n", segment.start + position - begin)) + 1 - segment.start

    def _line(self, position: int) -> tuple[int, Link | None, Link | None]:
        """Where the line at a position begins, that line, and the one before it; None: there is none."""
        at, begin = self._at(position)
        segment = self._segments[at] if at < len(self._segments) else None
        if not isinstance(segment, Run):
            return begin, segment, self._last(at - 1)
        start = self._base.rfind("\n", segment.start, segment.start + position - begin) + 1 or segment.start
        number = self._number(segment, start)
        above = self._last(at - 1) if start == segment.start else self._ending(segment, start, number - 1)
        line = Link(place_of(number), str(number), self._base[start : self._base.find("\n", start) + 1])
        return begin + start - segment.start, line, above

    def _number(self, run: Run, offset: int) -> int:
        """The number of the untouched line that begins at an offset of the base."""
        return run.first + self._breaks.before(offset) - self._breaks.before(run.start)

    def _last(self, at: int) -> Link | None:
        """The last line of a segment; None where there is no such segment."""
        if at < 0:
            return None
        segment = self._segments[at]
        if isinstance(segment, Link):
            return segment
        return self._ending(segment, segment.end, segment.first + segment.size - 1)

    def _ending(self, run: Run, end: int, number: int) -> Link:
        """The untouched line that ends at an offset of the base."""
        start = self._base.rfind("\n", run.start, end - 1) + 1 or run.start
        return Link(place_of(number), str(number), self._base[start:end])

    def _lines(self, first: int, last: int) -> Iterator[Link]:
        """The lines from one position, where one begins, to another, where one ends."""
        at = 0
        for segment in self._segments:
            size = _size(segment)
            if isinstance(segment, Link):
                if first <= at < last:
                    yield segment
            elif at < last and at + size > first:
                low = segment.start + max(0, first - at)
                high = min(segment.end, segment.start + last - at)
                number = self._number(segment, low)
                while low < high:
                    end = self._base.find("\n", low, segment.end) + 1
                    yield Link(place_of(number), str(number), self._base[low:end])
                    low, number = end, number + 1
            at += size


def lines_of(text: str) -> list[str]:
    """Return the lines of a text that ends with a line's end."""
    return [line + "\n" for line in text.split("\n")[:-1]]


def missing_end(text: str, *, windows: bool = False) -> str:
    """Return what is missing at the end of a text's last line; nothing where it is complete, or there is none.

    `windows` tells how the line before the text ends, where the text is one line only.
    """
    if not text or text.endswith("\n"):
        return ""
    above = text.rfind("\n")
    if above > 0:
        windows = text[above - 1] == "\r"
    return "\r\n" if windows and not text.endswith("\r") else "\n"


def _size(segment: Segment) -> int:
    return segment.end - segment.start if isinstance(segment, Run) else len(segment.record)


def _all(text: str, needle: str, start: int, end: int, shift: int) -> Iterator[int]:
    """The first two places of a needle between two offsets, moved by `shift`."""
    at = text.find(needle, start, end)
    for _ in range(2):
        if at < 0:
            return
        yield at + shift
        at = text.find(needle, at + 1, end)
