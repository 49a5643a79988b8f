"""`takeback lab snapshots`: ways to take one change back and keep a later one, with bytes and latency."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from takeback.cli.lab.running import OutOption, TasksOption, bar, say_where
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.lab.experiments import snapshots as experiment
from takeback.lab.protocol import open_run
from takeback.lab.snapshots.situations import PROTOCOLS

NAME = "snapshots"
WorkersOption = typer.Option(1, "--workers", min=1, help="Worker processes; more than one blurs the latencies.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command(NAME)(snapshots)


def snapshots(
    tasks: int | None = TasksOption,
    workers: int = WorkersOption,
    results: Path | None = OutOption,
    as_json: bool = JsonFlag,
) -> None:
    """Compare full and effect-scoped snapshots, this project's undo and the installed peers on the fresh tasks.

    Example: `takeback lab snapshots --json`
    """
    found = conduct(tasks, workers, results, quiet=as_json)
    if as_json:
        emit(found)
    finish(yes=experiment.holds(found))


def conduct(tasks: int | None, workers: int, results: Path | None, *, quiet: bool) -> dict[str, Any]:
    """Run, record and, unless told to be quiet, show the experiment."""
    chosen = experiment.cohort(tasks)
    with open_run(results, NAME, experiment.protocol(tasks=tasks)) as run, bar(NAME) as tick:
        found = experiment.run(chosen, workers=workers, finished=run.finished, tick=tick)
        run.record(NAME, NAME, experiment.report_data(found, f"{len(chosen)} fresh tasks"))
    if not quiet:
        _show(found)
        say_where(run, NAME)
    return found


def _show(found: dict[str, Any]) -> None:
    table = Table(
        "method", "different", "same", "front", "bytes", "median", "undo µs", "median", box=None, pad_edge=False
    )
    for name, row in found["methods"].items():
        shares = (f"{row[protocol][0]}/{row[protocol][1]}" for protocol in PROTOCOLS)
        figures = (f"{row[part][kind]:.1f}" for part in ("bytes", "latency_us") for kind in ("mean", "median"))
        table.add_row(name, *shares, *figures)
    out.print(table)
    for name, why in found["not_run"].items():
        out.print(f"not run: {name}: {why}", markup=False)
    out.print(f"a journal entry also records what was written, for redo: {found['entry_bytes']:.1f} bytes in all")
