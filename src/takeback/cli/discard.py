"""`takeback discard`: put files back as the journal knows them."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.outcomes import conclude
from takeback.cli.output import JsonFlag, emit, out
from takeback.cli.revealing import RevealFlag
from takeback.cli.workspaces import AuthorOption, DirOption, JournalOption, NoteOption, opened
from takeback.present.looser import read_actual, weigh_states


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("discard")(discard)


def discard(
    paths: list[str] = typer.Argument(
        None, metavar="PATH", help="Files, relative to the workspace; all if left out."
    ),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    note: str = NoteOption,
    by: str = AuthorOption,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Put files back that were changed behind Takeback's back, also files that cannot be read any more.

    What was in them is kept with the entry: undoing that brings it back.

    Example: `takeback discard config.toml`
    """
    del reveal  # read by its callback
    with opened(directory, journal) as harness:
        with harness.inspect() as found:
            outcome = harness.discard(paths or (), note, by=by)
        if outcome is not None:
            conclude(
                outcome, harness, as_json=as_json, looser=weigh_states(harness, found.actual, read_actual(harness))
            )
    if as_json:
        emit({"result": "nothing to discard", "entry": None, "paths": []})
    else:
        out.print("nothing to discard: the files are what the journal says")
