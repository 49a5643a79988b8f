"""`takeback adopt`: make changes made by hand an entry of their own."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.opening import SHORT, DirOption, JournalOption, opened, refused_json, show_changes, show_refused
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.harness import Refused
from takeback.harness.log import change_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("adopt")(adopt)


def adopt(
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    note: str = typer.Option("", "--note", "-m", help="A line for the log."),
    as_json: bool = JsonFlag,
) -> None:
    """Take what was changed behind Takeback's back into the journal; it can be undone like any other entry.

    Example: `takeback adopt --dir agent -m "tuned by hand"`
    """
    with opened(directory, journal) as harness:
        adopted = harness.adopt(note)
    if isinstance(adopted, Refused):
        emit(refused_json(adopted)) if as_json else show_refused(adopted)
        finish(yes=False)
        return
    changes = () if adopted is None else adopted.changes
    if as_json:
        emit({"entry": None if adopted is None else adopted.entry.id, "changes": [change_json(c) for c in changes]})
    elif adopted is None:
        out.print("nothing to adopt: everything is as the journal says")
    else:
        out.print(f"adopted: entry {adopted.entry.id[:SHORT]}")
        show_changes(changes)
