"""`takeback lab lock NAME`: freeze what an experiment rests on, before it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from takeback.cli.output import JsonFlag, emit, out
from takeback.cli.sampling import SamplingOption, read_sampling
from takeback.lab.lock import make_lock
from takeback.lab.protocol import freeze, frozen_path, protocol_parts

NameArgument = typer.Argument(..., metavar="NAME", help="An experiment, such as oracle.", show_default=False)
OutOption = typer.Option(Path("results"), "--out", help="Results folder; the lock goes to locks/NAME.json in it.")
TasksOption = typer.Option(None, "--tasks", min=1, help="As for the experiment.")
SetOption = typer.Option(None, "--set", help="As for the experiment.")
BankOption = typer.Option(None, "--bank", metavar="DIR", help="As for the experiment.")
ModelOption = typer.Option(None, "--model", help="The model's name, for an experiment that asks one.")
PerFamilyOption = typer.Option(None, "--per-family", min=1, help="As for the experiment.")
PerStratumOption = typer.Option(None, "--per-stratum", min=1, help="As for the experiment.")
PerDefectOption = typer.Option(None, "--per-defect", min=1, help="As for the experiment.")
BudgetOption = typer.Option(None, "--budget", min=1, help="As for the experiment.")
RuleOption = typer.Option(None, "--rule", help="As for the experiment.")
ReplaceFlag = typer.Option(False, "--replace", help="Keep another lock that is there beside the new one.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("lock")(lock)


def lock(
    name: str = NameArgument,
    tasks: int | None = TasksOption,
    sets: list[str] | None = SetOption,
    bank: Path | None = BankOption,
    model: str | None = ModelOption,
    per_family: int | None = PerFamilyOption,
    per_stratum: int | None = PerStratumOption,
    per_defect: int | None = PerDefectOption,
    budget: int | None = BudgetOption,
    rule: str | None = RuleOption,
    sampling: str = SamplingOption,
    results: Path = OutOption,
    replace: bool = ReplaceFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Freeze tasks, seeds, suites, prompts, model settings and analysis by SHA-256; a run under other ones refuses.

    Example: `takeback lab lock oracle --out results`
    """
    given: dict[str, Any] = {
        "tasks": tasks,
        "sets": sets or None,
        "bank": bank,
        "model": model,
        "per_family": per_family,
        "per_stratum": per_stratum,
        "per_defect": per_defect,
        "budget": budget,
        "rule": rule,
        "sampling": read_sampling(sampling) if sampling else None,
    }
    options = {option: value for option, value in given.items() if value is not None}
    made = freeze(results, make_lock(name, protocol_parts(name, options)), replace=replace)
    if as_json:
        emit({**made.to_json(), "path": str(frozen_path(results, name))})
        return
    for part, digest in sorted(made.parts.items()):
        out.print(f"{part:<9} {digest}")
    out.print(f"lock      {made.digest}\nwritten to {frozen_path(results, name)}", markup=False)
