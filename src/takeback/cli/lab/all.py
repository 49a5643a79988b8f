"""`takeback lab all`: every experiment that needs no model, one after the other."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import typer

from takeback.cli.lab import contract_audit, oracle, snapshots, stability
from takeback.cli.lab.running import OutOption, TasksOption, WorkersOption
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.lab.experiments.snapshots import holds as snapshots_hold


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("all")(run_all)


def run_all(
    tasks: int | None = TasksOption,
    workers: int = WorkersOption,
    results: Path | None = OutOption,
    as_json: bool = JsonFlag,
) -> None:
    """Run contract-audit, oracle, stability and snapshots, and say whether all of them hold.

    Snapshots always runs in one process, because it measures latencies.

    Example: `takeback lab all --out results --json`
    """
    begin = perf_counter()
    found: dict[str, Any] = {}
    held: dict[str, bool] = {}
    for name, conduct, holds in (
        (contract_audit.NAME, contract_audit.conduct, contract_audit.holds),
        (oracle.NAME, oracle.conduct, oracle.holds),
        (stability.NAME, stability.conduct, stability.holds),
        (snapshots.NAME, snapshots.conduct, snapshots_hold),
    ):
        if not as_json:
            out.print(name, style="bold")
        started = perf_counter()
        found[name] = conduct(tasks, 1 if name == snapshots.NAME else workers, results, quiet=as_json)
        found[name]["seconds"] = round(perf_counter() - started, 1)
        held[name] = holds(found[name])
    seconds = round(perf_counter() - begin, 1)
    if as_json:
        emit({"holds": held, "seconds": seconds, "experiments": found})
    else:
        out.print(f"{sum(held.values())} of {len(held)} hold; {seconds} seconds")
    finish(yes=all(held.values()))
