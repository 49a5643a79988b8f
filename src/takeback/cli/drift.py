"""`takeback adopt` and `discard`: changes made outside Takeback become an entry, or are discarded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import typer

from takeback.adapters.files_adapter import FilesAdapter
from takeback.cli.context import SHORT, AuthorOption, ByOption, NoteOption, ReadOptions, StatFlag
from takeback.cli.options import argument, setting
from takeback.cli.outcomes import print_and_exit
from takeback.cli.output import answer, commit_exit_code, out
from takeback.errors import InputError
from takeback.harness import Harness, Refused
from takeback.present.titles import format_count
from takeback.present.warnings import read_actual, weigh_states


def adopt(
    options: ReadOptions,
    note: str = NoteOption,
    by: str = ByOption,
    commits: str = setting("--from-git", "REV..REV", "Record these commits, one entry each, oldest first."),
    stat: bool = StatFlag,
) -> None:
    """Record changes made outside Takeback as an entry. It can be undone like any other.

    `--from-git` turns a git history into entries that can be undone one by one: each commit of the range that changes
    the harness becomes an entry, with its author, subject and hash. The files must be as in the range's last commit.
    Nothing is recorded unless every commit can be read.

    Example: `takeback adopt -m "tuned in an editor"`, `takeback adopt --from-git v1.0..HEAD`
    """
    if commits and note:
        raise InputError("options", found="--note with --from-git", expected="one of them: commits have subjects")
    with options.open() as harness:
        if commits:
            _adopt_commits(harness, options.root, commits)
        adopted = harness.adopt(note, by=by)
        if adopted is not None:
            print_and_exit(adopted, harness, stat=stat)
        _tell_settled(harness)
    answer({"result": "nothing", "entry": None, "changes": []})
    out.print("nothing to adopt: no file differs from the journal")


def _tell_settled(harness: Harness) -> None:
    """Say what was recorded of tracked files by this command, and end; nothing where that is nothing."""
    from takeback.harness.entry_log import view_entry  # noqa: PLC0415 - start-up
    from takeback.present.entries import make_entry_namer, summarize_entry  # noqa: PLC0415 - start-up

    project = harness.adapter.project if isinstance(harness.adapter, FilesAdapter) else None
    if project is None or not project.settled:
        return
    entries = [view_entry(harness, record) for record in project.settled]
    commit_exit_code(0)
    answer({"result": "recorded", "entry": None, "changes": [], "entries": [entry.to_json() for entry in entries]})
    for entry in entries:
        out.print(f"recorded: #{entry.seq}  {summarize_entry(entry, make_entry_namer(harness))}")
    out.print("every command records tracked files, and nothing else was changed")
    raise typer.Exit(0)


def _adopt_commits(harness: Harness, root: Path, commits: str) -> NoReturn:
    from takeback.agents.git import open_git  # noqa: PLC0415 - start-up
    from takeback.agents.git_history import adopt_history  # noqa: PLC0415 - start-up

    history = adopt_history(harness, root, open_git(root, os.environ), commits)
    if isinstance(history, Refused):
        print_and_exit(history, harness)
    commit_exit_code(0)
    entries = [
        {"entry": record.id, "seq": record.entry, "commit": commit.id, "subject": commit.subject}
        for commit, record in history.entries
    ]
    counts = {"skipped": history.skipped, "folded": history.folded, "known": history.known}
    begun = None if history.begun is None else history.begun.id
    answer({"result": "adopted" if entries else "nothing", "entries": entries, "begun": begun, **counts})
    if history.begun is not None:
        out.print(f"#{history.begun.entry}  went back to where the range begins, in the journal only")
    for commit, record in history.entries:
        out.print(f"#{record.entry}  {commit.id[:SHORT]} {commit.subject}")
    out.print(f"adopted {format_count(len(history.entries), 'commit')}")
    for number, why in (
        (history.skipped, "change nothing of the harness"),
        (history.folded, "came with the merge that resolved their conflicts"),
        (history.known, "are in the journal already"),
    ):
        if number:
            out.print(f"  left out: {number} that {why}")
    raise typer.Exit(0)


def discard(
    options: ReadOptions,
    paths: list[str] = argument("PATH", "Files, relative to the workspace; all if left out.", None),
    note: str = NoteOption,
    by: str = AuthorOption,
) -> None:
    """Restore files that were changed outside Takeback, including unreadable files.

    The entry keeps their contents: undoing it brings them back.

    Example: `takeback discard config.toml`
    """
    with options.open() as harness:
        with harness.inspect() as inspection:
            outcome = harness.discard(paths or (), note, by=by)
        if outcome is not None:
            print_and_exit(outcome, harness, looser=weigh_states(harness, inspection.actual, read_actual(harness)))
    answer({"result": "nothing to discard", "entry": None, "paths": []})
    out.print("nothing to discard: no file differs from the journal")
