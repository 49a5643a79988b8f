"""`takeback lab undo-laws`: random histories against the undo engine."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.progress import Progress

from takeback.cli.output import JsonFlag, emit, err, finish, out


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("undo-laws")(undo_laws)


def undo_laws(
    histories: int = typer.Option(2000, "--histories", min=1, help="How many random histories."),
    seed: int = typer.Option(0, "--seed", help="Seed of the histories."),
    as_json: bool = JsonFlag,
) -> None:
    """Undo and redo random sets in random order, and compare each result with a naive replay.

    Example: `takeback lab undo-laws --histories 2000 --json`
    """
    from takeback.lab.undo_laws import check_undo_laws  # noqa: PLC0415 - the command line starts without the lab

    with Progress(console=err.console) as bar:
        task = bar.add_task("histories", total=histories)
        found = check_undo_laws(histories, seed, lambda done: bar.update(task, completed=done))
    if as_json:
        emit(asdict(found))
    else:
        out.print(
            f"{found.histories} histories, {found.changes} changes, {found.undos} undos, {found.redos} redos, "
            f"{found.blocked} blocked: {found.violations} violations, "
            f"{found.blocked_not_minimal} not minimal"
        )
        for text in found.examples:
            out.print(f"  ! {text}", markup=False)
    finish(yes=not found.violations and not found.blocked_not_minimal)
