"""`takeback lab fresh`: development suites against 100 hidden states, on tasks no other experiment uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from takeback.cli.lab import lab_extra
from takeback.cli.lab.experimenting import (
    BudgetOption,
    FreezeOption,
    OutOption,
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
from takeback.counterfactual import SUITES
from takeback.errors import InputError
from takeback.lab.experiments.bank import shipped
from takeback.lab.experiments.fresh import HIDDEN, Plan, freeze, fresh_tasks, load_plan, run_fresh


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("fresh")(fresh)


def fresh(
    synthesizer: str = OracleOption,
    tasks: int | None = typer.Option(None, "--tasks", min=1, help="How many tasks, families in turn."),
    suites: str | None = typer.Option(None, "--suites", help=f"Some of {', '.join(SUITES)}, by commas; all of them."),
    feedback: str | None = typer.Option(None, "--feedback", help="What a failed turn is told; D0, or as recorded."),
    budget: int | None = BudgetOption,
    sampling: str = SamplingOption,
    workers: int = WorkersOption,
    record: Path | None = RecordOption,
    freeze_to: Path | None = FreezeOption,
    out_dir: Path | None = OutOption,
    threads: int = ThreadsOption,
    as_json: bool = JsonFlag,
) -> None:
    """Measure dev passes, false positives, rescues and the conservatism gap of each development suite.

    With `replay` and no choice of tasks or suites, they are those of the recording.

    Example: `takeback lab fresh --synthesizer oracle --tasks 60 --json`
    """
    with lab_extra():
        from takeback.lab.report.counting import sensitivity  # noqa: PLC0415  (statistics come with the extra)
        from takeback.lab.report.inputs import Fresh, read_input  # noqa: PLC0415
    names = tuple(SUITES) if suites is None else tuple(name.strip() for name in suites.split(","))
    for name in names:
        if name not in SUITES:
            raise InputError("--suites", found=name, expected=f"some of {', '.join(SUITES)}")
    plan = Plan(fresh_tasks()[:tasks], suites=names)
    recording = shipped().with_name("fresh")
    if tasks is None and suites is None:
        plan = replayed(synthesizer, recording, load_plan) or plan
    mode = None if feedback is None else read_mode(feedback)
    plan = altered(plan, sampling, budget=budget, mode=mode)
    units = len(plan.tasks) * len(plan.suites)
    with opened(synthesizer, record, threads, recording) as found, bar("repairs", units) as tick:
        model = found.model_name
        lock = plan.lock(model)
        begin(out_dir, lock)
        data = run_fresh(plan, found.method, label=str(found.spec), workers=workers, tick=tick)
    if freeze_to is not None:
        freeze(freeze_to, plan, model)
    read = read_input("fresh", data, "fresh")
    assert isinstance(read, Fresh)  # noqa: S101  (the name decides the model)
    rows: dict[str, Any] = {}
    for suite in read.suites:
        seen = sensitivity(suite.tasks, read.threshold)
        fields = ("dev", "false_positive", "rescue", "hidden", "gap")
        rows[suite.name] = {field: [getattr(seen, field).k, getattr(seen, field).n] for field in fields}
    summary = {
        "model": model,
        "tasks": len(plan.tasks),
        "hidden_states": HIDDEN,
        "suites": rows,
        "account": _spent(data),
        **deliver(out_dir, model, lock, data),
    }
    if as_json:
        emit(summary)
    else:
        _show(summary)
    finish(yes=True)


def _spent(data: dict[str, Any]) -> dict[str, Any]:
    rows = [row for suite in data["suites"] for row in suite["tasks"]]
    fields = {"calls": "calls", "completion_tokens": "tokens", "latency_s": "latency_s"}
    return {name: round(sum(row[field] for row in rows), 3) for name, field in fields.items()}


def _show(summary: dict[str, Any]) -> None:
    out.print(f"{summary['tasks']} tasks, {summary['model']}, {summary['hidden_states']} hidden states each")
    table = Table("suite", "dev pass", "false positive", "rescue", "hidden", "gap", box=None, pad_edge=False)
    for name, row in summary["suites"].items():
        table.add_row(name, *(f"{k}/{n}" for k, n in row.values()))
    out.print(table)
    out.print(spent_line(summary["account"]))
