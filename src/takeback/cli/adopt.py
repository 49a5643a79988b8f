"""`takeback adopt`: make changes made by hand an entry of their own."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.outcomes import conclude
from takeback.cli.output import JsonFlag, emit, out
from takeback.cli.workspaces import ByOption, DirOption, JournalOption, NoteOption, StatFlag, opened


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("adopt")(adopt)


def adopt(
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    note: str = NoteOption,
    by: str = ByOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Record changes made behind Takeback's back as an entry. It can be undone like any other.

    Example: `takeback adopt --dir agent -m "tuned by hand"`
    """
    with opened(directory, journal) as harness:
        adopted = harness.adopt(note, by=by)
        if adopted is not None:
            conclude(adopted, harness, as_json=as_json, stat=stat)
    if as_json:
        emit({"result": "nothing", "entry": None, "changes": []})
    else:
        out.print("nothing to adopt: everything is as the journal says")
