"""`takeback discard`: put files back as the journal knows them."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.opening import SHORT, DirOption, JournalOption, opened, refused_json, show_refused
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.harness import Refused


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("discard")(discard)


def discard(
    paths: list[str] = typer.Argument(None, metavar="PATH...", help="Files, relative to the workspace. All if none."),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    note: str = typer.Option("", "--note", help="A word on why."),
    as_json: bool = JsonFlag,
) -> None:
    """Put files back that were changed behind Takeback's back, also files that cannot be read any more.

    What was in them is kept with the entry: undoing that brings it back. Example: `takeback discard config.toml`
    """
    with opened(directory, journal) as harness:
        outcome = harness.discard(paths or (), note)
    if isinstance(outcome, Refused):
        emit(refused_json(outcome)) if as_json else show_refused(outcome)
        finish(yes=False)
    elif as_json:
        emit(
            {
                "result": "discarded" if outcome else "nothing to discard",
                "entry": outcome.entry.id if outcome else None,
                "paths": list(outcome.paths) if outcome else [],
            }
        )
    elif outcome is None:
        out.print("nothing to discard: the files are what the journal says")
    else:
        out.print(f"put back: entry {outcome.entry.id[:SHORT]}, undoing it brings back what was there")
        for path in outcome.paths:
            out.print(f"  {path}", markup=False)
