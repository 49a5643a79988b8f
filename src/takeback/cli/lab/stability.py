"""`takeback lab stability`: does a task stay in its stratum when the states are drawn again?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from takeback.cli.lab.running import BankOption, OutOption, SetOption, TasksOption, WorkersOption, bar, say_where
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.lab.experiments import oracle
from takeback.lab.experiments import stability as experiment
from takeback.lab.protocol import open_run

NAME = "stability"
SeedsOption = typer.Option(
    len(experiment.SEEDS), "--seeds", min=1, max=len(experiment.SEEDS), help="How many of the seeds 1000, 2000, …"
)


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command(NAME)(stability)


def stability(
    sets: list[str] = SetOption,
    bank: Path | None = BankOption,
    seeds: int = SeedsOption,
    tasks: int | None = TasksOption,
    workers: int = WorkersOption,
    results: Path | None = OutOption,
    as_json: bool = JsonFlag,
) -> None:
    """Stratify a cohort under ten seeds and count the tasks that change their stratum.

    Example: `takeback lab stability --workers 2 --out results`
    """
    found = conduct(tasks, workers, results, sets=sets, bank=bank, seeds=seeds, quiet=as_json)
    if as_json:
        emit(found)
    finish(yes=holds(found))


def conduct(
    tasks: int | None,
    workers: int,
    results: Path | None,
    *,
    quiet: bool,
    sets: list[str] | None = None,
    bank: Path | None = None,
    seeds: int = len(experiment.SEEDS),
) -> dict[str, Any]:
    """Run, record and, unless told to be quiet, show the experiment."""
    sets, drawn = sets or list(oracle.SETS), experiment.SEEDS[:seeds]
    cases = oracle.cohort(sets, bank, tasks)
    parts = experiment.protocol(sets=sets, bank=bank, tasks=tasks, seeds=drawn)
    with open_run(results, NAME, parts) as run, bar(NAME) as tick:
        strata = experiment.run(cases, drawn, workers=workers, finished=run.finished, tick=tick)
        name = " and ".join(sets) if bank is None else bank.name
        run.record(NAME, NAME, experiment.report_data(strata, drawn, f"{len(cases)} tasks: {name}"))
    found = experiment.summary(strata, drawn)
    if not quiet:
        _show(found)
        say_where(run, NAME)
    return found


def _show(found: dict[str, Any]) -> None:
    table = Table("seed", *experiment.STRATA, box=None, pad_edge=False)
    for seed, counts in found["strata"].items():
        table.add_row(seed, *(str(counts[name]) for name in experiment.STRATA))
    out.print(table)
    alike = ", ".join(f"{name} {_or_dash(value)}" for name, value in found["jaccard"].items())
    out.print(f"{found['migrations']} migrations in {found['evaluations']:,} evaluations; smallest Jaccard: {alike}")


def _or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def holds(found: dict[str, Any]) -> bool:
    """Whether no task changed its stratum."""
    return not found["migrations"]
