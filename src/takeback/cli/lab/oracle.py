"""`takeback lab oracle`: which mutations of a cohort can be taken back, in L0, in L1, or in neither."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from takeback.cli.lab.running import BankOption, OutOption, SetOption, TasksOption, WorkersOption, bar, say_where
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.errors import InputError
from takeback.lab.experiments import oracle as experiment
from takeback.lab.protocol import open_run

NAME = "oracle"
RuleOption = typer.Option(list(experiment.RULES), "--rule", help="Admission rules, each a run of its own.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command(NAME)(oracle)


def oracle(
    sets: list[str] = SetOption,
    bank: Path | None = BankOption,
    rules: list[str] = RuleOption,
    tasks: int | None = TasksOption,
    workers: int = WorkersOption,
    results: Path | None = OutOption,
    as_json: bool = JsonFlag,
) -> None:
    """Audit the solvability of a cohort with the oracle's recoveries, on samples and by proof side by side.

    Example: `takeback lab oracle --set natural --rule proof --json`
    """
    found = conduct(tasks, workers, results, sets=sets, bank=bank, rules=rules, quiet=as_json)
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
    rules: list[str] | None = None,
) -> dict[str, Any]:
    """Run, record and, unless told to be quiet, show the experiment."""
    sets, rules = sets or list(experiment.SETS), rules or list(experiment.RULES)
    for rule in rules:
        if rule not in experiment.RULES:
            raise InputError("--rule", found=rule, expected=f"one of {', '.join(experiment.RULES)}")
    cases = experiment.cohort(sets, bank, tasks)
    name = " and ".join(sets) if bank is None else bank.name
    found: dict[str, Any] = {"cohort": name, "tasks": len(cases), "rules": {}}
    with open_run(results, NAME, experiment.protocol(sets=sets, bank=bank, tasks=tasks)) as run:
        for rule in rules:
            with bar(f"{NAME}, {rule}") as tick:
                outcomes = experiment.run(cases, rule, workers=workers, finished=run.finished, tick=tick)
            label = f"rule {rule}; {len(cases)} tasks: {name}"
            run.record(f"{NAME}-{rule}", NAME, experiment.report_data(outcomes, label))
            found["rules"][rule] = experiment.summary(outcomes)
    if not quiet:
        for rule, counts in found["rules"].items():
            _show(rule, counts)
        say_where(run, *(f"{NAME}-{rule}" for rule in rules))
    return found


def _show(rule: str, counts: dict[str, Any]) -> None:
    table = Table(rule, "tasks", "L0", "L1", "S0", "S1", "residual", box=None, pad_edge=False)
    for family, row in (*counts["families"].items(), ("all", counts)):
        table.add_row(family, *(str(row[column]) for column in ("tasks", "L0", "L1", "S0", "S1", "residual")))
    out.print(table)
    for task in counts["unrecovered"]:
        out.print(f"  not recovered: {task}", markup=False)


def holds(found: dict[str, Any]) -> bool:
    """Whether L1 recovers every task under every rule."""
    return not any(counts["unrecovered"] for counts in found["rules"].values())
