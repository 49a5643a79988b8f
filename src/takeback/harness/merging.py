"""A change of a text put on another version of it: what made `theirs` of `base` is done to `ours`, byte for byte.

Lines are merged first; where both sides changed the same lines, the words, blanks, line breaks and marks in them are.
Nothing is known of what the text means, so the caller looks at the result: `readings` gives the plausible ones in
order, for equal neighbours and insertions at one place allow several. No text is ever marked as conflicting.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from itertools import islice, pairwise
from typing import Final

from takeback.harness.hunks import Hunk, hunks

MOST_READINGS: Final = 8
lines: Final = re.compile(rb"[^\n]*\n|[^\n]+").findall
tokens: Final = re.compile(rb"[0-9A-Za-z_\x80-\xff]+|[ \t]+|\r\n|[\s\S]").findall


Changes = tuple[Hunk, ...]
Span = tuple[int, int]


class Meeting(Enum):
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
    meeting: Meeting


_WAYS: Final = [
    _Way(ours, theirs, meeting)
    for meeting in Meeting
    for ours, theirs in ((False, False), (True, True), (True, False), (False, True))
]


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """`ours` with the change from `base` to `theirs`; None for a conflict or several readings."""
    found = list(islice(_results(base, ours, theirs), 2))
    return found[0] if len(found) == 1 else None


def readings(base: bytes, ours: bytes, theirs: bytes) -> Iterator[bytes]:
    """Texts that could be `ours` with the change from `base` to `theirs`: the best first, a handful at most."""
    return islice(_results(base, ours, theirs), MOST_READINGS)


def _results(base: bytes, ours: bytes, theirs: bytes) -> Iterator[bytes]:
    if base in (ours, theirs) or ours == theirs:
        yield ours if base == theirs else theirs
        return
    case = _Case(base, ours, theirs, lines)
    seen: set[bytes] = set()
    for way in _WAYS:
        changes = case.merged(way)
        if changes is not None and (found := case.text(changes)) not in seen:
            seen.add(found)
            yield found


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
        self.changes = (hunks(self.pieces, self.split(self.ours)), hunks(self.pieces, self.split(self.theirs)))

    def text(self, changes: Changes) -> bytes:
        """What some changes make of the base."""
        if changes not in self.made:
            self.made[changes] = _applied(self.pieces, 0, len(self.pieces), changes)
        return self.made[changes]

    def merged(self, way: _Way) -> Changes | None:
        """What both sides changed, in one order of places; None where they conflict."""
        ours = _settled(self.pieces, self.changes[0], early=way.ours_early)
        theirs = _settled(self.pieces, self.changes[1], early=way.theirs_early, clear_of=ours)
        found: list[Hunk] = []
        at = 0
        clusters = [*_clusters(ours, theirs), (len(self.pieces) + 1, 0, [], [])]
        for (start, end, mine, yours), following in pairwise(clusters):
            span = (start, end)
            text = self._together(span, mine, yours, way)
            if text is None and self.split is lines:
                span = (max(start - 1, at), min(end + 1, following[0], len(self.pieces)))
                text = self._by_tokens(span, mine, yours, way)
            if text is None:
                return None
            found.append(Hunk(*span, (text,)))
            at = span[1]
        return tuple(found)

    def _together(self, span: Span, mine: list[Hunk], yours: list[Hunk], way: _Way) -> bytes | None:
        """Changes of one side, of both sides alike, or insertions at one place; None for others that meet."""
        one, two = (_applied(self.pieces, *span, found) for found in (mine, yours))
        if one == two or not yours:
            return one
        if not mine:
            return two
        if span[0] < span[1] or way.meeting is Meeting.CONFLICT:
            return None
        return one + two if way.meeting is Meeting.OURS_FIRST else two + one

    def _by_tokens(self, span: Span, mine: list[Hunk], yours: list[Hunk], way: _Way) -> bytes | None:
        """Changes that meet, with a line around them: a comma may belong to the one before."""
        base = b"".join(self.pieces[slice(*span)])
        texts = (base, _applied(self.pieces, *span, mine), _applied(self.pieces, *span, yours))
        case = self.finer.get(texts) or _Case(*texts, tokens)
        self.finer[texts] = case
        changes = case.merged(way)
        return None if changes is None else case.text(changes)


def _applied(base: Sequence[bytes], start: int, end: int, changes: Sequence[Hunk]) -> bytes:
    parts: list[bytes] = []
    at = start
    for hunk in changes:
        parts += [*base[at : hunk.start], *hunk.pieces]
        at = hunk.end
    return b"".join((*parts, *base[at:end]))


def _settled(
    base: Sequence[bytes], changes: Sequence[Hunk], *, early: bool, clear_of: Sequence[Hunk] = ()
) -> list[Hunk]:
    """One side's changes, each at its first or last place; if possible at one that no change of the other meets."""
    starts = [hunk.start for hunk in clear_of]
    found: list[Hunk] = []
    for at, hunk in enumerate(changes):
        low = found[-1].end + 1 if found else 0
        high = changes[at + 1].start - 1 if at + 1 < len(changes) else len(base)
        places = hunk.slid(base, low, high)
        near = clear_of[max(bisect_left(starts, places[0].start) - 1, 0) : bisect_right(starts, places[-1].end)]
        places = places if early else places[::-1]
        free = (one for one in places if not any(one.meets(other) for other in near))
        found.append(next(free, places[0]))
    return found


def _clusters(ours: Sequence[Hunk], theirs: Sequence[Hunk]) -> Iterator[tuple[int, int, list[Hunk], list[Hunk]]]:
    """Changes in order of place; those that meet come together, with the stretch of `base` they cover."""
    sides = [(hunk, 0) for hunk in ours] + [(hunk, 1) for hunk in theirs]
    groups: list[tuple[list[Hunk], list[Hunk]]] = []
    reach = Hunk(-1, -1, ())
    for hunk, side in sorted(sides, key=lambda pair: pair[0][:2]):
        if not groups or not reach.meets(hunk):
            groups.append(([], []))
            reach = hunk
        groups[-1][side].append(hunk)
        reach = Hunk(reach.start, max(reach.end, hunk.end), ())
    for mine, yours in groups:
        both = [*mine, *yours]
        yield min(hunk.start for hunk in both), max(hunk.end for hunk in both), mine, yours
