"""Likeness of lines or items, and which new one continues which old one by that, within bounds.

Lines that differ in white space only are alike. Others are compared by their characters, long ones by their words.
`Likeness` counts what it compares: a version that would take too many comparisons gets no answer for the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from takeback.sequences import PairedPositions

SIMILAR: Final = 0.6
MOST_PAIRS: Final = 400
"""A stretch with more pairs of lines than this is not compared each with each."""
MOST_IN_PLACE: Final = 2_000
"""A stretch of more lines than this is not compared line by line in place either."""
MOST_IN_ALL: Final = 20_000
"""Comparisons for two versions altogether."""
LONG: Final = 160
"""Lines of more characters are compared by which words they have in common, however those are ordered."""
_WORDS: Final = re.compile(r"\w+|[^\w\s]")


def strip_white_space(text: str) -> str:
    """Return a line without its white space."""
    return "".join(text.split())


class Likeness:
    """Compares lines, as long as there are not too many."""

    def __init__(self) -> None:
        self._left = MOST_IN_ALL
        self._counted: dict[str, Counter[str]] = {}

    def allows(self, comparisons: int, most: int = MOST_PAIRS) -> bool:
        """Tell whether so many comparisons may be made, and count them."""
        if comparisons > min(most, self._left):
            return False
        self._left -= comparisons
        return True

    def of(self, old: str, new: str) -> float:
        """Return how like two lines are, from 0 to 1; 0 where that is not enough to stand for one another."""
        if strip_white_space(old) == strip_white_space(new):
            return 1.0
        if max(len(old), len(new)) > LONG:
            return _zero_if_too_low(_measure_shared_words(self._words(old), self._words(new)))
        length = len(old) + len(new)
        if 2.0 * min(len(old), len(new)) / length < SIMILAR:
            return 0.0
        return _zero_if_too_low(2.0 * count_shared(old, new) / length)

    def _words(self, text: str) -> Counter[str]:
        if text not in self._counted:
            self._counted[text] = Counter(_WORDS.findall(text))
        return self._counted[text]

    def best(self, old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int, float]]:
        """Return positions of lines that are alike, without crossing, most alike in all; and how like they are."""
        table = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
        scores = [[0.0] * len(new) for _ in old]
        for to, two in enumerate(new):
            for at, line in enumerate(old):
                scores[at][to] = self.of(line, two)
        for at in range(len(old) - 1, -1, -1):
            for to in range(len(new) - 1, -1, -1):
                ratio = scores[at][to]
                apart = max(table[at + 1][to], table[at][to + 1])
                table[at][to] = max(apart, ratio + table[at + 1][to + 1]) if ratio else apart
        pairs: list[tuple[int, int, float]] = []
        at = to = 0
        while at < len(old) and to < len(new):
            ratio = scores[at][to]
            if ratio and table[at][to] == ratio + table[at + 1][to + 1]:
                pairs.append((at, to, ratio))
                at, to = at + 1, to + 1
            elif table[at][to] == table[at + 1][to]:
                at += 1
            else:
                to += 1
        return pairs


def count_shared(old: str, new: str) -> int:
    """Return how many characters two lines share in order: the longest stretch, then those before and after it.

    It is what `difflib.SequenceMatcher` counts, found by searching for strings.
    """
    shared, rest = 0, [(0, len(old), 0, len(new))]
    while rest:
        start, end, low, high = rest.pop()
        size = at = to = 0
        for first in range(start, end):
            if end - first <= size:
                break
            while first + size < end and (place := new.find(old[first : first + size + 1], low, high)) >= 0:
                size, at, to = size + 1, first, place
        if size:
            shared += size
            rest += [(start, at, low, to), (at + size, end, to + size, high)]
    return shared


def _zero_if_too_low(ratio: float) -> float:
    return ratio if ratio >= SIMILAR else 0.0


def _measure_shared_words(old: Counter[str], new: Counter[str]) -> float:
    return 2 * (old & new).total() / max(1, old.total() + new.total())


def find_alike_in_place(old: Sequence[str], new: Sequence[str], likeness: Likeness) -> list[PairedPositions]:
    """Return the positions at which lines of two stretches of one length are alike."""
    return [
        (at, at)
        for at, (old_line, new_line) in enumerate(zip(old, new, strict=True))
        if likeness.of(old_line, new_line)
    ]
