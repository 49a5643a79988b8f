"""Lanes on the timeline: entries that depend on each other, joined by lines beside their rows.

A page of rows is drawn with the numbers of the next one in view, so that a lane that leaves it is there; where lanes
end below a page, its address says so to the next. What depends on what is asked of the planner, as for an undo.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from takeback.harness import Harness
from takeback.harness.dependencies import find_all_dependencies
from takeback.harness.ledger import CHANGES
from takeback.present.graph import LaneRow, iter_lanes, reduce_to_direct
from takeback.web.rows import PAGE, EntryRow

MOST: Final = 6
"""So many lanes are drawn side by side; what is beyond them is said in words only."""


@dataclass(frozen=True, slots=True)
class RowLanes:
    """The lanes beside one row."""

    cells: tuple[str, ...] = ()
    """What each lane has, as words of a style: up, down, left, right, node."""
    over: tuple[str, ...] = ()
    """The same between this row and the one above it, where a day begins."""
    needs: tuple[int, ...] = ()
    """What the entry depends on: taken back, those would take it along."""


@dataclass(frozen=True, slots=True)
class PageLanes:
    """The lanes of a page of rows."""

    rows: Mapping[int, RowLanes] = field(default_factory=dict)
    width: int = 0
    rest: str = ""
    """Where the lanes lead that leave the page, for the next one."""

    def of(self, number: int) -> RowLanes:
        """Return the lanes of a row; none where nothing is drawn."""
        return self.rows.get(number, NO_LANES)


NO_LANES: Final = RowLanes()


def draw_page_lanes(harness: Harness, rows: Sequence[EntryRow], rest: str = "", *, whole: bool = True) -> PageLanes:
    """Return the lanes beside a page of rows, newest first; `whole` says that no entry between them is left out."""
    numbers = [row.entry.seq for row in rows]
    if not numbers:
        return PageLanes()
    further = _list_further(harness, numbers[-1]) if whole else []
    live = [row.entry.seq for row in rows if row.entry.status == "live"]
    needs = find_all_dependencies(harness.ledger, [*live, *further])
    seen = {*live, *further}
    below = reduce_to_direct({number: needed & seen for number, needed in needs.items()})
    waiting = _read_waiting(rest, numbers[0]) if whole else []
    begun = len(waiting)
    lanes = list(iter_lanes(numbers, below, waiting))
    width = min(MOST, max(begun, *(1 + max((row.at, *row.passing, *row.opened)) for row in lanes)))
    off = {row.entry.seq for row in rows if row.entry.status in {"undone", "aborted"}}
    drawn = {
        number: RowLanes(_draw_cells(row, width, hollow=number in off), _draw_over(row, width), below.get(number, ()))
        for number, row in zip(numbers, lanes, strict=True)
    }
    if not begun and not any(row.needs for row in drawn.values()):
        return PageLanes()
    return PageLanes(drawn, width, ",".join("" if number is None else str(number) for number in waiting))


def draw_new_lanes(numbers: Iterable[int], width: int) -> PageLanes:
    """Return lanes for rows that are put above a page that is shown: each stands by itself until the next look."""
    cells = ("node", *[""] * (min(width, MOST) - 1)) if width > 0 else ()
    return PageLanes({number: RowLanes(cells) for number in numbers}, len(cells))


def _list_further(harness: Harness, oldest: int) -> list[int]:
    """Return the live changes among the entries of the next page."""
    numbers = range(max(1, oldest - PAGE), oldest)
    records = harness.journal.many(list(numbers)) if numbers else []
    undone = harness.ledger.history.undone
    changes = (record for record in records if record.kind in CHANGES and not harness.ledger.is_aborted(record))
    return [change.entry for change in changes if change.entry not in undone]


def _read_waiting(rest: str, newest: int) -> list[int | None]:
    """Return where the lanes of the page above lead, as an address says it; lanes to what is not below end."""
    numbers = [
        int(text) if text.isdecimal() and len(text) < len(str(newest)) + 1 else None for text in rest.split(",")
    ]
    led = [number if number is not None and 0 < number <= newest else None for number in numbers[: MOST * 2]]
    waiting = [lane if lane not in led[:at] else None for at, lane in enumerate(led)]
    return waiting if any(waiting) else []


def _draw_cells(row: LaneRow, width: int, *, hollow: bool) -> tuple[str, ...]:
    corners = {*row.opened, *row.joined}
    first, last = min((row.at, *corners)), max((row.at, *corners))
    cells: list[str] = []
    for lane in range(width):
        words = ["off" if hollow else "node"] if lane == row.at else []
        words += ["up"] if (row.above if lane == row.at else lane in row.passing) else []
        words += ["down"] if (row.below if lane == row.at else lane in row.passing or lane in row.opened) else []
        words += ["left"] if first < lane <= last else []
        words += ["right"] if first <= lane < last else []
        cells.append(" ".join(words))
    return tuple(cells)


def _draw_over(row: LaneRow, width: int) -> tuple[str, ...]:
    passing = row.passing | ({row.at} if row.above else frozenset())
    return tuple("up down" if lane in passing else "" for lane in range(width))
