"""`takeback lab`: every experiment of the registry, and the tools around them.

Statistics and plots need the `lab` extra; they are loaded inside `lab_extra()`, so that the command line starts
without them and a missing extra is named.
"""

from __future__ import annotations

import typer

from takeback.cli.program import register_all


def register(app: typer.Typer) -> None:
    """Add the group and all its subcommands."""
    lab_app = typer.Typer(help="Experiments, statistics, locks and reports of the lab.", no_args_is_help=True)
    register_all(__name__, __path__, lab_app)
    app.add_typer(lab_app, name="lab")
