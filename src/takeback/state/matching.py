"""Equal lines or items of two versions that kept their order, found in time that follows the length.

What occurs once on both sides divides the two, as many as keep their order (patience); what is equal at the ends of
the stretches between them stays too. The same two versions give the same answer, every time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

PairedPositions = tuple[int, int]
"""Position in the old and in the new version."""


class Stretch(NamedTuple):
    """Neighbouring parts of the old version, and of the new one, that lie between the same two matches."""

    low: int
    high: int
    first: int
    last: int


class Singles(NamedTuple):
    """What occurs once on both sides: what kept its order, what did not, and whether others could have kept it."""

    kept: list[PairedPositions]
    moved: list[PairedPositions]
    tied: bool


def pair_singles(old: Sequence[str], new: Sequence[str], counts: Callable[[str], bool]) -> Singles:
    """Return what occurs once in both versions, of what counts; the longest run that kept its order is kept."""
    once, also = Counter(old), Counter(new)
    places = {part: at for at, part in enumerate(new) if also[part] == 1 and once.get(part) == 1 and counts(part)}
    pairs = [(at, places[part]) for at, part in enumerate(old) if part in places]
    if all(one < two for (_, one), (_, two) in pairwise(pairs)):
        return Singles(pairs, [], tied=False)
    kept, tied = _longest_rising(pairs)
    there = set(kept)
    return Singles(kept, [pair for pair in pairs if pair not in there], tied)


def _longest_rising(pairs: Sequence[PairedPositions]) -> tuple[list[PairedPositions], bool]:
    """The longest run of pairs that rises on both sides, and whether there is more than one such run."""
    ends = _ranks([to for _, to in pairs])
    starts = _ranks([-to for _, to in reversed(pairs)])[::-1]
    size = max(ends, default=0)
    at_rank: dict[int, list[int]] = {}
    for at, (end, start) in enumerate(zip(ends, starts, strict=True)):
        if end + start - 1 == size:
            at_rank.setdefault(end, []).append(at)
    kept: list[PairedPositions] = []
    for rank in range(size, 0, -1):
        before = kept[-1] if kept else (len(pairs) + pairs[-1][0], max(to for _, to in pairs) + 1)
        kept.append(next(pairs[at] for at in at_rank[rank] if pairs[at][0] < before[0] and pairs[at][1] < before[1]))
    return kept[::-1], any(len(found) > 1 for found in at_rank.values())


def _ranks(numbers: Sequence[int]) -> list[int]:
    """How long the longest rising run is that ends at each number."""
    tails: list[int] = []
    found: list[int] = []
    for number in numbers:
        rank = bisect_left(tails, number)
        tails[rank : rank + 1] = [number]
        found.append(rank + 1)
    return found


def stretches_between(matches: Sequence[PairedPositions], middle: Stretch) -> Iterator[Stretch]:
    """Yield what lies between neighbouring matches in a stretch, also where nothing does."""
    low, _, first, _ = middle
    for at, to in (*matches, (middle.high, middle.last)):
        yield Stretch(low, at, first, to)
        low, first = at + 1, to + 1


def common_ends(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return how many parts both versions begin with, and how many more they end with."""
    shorter = min(len(old), len(new))
    begin = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = shorter - begin
    return begin, next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)


MOST_STEPS: Final = 256
"""A stretch that differs in more parts than this is not compared one by one."""
Block = tuple[int, int, int]
"""Where equal parts begin on both sides, and how many they are."""


def shortest_script(one: Sequence[Hashable], two: Sequence[Hashable]) -> list[Block]:
    """Return equal stretches by a shortest edit script (Myers); none where that would take too many steps."""
    reach: dict[int, int] = {1: 0}
    trace: list[dict[int, int]] = []
    for steps in range(min(len(one) + len(two), MOST_STEPS) + 1):
        trace.append(dict(reach))
        for line in range(-steps, steps + 1, 2):
            down = line == -steps or (line != steps and reach[line - 1] < reach[line + 1])
            at = reach[line + 1] if down else reach[line - 1] + 1
            while at < len(one) and 0 <= at - line < len(two) and one[at] == two[at - line]:
                at += 1
            reach[line] = at
            if at >= len(one) and at - line >= len(two):
                return _walked_back(trace, len(one), len(two))
    return []


def _walked_back(trace: list[dict[int, int]], at: int, to: int) -> list[Block]:
    found: list[Block] = []
    for steps in range(len(trace) - 1, -1, -1):
        reach, line = trace[steps], at - to
        down = line == -steps or (line != steps and reach[line - 1] < reach[line + 1])
        before = line + 1 if down else line - 1
        one = reach[before] if steps else 0
        start = max(one if down else one + 1, 0) if steps else 0
        if at > start:
            found.append((start, start - line, at - start))
        at, to = one, one - before
    return found[::-1]
