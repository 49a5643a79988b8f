"""The end-to-end yield: what was admissible at turn 0 and what repair adds, of all tasks.

Where only some failures were repaired, the others count as not rescued; what all of them would give is projected
stratum by stratum, because a draw has different stratum proportions from its bank.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from takeback_lab.report import published, wording
from takeback_lab.report.banks import STRATA
from takeback_lab.report.counting import cells_of, rescue
from takeback_lab.report.inputs import FactorialData
from takeback_lab.report.table import Cell, Figure, Share, Table

RECOVERABLE: Final = ("S0", "S1")
COUNTED: Final = "admissible + rescued"
PROJECTED: Final = "if all failures were repaired at these rates (%)"


def yield_table(data: FactorialData, experiment: str, names: Mapping[str, str], few: str) -> Table:
    """The yield of each cell; `few` says where cases are too few."""
    ready = data.bank["admissible"]
    projected = {cell: projected_rescues(data, cell) for cell in cells_of(data)}
    rows = [_row("Turn 0", ready, ready, data, published.share("accounting.admissible"))]
    for cell, more in projected.items():
        best = published.share("accounting.yield") if (experiment, cell) == ("factorial", "D0L1") else None
        counted = ready + rescue(data, cell, "all", data.budget).k
        rows.append(
            _row(f"with {names.get(cell, cell)}", counted, None if more is None else ready + more, data, best)
        )
    columns = ["End-to-end yield", COUNTED, PROJECTED, "published"]
    if not _in_part(data) or None in projected.values():
        columns.remove(PROJECTED)
        rows = [(*row[:2], *row[3:]) for row in rows]
    what, kind = "End-to-end yield", "natural tasks, failures repaired by"
    title = wording.titled(what, data.bank["tasks"], kind, data, by=" ")
    theirs = f"Published: {wording.TASKS}, all of its 197 failures repaired."
    note = wording.note(_repaired(data, projects=PROJECTED in columns), theirs, few)
    return Table(f"{experiment}-yield", title, tuple(columns), tuple(rows), note, frozenset({1}))


def _row(
    name: str, counted: int, projected: float | None, data: FactorialData, printed: Share | None
) -> tuple[Cell, ...]:
    tasks = data.bank["tasks"]
    shown = None if projected is None else Figure(100 * projected / tasks, 1)
    return name, Share(counted, tasks), shown, printed


def _in_part(data: FactorialData) -> bool:
    return len(data.tasks) < data.bank["defective"]


def _repaired(data: FactorialData, *, projects: bool) -> str:
    """How many failures the figures rest on, and what the others count as."""
    said = f"{len(data.tasks)} of {data.bank['defective']} failures were repaired"
    if not _in_part(data):
        return f"{said}."
    said = f'{said}; the others count as not rescued under "{COUNTED}"'
    return f"{said}, and in the column after it as rescued at the rate of their stratum." if projects else f"{said}."


def projected_rescues(data: FactorialData, cell: str) -> float | None:
    """How many failures of the bank a cell would rescue at the rates of its strata; None where one is not known.

    Those that no language recovers are never rescued.
    """
    if not set(STRATA) <= data.bank.keys():
        return None
    shares = {part: rescue(data, cell, part, data.budget) for part in RECOVERABLE if data.bank[part]}
    if not all(share.n for share in shares.values()):
        return None
    return sum(data.bank[part] * share.k / share.n for part, share in shares.items())
