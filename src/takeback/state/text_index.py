"""What makes long texts quick: indexes of line ends and of words, and where two of them differ.

Both indexes are built on first use and shared by every text that grew from the same one. `Breaks` finds which line an
offset is in by looking at one block. `Words` finds a stretch: the first search reads the text; from the
second on, blocks of whole lines are indexed by their words, and only blocks with the words of the stretch are
searched. Short stretches, and those made of words that are everywhere, are searched plainly. `find_differing` goes by
whole lines and makes no object for each of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from takeback.state.chain import Link

LINE_BLOCK: Final = 1_024


class Breaks:
    """The line ends of a text."""

    __slots__ = ("_counts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._counts: list[int] | None = None

    def before(self, offset: int) -> int:
        """Return how many lines end before an offset."""
        if offset <= LINE_BLOCK:
            return self._text.count("\n", 0, offset)
        block = offset // LINE_BLOCK
        return self._count_lines()[block] + self._text.count("\n", block * LINE_BLOCK, offset)

    def start(self, line: int) -> int:
        """Return where a line begins, the first being 0; the end of the text if there are no more."""
        block = bisect_right(self._count_lines(), line) - 1 if len(self._text) > LINE_BLOCK else 0
        left = line - (self._count_lines()[block] if block else 0)
        at = block * LINE_BLOCK
        for _ in range(left):
            at = self._text.find("\n", at) + 1
            if not at:
                return len(self._text)
        if not left and at and self._text[at - 1] != "\n":
            return self._text.rfind("\n", 0, at) + 1
        return at

    def _count_lines(self) -> list[int]:
        if self._counts is None:
            counts, total = [], 0
            for at in range(0, len(self._text) + 1, LINE_BLOCK):
                counts.append(total)
                total += self._text.count("\n", at, at + LINE_BLOCK)
            self._counts = counts
        return self._counts


WORD_BLOCK: Final = 8_192
LONG: Final = 131_072
"""Stretches up to this length are searched plainly."""
FEW: Final = 16
"""More blocks than this are searched plainly."""
_APART: Final = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
"""What stands between words; white space does as well. What else is no letter counts as part of a word."""


class Words:
    """The words of one text; shared by every text that grew from it."""

    __slots__ = ("_blocks", "_searched", "_starts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._searched = False
        self._starts = [0]
        """Where the blocks begin, and where the last of them ends."""
        self._blocks: dict[str, int] = {}
        """The blocks a word is in, each a bit of a number."""

    def places(self, needle: str, start: int, end: int) -> Iterator[int]:
        """Yield where a needle occurs between two offsets, in order; overlapping places count."""
        blocks = None
        if end - start > LONG and len(needle) <= WORD_BLOCK:
            blocks = self._having(needle, start, end) if self._searched else None
            self._searched = True
        if blocks is None:
            yield from self._plain(needle, start, end, end)
            return
        for block in blocks:
            high = self._starts[block + 1]
            yield from self._plain(needle, max(start, self._starts[block]), min(end, high), end)

    def _plain(self, needle: str, start: int, before: int, end: int) -> Iterator[int]:
        """Yield where a needle begins between two offsets and ends before a third."""
        stop = min(end, before + len(needle) - 1)
        at = self._text.find(needle, start, stop)
        while at >= 0:
            yield at
            at = self._text.find(needle, at + 1, stop)

    def _having(self, needle: str, start: int, end: int) -> list[int] | None:
        """Return the blocks between two offsets in which a needle may begin; None where its words cannot tell."""
        if len(self._starts) == 1:
            self._index()
        first, last = (
            bisect_right(self._starts, start) - 1,
            min(bisect_right(self._starts, end), len(self._starts) - 1),
        )
        bits = (1 << last) - (1 << first)
        for word in _list_inner_words(needle):
            blocks = self._blocks.get(word, 0)
            bits &= blocks | blocks >> 1
        return _list_bits(bits)

    def _index(self) -> None:
        at = 0
        while at < len(self._text):
            end = self._text.find("\n", at + WORD_BLOCK) + 1 or len(self._text)
            bit = 1 << (len(self._starts) - 1)
            for word in set(self._text[at:end].translate(_APART).split()):
                self._blocks[word] = self._blocks.get(word, 0) | bit
            self._starts.append(end)
            at = end


def _list_inner_words(needle: str) -> list[str]:
    """Return the words of a needle that begin and end in it, whatever stands around it."""
    spaced = needle.translate(_APART)
    words = spaced.split()
    return words[0 if spaced[:1].isspace() else 1 : None if spaced[-1:].isspace() else -1]


def _list_bits(number: int) -> list[int] | None:
    if number.bit_count() > FEW:
        return None
    numbers = []
    while number:
        numbers.append((number & -number).bit_length() - 1)
        number &= number - 1
    return numbers


STRETCH: Final = 1 << 16
"""Characters that are compared at a time."""
CONTEXT: Final = 50
"""How many lines that both texts have stay on either side: equal lines further away are no rivals."""


class Between(NamedTuple):
    """Lines of two texts between what both begin and end with."""

    old: list[Link]
    new: list[str]
    low: Link | None
    """The line before them, None where they begin the text."""
    high: Link | None
    missing: str
    """What is missing at the end of the new text."""
    shared: bool
    """Whether lines were left out, which both have."""


def find_differing(between: Callable[[int, int], str], length: int, text: str) -> tuple[int, int]:
    """Return where in a text the last line that both begin with begins, and the first that both end with ends.

    The other text is asked for by positions, and ends with a line's end as this one does. Some lines that both have
    stay on either side, so that what came is placed beside them as in the whole text.
    """
    shorter, at = min(length, len(text)), 0
    while at < shorter:
        mine, theirs = between(at, min(at + STRETCH, shorter)), text[at : min(at + STRETCH, shorter)]
        at += _count_alike(mine, theirs)
        if mine != theirs:
            break
    at = text.rfind("\n", 0, at) + 1
    left, back = shorter - at, 0
    while back < left:
        low, high = back + min(STRETCH, left - back), back
        mine, theirs = between(length - low, length - high), text[len(text) - low : len(text) - high]
        back += _count_alike(mine[::-1], theirs[::-1])
        if mine != theirs:
            break
    stop = len(text) - back
    begins = stop == 0 or text[stop - 1] == "\n"
    if not begins or between(max(0, length - back - 1), length - back) not in {"", "\n"}:
        stop = text.find("\n", stop) + 1 or len(text)
    start = at
    for _ in range(CONTEXT):
        start = text.rfind("\n", 0, start - 1) + 1 if start else 0
        stop = text.find("\n", stop) + 1 or len(text)
    return start, stop


def _count_alike(old: str, new: str) -> int:
    """Return how many characters two texts of one length begin with alike."""
    if old == new:
        return len(old)
    return next(at for at, (mine, theirs) in enumerate(zip(old, new, strict=True)) if mine != theirs)
