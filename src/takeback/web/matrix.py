"""The matrix: entries by the slots they touched, so that a person sees who overwrote whom."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from takeback.harness.depends import dependents
from takeback.web.asking import asked
from takeback.web.rendering import page
from takeback.web.rows import EntryRow
from takeback.web.shelf import Shown

SIZE: Final = 40
"""Entries on a page."""


@dataclass(frozen=True, slots=True)
class MatrixLine:
    """One entry: what it is to each address, empty where it did not write there."""

    row: EntryRow
    cells: tuple[str, ...]
    along: tuple[int, ...] = ()
    """Later entries that it could not be taken back without."""


@asked
def matrix(request: Request, shown: Shown) -> Response:
    """A page of the matrix."""
    given = request.query_params.get("before", "")
    rows, more = shown.rows.page(before=int(given) if given.isdecimal() else None, size=SIZE)
    changes = [row for row in rows if row.entry.status in {"live", "undone"}]
    addresses = tuple(dict.fromkeys(address for row in changes for address in row.entry.addresses))
    lines = [replace(line, along=_along(shown, line.row)) for line in lines_of(changes, addresses)]
    return page(request, "matrix.html", shown=shown, addresses=addresses, lines=lines, more=more)


def _along(shown: Shown, row: EntryRow) -> tuple[int, ...]:
    return tuple(number for number, _ in dependents(shown.harness.ledger, row.entry.seq))


def lines_of(rows: list[EntryRow], addresses: tuple[str, ...]) -> list[MatrixLine]:
    """What each entry is to each address: newest first, so that the first live one there is in force."""
    taken: dict[str, int] = {}
    found: list[MatrixLine] = []
    for row in rows:
        cells: list[str] = []
        for address in addresses:
            if address not in row.entry.addresses:
                cells.append("")
            elif row.entry.status == "undone":
                cells.append("undone")
            elif address in taken:
                cells.append(f"then #{taken[address]}")
            else:
                cells.append("in force")
            if cells[-1] in {"in force", f"then #{taken.get(address)}"}:
                taken[address] = row.entry.seq
        found.append(MatrixLine(row, tuple(cells)))
    return found
