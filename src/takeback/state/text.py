"""Texts made of lines that can be edited and taken back one by one, and the edits of operations.

A line is its characters and its ending. A text whose last line has no ending is kept as if it had one, with
that missing end as a part of its own (`END`): so a line appended later does not rewrite the line before it.
`TextEdit` is an operation's value; `make_probe_texts` builds texts on which several edits go through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from takeback.errors import InputError, OperationFailed
from takeback.sequences import count_common_ends
from takeback.state.address import END
from takeback.state.chain import Link
from takeback.state.operation import Operation
from takeback.state.parts import Parts, Run, Segment
from takeback.state.pmap import PMap
from takeback.state.values import read_storable_text

if TYPE_CHECKING:
    from takeback.state.alignment import Alignment
    from takeback.state.text_index import Between, Breaks, Words

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
        from takeback.state.text_index import Breaks, Words  # noqa: PLC0415 - start-up

        new = cls.__new__(cls)
        missing = find_missing_end(text)
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
        if self._whole is None:
            joined = "".join(map(self._characters, self._segments))
            self._whole = joined[: len(joined) - self._cut()]
        return self._whole

    def pieces(self) -> Iterator[bytes]:
        """Yield the text in UTF-8, piece by piece, without holding all of it."""
        left = len(self)
        for segment in self._segments:
            size = min(_measure_segment(segment), left)
            left -= size
            for start in range(0, size, PIECE):
                yield self._slice(segment, start, min(PIECE, size - start)).encode()

    def encode_utf8(self) -> bytes:
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
        return sum(map(_measure_segment, self._segments)) - self._cut()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Text) and other._base is self._base and self is not other:
            if len(self) != len(other):
                return False
            begin, end = count_common_ends(self._segments, other._segments)
            mine, theirs = (text._segments[begin : len(text._segments) - end] for text in (self, other))
            if "".join(map(self._characters, mine)) == "".join(map(self._characters, theirs)):
                return True
            if end:  # the end that may be hidden is the same
                return False
        return super().__eq__(other)

    __hash__ = None

    def _slice(self, segment: Segment, start: int, size: int) -> str:
        if isinstance(segment, Run):
            return str(self._base[segment.start + start : segment.start + start + size])
        return str(segment.record[start : start + size])

    def _characters(self, segment: Segment) -> str:
        if isinstance(segment, Run):
            return str(self._base[segment.start : segment.end])
        return str(segment.record)

    def _cut(self) -> int:
        """Return how many characters of the last line's ending are hidden."""
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

    def apply_changes(self, changes: Iterable[tuple[str, Link | None]]) -> Self:
        listed = list(changes)
        new = super().apply_changes((part, link) for part, link in listed if part != END)
        for part, link in listed:
            if part == END:
                new = new._set_missing_end("" if link is None else link.record)
        return new

    def _set_missing_end(self, missing: str) -> Self:
        if missing == self._end:
            return self
        new = self._grown(self._segments, self._links)
        new._end = missing
        return new

    def find_touched_parts(self) -> set[str]:
        return super().find_touched_parts() | {END}

    def _run_to_json(self, run: Run) -> str:
        return self._characters(run)

    def _run_from_json(self, raw: Any, where: str) -> str:
        return str(raw)

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "end": self._end}

    def _join_pieces(self, pieces: list[Any]) -> Any:
        return "".join(pieces)

    @classmethod
    def from_json(cls, raw: Any, where: str) -> Text:
        """Return what `to_json` wrote down."""
        from takeback.state.text_index import Breaks, Words  # noqa: PLC0415 - start-up

        new = cls.__new__(cls)
        new._end, new._whole = raw["end"], None
        new._load(raw, where)
        new._breaks, new._words = Breaks(new._base), Words(new._base)
        new.root = new.whole()
        return new

    def revise(self, whole: str, *, anew: bool = False) -> Self | None:
        revised = self.revise_aligned(whole, anew=anew)
        if revised is not None and len(whole) >= LONG:
            revised[0]._whole = whole  # which is held already: what compares or writes it makes no copy
        return None if revised is None else revised[0]

    def revise_aligned(self, whole: str, *, anew: bool = False) -> tuple[Self, Alignment] | None:
        """Return what `revise` does, and which line continues which."""
        from takeback.state.alignment import align  # noqa: PLC0415 - start-up

        between = self._between(whole)
        old, new = between.old, between.new
        if not anew and not between.shared and not {link.record for link in old} & set(new):
            return None
        alignment = align([link.record for link in old], new)
        revised = self.carry_over(old, new, alignment, between.low, between.high)
        return revised._set_missing_end(between.missing), alignment

    def compare(self, whole: str) -> Alignment:
        from takeback.state.alignment import align  # noqa: PLC0415 - start-up

        between = self._between(whole)
        return align([link.record for link in between.old], between.new)

    def _between(self, whole: str) -> Between:
        """What is to be compared of this text and another one."""
        from takeback.state.text_index import Between, find_differing  # noqa: PLC0415 - start-up

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
        return Between(
            old, cut_into_lines(text[start:stop]), low, high, missing, shared=start > 0 or stop < len(text)
        )

    def _offset(self, run: Run, count: int) -> int:
        at = run.start
        if count > _NEAR:
            return min(run.end, self._breaks.start(self._breaks.before(at) + count))
        for _ in range(count):
            at = self._base.find("\n", at, run.end) + 1
        return at

    def _record(self, start: int, end: int) -> str:
        return str(self._base[start:end])

    def replace_once(self, old: str, new: str) -> Self:
        """Return the text with `old`, which must occur exactly once, replaced; an empty `old` appends."""
        start = len(self) if not old else self._only(old)
        return self.replace_range(start, start + len(old), new)

    def _only(self, needle: str) -> int:
        places = sorted(self._positions(needle))
        if len(places) == 1:
            return places[0]
        times = "is not in it" if not places else "is in it more than once"
        raise OperationFailed(f"the text to be replaced must occur exactly once, and {times}")

    def _positions(self, needle: str) -> set[int]:
        """Return where a text occurs, looking for no more than two places."""
        positions: set[int] = set()
        margin, limit, at = len(needle) - 1, len(self), 0
        stretch, begin = "", 0
        """What was edited since the last run of some length, with the end of that, and where it begins."""
        for segment in (*self._segments, None):
            size = 0 if segment is None else _measure_segment(segment)
            if segment is not None and (isinstance(segment, Link) or size <= margin):
                stretch, at = stretch + self._characters(segment), at + size
                continue
            head = "" if segment is None else self._base[segment.start : segment.start + margin]
            positions.update(_find_first_two((stretch + head)[: max(0, limit - begin)], needle, begin))
            if segment is None or len(positions) > 1:
                break
            within = self._words.places(needle, segment.start, min(segment.end, segment.start + limit - at))
            positions.update(place + at - segment.start for place in islice(within, 2))
            at += size
            stretch, begin = self._base[segment.end - margin : segment.end], at - margin
        return positions

    def between(self, start: int, end: int) -> str:
        """Return the characters from one position to another."""
        pieces, at = [], 0
        for segment in self._segments:
            size = _measure_segment(segment)
            if at < end and at + size > start:
                low, high = max(0, start - at), min(size, end - at)
                if isinstance(segment, Run):
                    pieces.append(self._base[segment.start + low : segment.start + high])
                else:
                    pieces.append(segment.record[low:high])
            at += size
            if at >= end:
                break
        return "".join(pieces)

    def replace_range(self, start: int, end: int, new: str) -> Self:
        """Return the text with the characters from one position to another replaced: their lines are written."""
        number, first = self._find_line(start)
        until, last = self._find_line(end)
        head = self.between(first, start) + new
        whole = (not head or head.endswith("\n")) and (end == 0 or self.between(end - 1, end) == "\n")
        around = list(self.links(max(0, number - 1), until + 2))
        low = around.pop(0) if number else None
        old = around[: until - number + (not whole)]
        high = around[len(old)] if len(old) < len(around) else None
        rest = old[-1].record[end - last :] if len(old) > until - number else ""
        if high is not None:
            return self.align_lines(old, cut_into_lines(head + rest), low, high)
        block = head + rest[: len(self) - end]
        missing = self._missing(block, low or (old[0] if old else None))
        return self.align_lines(old, cut_into_lines(block + missing), low, None)._set_missing_end(missing)

    def _missing(self, block: str, near: Link | None) -> str:
        """Return what is missing at the end if the text ends with a block: the same as now where that fits."""
        if self._end and block and not block.endswith(("\n", "\r")):
            return self._end
        return find_missing_end(block, windows=near is not None and near.record.endswith("\r\n"))

    def align_lines(self, old: Sequence[Link], new: Sequence[str], low: Link | None, high: Link | None) -> Self:
        """Return the text with neighbouring lines replaced; paired lines keep their identity."""
        from takeback.state.alignment import align  # noqa: PLC0415 - start-up

        return self.carry_over(old, new, align([link.record for link in old], new, span=True), low, high)

    def _find_line(self, position: int) -> tuple[int, int]:
        """Return which line a position is in, and where that begins; behind the last one at the end of the text."""
        number = begin = 0
        for segment in self._segments:
            size = _measure_segment(segment)
            if position < begin + size:
                if isinstance(segment, Link):
                    break
                start = self._base.rfind("\n", segment.start, segment.start + position - begin) + 1 or segment.start
                number += self._breaks.before(start) - self._breaks.before(segment.start)
                return number, begin + start - segment.start
            number, begin = number + (1 if isinstance(segment, Link) else segment.size), begin + size
        return number, begin


