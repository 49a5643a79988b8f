"""Sequences compared: the longest rising run, equal ends, and the equal blocks of two versions.

Versions are divided at pieces that occur once on both sides and kept their order (patience); what lies between is
compared by a shortest edit script (Myers). The cost follows the differences rather than the length.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

MOST_STEPS: Final = 256
"""A stretch that differs in more pieces than this is not compared one by one."""
STRIDE: Final = 512
"""Pieces compared at once where nothing differs."""
PairedPositions = tuple[int, int]
"""Position in the old and in the new version."""
Block = tuple[int, int, int]
"""Where equal pieces begin on both sides, and how many they are."""
H = TypeVar("H", bound=Hashable)


class Stretch(NamedTuple):
    """Neighbouring pieces of the old version, and of the new one, that lie between the same two matches."""

    low: int
    high: int
    first: int
    last: int


def rank_rising(numbers: Iterable[int]) -> list[int]:
    """Return, for each number, the length of the longest rising run that ends there."""
    tails: list[int] = []
    ranks: list[int] = []
    for number in numbers:
        rank = bisect_left(tails, number)
        tails[rank : rank + 1] = [number]
        ranks.append(rank + 1)
    return ranks


def find_longest_rising(numbers: Sequence[int]) -> list[int]:
    """Return the positions of a longest rising run, in order."""
    ranks = rank_rising(numbers)
    wanted = max(ranks, default=0)
    rising: list[int] = []
    for at in range(len(ranks) - 1, -1, -1):
        if ranks[at] == wanted:
            rising.append(at)
            wanted -= 1
    return rising[::-1]


def pair_unique(old: Sequence[H], new: Sequence[H], counts: Callable[[H], bool]) -> list[PairedPositions]:
    """Return the positions of what occurs once in both versions, of what counts, in its old order."""
    once, also = Counter(old), Counter(new)
    places = {
        piece: at for at, piece in enumerate(new) if also[piece] == 1 and once.get(piece) == 1 and counts(piece)
    }
    return [(at, places[piece]) for at, piece in enumerate(old) if piece in places]


def count_common_ends(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """Return how many pieces both versions begin with, and how many more they end with."""
    shorter = min(len(old), len(new))
    begin = _count_common(old, new, shorter, forward=True)
    return begin, _count_common(old, new, shorter - begin, forward=False)


def _count_common(old: Sequence[Any], new: Sequence[Any], most: int, *, forward: bool) -> int:
    size = 0
    for step in (STRIDE, 1):
        while size + step <= most:
            at, to = (size, size) if forward else (len(old) - size - step, len(new) - size - step)
            if old[at : at + step] != new[to : to + step]:
                break
            size += step
    return size


def find_stretches_between(matches: Sequence[PairedPositions], middle: Stretch) -> Iterator[Stretch]:
    """Yield what lies between neighbouring matches in a stretch, also where nothing does."""
    low, _, first, _ = middle
    for at, to in (*matches, (middle.high, middle.last)):
        yield Stretch(low, at, first, to)
        low, first = at + 1, to + 1


def find_differing(old: Sequence[H], new: Sequence[H], has_word: Callable[[H], bool]) -> Iterator[Stretch]:
    """Yield the stretches in which two versions differ; pieces with a word divide them rather than others."""
    at = to = 0
    for low, first, size in (*_find_blocks(old, new, has_word), (len(old), len(new), 0)):
        if low > at or first > to:
            yield Stretch(at, low, to, first)
        at, to = low + size, first + size


def _find_blocks(old: Sequence[H], new: Sequence[H], has_word: Callable[[H], bool]) -> Iterator[Block]:
    waiting: list[Stretch | Block] = [Stretch(0, len(old), 0, len(new))]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Stretch):
            waiting += reversed(_divide_stretch(old, new, item, has_word))
        else:
            yield item


def _divide_stretch(
    old: Sequence[H], new: Sequence[H], stretch: Stretch, has_word: Callable[[H], bool]
) -> list[Stretch | Block]:
    """Return the blocks of one stretch, and the stretches between them that are still to be compared."""
    low, high, first, last = stretch
    begin, end = count_common_ends(old[low:high], new[first:last])
    divided: list[Stretch | Block] = [(low, first, begin)] if begin else []
    middle = Stretch(low + begin, high - end, first + begin, last - end)
    old_part, new_part = old[middle.low : middle.high], new[middle.first : middle.last]
    if old_part and new_part:
        anchors = [(middle.low + at, middle.first + to) for at, to in _find_anchors(old_part, new_part, has_word)]
        if anchors:
            between = find_stretches_between(anchors, middle)
            divided.append(next(between))
            for (at, to), following in zip(anchors, between, strict=True):
                divided += [(at, to, 1), following]
        else:
            exact = find_shortest_script(old_part, new_part)
            divided += [(middle.low + at, middle.first + to, size) for at, to, size in exact]
    return [*divided, (high - end, last - end, end)] if end else divided


def _find_anchors(old: Sequence[H], new: Sequence[H], has_word: Callable[[H], bool]) -> list[PairedPositions]:
    """Find pieces that occur once on both sides, as many as keep their order; marks only where there are no words."""
    single = pair_unique(old, new, lambda _: True)
    pairs = [pair for pair in single if has_word(old[pair[0]])] or single
    return [pairs[at] for at in find_longest_rising([to for _, to in pairs])]


def find_shortest_script(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Block]:
    """Return equal stretches by a shortest edit script (Myers); none where that would take too many steps."""
    reach: dict[int, int] = {1: 0}
    trace: list[dict[int, int]] = []
    for steps in range(min(len(old) + len(new), MOST_STEPS) + 1):
        trace.append(dict(reach))
        for line in range(-steps, steps + 1, 2):
            down = line == -steps or (line != steps and reach[line - 1] < reach[line + 1])
            at = reach[line + 1] if down else reach[line - 1] + 1
            while at < len(old) and 0 <= at - line < len(new) and old[at] == new[at - line]:
                at += 1
            reach[line] = at
            if at >= len(old) and at - line >= len(new):
                return _walk_back(trace, len(old), len(new))
    return []


def _walk_back(trace: list[dict[int, int]], at: int, to: int) -> list[Block]:
    blocks: list[Block] = []
    for steps in range(len(trace) - 1, -1, -1):
        reach, line = trace[steps], at - to
        down = line == -steps or (line != steps and reach[line - 1] < reach[line + 1])
        before = line + 1 if down else line - 1
        far = reach[before] if steps else 0
        start = max(far if down else far + 1, 0) if steps else 0
        if at > start:
            blocks.append((start, start - line, at - start))
        at, to = far, far - before
    return blocks[::-1]
