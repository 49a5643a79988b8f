"""`takeback lab verify DIR`: whether a results folder is as it was written."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.lab.results import find_runs, verify_results

ResultsFolder = typer.Argument(..., help="A folder of results: one run, or runs in folders below it.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("verify")(verify)


def verify(folder: Path = ResultsFolder, as_json: bool = JsonFlag) -> None:
    """Check digests, manifest and lock of every run: missing, altered, extra files, or another lock.

    Example: `takeback lab verify results/ --json`
    """
    problems = verify_results(folder)
    runs = [str(run) for run in find_runs(folder)]
    if as_json:
        emit({"ok": not problems, "runs": runs, "problems": [problem.to_json() for problem in problems]})
    else:
        for problem in problems:
            out.print(str(problem), markup=False)
        out.print(f"{len(runs)} runs, {len(problems)} problems", markup=False)
    finish(yes=not problems)
