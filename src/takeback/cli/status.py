"""`takeback status`: how a workspace stands."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.opening import SHORT, DirOption, JournalOption, broken_json, opened, show_changes
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.harness.log import change_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(directory: Path = DirOption, journal: str | None = JournalOption, as_json: bool = JsonFlag) -> None:
    """Show live entries, changes made behind Takeback's back, and what needs seeing to. 1 if there is any.

    Example: `takeback status --dir agent`
    """
    with opened(directory, journal) as harness:
        found = harness.status()
    if as_json:
        emit(
            {
                "clean": found.clean,
                "head": found.head,
                "live": found.entries,
                "undone": found.undone,
                "aborted": found.aborted,
                "pending": found.pending.id if found.pending else None,
                "drift": [change_json(change) for change in found.drift],
                "leftovers": list(found.leftovers),
                "problems": list(found.problems),
                "broken": [broken_json(fault) for fault in found.broken],
            }
        )
    else:
        aborted = f", {found.aborted} given up" if found.aborted else ""
        out.print(f"{found.entries} live, {found.undone} undone{aborted}, head {found.head[:SHORT]}")
        if found.drift:
            out.print("changed behind Takeback's back ('takeback adopt' makes it an entry):")
            show_changes(found.drift)
        for fault in found.broken:
            out.print(f"  ! {fault} ('takeback discard {fault.path}' puts it back)", markup=False)
        for problem in (*found.problems, *found.leftovers):
            out.print(f"  ! {problem}", markup=False)
    finish(yes=found.clean)
