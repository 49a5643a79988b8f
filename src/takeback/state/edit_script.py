"""The shortest way to tell how one stretch of lines became another, and whether another way is about as short.

To begin a change costs, and so does each line that is written: less where it is like the line that it stands for, or
has no word in it. Lines that went cost next to nothing more. So a line stands for an unlike one only where that is
shorter than to say that one went and another came, and equal lines stay only where keeping them is. Of ways that are
equally short the one counts that changes what comes first.

Lines that differ in white space only are alike. Others are compared by their characters, long ones by their words.
`Likeness` counts what it compares: a version that would take too many comparisons gets no answer for the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

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
        self._stripped: dict[str, str] = {}

    def allows(self, comparisons: int, most: int = MOST_PAIRS) -> bool:
        """Tell whether so many comparisons may be made, and count them."""
        if comparisons > min(most, self._left):
            return False
        self._left -= comparisons
        return True

    def of(self, old: str, new: str) -> float:
        """Return how like two lines are, from 0 to 1; 0 where that is not enough to stand for one another."""
        if self._strip(old) == self._strip(new):
            return 1.0
        if max(len(old), len(new)) > LONG:
            return _zero_if_too_low(_measure_shared_words(self._words(old), self._words(new)))
        length = len(old) + len(new)
        if 2.0 * min(len(old), len(new)) / length < SIMILAR:
            return 0.0
        return _zero_if_too_low(2.0 * count_shared(old, new) / length)

    def _strip(self, text: str) -> str:
        if text not in self._stripped:
            self._stripped[text] = strip_white_space(text)
        return self._stripped[text]

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


BEGIN: Final = 5.0
"""What it costs to begin a change, or to go on with one of another kind."""
WORDS: Final = 7.0
PLAIN: Final = 3.0
"""What it costs to write a line: with a word in it, and without."""
ALIKE: Final = 0.5
"""What it costs to write a line that is like the one it stands for, beside what it does not share with that."""
UNLIKE: Final = 0.2
"""What is added where a line stands for an unlike one."""
GONE: Final = 0.1
AGAIN: Final = 3.0
"""What is added where a line with a word in it is written though it was there: it rather stayed."""
_LITTLE: Final = 1e-6
"""What two sums of the same costs may differ by."""
_NEVER: Final = float("inf")
_WORD: Final = re.compile(r"\w")
_KEPT, _WRITTEN, _GONE, _COME = range(4)
_KINDS: Final = (_KEPT, _WRITTEN, _GONE, _COME)
_TURNS: Final = tuple(tuple(0.0 if kind in (last, _KEPT) else BEGIN for kind in _KINDS) for last in _KINDS)
"""What a step of each kind costs beside itself, by the kind of the step before it."""


class Telling(NamedTuple):
    """Who stands for whom in a stretch, and whether other ways to tell it need less than one more beginning."""

    pairs: list[PairedPositions]
    several: bool


class _Step(NamedTuple):
    kind: int
    cost: float
    at: int
    to: int
    """Where it leads, in both versions."""


def tell(old: Sequence[str], new: Sequence[str], likeness: Likeness, *, unlike: bool) -> Telling:
    """Return the shortest way to tell how `old` became `new`; a line may stand for an `unlike` one, or not."""
    table = _Table(old, new, likeness, unlike=unlike)
    pairs = table.pairs()
    return Telling(pairs, table.has_others(pairs))


def has_word(line: str) -> bool:
    """Tell whether there is a word in a line."""
    return _WORD.search(line) is not None


class _Table:
    """What it costs at least to tell the rest from any two positions on, by the kind of the step before."""

    def __init__(self, old: Sequence[str], new: Sequence[str], likeness: Likeness, *, unlike: bool) -> None:
        self.height, self.width = len(old), len(new)
        there = set(old)
        come = [(WORDS + (AGAIN if line in there else 0.0)) if has_word(line) else PLAIN for line in new]
        self._steps = [
            [
                [
                    *_pair_step(old, new, at, to, come, likeness, unlike=unlike),
                    *([_Step(_GONE, GONE, at + 1, to)] if at < self.height else []),
                    *([_Step(_COME, come[to], at, to + 1)] if to < self.width else []),
                ]
                for to in range(self.width + 1)
            ]
            for at in range(self.height + 1)
        ]
        self._rest = [[[0.0] * len(_KINDS) for _ in range(self.width + 1)] for _ in range(self.height + 1)]
        for at in range(self.height, -1, -1):
            for to in range(self.width, -1, -1):
                if steps := self._steps[at][to]:
                    costs = [_NEVER] * len(_KINDS)
                    for step in steps:
                        costs[step.kind] = step.cost + self._rest[step.at][step.to][step.kind]
                    least = min(costs[_KEPT], BEGIN + min(costs))  # whatever the step before was
                    self._rest[at][to] = [min(least, cost) for cost in costs]

    def pairs(self) -> list[PairedPositions]:
        """Walk the shortest way; of several, the one that changes something first."""
        pairs: list[PairedPositions] = []
        at = to = 0
        last = _KEPT
        while steps := self._steps[at][to]:
            least = self._rest[at][to][last] + _LITTLE
            short = [step for step in steps if _TURNS[last][step.kind] + self._from(step) <= least]
            step = next((step for step in short if step.kind != _KEPT), short[0])
            if step.kind in (_KEPT, _WRITTEN):
                pairs.append((at, to))
            last, at, to = step.kind, step.at, step.to
        return pairs

    def _from(self, step: _Step) -> float:
        return step.cost + self._rest[step.at][step.to][step.kind]

    def has_others(self, pairs: Sequence[PairedPositions]) -> bool:
        """Tell whether lines stand for others in some way that needs less than one more beginning."""
        limit = self._rest[0][0][_KEPT] + BEGIN - _LITTLE
        stands, stood = dict(pairs), {to for _, to in pairs}
        reach = [[[_NEVER] * len(_KINDS) for _ in range(self.width + 1)] for _ in range(self.height + 1)]
        reach[0][0][_KEPT] = 0.0
        for at, to, step in self._all():
            costs = reach[at][to]
            least = min(costs)
            so_far = least if step.kind == _KEPT else min(costs[step.kind], BEGIN + least)
            there = reach[step.at][step.to]
            there[step.kind] = min(there[step.kind], so_far + step.cost)
            if so_far + self._from(step) < limit and _is_other(step, at, to, stands, stood):
                return True
        return False

    def _all(self) -> Iterator[tuple[int, int, _Step]]:
        for at, row in enumerate(self._steps):
            for to, steps in enumerate(row):
                for step in steps:
                    yield at, to, step


def _is_other(step: _Step, at: int, to: int, stands: dict[int, int], stood: set[int]) -> bool:
    """Whether a step from two positions is none of a way that pairs lines like this."""
    if step.kind == _GONE:
        return at in stands
    return to in stood if step.kind == _COME else stands.get(at) != to


def _pair_step(
    old: Sequence[str],
    new: Sequence[str],
    at: int,
    to: int,
    come: Sequence[float],
    likeness: Likeness,
    *,
    unlike: bool,
) -> Iterator[_Step]:
    if at == len(old) or to == len(new):
        return
    if old[at] == new[to]:
        yield _Step(_KEPT, 0.0, at + 1, to + 1)
    elif ratio := likeness.of(old[at], new[to]):
        yield _Step(_WRITTEN, ALIKE + come[to] * (1 - ratio), at + 1, to + 1)
    elif unlike:
        yield _Step(_WRITTEN, come[to] + UNLIKE, at + 1, to + 1)
