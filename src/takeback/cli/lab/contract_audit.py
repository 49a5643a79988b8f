"""`takeback lab contract-audit`: are undeclared effects caught, without false alarms?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from takeback.cli.lab.running import OutOption, WorkersOption, bar, say_where
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.lab.experiments import contract_audit as experiment
from takeback.lab.protocol import open_run

NAME = "contract-audit"
TasksOption = typer.Option(experiment.TASKS, "--tasks", min=1, help="How many mutations, families in equal parts.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command(NAME)(contract_audit)


def contract_audit(
    tasks: int = TasksOption,
    workers: int = WorkersOption,
    results: Path | None = OutOption,
    as_json: bool = JsonFlag,
) -> None:
    """Audit incomplete and complete contracts, and controls in which only volatile things vary.

    Example: `takeback lab contract-audit --json`
    """
    found = conduct(tasks, workers, results, quiet=as_json)
    if as_json:
        emit(found)
    finish(yes=holds(found))


def conduct(tasks: int | None, workers: int, results: Path | None, *, quiet: bool) -> dict[str, Any]:
    """Run, record and, unless told to be quiet, show the experiment."""
    wanted = experiment.TASKS if tasks is None else tasks
    with open_run(results, NAME, experiment.protocol(tasks=wanted)) as run, bar(NAME) as tick:
        rows = experiment.run(experiment.cohort(wanted), workers=workers, finished=run.finished, tick=tick)
        run.record(NAME, NAME, experiment.report_data(rows, f"{len(rows)} reference mutations"))
    found = experiment.summary(rows)
    if not quiet:
        incomplete, complete, control = found["incomplete"], found["complete"], found["nondeterminism"]
        out.print(f"incomplete contracts caught            {incomplete['caught']}/{incomplete['of']}")
        out.print(f"false alarms on complete contracts     {complete['false_alarms']}/{complete['of']}")
        out.print(f"false alarms under nondeterminism      {control['false_alarms']}/{control['of']}")
        for row in found["wrong"]:
            out.print(f"  wrong: {row}", markup=False)
        say_where(run, NAME)
    return found


def holds(found: dict[str, Any]) -> bool:
    """Whether every omission was caught and nothing else alarmed."""
    return not found["wrong"]