def cut_into_lines(text: str) -> list[str]:
    """Return the lines of a text that ends with a line's end."""
    return [line + "\n" for line in text.split("\n")[:-1]]


def find_missing_end(text: str, *, windows: bool = False) -> str:
    """Return what is missing at the end of a text's last line; nothing where it is complete, or there is none.

    `windows` tells how the line before the text ends, where the text is one line only.
    """
    if not text or text.endswith("\n"):
        return ""
    above = text.rfind("\n")
    if above > 0:
        windows = text[above - 1] == "\r"
    return "\r\n" if windows and not text.endswith("\r") else "\n"


def _measure_segment(segment: Segment) -> int:
    return segment.end - segment.start if isinstance(segment, Run) else len(segment.record)


def _find_first_two(text: str, needle: str, shift: int) -> Iterator[int]:
    """Yield the first two places of a needle, moved by `shift`."""
    at = -1
    for _ in range(2):
        if (at := text.find(needle, at + 1)) < 0:
            return
        yield at + shift


SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"old": {"type": "string", "maxLength": 1000}, "new": {"type": "string", "maxLength": 2000}},
    "required": ["old", "new"],
    "additionalProperties": False,
}
MOST_PIECES: Final = 6
READS: Final = ("the text, to find what is replaced in it",)


