"""Where a stretch of text occurs in a long one, without reading all of it every time.

Blocks of whole lines are indexed by the words in them, a few blocks per search so that no search is slow. A stretch
can only begin in a block that has its words, or whose next one has; those blocks are searched. What is short, not
indexed yet, or made of words that are everywhere is searched plainly.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

BLOCK: Final = 8_192
STEP: Final = 16
"""How many blocks are indexed per search, at most."""
FEW: Final = 16
"""More blocks than this are searched plainly."""
_WORD: Final = re.compile(r"\w+")


class Words:
    """The words of one text; shared by every text that grew from it."""

    __slots__ = ("_blocks", "_starts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0]
        """Where the blocks that are indexed begin, and where the last of them ends."""
        self._blocks: dict[str, int] = {}
        """The blocks a word is in, each a bit of a number."""

    def places(self, needle: str, start: int, end: int) -> Iterator[int]:
        """Yield where a needle occurs between two offsets, in order; overlapping places count."""
        if end - start > STEP * BLOCK and len(needle) <= BLOCK:
            self._index()
            first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end) - 2
            blocks = self._having(needle, first, last)
            if blocks is not None:
                for block in blocks:
                    high = self._starts[block + 1]
                    yield from self._plain(needle, max(start, self._starts[block]), min(end, high), end)
                start = max(start, self._starts[last + 1])
        yield from self._plain(needle, start, end, end)

    def _plain(self, needle: str, start: int, before: int, end: int) -> Iterator[int]:
        """Where a needle begins between two offsets and ends before a third."""
        stop = min(end, before + len(needle) - 1)
        at = self._text.find(needle, start, stop)
        while at >= 0:
            yield at
            at = self._text.find(needle, at + 1, stop)

    def _index(self) -> None:
        """Index a few blocks more."""
        for _ in range(STEP):
            at = self._starts[-1]
            end = self._text.find("\n", at + BLOCK) + 1 or len(self._text)
            if at == end:
                return
            bit = 1 << (len(self._starts) - 1)
            for word in set(_WORD.findall(self._text, at, end)):
                self._blocks[word] = self._blocks.get(word, 0) | bit
            self._starts.append(end)

    def _having(self, needle: str, first: int, last: int) -> list[int] | None:
        """The blocks, from one to another, in which a needle may begin; None where its words do not tell."""
        if last < first:
            return None
        found = (1 << (last + 1)) - (1 << first)
        for word in _WORD.finditer(needle):
            if word.start() and word.end() < len(needle):
                blocks = self._blocks.get(word[0], 0)
                found &= blocks | blocks >> 1
        if last + 1 < len(self._starts) - 1:
            return _bits(found)
        # The words of a needle that begins in the last block may lie behind what is indexed.
        return _bits(found | 1 << last)


def _bits(number: int) -> list[int] | None:
    if number.bit_count() > FEW:
        return None
    found = []
    while number:
        found.append((number & -number).bit_length() - 1)
        number &= number - 1
    return found
