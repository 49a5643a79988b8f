"""Tables and lines of experiments, as plain columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from takeback.cli.output import err, out
from takeback_lab.experiment import NotedPlan
from takeback_lab.report.table import DASH, Table


def show_lines(lines: Iterable[Table | str]) -> None:
    """Print lines and tables in their order."""
    for line in lines:
        if isinstance(line, Table):
            show_table(line)
        else:
            out.print(line)


def show_table(table: Table) -> None:
    """Print a table as columns, each as wide as its widest cell."""
    out.table(table.columns, [[DASH if cell is None else str(cell) for cell in row] for row in table.rows])


def show_notes(plan: Any) -> None:
    """Print on stderr what a plan has to say before anybody is asked, if anything."""
    for note in plan.notes() if isinstance(plan, NotedPlan) else ():
        err.print(note)
