"""Alignment of two versions: which old line or item each new one continues, always with the same answer.

Equal parts come first: lines that occur once in both versions divide the two, as many as kept their order
(patience); the other ones moved. Between two matches, what is equal at both ends stays. The rest was
replaced: as many lines as before, each in its place; otherwise a new line continues an old one that it
resembles, and what remains came or went. Lines that differ in white space only are alike; others are compared
by characters, long ones by words, within bounds: long stretches are replaced as a block (`coarse`).
`Alignment.several` marks versions with several readings.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from operator import eq, ne
from typing import Final, NamedTuple

from takeback.sequences import (
    PairedPositions,
    Stretch,
    count_common_ends,
    find_shortest_script,
    find_stretches_between,
    pair_unique,
    rank_rising,
)
from takeback.state.edit_script import (
    MOST_IN_PLACE,
    MOST_PAIRS,
    Likeness,
    find_alike_in_place,
    has_word,
    strip_white_space,
    tell,
)


class Singles(NamedTuple):
    """What occurs once on both sides: what kept its order, what did not, and whether others could have kept it."""

    kept: list[PairedPositions]
    moved: list[PairedPositions]
    tied: bool


def pair_singles(old: Sequence[str], new: Sequence[str], counts: Callable[[str], bool]) -> Singles:
    """Return what occurs once in both versions, of what counts; the longest run that kept its order is kept."""
    pairs = pair_unique(old, new, counts)
    if all(old < new for (_, old), (_, new) in pairwise(pairs)):
        return Singles(pairs, [], tied=False)
    kept, tied = _find_longest_rising(pairs)
    there = set(kept)
    return Singles(kept, [pair for pair in pairs if pair not in there], tied)


def _find_longest_rising(pairs: Sequence[PairedPositions]) -> tuple[list[PairedPositions], bool]:
    """Return the longest run of pairs that rises on both sides, and whether there is more than one."""
    ends = rank_rising([to for _, to in pairs])
    starts = rank_rising([-to for _, to in reversed(pairs)])[::-1]
    size = max(ends, default=0)
    at_rank: dict[int, list[int]] = {}
    for at, (end, start) in enumerate(zip(ends, starts, strict=True)):
        if end + start - 1 == size:
            at_rank.setdefault(end, []).append(at)
    kept: list[PairedPositions] = []
    for rank in range(size, 0, -1):
        before = kept[-1] if kept else (len(pairs) + pairs[-1][0], max(to for _, to in pairs) + 1)
        kept.append(next(pairs[at] for at in at_rank[rank] if pairs[at][0] < before[0] and pairs[at][1] < before[1]))
    return kept[::-1], any(len(ranks) > 1 for ranks in at_rank.values())


MOST_COMPARED: Final = 250_000
"""Stretches with more pairs of lines than this are compared by a shortest script of few steps."""
MOST_GIVEN: Final = 6
"""Of what is equal at the ends, so many lines are left open where what changed says the same."""
FEW_PASSED: Final = 2
"""A block that moved past at most so many times its own length may be what was moved past."""
MOST_ALONE: Final = 32
"""Versions in which more lines than this are equal without an equal neighbour are divided at each of them."""


class Alignment(NamedTuple):
    """Who stands for whom: positions in the old and in the new version."""

    stays: tuple[PairedPositions, ...]
    """Parts that stand where they stood, in order; they may say something else."""
    moved: tuple[PairedPositions, ...] = ()
    """Parts that say what they said and stand elsewhere, in their new order."""
    several: bool = False
    """Whether other readings are as good as this one."""
    coarse: bool = False
    """Whether a stretch was too long for its lines to be compared, and counts as replaced."""


def align(old: Sequence[str], new: Sequence[str], *, lines: bool = True, span: bool = False) -> Alignment:
    """Return which old part each new one continues.

    Of `lines`, a line without a word is never moved alone. A `span` is known to be replaced by one edit.
    """
    begin, end = count_common_ends(old, new) if span else _clear_ends(old, new)
    reading = _Reading(old, new, lines=lines, span=span)
    reading.read(Stretch(begin, len(old) - end, begin, len(new) - end))
    shift = len(new) - len(old)
    stays = [*((at, at) for at in range(begin)), *sorted(reading.stays)]
    stays += [(at, at + shift) for at in range(len(old) - end, len(old))]
    moved = tuple(sorted(reading.moved.items(), key=lambda pair: pair[1]))
    slide_up(stays, old, new, reading.moved)
    several = reading.several or reading.has_guessed() or _is_crowded(stays, old, new)
    if several and lines and _is_one_replaced(old, new):
        several = False
    return Alignment(tuple(stays), moved, several, reading.coarse)


def _clear_ends(old: Sequence[str], new: Sequence[str]) -> PairedPositions:
    """How many parts both versions begin with, and end with, but for a few that what changed beside them says too."""
    begin, end = count_common_ends(old, new)
    said = {*old[begin : len(old) - end], *new[begin : len(new) - end]}
    low, high = begin, end
    while low and begin - low < MOST_GIVEN and old[low - 1] in said:
        low -= 1
    while high and end - high < MOST_GIVEN and old[-high] in said:
        high -= 1
    return low, high


def slide_up(stays: list[PairedPositions], old: Sequence[str], new: Sequence[str], moved: Mapping[int, int]) -> None:
    """Let what came or went next to equal parts be the first of them; what has moved is left where it is."""
    gone, come = moved.keys(), set(moved.values())
    low = first = 0
    for at in range(len(stays) + 1):
        high, last = stays[at] if at < len(stays) else (len(old), len(new))
        behind = (high + 1, last + 1)
        alone = (low < high) != (first < last) and gone.isdisjoint(range(low, high))
        back = at - 1 if alone and come.isdisjoint(range(first, last)) else -1
        while (
            back >= 0
            and stays[back] == (low - 1, first - 1)
            and old[low - 1] == new[first - 1]
            and old[high - 1] == new[last - 1]
        ):
            low, high, first, last = low - 1, high - 1, first - 1, last - 1
            stays[back] = (high, last)
            back -= 1
        low, first = behind


def _is_exchange(kept: Sequence[PairedPositions], moved: Mapping[int, int]) -> bool:
    """Whether a block moved past lines that are not many more than it: those may have moved past it instead."""
    old, new = [at for at, _ in kept], [to for _, to in kept]
    size = 0
    for at, to in sorted(moved.items()):
        size = size + 1 if moved.get(at - 1) == to - 1 else 1
        passed = abs(bisect_left(old, at) - bisect_left(new, to))
        if moved.get(at + 1) != to + 1 and passed <= FEW_PASSED * size:
            return True
    return False


def _is_one_replaced(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether one line was replaced by one other and nothing else changed: it counts as rewritten."""
    return len(old) == len(new) and sum(map(ne, old, new)) == 1


