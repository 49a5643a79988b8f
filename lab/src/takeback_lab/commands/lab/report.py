"""`takeback lab report DIR`: tables and plots of a results folder, the paper's figures beside ours."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.output import JsonFlag, emit, out
from takeback_lab.commands.lab.extra import lab_extra
from takeback_lab.commands.lab.verify import ResultsFolder

ReportOutOption = typer.Option(None, "--out", help="Where to write the report; DIR/report by default.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("report")(report)


def report(folder: Path = ResultsFolder, target: Path | None = ReportOutOption, as_json: bool = JsonFlag) -> None:
    """Write Markdown, CSV and LaTeX tables and PNG and SVG plots of every run in a results folder.

    Example: `takeback lab report results/ --out report/`
    """
    with lab_extra():
        from takeback_lab.report.build import build_report  # noqa: PLC0415 - an optional extra
    result = build_report(folder, target)
    if as_json:
        emit({"folder": str(result.folder), "files": list(result.files)})
        return
    out.print(f"{len(result.files)} files in {result.folder}; start with {result.folder / 'report.md'}")
