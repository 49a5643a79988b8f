"""`takeback lab all`: every experiment that needs no model, one after the other."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import typer

from takeback.cli.output import JsonFlag, emit, finish, out
from takeback_lab.commands.lab.extra import lab_extra
from takeback_lab.commands.lab.printing import show_lines
from takeback_lab.commands.lab.wrapper import Running, conduct
from takeback_lab.lock import make_lock
from takeback_lab.progress import Progress, progress_path
from takeback_lab.registry import experiment_named
from takeback_lab.results import verify_results

NAMES: Final = ("contract-audit", "oracle", "stability", "snapshots", "sensitivity")
ALONE: Final = "snapshots"
TasksOption = typer.Option(None, "--tasks", min=1, help="Only this many tasks, the same number from each family.")
WorkersOption = typer.Option(2, "--workers", min=1, help="How many units run at once.")
EngineOption = typer.Option("local", "--engine", help="Where units run: local or ray.")
RunsOutOption = typer.Option(None, "--out", metavar="DIR", help="Results folder: each run goes to a folder in it.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("all")(run_all)


def run_all(
    tasks: int | None = TasksOption,
    workers: int = WorkersOption,
    engine: str = EngineOption,
    results: Path | None = RunsOutOption,
    as_json: bool = JsonFlag,
) -> None:
    """Run contract-audit, oracle, stability, snapshots and sensitivity, and say whether all of them hold.

    Snapshots always runs in one process, because it measures latencies. With `--out DIR` a run that was stopped goes
    on after the last finished experiment and unit.

    Example: `takeback lab all --out results --json`
    """
    begin = perf_counter()
    found: dict[str, Any] = {}
    held: dict[str, bool] = {}
    given = {} if tasks is None else {"tasks": tasks}
    with _open_progress(results, given) as finished:
        for name in NAMES:
            if not as_json:
                out.print(name, style="bold")
            experiment, started = experiment_named(name), perf_counter()
            if finished is not None and name in finished and _is_whole(results, finished[name]):
                found[name] = finished[name]
                if not as_json:
                    show_lines(experiment.lines(found[name]))
                    out.print("finished before")
            else:
                alone = name == ALONE
                running = Running("local" if alone else engine, 1 if alone else workers, results, as_json=as_json)
                with lab_extra():
                    found[name], _ = conduct(experiment, given, running)
                found[name]["seconds"] = round(perf_counter() - started, 1)
                if finished is not None and name not in finished:
                    finished.record(name, found[name])
            held[name] = experiment.holds(found[name])
        if finished is not None:
            finished.path.unlink()
    seconds = round(perf_counter() - begin, 1)
    if as_json:
        emit({"holds": held, "seconds": seconds, "experiments": found})
    else:
        out.print(f"{sum(held.values())} of {len(held)} hold; {seconds} seconds")
    finish(yes=all(held.values()))


def _open_progress(results: Path | None, given: dict[str, Any]) -> AbstractContextManager[Progress | None]:
    """Open what a run that was stopped has finished; nothing is kept without a folder."""
    if results is None:
        return nullcontext()
    with lab_extra():
        parts = {name: experiment_named(name).plan(given, None).parts("") for name in NAMES}
    lock = make_lock("all", parts)
    return Progress(progress_path(results, lock), lock)


def _is_whole(results: Path | None, summary: dict[str, Any]) -> bool:
    """Tell whether the folders that a finished experiment wrote are there as they were written."""
    folders = [results / name for name in summary["results"]] if results is not None else []
    return all(folder.is_dir() and not verify_results(folder) for folder in folders)
