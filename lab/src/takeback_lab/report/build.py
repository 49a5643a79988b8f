"""From a results folder to a report: Markdown with all tables and plots, and each of them as its own files.

Every run at or below the folder is read (and refused if it is not as it was written). Writes only below the report's
own folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from takeback.errors import InputError
from takeback_lab.manifest import REPORT
from takeback_lab.registry import experiment_named
from takeback_lab.report import plots
from takeback_lab.report.banks import shown_data
from takeback_lab.report.table import to_csv, to_latex, to_markdown
from takeback_lab.results import Result, find_runs, read_results


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """What was written: the folder, and each file relative to it."""

    folder: Path
    files: tuple[str, ...]


def build_report(folder: Path, out: Path | None = None) -> WrittenReport:
    """Write the report of all runs at or below `folder` to `out` (by default `folder/report`)."""
    runs = find_runs(folder)
    if not runs:
        raise InputError(str(folder), found="no run", expected="a results folder with at least one run")
    target = out or folder / REPORT
    pages = [
        "# Results of the lab",
        "",
        "The paper's printed figure stands beside ours, with what it was measured on. A dash is not zero.",
        "",
    ]
    files: list[str] = []
    for run in runs:
        result = read_results(run)
        name = "-".join(run.relative_to(folder).parts) or result.experiment
        pages += _heading(name, result)
        experiment = experiment_named(result.experiment)
        data = shown_data(run, result)
        for table in experiment.tables(data):
            stem = f"tables/{name}/{table.slug}"
            for ending, text in (
                ("md", to_markdown(table)),
                ("csv", to_csv(table, data.get("imported", 0))),
                ("tex", to_latex(table)),
            ):
                files.append(_write(target, f"{stem}.{ending}", text.encode("utf-8")))
            pages += [to_markdown(table), ""]
        for slug, figure in experiment.plots(data):
            for ending, content in plots.render(figure).items():
                files.append(_write(target, f"plots/{name}/{slug}.{ending}", content))
            pages += [f"![{slug}](plots/{name}/{slug}.png)", ""]
    files.append(_write(target, "report.md", "\n".join(pages).encode("utf-8")))
    return WrittenReport(target, tuple(files))


def _heading(name: str, result: Result) -> list[str]:
    return [f"## {name}", "", f"Lock `{result.lock[:16]}`, result `{result.digest[:16]}`.", ""]


def _write(target: Path, name: str, content: bytes) -> str:
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return name
