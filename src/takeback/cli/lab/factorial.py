"""`takeback lab factorial` and `takeback lab replication`: {D0, D1} × {L0, L1} on the frozen failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from takeback.cli.lab import lab_extra
from takeback.cli.lab.experimenting import (
    BankOption,
    BudgetOption,
    FreezeOption,
    OutOption,
    RuleOption,
    WorkersOption,
    altered,
    bar,
    begin,
    deliver,
    replayed,
    spent_line,
)
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.cli.sampling import SamplingOption
from takeback.cli.synthesizers import OracleOption, RecordOption, ThreadsOption, opened
from takeback.lab.experiments.bank import cohort, load_bank, shipped, stratified
from takeback.lab.experiments.factorial import (
    CELLS,
    Plan,
    discordant,
    freeze,
    load_plan,
    read_cell,
    report_data,
    run_cells,
)
from takeback.lab.experiments.replication import PER_STRATUM, replication_plan
from takeback.synthesize.models import Account


def register(lab_app: typer.Typer) -> None:
    """Add the commands."""
    lab_app.command("factorial")(factorial)
    lab_app.command("replication")(replication)


def factorial(
    synthesizer: str = OracleOption,
    tasks: int | None = typer.Option(None, "--tasks", min=1, help="The first tasks of the cohort only."),
    per_stratum: int | None = typer.Option(None, "--per-stratum", min=1, help="The first of each stratum only."),
    budget: int | None = BudgetOption,
    rule: str | None = RuleOption,
    cells: str | None = typer.Option(None, "--cells", help="Cells, such as D0L0,adaptiveL1; the paper's four."),
    bank: Path | None = BankOption,
    sampling: str = SamplingOption,
    workers: int = WorkersOption,
    record: Path | None = RecordOption,
    freeze_to: Path | None = FreezeOption,
    out_dir: Path | None = OutOption,
    threads: int = ThreadsOption,
    as_json: bool = JsonFlag,
) -> None:
    """Cross diagnosis (D0, D1) with language (L0, L1) on the defective cohort; contrasts, p-values, gate.

    With `replay` and no choice of tasks or cells, they are those of the recording.

    Example: `takeback lab factorial --synthesizer replay --json`
    """
    chosen = CELLS if cells is None else tuple(cell.strip() for cell in cells.split(","))
    for cell in chosen:
        read_cell(cell)
    plan = None
    if tasks is None and per_stratum is None and cells is None:
        plan = _replayed("factorial", synthesizer, bank)
    if plan is None:
        plan = Plan(stratified(cohort(load_bank(bank).entries), per_stratum)[:tasks], cells=chosen)
    plan = altered(plan, sampling, budget=budget, rule=rule)
    _run("factorial", plan, synthesizer, workers, record, freeze_to, out_dir, threads, as_json=as_json)


def replication(
    synthesizer: str = OracleOption,
    per_stratum: int | None = typer.Option(
        None, "--per-stratum", min=1, help=f"The first tasks of each stratum; {PER_STRATUM} if left out."
    ),
    budget: int | None = BudgetOption,
    bank: Path | None = BankOption,
    sampling: str = SamplingOption,
    workers: int = WorkersOption,
    record: Path | None = RecordOption,
    freeze_to: Path | None = FreezeOption,
    out_dir: Path | None = OutOption,
    threads: int = ThreadsOption,
    as_json: bool = JsonFlag,
) -> None:
    """Repeat the factorial with another model on a frozen subset: the first tasks of S0 and of S1.

    With `replay` and no number of tasks, they are those of the recording.

    Example: `takeback lab replication --synthesizer openai:MODEL --per-stratum 48 --record DIR`
    """
    plan = _replayed("replication", synthesizer, bank) if per_stratum is None else None
    plan = plan or replication_plan(bank, per_stratum or PER_STRATUM)
    plan = altered(plan, sampling, budget=budget)
    _run("replication", plan, synthesizer, workers, record, freeze_to, out_dir, threads, as_json=as_json)


def _replayed(name: str, synthesizer: str, bank: Path | None) -> Plan | None:
    return replayed(synthesizer, shipped().with_name(name), lambda folder: load_plan(folder, name, bank))


def _run(
    name: str,
    plan: Plan,
    synthesizer: str,
    workers: int,
    record: Path | None,
    freeze_to: Path | None,
    out_dir: Path | None,
    threads: int,
    *,
    as_json: bool,
) -> None:
    with lab_extra():
        from takeback.lab.report.counting import contrasts, factorial_interaction, rescue  # noqa: PLC0415
        from takeback.lab.report.inputs import Factorial, read_input  # noqa: PLC0415
    shipped_cells = shipped().with_name(name)
    units = len(plan.cases) * len(plan.cells)
    with opened(synthesizer, record, threads, shipped_cells) as found, bar("cells", units) as tick:
        model = found.model_name
        lock = plan.lock(name, model)
        begin(out_dir, lock)
        results = run_cells(plan, found.method, workers=workers, tick=tick)
    if freeze_to is not None:
        freeze(freeze_to, name, plan, model)
    data = report_data(plan, results, model, str(found.spec))
    spent = Account.of(done.account for done in results.values())
    extra = {"rule": plan.rule, "account": spent.to_json(), **deliver(out_dir, model, lock, data)}
    if not plan.cases:
        _say({"model": model, "tasks": 0, **extra}, as_json=as_json)
        return
    read = read_input(name, data, name)
    assert isinstance(read, Factorial)  # noqa: S101  (both names are read by this model)
    cells = {
        cell: {
            part: [rescue(read, cell, part, plan.budget).k, rescue(read, cell, part, plan.budget).n]
            for part in ("all", "S0", "S1")
        }
        for cell in plan.cells
    }
    compared = {
        c.name: {
            "difference": c.counts.difference,
            "interval": [c.interval.lower, c.interval.upper],
            "only_new": c.counts.only_new,
            "only_old": c.counts.only_old,
            "p": c.p_value,
            "p_holm": c.p_holm,
        }
        for c in contrasts(read)
    }
    both = factorial_interaction(read)
    _say(
        {
            "model": model,
            "tasks": len(plan.cases),
            "budget": plan.budget,
            "cells": cells,
            "contrasts": compared,
            "interaction": None if both is None else both.estimate,
            "gate": data["gate"],
            "discordant": discordant(plan, results),
            "outcomes": data["tasks"],
            **extra,
        },
        as_json=as_json,
    )


def _say(summary: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        emit(summary)
        finish(yes=True)
    out.print(f"{summary['tasks']} tasks, {summary['model']}")
    if summary["tasks"]:
        table = Table("cell", "all", "S0", "S1", box=None, pad_edge=False)
        for cell, parts in summary["cells"].items():
            table.add_row(cell, *(f"{k}/{n}" for k, n in parts.values()))
        out.print(table)
        for name, found in summary["contrasts"].items():
            difference, p, adjusted = found["difference"], found["p"], found["p_holm"]
            out.print(f"{name}: {difference * 100:+.2f} pp, p = {p:.4g}, Holm p = {adjusted:.4g}")
    out.print(spent_line(summary["account"]))
    finish(yes=True)
