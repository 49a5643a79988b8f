"""The commands of all experiments, made from what each declares."""

from __future__ import annotations

import typer

from takeback_lab.commands.lab.wrapper import experiment_command
from takeback_lab.registry import MODULES, experiment_named


def register(lab_app: typer.Typer) -> None:
    """Add one command per experiment."""
    for name in MODULES:
        lab_app.command(name)(experiment_command(experiment_named(name)))
