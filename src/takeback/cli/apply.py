"""`takeback apply FILE`: verify a change, and make it if it is admitted."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.inputs import CandidateFile
from takeback.cli.outcomes import conclude
from takeback.cli.output import JsonFlag
from takeback.cli.workspaces import ByOption, DirOption, JournalOption, NoteOption, StatFlag, opened
from takeback.language import load_json, read_candidate


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("apply")(apply)


def apply(
    file: Path = CandidateFile,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    force: bool = typer.Option(
        False, "--force", help="Make it although it is not admitted; the entry says so permanently."
    ),
    no_ties: bool = typer.Option(
        False, "--no-ties", help="Refuse if an earlier entry could then not be undone alone."
    ),
    note: str = NoteOption,
    by: str = ByOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Make a change, if it can be taken back. It is verified first, and recorded in the journal before it is made.

    Example: `takeback apply change.json --dir agent -m "longer timeout"`
    """
    candidate = read_candidate(load_json(file), str(file))
    with opened(directory, journal) as harness:
        result = harness.apply(candidate, force=force, note=note, by=by, allow_ties=not no_ties)
        conclude(result, harness, as_json=as_json, stat=stat, name=str(file))
