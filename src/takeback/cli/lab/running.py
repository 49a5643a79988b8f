"""What the lab's experiments share on the command line: options, a progress bar, where results go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from takeback.cli.output import err, out
from takeback.lab.pool import Tick
from takeback.lab.protocol import Run

TasksOption = typer.Option(None, "--tasks", min=1, help="Only so many tasks, families in equal parts.")
WorkersOption = typer.Option(2, "--workers", min=1, help="Worker processes.")
OutOption = typer.Option(None, "--out", help="Results folder: lock, data and manifest go to a folder in it.")
SetOption = typer.Option(
    ["natural", "fresh"], "--set", help="Task sets whose references to take; bank: the shipped one."
)
BankOption = typer.Option(None, "--bank", metavar="DIR", help="A frozen bank: take its defective candidates instead.")


@contextmanager
def bar(label: str) -> Iterator[Tick]:
    """Show a bar on a terminal while the block runs; elsewhere nothing."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err.console, transient=True, disable=not err.is_terminal) as shown:
        task = shown.add_task(label, total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)


def say_where(run: Run, *folders: str) -> None:
    """Tell where results were written."""
    if run.results is not None:
        for folder in folders:
            out.print(f"written to {run.results / folder} under lock {run.lock.digest[:16]}", markup=False)