class TextEdit(NamedTuple):
    """Replace `old`, which must occur exactly once, by `new`; an empty `old` appends."""

    old: str
    new: str


def read_edit(raw: Any, where: str) -> TextEdit:
    """Return an edit from its JSON, or raise."""
    if not isinstance(raw, dict) or set(raw) != {"old", "new"}:
        raise InputError(where, found=raw, expected="a mapping with old and new")
    return TextEdit(read_storable_text(raw["old"], f"{where}.old"), read_storable_text(raw["new"], f"{where}.new"))


def apply_edit(content: Text, edit: TextEdit) -> Text:
    """Return a text with an edit made; raise `OperationFailed` where it cannot be."""
    return content.replace_once(edit.old, edit.new)


def group_edits_by_path(ops: Iterable[Operation]) -> dict[Any, list[TextEdit]]:
    """Return the edits among operations, by what they edit."""
    by_path: dict[Any, list[TextEdit]] = {}
    for op in ops:
        if isinstance(op.value, TextEdit):
            by_path.setdefault(op.path, []).append(op.value)
    return by_path


def make_probe_texts(edits: Sequence[TextEdit], salt: str) -> tuple[str, ...]:
    """Return texts that edits may meet, smallest first after one on which they go through one after the other.

    The others are made of what edits replace and put in, up to two at a time and with nothing else, or of all that
    they replace.
    """
    pieces = list(dict.fromkeys(piece for edit in edits for piece in edit if piece))[:MOST_PIECES]
    replaced = list(dict.fromkeys(edit.old for edit in edits))
    made = ["", *pieces, *(f"{text}{two}" for text in pieces for two in pieces)]
    made += ["".join(replaced), "".join(reversed(replaced)), "\n".join(replaced)]
    return tuple(dict.fromkeys((_make_editable_text(edits, salt), *made)))


def _make_editable_text(edits: Sequence[TextEdit], salt: str) -> str:
    """Return a text on which the edits go through, as far as one is easily found.

    What is to be replaced is put in where nothing before has put it there already.
    """
    wanted: list[str] = []
    for at, edit in enumerate(edits):
        if edit.old and not _can_apply_edits(edits[: at + 1], wanted, salt):
            wanted.append(edit.old)
    return _spread_texts(wanted, salt)


def _can_apply_edits(edits: Sequence[TextEdit], wanted: list[str], salt: str) -> bool:
    now = Text.of(_spread_texts(wanted, salt))
    try:
        for edit in edits:
            now = apply_edit(now, edit)
    except OperationFailed:
        return False
    return True


def _spread_texts(wanted: list[str], salt: str) -> str:
    return "\n".join([f"{salt} first", *wanted, f"{salt} last"])