def _is_crowded(stays: Sequence[PairedPositions], old: Sequence[str], new: Sequence[str]) -> bool:
    """Tell whether parts went, or moved away, where others came, so that their order is open."""
    whole = Stretch(0, len(old), 0, len(new))
    return any(low < high and first < last for low, high, first, last in find_stretches_between(stays, whole))


class _Reading:
    """Two versions while they are compared; positions are those of the whole versions."""

    def __init__(self, old: Sequence[str], new: Sequence[str], *, lines: bool, span: bool) -> None:
        self.old, self.new, self.lines, self.span = old, new, lines, span
        self.stays: list[PairedPositions] = []
        self.moved: dict[int, int] = {}
        self.several = self.coarse = False
        self.guessed = 0
        """Stretches replaced line by line, because as many stand there as before, though no line is like its old."""
        self.changed = 0
        """Lines that came, went or were replaced."""
        self._likeness = Likeness()

    def read(self, middle: Stretch) -> None:
        """Pair old and new parts between the common beginning and end."""
        old, new = self.old[middle.low : middle.high], self.new[middle.first : middle.last]
        singles = pair_singles(old, new, self._counts)
        kept = [(middle.low + at, middle.first + to) for at, to in singles.kept]
        shifted = sum(at != to for at, to in singles.kept)
        if self.span and len(old) == len(new) and 2 * shifted <= len(old) and not singles.moved:
            self._pair_replaced(range(middle.low, middle.high), range(middle.first, middle.last))
            return
        self._move(self._lone([(middle.low + at, middle.first + to) for at, to in singles.moved]), kept, middle)
        self.several = bool(self.moved) and (singles.tied or _is_exchange(kept, self.moved))
        kept = kept if self.span else self._dividing(kept, middle)
        self.stays += kept
        gone, come = set(self.moved), set(self.moved.values())
        for stretch in find_stretches_between(kept, middle):
            self._read_stretch(
                [at for at in range(stretch.low, stretch.high) if at not in gone],
                [at for at in range(stretch.first, stretch.last) if at not in come],
            )
        self._move_equal(middle)

    def has_guessed(self) -> bool:
        """Tell whether a stretch was paired line by line though unlike; one line replaced by one is no guess."""
        return bool(self.guessed) and (self.changed > 1 or bool(self.moved))

    def _counts(self, part: str) -> bool:
        return not self.lines or has_word(part)

    def _lone(self, pairs: list[PairedPositions]) -> list[PairedPositions]:
        """Of what seems to have moved, what stands nowhere else, also where nothing changed."""
        if not pairs or not self.lines:
            return pairs
        once, also = Counter(self.old), Counter(self.new)
        return [(at, to) for at, to in pairs if once[self.old[at]] == also[self.old[at]] == 1]

    def _dividing(self, kept: list[PairedPositions], middle: Stretch) -> list[PairedPositions]:
        """What divides the versions: matches with an equal neighbour, and others where too much lies around."""
        alone = {pair for pair in kept if not self._is_backed(*pair)}
        if len(alone) > MOST_ALONE:
            return kept
        dividing: list[PairedPositions] = []
        for place, (at, to) in enumerate(kept):
            low, first = dividing[-1] if dividing else (middle.low - 1, middle.first - 1)
            high, last = kept[place + 1] if place + 1 < len(kept) else (middle.high, middle.last)
            few = (high - low - 1) * (last - first - 1) <= MOST_PAIRS
            if not few or (at, to) not in alone:
                dividing.append((at, to))
        return dividing

    def _is_backed(self, at: int, to: int) -> bool:
        above = at > 0 < to and self.old[at - 1] == self.new[to - 1]
        return above or (at + 1 < len(self.old) and to + 1 < len(self.new) and self.old[at + 1] == self.new[to + 1])

    def _move(self, pairs: Sequence[PairedPositions], kept: Sequence[PairedPositions], middle: Stretch) -> None:
        """Note what moved, with equal neighbours that have no word in them or are not the only ones."""
        self.moved = dict(pairs)
        gone, come = {at for at, _ in (*kept, *pairs)}, {to for _, to in (*kept, *pairs)}
        for step in (1, -1) if self.lines else ():
            for at, to in pairs if step > 0 else reversed(pairs):
                near, also = at + step, to + step
                while (
                    middle.low <= near < middle.high
                    and middle.first <= also < middle.last
                    and near not in gone
                    and also not in come
                    and self.old[near] == self.new[also]
                ):
                    self.moved[near] = also
                    gone.add(near)
                    come.add(also)
                    near, also = near + step, also + step

    def _move_equal(self, middle: Stretch) -> None:
        """Pair equal items left on both sides as moved; of lines, which one went where stays open."""
        gone, come = {at for at, _ in self.stays} | set(self.moved), {to for _, to in self.stays}
        come |= set(self.moved.values())
        left: dict[str, list[int]] = {}
        for at in range(middle.low, middle.high):
            if at not in gone:
                left.setdefault(self.old[at], []).append(at)
        for to in range(middle.first, middle.last):
            part = self.new[to]
            if to in come or not left.get(part):
                continue
            if not self.lines:
                self.moved[left[part].pop(0)] = to
            self.several = self.several or self._counts(part)

    def _read_stretch(self, old: list[int], new: list[int]) -> None:
        """Read what lies between two matches; positions of what has moved are left out."""
        old_lines, new_lines = [self.old[at] for at in old], [self.new[to] for to in new]
        if old and new and old_lines != new_lines and self._likeness.allows(len(old_lines) * len(new_lines)):
            told_pairs = tell(old_lines, new_lines, self._likeness, unlike=self.lines)
            self.stays += [(old[at], new[to]) for at, to in told_pairs.pairs]
            self.several = self.several or told_pairs.several
            return
        begin, end = count_common_ends(old_lines, new_lines)
        self.stays += zip(old[:begin], new[:begin], strict=True)
        self.stays += zip(old[len(old) - end :], new[len(new) - end :], strict=True)
        old, new = old[begin : len(old) - end], new[begin : len(new) - end]
        if not old and not new:
            return
        if not old or not new:
            self._note_arrivals(old, new)
            return
        old_lines, new_lines = [self.old[at] for at in old], [self.new[to] for to in new]
        blocks = self._blocks(old_lines, new_lines)
        still = sum(size for _, _, size in blocks)
        if len(old_lines) == len(new_lines) and 2 * (still - sum(map(eq, old_lines, new_lines))) <= len(old_lines):
            self._pair_replaced(old, new)
            return
        self.several = True
        at = to = 0
        for low, first, size in (*blocks, (len(old_lines), len(new_lines), 0)):
            self._pair_replaced(old[at:low], new[to:first])
            self.stays += zip(old[low : low + size], new[first : first + size], strict=True)
            at, to = low + size, first + size

    def _blocks(self, old_lines: Sequence[str], new_lines: Sequence[str]) -> Sequence[tuple[int, int, int]]:
        if len(old_lines) * len(new_lines) > MOST_COMPARED:
            return find_shortest_script(old_lines, new_lines)
        return SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_matching_blocks()

    def _note_arrivals(self, old: Sequence[int], new: Sequence[int]) -> None:
        """Note lines that only came or only went: equal neighbours leave open which."""
        self.changed += len(old) + len(new)
        if old:
            self.several = self.several or (old[0] > 0 and self.old[old[0] - 1] == self.old[old[-1]])
        else:
            self.several = self.several or (new[0] > 0 and self.new[new[0] - 1] == self.new[new[-1]])

    def _pair_replaced(self, old: Sequence[int], new: Sequence[int]) -> None:
        if not old and not new:
            return
        if not old or not new:
            self._note_arrivals(old, new)
            return
        self.changed += max(len(old), len(new))
        old_lines, new_lines = [self.old[at] for at in old], [self.new[to] for to in new]
        pairs = (
            self._pair_in_place(old_lines, new_lines)
            if len(old_lines) == len(new_lines)
            else self._pair_by_likeness(old_lines, new_lines)
        )
        self.stays += [(old[at], new[to]) for at, to in pairs]

    def _pair_in_place(self, old_lines: list[str], new_lines: list[str]) -> list[PairedPositions]:
        """Pair lines one by one; in long stretches only where most of them are still alike."""
        if not self._likeness.allows(len(old_lines), MOST_IN_PLACE):
            return self._pair_by_likeness(old_lines, new_lines)
        alike = find_alike_in_place(old_lines, new_lines, self._likeness)
        few = len(old_lines) ** 2 <= MOST_PAIRS
        if not few and 2 * len(alike) < len(old_lines):
            return self._pair_by_likeness(old_lines, new_lines)
        self.guessed += not alike
        return [(at, at) for at in range(len(old_lines))] if self.lines else alike

    def _pair_by_likeness(self, old_lines: list[str], new_lines: list[str]) -> list[PairedPositions]:
        """Pair lines that are alike; where there are too many, between those that differ in white space only."""
        if self._likeness.allows(len(old_lines) * len(new_lines)):
            return [(at, to) for at, to, _ in self._likeness.best(old_lines, new_lines)]
        alike = pair_singles(
            [strip_white_space(part) for part in old_lines], [strip_white_space(part) for part in new_lines], bool
        ).kept
        pairs = list(alike)
        for low, high, first, last in find_stretches_between(alike, Stretch(0, len(old_lines), 0, len(new_lines))):
            if low == high or first == last:
                continue
            if self._likeness.allows((high - low) * (last - first)):
                near = self._likeness.best(old_lines[low:high], new_lines[first:last])
                pairs += [(low + at, first + to) for at, to, _ in near]
            else:
                self.coarse = True
        return pairs
