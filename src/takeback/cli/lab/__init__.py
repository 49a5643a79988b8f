"""`takeback lab`: one experiment or tool a subcommand, each in its own module with `register(lab_app)`.

Statistics and plots need the `lab` extra; modules load them inside `lab_extra()`, so that the command line
starts without them and a missing extra is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from takeback.cli.commands import register_all
from takeback.errors import MissingExtraError

EXTRA = {"matplotlib", "numpy", "scipy", "statsmodels", "z3"}


def register(app: typer.Typer) -> None:
    """Add the group and all its subcommands."""
    lab_app = typer.Typer(help="Experiments, statistics, locks and reports of the lab.", no_args_is_help=True)
    register_all(__name__, __path__, lab_app)
    app.add_typer(lab_app, name="lab")


@contextmanager
def lab_extra() -> Iterator[None]:
    """Import lab modules in here: a library of the `lab` extra that is missing is named with what to install."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] in EXTRA:
            raise MissingExtraError(f"{missing.name} is not installed", hint="pip install 'takeback[lab]'") from None
        raise
