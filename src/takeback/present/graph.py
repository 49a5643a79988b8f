"""Entries and what each depends on, drawn as lanes to the left of a log: one line per entry, newest first.

A lane runs from an entry down to the entry it depends on; all that depend on one share its lane. What follows from
other lanes is left out: where a depends on b and b on c, no lane goes from a to c. Pure: numbers in, texts out, or
where each line has what, for those who draw it otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal

Art = Mapping[Literal["node", "off", "down", "across", "over", "open", "join", "begin"], str]
DRAWN: Final[Art] = {
    "node": "●",
    "off": "○",
    "down": "│",
    "across": "─",
    "over": "┼",
    "open": "╮",
    "join": "┤",
    "begin": "├",
}
PLAIN: Final[Art] = {
    "node": "*",
    "off": "o",
    "down": "|",
    "across": "-",
    "over": "+",
    "open": ".",
    "join": "+",
    "begin": "+",
}


@dataclass(frozen=True, slots=True)
class LaneRow:
    """Where the lanes are in the line of one entry, by number from the left."""

    at: int
    """The lane that the entry itself stands in."""
    above: bool
    """Whether a lane leads to it: an entry further up depends on it."""
    below: bool
    """Whether its own lane goes on downwards."""
    passing: frozenset[int]
    opened: tuple[int, ...]
    """Lanes that begin here, beside its own."""
    joined: tuple[int, ...]
    """Lanes that pass, and lead to what it depends on too."""


def reduce_to_direct(needs: Mapping[int, AbstractSet[int]]) -> dict[int, tuple[int, ...]]:
    """Return what each entry depends on, without what follows from that; newest first."""
    return {
        entry: tuple(sorted(needed - {far for near in needed for far in needs.get(near, ())}, reverse=True))
        for entry, needed in needs.items()
    }


def draw_lanes(
    entries: Sequence[int],
    needs: Mapping[int, AbstractSet[int]],
    *,
    off: AbstractSet[int] = frozenset(),
    art: Art = DRAWN,
) -> list[str]:
    """Return a text for each entry, all equally wide; `off` are those that are drawn hollow."""
    below = reduce_to_direct({entry: needed & set(entries) for entry, needed in needs.items()})
    drawn = [
        _draw_line(row, art["off" if entry in off else "node"], art)
        for entry, row in zip(entries, iter_lanes(entries, below, []), strict=True)
    ]
    width = max(map(len, drawn), default=0)
    return [text.ljust(width) for text in drawn]


def iter_lanes(
    entries: Sequence[int], below: Mapping[int, Sequence[int]], waiting: list[int | None]
) -> Iterator[LaneRow]:
    """Yield where the lanes are beside each entry; `waiting` says to which entry each lane leads, and is kept so."""
    for entry in entries:
        above = entry in waiting
        at = waiting.index(entry) if above else _find_free_lane(waiting)
        waiting[at] = None
        passing = frozenset(lane for lane, target in enumerate(waiting) if target is not None)
        opened, joined = _lead_down(waiting, at, below.get(entry, ()))
        yield LaneRow(at, above, waiting[at] is not None, passing, tuple(opened), tuple(joined))
        while waiting and waiting[-1] is None:
            waiting.pop()


def _find_free_lane(waiting: list[int | None]) -> int:
    if None not in waiting:
        waiting.append(None)
    return waiting.index(None)


def _lead_down(waiting: list[int | None], at: int, targets: Sequence[int]) -> tuple[list[int], list[int]]:
    """Let lanes lead to the targets; which lanes begin here beside the entry's own, and which are joined."""
    opened, joined = [], []
    for target in targets:
        if target in waiting:
            joined.append(waiting.index(target))
        elif waiting[at] is None:
            waiting[at] = target
        else:
            lane = _find_free_after(waiting, at)
            waiting[lane] = target
            opened.append(lane)
    return opened, joined


def _find_free_after(waiting: list[int | None], at: int) -> int:
    for lane in range(at + 1, len(waiting)):
        if waiting[lane] is None:
            return lane
    waiting.append(None)
    return len(waiting) - 1


def _draw_line(row: LaneRow, node: str, art: Art) -> str:
    """Draw one line: the entry, lanes that pass, and a line across to those that begin or are joined here."""
    corners = {**dict.fromkeys(row.opened, art["open"]), **dict.fromkeys(row.joined, art["join"])}
    first, last = min((row.at, *corners)), max((row.at, *corners))
    width = max((last, *row.passing)) + 1
    cells = []
    for lane in range(width):
        across = first <= lane <= last and first != last
        if lane == row.at:
            cells.append(node)
        elif lane in corners:
            cells.append(art["begin"] if lane == first and lane < row.at else corners[lane])
        elif lane in row.passing:
            cells.append(art["over"] if across else art["down"])
        else:
            cells.append(art["across"] if across else " ")
        cells.append(art["across"] if first <= lane < last else " ")
    return "".join(cells).rstrip()
