"""A three-way merge of texts: what turned `base` into `theirs` is done to `ours`, byte for byte.

Lines are merged first; where both sides changed the same lines, their words, blanks, line breaks and marks
are. Nothing is known of what the text means, so the caller checks the result: `iter_merge_results` gives the
plausible ones in order, because equal neighbours and insertions at one offset allow several. No text is ever
marked as conflicting. Differences are found in time that follows the differences rather than the length; a
piece that came or went among equal ones could be any of them, and `Hunk.slide_all` lists where.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import islice, pairwise
from typing import Final, NamedTuple

from takeback.sequences import find_differing

MOST_SLIDES: Final = 256
_WORD = re.compile(rb"[0-9A-Za-z\x80-\xff]")


class Hunk(NamedTuple):
    """Pieces put in place of `base[start:end]`."""

    start: int
    end: int
    pieces: tuple[bytes, ...]

    def has_overlap(self, other: Hunk) -> bool:
        """Return whether the order or presence of some piece depends on both; touching hunks do not overlap."""
        if self.start == self.end or other.start == other.end:
            if self[:2] == other[:2]:
                return True
            return self.start < other.start < self.end or other.start < self.start < other.end
        return self.start < other.end and other.start < self.end

    def slide_all(self, base: Sequence[bytes], low: int, high: int) -> list[Hunk]:
        """Return the hunk at every offset, from `low` to `high` of `base`, where it is the same change."""
        if (self.start < self.end) == bool(self.pieces):
            return [self]
        up, down = [self], [self]
        while len(up) < MOST_SLIDES and up[-1].start > low and (moved := up[-1].earlier(base)):
            up.append(moved)
        while len(down) < MOST_SLIDES and down[-1].end < high and (moved := down[-1].later(base)):
            down.append(moved)
        return [*reversed(up), *down[1:]]

    def earlier(self, base: Sequence[bytes]) -> Hunk | None:
        """Return the same change one piece before; None if it would be another."""
        before = base[self.start - 1]
        if (self.pieces[-1] if self.pieces else base[self.end - 1]) != before:
            return None
        pieces = (before, *self.pieces[:-1]) if self.pieces else ()
        return Hunk(self.start - 1, self.end - 1, pieces)

    def later(self, base: Sequence[bytes]) -> Hunk | None:
        """Return the same change one piece further on; None if it would be another."""
        behind = base[self.end]
        if (self.pieces[0] if self.pieces else base[self.start]) != behind:
            return None
        pieces = (*self.pieces[1:], behind) if self.pieces else ()
        return Hunk(self.start + 1, self.end + 1, pieces)


def find_hunks(base: Sequence[bytes], new: Sequence[bytes]) -> list[Hunk]:
    """Return what turns `base` into `new`, in order."""
    differing = find_differing(base, new, lambda piece: _WORD.search(piece) is not None)
    return [Hunk(low, high, tuple(new[first:last])) for low, high, first, last in differing]


MOST_READINGS: Final = 8
lines: Final = re.compile(rb"[^\n]*\n|[^\n]+").findall
tokens: Final = re.compile(rb"[0-9A-Za-z_\x80-\xff]+|[ \t]+|\r\n|[\s\S]").findall


Changes = tuple[Hunk, ...]
Span = tuple[int, int]


class InsertOrder(Enum):
    """What happens to two insertions at one place."""

    CONFLICT = auto()
    OURS_FIRST = auto()
    THEIRS_FIRST = auto()


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to read the two changes."""

    ours_early: bool
    """Whether what came or went among equal pieces was the first of them."""
    theirs_early: bool
    meeting: InsertOrder


_WAYS: Final = [
    _Way(ours, theirs, meeting)
    for meeting in InsertOrder
    for ours, theirs in ((False, False), (True, True), (True, False), (False, True))
]


def iter_merge_results(base: bytes, ours: bytes, theirs: bytes) -> Iterator[bytes]:
    """Yield texts that could be `ours` with the change from `base` to `theirs`: the best first, a handful at most."""
    return islice(_iter_results(base, ours, theirs), MOST_READINGS)


def _iter_results(base: bytes, ours: bytes, theirs: bytes) -> Iterator[bytes]:
    if base in (ours, theirs) or ours == theirs:
        yield ours if base == theirs else theirs
        return
    case = _Case(base, ours, theirs, lines)
    seen: set[bytes] = set()
    for way in _WAYS:
        changes = case.merge_hunks(way)
        if changes is not None and (result := case.text(changes)) not in seen:
            seen.add(result)
            yield result


