"""What differs between two sequences of pieces, in time that follows the differences rather than the length.

Common ends are trimmed, pieces that occur once on both sides divide what is left, and short stretches in between are
compared exactly. A piece that came or went among equal ones could be any of them: `Hunk.slid` says which.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from takeback.state.matching import Block, shortest_script

MOST_SLIDES: Final = 256
STRIDE: Final = 512
"""Pieces compared at once where nothing differs."""
_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]")


class Hunk(NamedTuple):
    """Pieces put in place of `base[start:end]`."""

    start: int
    end: int
    pieces: tuple[bytes, ...]

    def meets(self, other: Hunk) -> bool:
        """Whether the order or the fate of some piece depends on both; hunks that only touch do not meet."""
        if self.start == self.end or other.start == other.end:
            if self[:2] == other[:2]:
                return True
            return self.start < other.start < self.end or other.start < self.start < other.end
        return self.start < other.end and other.start < self.end

    def slid(self, base: Sequence[bytes], low: int, high: int) -> list[Hunk]:
        """Every place, from the first to the last, where the same came or went; between two offsets of `base`."""
        if (self.start < self.end) == bool(self.pieces):
            return [self]
        up, down = [self], [self]
        while len(up) < MOST_SLIDES and up[-1].start > low and (found := up[-1].earlier(base)):
            up.append(found)
        while len(down) < MOST_SLIDES and down[-1].end < high and (found := down[-1].later(base)):
            down.append(found)
        return [*reversed(up), *down[1:]]

    def earlier(self, base: Sequence[bytes]) -> Hunk | None:
        """The same change one piece before, if it is the same."""
        before = base[self.start - 1]
        if (self.pieces[-1] if self.pieces else base[self.end - 1]) != before:
            return None
        pieces = (before, *self.pieces[:-1]) if self.pieces else ()
        return Hunk(self.start - 1, self.end - 1, pieces)

    def later(self, base: Sequence[bytes]) -> Hunk | None:
        """The same change one piece further on, if it is the same."""
        behind = base[self.end]
        if (self.pieces[0] if self.pieces else base[self.start]) != behind:
            return None
        pieces = (*self.pieces[1:], behind) if self.pieces else ()
        return Hunk(self.start + 1, self.end + 1, pieces)


def hunks(base: Sequence[bytes], new: Sequence[bytes]) -> list[Hunk]:
    """What makes `new` of `base`, in order."""
    found: list[Hunk] = []
    at = to = 0
    for one, two, size in (*_blocks(base, new), (len(base), len(new), 0)):
        if one > at or two > to:
            found.append(Hunk(at, one, tuple(new[to:two])))
        at, to = one + size, two + size
    return found


def _blocks(base: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Block]:
    """Equal stretches, in order; some may touch on one side or both."""
    waiting: list[tuple[int, int, int, int] | Block] = [(0, len(base), 0, len(new))]
    last: Block | None = None
    while waiting:
        item = waiting.pop()
        if len(item) == 3:  # noqa: PLR2004 - a block
            if last is not None and last[0] + last[2] == item[0] and last[1] + last[2] == item[1]:
                last = (last[0], last[1], last[2] + item[2])
                continue
            if last is not None:
                yield last
            last = item
            continue
        waiting += reversed(_divided(base, new, *item))
    if last is not None:
        yield last


def _divided(
    base: Sequence[bytes], new: Sequence[bytes], low: int, high: int, first: int, end: int
) -> list[tuple[int, int, int, int] | Block]:
    """Blocks of one stretch, and the stretches between them that are still to be compared."""
    size = _common(base, new, low, first, min(high - low, end - first), forward=True)
    tail = _common(base, new, high, end, min(high - low, end - first) - size, forward=False)
    found: list[tuple[int, int, int, int] | Block] = [(low, first, size)] if size else []
    low, high, first, end = low + size, high - tail, first + size, end - tail
    if low < high and first < end:
        anchors = _anchors(base[low:high], new[first:end])
        if not anchors:
            exact = shortest_script(base[low:high], new[first:end])
            found += [(low + one, first + two, length) for one, two, length in exact]
        at, to = low, first
        for one, two in anchors:
            found += [(at, low + one, to, first + two), (low + one, first + two, 1)]
            at, to = low + one + 1, first + two + 1
        if anchors:
            found.append((at, high, to, end))
    return [*found, (high, end, tail)] if tail else found


def _common(base: Sequence[bytes], new: Sequence[bytes], at: int, to: int, most: int, *, forward: bool) -> int:
    """How many pieces are the same from two offsets on, or before them."""
    size = 0
    for step in (STRIDE, 1):
        while size + step <= most:
            one, two = (at + size, to + size) if forward else (at - size - step, to - size - step)
            if base[one : one + step] != new[two : two + step]:
                break
            size += step
    return size


def _anchors(one: Sequence[bytes], two: Sequence[bytes]) -> list[tuple[int, int]]:
    """Pieces that occur once on both sides, as many as keep their order; marks only where there are no words."""
    counted, others = Counter(one), Counter(two)
    single = {piece: at for at, piece in enumerate(two) if others[piece] == 1 and counted.get(piece) == 1}
    places = {piece: at for piece, at in single.items() if _WORD.search(piece)} or single
    tails: list[int] = []
    links: list[tuple[int, int, int]] = []
    ends: list[int] = []
    for at, piece in enumerate(one):
        to = places.get(piece)
        if to is None:
            continue
        rank = bisect_left(tails, to)
        links.append((at, to, ends[rank - 1] if rank else -1))
        tails[rank : rank + 1] = [to]
        ends[rank : rank + 1] = [len(links) - 1]
    found: list[tuple[int, int]] = []
    link = ends[-1] if ends else -1
    while link >= 0:
        at, to, link = links[link]
        found.append((at, to))
    return found[::-1]
