"""A table's shares as a chart for a page: every share a mark with its 95% Wilson interval, the paper's beside ours.

Made from the table itself, so that what is drawn and what is listed are the same numbers. A `published` column is
the paper's figure for the column before it, or for the one it names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from takeback_lab.report.table import Share, Table
from takeback_lab.statistics import wilson

PUBLISHED: Final = "published"
LEAST: Final = 2
"""Fewer marks than this are not worth a chart."""


@dataclass(frozen=True, slots=True)
class ShareMark:
    """One share: where it stands and what there is to say about it. All in percent."""

    row: int
    series: int
    value: float
    low: float
    high: float
    published: bool
    said: str


@dataclass(frozen=True, slots=True)
class ShareChart:
    """Rows down, percent across; each series has a colour."""

    rows: tuple[str, ...]
    series: tuple[str, ...]
    marks: tuple[ShareMark, ...]


def chart_of(table: Table) -> ShareChart | None:
    """The chart of a table; None where it holds too few shares for one."""
    shares = [at for at in range(1, len(table.columns)) if any(isinstance(row[at], Share) for row in table.rows)]
    names = {at: _series(table.columns, at) for at in shares}
    series = tuple(dict.fromkeys(names.values()))
    marks = [
        _mark(number, str(row[0]), series.index(names[at]), names[at], cell, table.columns[at])
        for number, row in enumerate(table.rows)
        for at in shares
        if isinstance(cell := row[at], Share) and cell.n
    ]
    if len(marks) < LEAST:
        return None
    return ShareChart(tuple(str(row[0]) for row in table.rows), series, tuple(marks))


def _series(columns: tuple[str, ...], at: int) -> str:
    """The series a column belongs to: itself, or for a published one the column it is printed for."""
    if not columns[at].startswith(PUBLISHED):
        return columns[at]
    named = columns[at].partition(", ")[2]
    before = next((name for name in reversed(columns[1:at]) if not name.startswith(PUBLISHED)), columns[at])
    return named if named in columns else before


def _mark(number: int, row: str, series: int, name: str, share: Share, column: str) -> ShareMark:
    bound = wilson(share.k, share.n)
    value, low, high = 100 * share.k / share.n, 100 * bound.lower, 100 * bound.upper
    theirs = column.startswith(PUBLISHED)
    said = f"{row}, {name}: {'published' if theirs else 'ours'} {share.k} of {share.n}, {value:.1f}%"
    return ShareMark(
        number, series, value, low, high, theirs, f"{said}, 95% interval {low:.1f} to {high:.1f}%, n = {share.n}"
    )
