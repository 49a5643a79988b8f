"""From a results folder to a report: Markdown with all tables and plots, and each of them as its own files.

Every run at or below the folder is read (and refused if it is not as it was written). A run that did not
happen is named with its reason and has no table. Writes only below the report's own folder.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from takeback.errors import InputError
from takeback.lab.manifest import REPORT, RESULT
from takeback.lab.report import inputs, plots, published
from takeback.lab.report.cohort_tables import (
    audit_tables,
    controlled_tables,
    families_of,
    natural_tables,
    oracle_tables,
    snapshot_tables,
    stability_tables,
)
from takeback.lab.report.factorial_tables import factorial_tables
from takeback.lab.report.fresh_tables import fresh_tables, strictest
from takeback.lab.report.table import Table, to_csv, to_latex, to_markdown
from takeback.lab.results import Result, RunStatus, find_runs, read_results


@dataclass(frozen=True, slots=True)
class Report:
    """What was written: the folder, each file relative to it, and runs without data with their reason."""

    folder: Path
    files: tuple[str, ...]
    absent: tuple[tuple[str, str, str], ...]


def build_report(folder: Path, out: Path | None = None) -> Report:
    """Write the report of all runs at or below `folder` to `out` (by default `folder/report`)."""
    runs = find_runs(folder)
    if not runs:
        raise InputError(str(folder), found="no run", expected="a results folder with at least one run")
    target = out or folder / REPORT
    pages = [
        "# Results of the lab",
        "",
        "The paper's printed figure stands beside ours. A dash is not zero.",
        "",
    ]
    files: list[str] = []
    absent: list[tuple[str, str, str]] = []
    for run in runs:
        result = read_results(run)
        name = "-".join(run.relative_to(folder).parts) or result.experiment
        pages += _heading(name, result)
        if result.status is not RunStatus.COMPLETE:
            absent.append((name, result.status.value, result.reason))
            pages += [f"**{result.status.value}**: {result.reason}", ""]
            continue
        data = inputs.read_input(result.experiment, result.data, str(run / RESULT))
        pages += [f"{data.label}", ""] if data.label else []
        for table in tables_of(result.experiment, data):
            stem = f"tables/{name}/{table.slug}"
            for ending, text in (
                ("md", to_markdown(table)),
                ("csv", to_csv(table)),
                ("tex", to_latex(table)),
            ):
                files.append(_write(target, f"{stem}.{ending}", text.encode("utf-8")))
            pages += [to_markdown(table), ""]
        for slug, figure in plots_of(result.experiment, data):
            for ending, content in plots.render(figure).items():
                files.append(_write(target, f"plots/{name}/{slug}.{ending}", content))
            pages += [f"![{slug}](plots/{name}/{slug}.png)", ""]
    files.append(_write(target, "report.md", "\n".join(pages).encode("utf-8")))
    return Report(target, tuple(files), tuple(absent))


def _heading(name: str, result: Result) -> list[str]:
    return [f"## {name}", "", f"Lock `{result.lock[:16]}`, result `{result.digest[:16]}`.", ""]


def _write(target: Path, name: str, content: bytes) -> str:
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return name


def tables_of(experiment: str, data: inputs.Labelled) -> Iterator[Table]:
    """All tables of a run."""
    match data:
        case inputs.Factorial():
            yield from factorial_tables(data, experiment)
        case inputs.Fresh():
            yield from fresh_tables(data)
        case inputs.Natural():
            yield from natural_tables(data)
        case inputs.Oracle():
            yield from oracle_tables(data)
        case inputs.Stability():
            yield from stability_tables(data)
        case inputs.Controlled():
            yield from controlled_tables(data)
        case inputs.ContractAudit():
            yield from audit_tables(data)
        case inputs.Snapshots():
            yield from snapshot_tables(data)


def plots_of(experiment: str, data: inputs.Labelled) -> Iterator[tuple[str, Figure]]:
    """All plots of a run, each with the name of its file."""
    match data:
        case inputs.Factorial():
            title = f"Rescue by budget: {data.model}, {len(data.tasks)} tasks"
            yield (
                "rescue-by-budget",
                plots.rescue_by_budget(data, title, published.rescue_by_budget(experiment)),
            )
        case inputs.Fresh():
            yield "precision-coverage", plots.precision_coverage(data, "False positives against conservatism")
            suite = strictest(data)
            yield (
                "round-trips",
                plots.round_trip_matrix(_hidden(suite), f"Hidden round trips under {suite.name}"),
            )
        case inputs.Natural():
            yield "strata", plots.stacked_families(_outcomes(data), "Outcome and stratum by family")
            yield from _matrix(data.matrix)
        case inputs.Oracle():
            yield "strata", plots.stacked_families(_strata(data), "Oracle strata by family")
            yield from _matrix(data.matrix)
        case inputs.Snapshots():
            yield "storage-latency", plots.storage_latency(data, "Storage against undo latency")
        case _:
            return


def _matrix(matrix: inputs.Matrix | None) -> Iterator[tuple[str, Figure]]:
    if matrix:
        yield "round-trips", plots.round_trip_matrix(matrix, "Round trips")


def _hidden(suite: inputs.FreshSuite) -> inputs.Matrix:
    rows = tuple(inputs.MatrixRow(id=t.id, family=t.family, passes=t.hidden) for t in suite.tasks)
    return inputs.Matrix(splits=("hidden",) * len(suite.tasks[0].hidden), rows=rows)


def _outcomes(data: inputs.Natural) -> dict[str, dict[str, int]]:
    kinds = ("admissible", "inadequate", "S0", "S1", "residual", "defective, no stratum")
    found = Counter((t.family, _kind(t)) for t in data.tasks)
    used = [kind for kind in kinds if any(found[family, kind] for family, _ in found)]
    return {f: {kind: found[f, kind] for kind in used} for f in families_of([t.family for t in data.tasks])}


def _kind(task: inputs.NaturalTask) -> str:
    return task.outcome if task.outcome != "defective" else task.stratum or "defective, no stratum"


def _strata(data: inputs.Oracle) -> dict[str, dict[str, int]]:
    def stratum(task: inputs.OracleTask) -> str:
        return "S0" if task.L0 else "S1" if task.L1 else "residual"

    found = Counter((task.family, stratum(task)) for task in data.tasks)
    names = families_of([task.family for task in data.tasks])
    return {family: {kind: found[family, kind] for kind in ("S0", "S1", "residual")} for family in names}
