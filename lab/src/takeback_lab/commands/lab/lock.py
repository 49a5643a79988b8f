"""`takeback lab lock NAME`: freeze what an experiment rests on, before it is run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import typer

from takeback.cli.output import emit, finish, out
from takeback.errors import InputError
from takeback_lab.commands.lab.printing import show_notes
from takeback_lab.commands.lab.wrapper import command_of
from takeback_lab.experiment import Option
from takeback_lab.lock import make_lock
from takeback_lab.protocol import freeze_lock, frozen_path
from takeback_lab.registry import MODULES, experiment_named

MODEL: Final = Option("model", "text", "The model's name, as its requests carry it.")
MORE: Final = (
    Option("out", "path", "Results folder; the lock goes to locks/NAME.json in it. results if left out."),
    Option("replace", "text", "yes: replace a lock that is there, and keep it beside the new one."),
)
TOLD: Final = """Freeze tasks, seeds, suites, prompts, model settings and analysis of NAME by SHA-256.

Options are those of the experiment; a run under other ones refuses.

Example: `takeback lab lock NAME --out results`
"""


def register(lab_app: typer.Typer) -> None:
    """Add one command per experiment below `lock`."""
    group = typer.Typer(help="Freeze what an experiment rests on, before it is run.", no_args_is_help=True)
    for name in MODULES:
        group.command(name)(_made(name))
    lab_app.add_typer(group, name="lock")


def _made(name: str) -> Callable[..., None]:
    experiment = experiment_named(name)
    options = (*experiment.options, *((MODEL,) if experiment.asks else ()), *MORE)
    return command_of(name, TOLD.replace("NAME", name), options, lambda words, as_json: _lock(name, words, as_json))


def _lock(name: str, words: dict[str, Any], as_json: bool) -> None:
    experiment = experiment_named(name)
    results, replace = words.pop("out", Path("results")), words.pop("replace", "no") == "yes"
    model = words.pop("model", "")
    if experiment.asks and not model:
        raise InputError(f"options of {name}", found="no model", expected="one, given with --model")
    plan = experiment.plan(words, None)
    show_notes(plan)
    made = freeze_lock(results, make_lock(name, plan.parts(model)), replace=replace)
    if as_json:
        emit({**made.to_json(), "path": str(frozen_path(results, name))})
    else:
        for part, digest in sorted(made.parts.items()):
            out.print(f"{part:<9} {digest}")
        out.print(f"lock      {made.digest}\nwritten to {frozen_path(results, name)}")
    finish(yes=True)
