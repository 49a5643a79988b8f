"""Line ends of a long text, counted once: which line an offset is in, and where a line begins.

The counts are taken the first time they are asked for, and shared by every text that grew from the same one; after
that an answer looks at one block only, however long the text is.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

BLOCK: Final = 1_024


class Breaks:
    """The line ends of a text."""

    __slots__ = ("_counts", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._counts: list[int] | None = None

    def before(self, offset: int) -> int:
        """Return how many lines end before an offset."""
        if offset <= BLOCK:
            return self._text.count("\n", 0, offset)
        block = offset // BLOCK
        return self._counted()[block] + self._text.count("\n", block * BLOCK, offset)

    def start(self, line: int) -> int:
        """Return where a line begins, the first being 0; the end of the text if there are no more."""
        block = bisect_right(self._counted(), line) - 1 if len(self._text) > BLOCK else 0
        left = line - (self._counted()[block] if block else 0)
        at = block * BLOCK
        for _ in range(left):
            at = self._text.find("\n", at) + 1
            if not at:
                return len(self._text)
        if not left and at and self._text[at - 1] != "\n":
            return self._text.rfind("\n", 0, at) + 1
        return at

    def _counted(self) -> list[int]:
        if self._counts is None:
            counts, total = [], 0
            for at in range(0, len(self._text) + 1, BLOCK):
                counts.append(total)
                total += self._text.count("\n", at, at + BLOCK)
            self._counts = counts
        return self._counts
