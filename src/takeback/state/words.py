"""Where a stretch of text occurs in a long one, without reading all of it every time.

The first search reads the text; from the second on, blocks of whole lines are indexed by the words in them. A stretch
can only begin in a block that has its words, or whose next one has; those blocks are searched. What is short, or made
of words that are everywhere, is searched plainly.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

BLOCK: Final = 8_192
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
        if end - start > LONG and len(needle) <= BLOCK:
            blocks = self._having(needle, start, end) if self._searched else None
            self._searched = True
        if blocks is None:
            yield from self._plain(needle, start, end, end)
            return
        for block in blocks:
            high = self._starts[block + 1]
            yield from self._plain(needle, max(start, self._starts[block]), min(end, high), end)

    def _plain(self, needle: str, start: int, before: int, end: int) -> Iterator[int]:
        """Where a needle begins between two offsets and ends before a third."""
        stop = min(end, before + len(needle) - 1)
        at = self._text.find(needle, start, stop)
        while at >= 0:
            yield at
            at = self._text.find(needle, at + 1, stop)

    def _having(self, needle: str, start: int, end: int) -> list[int] | None:
        """The blocks between two offsets in which a needle may begin; None where its words do not tell."""
        if len(self._starts) == 1:
            self._index()
        first, last = (
            bisect_right(self._starts, start) - 1,
            min(bisect_right(self._starts, end), len(self._starts) - 1),
        )
        found = (1 << last) - (1 << first)
        for word in _inner(needle):
            blocks = self._blocks.get(word, 0)
            found &= blocks | blocks >> 1
        return _bits(found)

    def _index(self) -> None:
        at = 0
        while at < len(self._text):
            end = self._text.find("\n", at + BLOCK) + 1 or len(self._text)
            bit = 1 << (len(self._starts) - 1)
            for word in set(self._text[at:end].translate(_APART).split()):
                self._blocks[word] = self._blocks.get(word, 0) | bit
            self._starts.append(end)
            at = end


def _inner(needle: str) -> list[str]:
    """The words of a needle that begin and end in it, whatever stands around it."""
    spaced = needle.translate(_APART)
    words = spaced.split()
    return words[0 if spaced[:1].isspace() else 1 : None if spaced[-1:].isspace() else -1]


def _bits(number: int) -> list[int] | None:
    if number.bit_count() > FEW:
        return None
    found = []
    while number:
        found.append((number & -number).bit_length() - 1)
        number &= number - 1
    return found