@dataclass(eq=False, slots=True)
class _Case:
    """Three versions in pieces; compared once, merged in several ways."""

    base: bytes
    ours: bytes
    theirs: bytes
    split: Callable[[bytes], list[bytes]]
    pieces: list[bytes] = field(init=False)
    changes: tuple[list[Hunk], list[Hunk]] = field(init=False)
    made: dict[Changes, bytes] = field(init=False, default_factory=dict)
    finer: dict[tuple[bytes, bytes, bytes], _Case] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.pieces = self.split(self.base)
        self.changes = (
            find_hunks(self.pieces, self.split(self.ours)),
            find_hunks(self.pieces, self.split(self.theirs)),
        )

    def text(self, changes: Changes) -> bytes:
        """Return what some changes make of the base."""
        if changes not in self.made:
            self.made[changes] = _apply_hunks(self.pieces, 0, len(self.pieces), changes)
        return self.made[changes]

    def merge_hunks(self, way: _Way) -> Changes | None:
        """Merge what both sides changed, in one order; None where they conflict."""
        ours = _fix_positions(self.pieces, self.changes[0], early=way.ours_early)
        theirs = _fix_positions(self.pieces, self.changes[1], early=way.theirs_early, clear_of=ours)
        hunks: list[Hunk] = []
        at = 0
        clusters = [*_group_clusters(ours, theirs), (len(self.pieces) + 1, 0, [], [])]
        for (start, end, mine, yours), following in pairwise(clusters):
            span = (start, end)
            text = self._together(span, mine, yours, way)
            if text is None and self.split is lines:
                span = (max(start - 1, at), min(end + 1, following[0], len(self.pieces)))
                text = self._merge_tokens(span, mine, yours, way)
            if text is None:
                return None
            hunks.append(Hunk(*span, (text,)))
            at = span[1]
        return tuple(hunks)

    def _together(self, span: Span, mine: list[Hunk], yours: list[Hunk], way: _Way) -> bytes | None:
        """Merge changes of one side, equal changes, or insertions at one offset; None for others that overlap."""
        first, second = (_apply_hunks(self.pieces, *span, hunks) for hunks in (mine, yours))
        if first == second or not yours:
            return first
        if not mine:
            return second
        if span[0] < span[1] or way.meeting is InsertOrder.CONFLICT:
            return None
        return first + second if way.meeting is InsertOrder.OURS_FIRST else second + first

    def _merge_tokens(self, span: Span, mine: list[Hunk], yours: list[Hunk], way: _Way) -> bytes | None:
        """Merge changes that overlap, with a line around them: a comma may belong to the one before."""
        base = b"".join(self.pieces[slice(*span)])
        texts = (base, _apply_hunks(self.pieces, *span, mine), _apply_hunks(self.pieces, *span, yours))
        case = self.finer.get(texts) or _Case(*texts, tokens)
        self.finer[texts] = case
        changes = case.merge_hunks(way)
        return None if changes is None else case.text(changes)


def _apply_hunks(base: Sequence[bytes], start: int, end: int, changes: Sequence[Hunk]) -> bytes:
    parts: list[bytes] = []
    at = start
    for hunk in changes:
        parts += [*base[at : hunk.start], *hunk.pieces]
        at = hunk.end
    return b"".join((*parts, *base[at:end]))


def _fix_positions(
    base: Sequence[bytes], changes: Sequence[Hunk], *, early: bool, clear_of: Sequence[Hunk] = ()
) -> list[Hunk]:
    """Return one side's changes at their first or last offset, clear of the other's changes where possible."""
    starts = [hunk.start for hunk in clear_of]
    fixed: list[Hunk] = []
    for at, hunk in enumerate(changes):
        low = fixed[-1].end + 1 if fixed else 0
        high = changes[at + 1].start - 1 if at + 1 < len(changes) else len(base)
        places = hunk.slide_all(base, low, high)
        near = clear_of[max(bisect_left(starts, places[0].start) - 1, 0) : bisect_right(starts, places[-1].end)]
        places = places if early else places[::-1]
        free = (place for place in places if not any(place.has_overlap(other) for other in near))
        fixed.append(next(free, places[0]))
    return fixed


def _group_clusters(
    ours: Sequence[Hunk], theirs: Sequence[Hunk]
) -> Iterator[tuple[int, int, list[Hunk], list[Hunk]]]:
    """Yield changes in order, overlapping ones together, with the stretch of `base` they cover."""
    sides = [(hunk, 0) for hunk in ours] + [(hunk, 1) for hunk in theirs]
    groups: list[tuple[list[Hunk], list[Hunk]]] = []
    reach = Hunk(-1, -1, ())
    for hunk, side in sorted(sides, key=lambda pair: pair[0][:2]):
        if not groups or not reach.has_overlap(hunk):
            groups.append(([], []))
            reach = hunk
        groups[-1][side].append(hunk)
        reach = Hunk(reach.start, max(reach.end, hunk.end), ())
    for mine, yours in groups:
        both = [*mine, *yours]
        yield min(hunk.start for hunk in both), max(hunk.end for hunk in both), mine, yours
