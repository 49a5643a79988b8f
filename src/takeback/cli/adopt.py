"""`takeback adopt`: make changes made by hand an entry of their own, or commits of git one entry each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NoReturn

import typer

from takeback.adapters.manifest import find_root
from takeback.cli.outcomes import conclude
from takeback.cli.output import JsonFlag, emit, out, settle
from takeback.cli.revealing import RevealFlag
from takeback.cli.workspaces import SHORT, ByOption, DirOption, JournalOption, NoteOption, StatFlag, opened
from takeback.errors import InputError
from takeback.harness import Harness, Refused
from takeback.present.titles import how_many


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("adopt")(adopt)


def adopt(
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    note: str = NoteOption,
    by: str = ByOption,
    commits: str = typer.Option(
        "", "--from-git", metavar="REV..REV", help="Record these commits, one entry each, oldest first."
    ),
    stat: bool = StatFlag,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Record changes made behind Takeback's back as an entry. It can be undone like any other.

    With `--from-git`, a history kept in git becomes one that can be taken back by parts: each commit of the range
    that changes something of the harness is an entry, with its author, subject and hash. The files must be as the
    range's last commit has them. Nothing is recorded unless every commit can be read.

    Example: `takeback adopt --dir agent -m "tuned by hand"`, `takeback adopt --from-git v1.0..HEAD`
    """
    del reveal  # read by its callback
    if commits and note:
        raise InputError("options", found="--note with --from-git", expected="one of them: commits have subjects")
    with opened(directory, journal) as harness:
        if commits:
            _from_git(harness, find_root(directory), commits, as_json=as_json)
        adopted = harness.adopt(note, by=by)
        if adopted is not None:
            conclude(adopted, harness, as_json=as_json, stat=stat)
    if as_json:
        emit({"result": "nothing", "entry": None, "changes": []})
    else:
        out.print("nothing to adopt: everything is as the journal says")


def _from_git(harness: Harness, root: Path, commits: str, *, as_json: bool) -> NoReturn:
    from takeback.agents.git.adopting import adopt_history  # noqa: PLC0415 - start-up
    from takeback.agents.git.running import git_in  # noqa: PLC0415

    found = adopt_history(harness, root, git_in(root, os.environ), commits)
    if isinstance(found, Refused):
        conclude(found, harness, as_json=as_json)
    settle(0)
    if as_json:
        told: list[dict[str, Any]] = [
            {"entry": record.id, "seq": record.entry, "commit": commit.id, "subject": commit.subject}
            for commit, record in found.entries
        ]
        counts = {"skipped": found.skipped, "folded": found.folded, "known": found.known}
        begun = None if found.begun is None else found.begun.id
        emit({"result": "adopted" if told else "nothing", "entries": told, "begun": begun, **counts})
        raise typer.Exit(0)
    if found.begun is not None:
        out.print(f"#{found.begun.entry}  went back to where the range begins, in the journal only")
    for commit, record in found.entries:
        out.print(f"#{record.entry}  {commit.id[:SHORT]} {commit.subject}")
    out.print(f"adopted {how_many(len(found.entries), 'commit')}")
    for number, why in (
        (found.skipped, "change nothing of the harness"),
        (found.folded, "came with the merge that resolved their conflicts"),
        (found.known, "are in the journal already"),
    ):
        if number:
            out.print(f"  left out: {number} that {why}")
    raise typer.Exit(0)
