"""The lab's reports as pages: every run of a results folder, tables to sort, shares drawn, the paper's beside ours.

Runs are read when they are shown, and refused as a report would refuse them if a file is not what was written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from takeback.errors import InputError, TakebackError
from takeback.web.pages import render_page
from takeback_lab.registry import experiment_named
from takeback_lab.report.banks import shown_data
from takeback_lab.report.table import Cell, Figure, Interval, Share, Table
from takeback_lab.results import find_runs, read_results

if TYPE_CHECKING:
    from takeback_lab.pages.plots import PlotDrawing

DOWN: Final = "down"
MODELS: Final = ("model", "population")


@dataclass(frozen=True, slots=True)
class RunListed:
    """One run, for the list: what was measured, by whom, under which lock; or why it is not shown."""

    name: str
    experiment: str = ""
    who: str = ""
    lock: str = ""
    digest: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class TableShown:
    """A table as shown, with its drawing, and which column it is sorted by."""

    table: Table
    drawn: PlotDrawing | None
    sorted_by: int | None = None
    down: bool = False


class Lab:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InputError("--lab", found=str(folder), expected="a folder of results")
        self._folder = folder

    def runs(self) -> list[RunListed]:
        """Every run, in order of its name."""
        return [self._listed(path) for path in find_runs(self._folder)]

    def _listed(self, path: Path) -> RunListed:
        name = self._name(path)
        try:
            result = read_results(path)
        except TakebackError as fault:
            return RunListed(name, problem=str(fault))
        who = next((str(result.data[field]) for field in MODELS if result.data.get(field)), "")
        return RunListed(name, result.experiment, who, result.lock, result.digest)

    def run(self, name: str) -> tuple[RunListed, tuple[Table, ...]]:
        """One run with its tables."""
        path = next((path for path in find_runs(self._folder) if self._name(path) == name), None)
        if path is None:
            raise HTTPException(404)
        listed = self._listed(path)
        return listed, () if listed.problem else _tables(path, listed.digest)

    def _name(self, path: Path) -> str:
        return "/".join(path.relative_to(self._folder).parts) or path.resolve().name


@lru_cache(maxsize=32)
def _tables(path: Path, digest: str) -> tuple[Table, ...]:
    del digest  # what was read before is shown again only as long as the result is the same
    result = read_results(path)
    return tuple(experiment_named(result.experiment).tables(shown_data(path, result)))


def runs(request: Request) -> Response:
    """The list of runs."""
    return render_page(request, "lab.html", runs=_lab(request).runs())


def run(request: Request) -> Response:
    """One run: each table with its drawing."""
    from takeback_lab.pages.plots import drawing  # noqa: PLC0415
    from takeback_lab.report.charts import chart_of  # noqa: PLC0415 - loads statistics

    listed, tables = _lab(request).run(request.path_params["name"])
    wanted = request.query_params.get("sort", "")
    charts = [chart_of(table) for table in tables]
    drawn = [None if chart is None else drawing(chart) for chart in charts]
    sheets = [sheet(table, one, wanted) for table, one in zip(tables, drawn, strict=True)]
    return render_page(request, "run.html", run=listed, sheets=sheets)


def paper(request: Request) -> Response:
    """Every derived figure of the paper beside the same figure recomputed from the counts it prints."""
    _lab(request)
    return render_page(request, "paper.html", sheet=sheet(_checks(), None, request.query_params.get("sort", "")))


@cache
def _checks() -> Table:
    from takeback_lab.published import recompute  # noqa: PLC0415 - loads statistics

    found = recompute()
    rows = tuple(
        (check.where, check.name, check.printed, _told(check.recomputed), check.status.value, check.note)
        for check in found.checks
    )
    equal = len(found.checks) - len(found.exceptions)
    columns = ("place in the paper", "figure", "printed", "recomputed", "comes out", "remark")
    title = f"{len(found.checks)} figures recomputed: {equal} equal, {len(found.exceptions)} exceptions"
    return Table("paper", title, columns, rows)


def _told(value: Any) -> str:
    if isinstance(value, tuple | list):
        return " to ".join(_told(one) for one in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def sheet(table: Table, drawn: PlotDrawing | None, wanted: str) -> TableShown:
    """A table sorted as asked: `slug:column`, with `:down` for the largest first; empty cells last either way."""
    slug, _, rest = wanted.partition(":")
    column, _, order = rest.partition(":")
    if slug != table.slug or not column.isdecimal() or int(column) >= len(table.columns):
        return TableShown(table, drawn)
    at, down = int(column), order == DOWN
    full = [row for row in table.rows if row[at] is not None]
    rows = sorted(full, key=lambda row: _key(row[at]), reverse=down)
    rows += [row for row in table.rows if row[at] is None]
    return TableShown(replace(table, rows=tuple(rows), rules=frozenset()), drawn, at, down)


def _key(cell: Cell) -> tuple[int, float, Sequence[str]]:
    """Numbers before words; a share by its percentage, an interval by its lower end."""
    match cell:
        case Share(k, n):
            return 0, k / n if n else -1.0, ()
        case Figure(value):
            return 0, value, ()
        case Interval(low, high):
            return 0, low, (f"{high:+020.6f}",)
    text = str(cell)
    try:
        return 0, float(text.replace(",", "").rstrip("%")), ()
    except ValueError:
        return 1, 0.0, (text.casefold(),)


def _lab(request: Request) -> Lab:
    lab: Lab = request.app.state.extra.source
    return lab
