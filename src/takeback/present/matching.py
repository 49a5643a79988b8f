"""Which lines of two texts stand for each other: a common beginning and end, then lines in between.

Small middles are compared in full; in large ones, lines that occur once on each side are matched first and split the
rest. What is still too large after that counts as replaced, so that the cost stays bounded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

MAX_PAIRS: Final = 1_000_000
"""Largest product of two lengths that is compared in full."""


class Match(NamedTuple):
    """`size` equal lines from `old` on one side and from `new` on the other."""

    old: int
    new: int
    size: int


def matches(old: Sequence[str], new: Sequence[str]) -> tuple[Match, ...]:
    """Runs of equal lines, in order."""
    return tuple(_joined(_matched(old, new, 0, len(old), 0, len(new))))


def _matched(
    old: Sequence[str], new: Sequence[str], old_at: int, old_end: int, new_at: int, new_end: int
) -> Iterator[Match]:
    head = 0
    while old_at + head < old_end and new_at + head < new_end and old[old_at + head] == new[new_at + head]:
        head += 1
    tail = 0
    while (
        old_at + head < old_end - tail
        and new_at + head < new_end - tail
        and old[old_end - tail - 1] == new[new_end - tail - 1]
    ):
        tail += 1
    if head:
        yield Match(old_at, new_at, head)
    yield from _middle(old, new, old_at + head, old_end - tail, new_at + head, new_end - tail)
    if tail:
        yield Match(old_end - tail, new_end - tail, tail)


def _middle(
    old: Sequence[str], new: Sequence[str], old_at: int, old_end: int, new_at: int, new_end: int
) -> Iterator[Match]:
    if old_at == old_end or new_at == new_end:
        return
    if (old_end - old_at) * (new_end - new_at) <= MAX_PAIRS:
        compared = SequenceMatcher(None, old[old_at:old_end], new[new_at:new_end], autojunk=False)
        for one, two, size in compared.get_matching_blocks():
            if size:
                yield Match(old_at + one, new_at + two, size)
        return
    anchors = _anchors(old, new, old_at, old_end, new_at, new_end)
    if not anchors:
        return
    for one, two in [*anchors, (old_end, new_end)]:
        yield from _matched(old, new, old_at, one, new_at, two)
        if one < old_end:
            yield Match(one, two, 1)
        old_at, new_at = one + 1, two + 1


def _anchors(
    old: Sequence[str], new: Sequence[str], old_at: int, old_end: int, new_at: int, new_end: int
) -> list[tuple[int, int]]:
    """Lines that occur once on each side, the longest run of them that is in order on both."""
    counts, others = Counter(old[old_at:old_end]), Counter(new[new_at:new_end])
    places = {new[at]: at for at in range(new_at, new_end) if others[new[at]] == 1}
    pairs = [(at, places[old[at]]) for at in range(old_at, old_end) if counts[old[at]] == 1 and old[at] in places]
    ends: list[int] = []
    best: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        at = bisect_left(ends, place)
        before.append(best[at - 1] if at else -1)
        if at == len(ends):
            ends.append(place)
            best.append(number)
        else:
            ends[at], best[at] = place, number
    chosen: list[tuple[int, int]] = []
    number = best[-1] if best else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def _joined(found: Iterator[Match]) -> Iterator[Match]:
    last: Match | None = None
    for match in found:
        if last is not None and last.old + last.size == match.old and last.new + last.size == match.new:
            last = Match(last.old, last.new, last.size + match.size)
            continue
        if last is not None:
            yield last
        last = match
    if last is not None:
        yield last
