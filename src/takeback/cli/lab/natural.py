"""`takeback lab natural`: one candidate a task from a model, and what became of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from takeback.cli.lab.experimenting import OutOption, WorkersOption, bar, begin, deliver, spent_line
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.cli.sampling import SamplingOption, read_sampling
from takeback.cli.synthesizers import RecordOption, ThreadsOption, opened
from takeback.errors import InputError
from takeback.lab.experiments.bank import check_replayed, cohort, freeze, load_bank
from takeback.lab.experiments.natural import OUTCOMES, Entry, answer, natural_lock, round_robin, tally
from takeback.lab.experiments.units import run_units
from takeback.lab.tasks import FAMILIES, Task, load
from takeback.synthesize.models import ChatModel, Sampling


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("natural")(natural)


def natural(
    synthesizer: str = typer.Option("replay", "--synthesizer", help="A model: replay[:DIR], local, openai:MODEL."),
    tasks: int | None = typer.Option(None, "--tasks", min=1, help="How many tasks, families in turn."),
    per_family: int | None = typer.Option(None, "--per-family", min=1, help="Lock only the first of each family."),
    sampling: str = SamplingOption,
    workers: int = WorkersOption,
    record: Path | None = RecordOption,
    freeze_to: Path | None = typer.Option(None, "--freeze", metavar="DIR", help="Freeze the bank there."),
    out_dir: Path | None = OutOption,
    threads: int = ThreadsOption,
    as_json: bool = JsonFlag,
) -> None:
    """Ask for one candidate a task, no rerolls: admissible, defective or inadequate, by family.

    With `replay` and no number of tasks, tasks and sampling are those of the recording's bank.

    Example: `takeback lab natural --synthesizer replay --json`
    """
    drawn = read_sampling(sampling)
    with opened(synthesizer, record, threads) as found:
        if found.model is None:
            raise InputError("--synthesizer", found=synthesizer, expected="replay[:DIR], local or openai:MODEL")
        bank = None
        if found.spec.kind == "replay" and tasks is None and per_family is None:
            bank = load_bank(Path(found.spec.argument) if found.spec.argument else None)
            locked, chosen, drawn = bank.locked_tasks(), bank.tasks(), read_sampling(sampling, bank.sampling)
        else:
            locked = round_robin(load("natural"), per_family)
            chosen = locked[:tasks]
        name = found.model.name
        lock = natural_lock(locked, name, drawn)
        begin(out_dir, lock)
        entries = _ask(chosen, found.model, drawn, workers)
    if bank is not None and freeze_to is None:
        check_replayed(bank, name, entries)
    if freeze_to is not None:
        freeze(freeze_to, name, locked, entries, drawn)
    strata: dict[str, str] = {case.task.id: case.stratum for case in cohort([entry.to_json() for entry in entries])}
    data = {"label": name, "tasks": [_row(entry, strata) for entry in entries]}
    summary = {
        "model": name,
        **tally(entries),
        "strata": {part: list(strata.values()).count(part) for part in ("S0", "S1", "residual")},
        "locked": len(locked),
        "not_run": len(locked) - len(entries),
        **deliver(out_dir, name, lock, data),
    }
    if as_json:
        emit(summary)
    else:
        _show(summary)
    finish(yes=True)


def _ask(chosen: tuple[Task, ...], model: ChatModel, drawn: Sampling, workers: int) -> list[Entry]:
    with bar("tasks", len(chosen)) as tick:
        return run_units(chosen, lambda task: answer(task, model, drawn), workers=workers, tick=tick)


def _row(entry: Entry, strata: dict[str, str]) -> dict[str, Any]:
    plain = {"id": entry.task.id, "family": entry.task.family, "outcome": entry.outcome}
    return {**plain, "stratum": strata[entry.task.id]} if entry.task.id in strata else plain


def _show(summary: dict[str, Any]) -> None:
    table = Table("family", *OUTCOMES, box=None, pad_edge=False)
    for family in FAMILIES:
        table.add_row(family, *(str(summary["families"][family][outcome]) for outcome in OUTCOMES))
    table.add_row("all", *(str(summary[outcome]) for outcome in OUTCOMES), style="bold")
    out.print(f"{summary['tasks']} tasks of {summary['locked']} locked, {summary['model']}")
    out.print(table)
    out.print(spent_line(summary["account"]))
