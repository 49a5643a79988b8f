"""Charts as drawings: where each mark, label and line of the grid stands. Templates write them down as SVG.

No script: a mark shows what it stands for when the pointer is on it or the keyboard has reached it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from takeback_lab.report.charts import ShareChart, ShareMark

WIDTH: Final = 760
RIGHT: Final = 24
TOP: Final = 10
STEP: Final = 13
"""Between two marks of a row."""
GAP: Final = 16
"""Between two rows."""
FOOT: Final = 62
LETTER: Final = 7.0
"""About as wide as a letter of a label."""
WIDEST: Final = 280
TICKS: Final = (0, 20, 40, 60, 80, 100)


@dataclass(frozen=True, slots=True)
class DrawnMark:
    """A mark with its place."""

    mark: ShareMark
    x: float
    low: float
    high: float
    y: float


@dataclass(frozen=True, slots=True)
class RowLabel:
    """The name of a row, whole, and as much of it as there is room for."""

    text: str
    short: str
    y: float


@dataclass(frozen=True, slots=True)
class PlotDrawing:
    """Everything there is to draw."""

    width: int
    height: float
    left: float
    right: float
    bottom: float
    ticks: tuple[tuple[int, float], ...]
    labels: tuple[RowLabel, ...]
    bands: tuple[tuple[float, float], ...]
    """Top and height of every second row, to be shaded."""
    marks: tuple[DrawnMark, ...]
    series: tuple[str, ...]
    published: bool


def drawing(chart: ShareChart) -> PlotDrawing:
    """A chart with places: rows from the top, in each the marks of its series one below the other."""
    left = min(WIDEST, max(60.0, LETTER * max(len(row) for row in chart.rows)) + 14)
    right = WIDTH - RIGHT
    of_row = {row: [mark for mark in chart.marks if mark.row == row] for row in range(len(chart.rows))}
    at = float(TOP)
    labels: list[RowLabel] = []
    bands: list[tuple[float, float]] = []
    marks: list[DrawnMark] = []
    for row, name in enumerate(chart.rows):
        own = sorted(of_row[row], key=lambda mark: (mark.series, mark.published))
        height = GAP + STEP * max(1, len(own))
        bands += [(at, height)] if row % 2 else []
        labels.append(RowLabel(name, _fitted(name, left), round(at + height / 2 + 4, 1)))
        for number, mark in enumerate(own):
            x, low, high = (round(left + (right - left) * one / 100, 1) for one in (mark.value, mark.low, mark.high))
            marks.append(DrawnMark(mark, x, low, high, round(at + GAP / 2 + STEP * (number + 0.5), 1)))
        at += height
    ticks = tuple((tick, round(left + (right - left) * tick / 100, 1)) for tick in TICKS)
    theirs = any(mark.published for mark in chart.marks)
    places = (tuple(labels), tuple(bands), tuple(marks))
    return PlotDrawing(WIDTH, at + FOOT, left, right, at, ticks, *places, chart.series, theirs)


def _fitted(name: str, room: float) -> str:
    letters = int((room - 14) / LETTER)
    return name if len(name) <= letters else f"{name[: letters - 1]}…"
