"""`takeback lab controlled`: injected defects, repaired in every feedback mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from takeback.cli.lab.experimenting import (
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
from takeback.cli.synthesizers import OracleOption, RecordOption, ThreadsOption, opened, read_mode
from takeback.lab.experiments.bank import shipped
from takeback.lab.experiments.controlled import MODES, Plan, by_defect, freeze, load_plan, report_data, run_modes
from takeback.synthesize.models import Account


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("controlled")(controlled)


def controlled(
    synthesizer: str = OracleOption,
    tasks: int | None = typer.Option(None, "--tasks", min=1, help="How many candidates, defect classes in turn."),
    per_defect: int | None = typer.Option(None, "--per-defect", min=1, help="The first of each defect class only."),
    feedback: str | None = typer.Option(None, "--feedback", help="Feedback modes, separated by commas; all of them."),
    budget: int | None = BudgetOption,
    rule: str | None = RuleOption,
    sampling: str = SamplingOption,
    workers: int = WorkersOption,
    record: Path | None = RecordOption,
    freeze_to: Path | None = FreezeOption,
    out_dir: Path | None = OutOption,
    threads: int = ThreadsOption,
    as_json: bool = JsonFlag,
) -> None:
    """Repair candidates with one injected defect each; how many each feedback mode brings through.

    With `replay` and no choice of candidates or modes, they are those of the recording.

    Example: `takeback lab controlled --synthesizer oracle --json`
    """
    modes = MODES if feedback is None else tuple(read_mode(name.strip()) for name in feedback.split(","))
    locked = by_defect(per_defect)
    plan = Plan(locked[:tasks], modes=modes, locked=locked)
    recording = shipped().with_name("controlled")
    if tasks is None and per_defect is None and feedback is None:
        plan = replayed(synthesizer, recording, load_plan) or plan
    plan = altered(plan, sampling, budget=budget, rule=rule)
    units = len(plan.tasks) * len(plan.modes)
    with opened(synthesizer, record, threads, recording) as found, bar("repairs", units) as tick:
        model = found.model_name
        lock = plan.lock(model)
        begin(out_dir, lock)
        results = run_modes(plan, found.method, workers=workers, tick=tick)
    if freeze_to is not None:
        freeze(freeze_to, plan, model)
    data = report_data(plan, results, str(found.spec))
    spent = Account.of(done.account for done in results.values())
    extra = {"account": spent.to_json(), **deliver(out_dir, model, lock, data)}
    summary = {"model": model, "rule": plan.rule, **_counts(data), **extra}
    if as_json:
        emit(summary)
    else:
        _show(summary)
    finish(yes=True)


def _counts(data: dict[str, Any]) -> dict[str, Any]:
    rows = data["candidates"]
    modes = list(rows[0]["turns"]) if rows else []
    classes = list(dict.fromkeys(row["defect"] for row in rows))

    def repaired(some: list[dict[str, Any]]) -> dict[str, int]:
        return {mode: sum(row["turns"][mode] is not None for row in some) for mode in modes}

    return {
        "candidates": len(rows),
        "budget": data["budget"],
        "repaired": repaired(rows),
        "by_defect": {name: repaired([row for row in rows if row["defect"] == name]) for name in classes},
        "outcomes": rows,
    }


def _show(summary: dict[str, Any]) -> None:
    out.print(f"{summary['candidates']} candidates, {summary['model']}, B = {summary['budget']}")
    table = Table("feedback", "repaired", box=None, pad_edge=False)
    for mode, count in summary["repaired"].items():
        table.add_row(mode, f"{count}/{summary['candidates']}")
    out.print(table)
    out.print(spent_line(summary["account"]))
