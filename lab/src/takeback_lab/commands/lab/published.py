"""`takeback lab published`: every derived figure of the paper, recomputed from the counts it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from takeback.cli.output import JsonFlag, emit, finish, out
from takeback_lab.commands.lab.extra import lab_extra

if TYPE_CHECKING:
    from takeback_lab.published import Check

AllFlag = typer.Option(False, "--all", help="List every check, not only the exceptions.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("published")(published)


def published(show_all: bool = AllFlag, as_json: bool = JsonFlag) -> None:
    """Recompute the paper's derived figures; exit 0 if each one is equal or its exception is explained.

    Example: `takeback lab published --json`
    """
    with lab_extra():
        from takeback_lab.published import recompute  # noqa: PLC0415 - an optional extra
    result = recompute()
    if as_json:
        emit(result.to_json())
        finish(yes=result.all_explained)
    for check in result.checks if show_all else result.exceptions:
        _show(check)
    out.print(
        f"{len(result.checks)} figures recomputed, {len(result.checks) - len(result.exceptions)} equal, "
        f"{len(result.exceptions)} exceptions"
    )
    finish(yes=result.all_explained)


def _show(check: Check) -> None:
    out.print(f"{check.status.value}: {check.name} (paper: {check.where})")
    out.print(f"    printed {check.printed}, recomputed {check.recomputed}")
    if not check.equal:
        out.print(f"    {check.note}")
