"""Which old line or item each new one stands for: the same reading for the same two versions, every time.

What both versions begin and end with stays. Where as many stand between as before, each is replaced in place, unless
most of them have only moved; otherwise the two are compared, replaced stretches of equal length pair by position, and
unequal ones pair what is similar first and the gaps by position. Two versions may allow several readings;
`several_readings` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from operator import eq
from typing import Final

SIMILAR: Final = 0.6
MOST_COMPARED: Final = 4_000_000
"""Above this many pairs of lines, stretches that differ are paired by position only."""

Pair = tuple[int | None, int | None]
"""Position in the old and in the new version; None where a part came or went."""


def align(old: Sequence[str], new: Sequence[str]) -> list[Pair]:
    """Return the pairs in order; parts that did not change are paired too."""
    begin, end = _common(old, new)
    last_old, last_new = len(old) - end, len(new) - end
    pairs: list[Pair] = [(at, at) for at in range(begin)]
    pairs += _between(old, new, (begin, last_old), (begin, last_new))
    return [*pairs, *((last_old + at, last_new + at) for at in range(end))]


def several_readings(old: Sequence[str], new: Sequence[str]) -> bool:
    """Tell whether one edit in one place could have made these versions in more than one way."""
    begin, end = _common(old, new)
    gone, come = old[begin : len(old) - end], new[begin : len(new) - end]
    if gone and come:
        return len(gone) != len(come)
    block = gone or come
    return bool(block and begin and old[begin - 1] == block[-1])


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many parts both versions begin with, and how many more they end with."""
    shorter = min(len(old), len(new))
    begin = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    rest = shorter - begin
    return begin, next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)


def _between(
    old: Sequence[str], new: Sequence[str], ours: tuple[int, int], theirs: tuple[int, int]
) -> Iterator[Pair]:
    one, two = old[slice(*ours)], new[slice(*theirs)]
    if not one or not two or len(one) * len(two) > MOST_COMPARED:
        yield from _by_position(ours, theirs)
        return
    matcher = SequenceMatcher(None, one, two, autojunk=False)
    if len(one) == len(two) and not _shifted(matcher, one, two):
        yield from _by_position(ours, theirs)
        return
    for tag, low, high, first, last in matcher.get_opcodes():
        mine, yours = (ours[0] + low, ours[0] + high), (theirs[0] + first, theirs[0] + last)
        if tag == "replace" and high - low != last - first:
            yield from _by_likeness(old, new, mine, yours)
        else:
            yield from _by_position(mine, yours)


def _shifted(matcher: SequenceMatcher[str], old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether most of a stretch is still there and has moved up or down, rather than been replaced line by line."""
    still = sum(size for _, _, size in matcher.get_matching_blocks())
    return bool(2 * (still - sum(map(eq, old, new))) > len(old))


def _by_position(ours: tuple[int, int], theirs: tuple[int, int]) -> Iterator[Pair]:
    shared = min(ours[1] - ours[0], theirs[1] - theirs[0])
    yield from ((ours[0] + at, theirs[0] + at) for at in range(shared))
    yield from ((at, None) for at in range(ours[0] + shared, ours[1]))
    yield from ((None, at) for at in range(theirs[0] + shared, theirs[1]))


def _by_likeness(
    old: Sequence[str], new: Sequence[str], ours: tuple[int, int], theirs: tuple[int, int]
) -> Iterator[Pair]:
    """Pair the most similar first, without crossing, and what lies between by position."""
    best = max(
        (
            (ratio, -at, -to)
            for at in range(*ours)
            for to in range(*theirs)
            if (ratio := SequenceMatcher(None, old[at], new[to], autojunk=False).ratio()) >= SIMILAR
        ),
        default=None,
    )
    if best is None:
        yield from _by_position(ours, theirs)
        return
    at, to = -best[1], -best[2]
    yield from _by_likeness(old, new, (ours[0], at), (theirs[0], to))
    yield at, to
    yield from _by_likeness(old, new, (at + 1, ours[1]), (to + 1, theirs[1]))
