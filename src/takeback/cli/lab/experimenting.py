"""What the experiments' commands share: options, a progress bar, writing results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from takeback.cli.output import err
from takeback.lab.experiments.units import Tick
from takeback.lab.lock import Lock
from takeback.lab.results import write_results
from takeback.verify import RULE_NAMES

WorkersOption = typer.Option(1, "--workers", min=1, max=64, help="How many units run at once.")
OutOption = typer.Option(None, "--out", metavar="DIR", help="Write result, lock and manifest there.")
RuleOption = typer.Option("split-wald", "--rule", help=f"Rule of admission: {', '.join(RULE_NAMES)}.")
BankOption = typer.Option(None, "--bank", metavar="DIR", help="A frozen bank; the shipped one if left out.")


@contextmanager
def bar(title: str, total: int) -> Iterator[Tick]:
    """A progress bar on stderr; the tick moves it on by one."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(title, total=total)
        yield lambda: progress.advance(task)


def deliver(folder: Path | None, experiment: str, lock: Lock, data: dict[str, Any]) -> dict[str, Any]:
    """Write the results if a folder was named; the lock and result digests for the output."""
    if folder is None:
        return {"lock": lock.digest}
    result = write_results(folder, experiment, lock, data)
    return {"lock": lock.digest, "result": result.digest, "out": str(folder)}
