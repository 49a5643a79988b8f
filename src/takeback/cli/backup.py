"""`takeback backup` and `takeback restore-journal`: a copy of the journal, and an older journal put in place."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import typer

from takeback.adapters import open_workspace
from takeback.adapters.doctor import JournalReturn, back_up_journal, plan_return, return_journal
from takeback.adapters.manifest import find_root
from takeback.cli.changes import changes_to_json
from takeback.cli.context import SHORT, DirOption, JournalOption, find_key_file
from takeback.cli.hints import localize_hints, remember_directory
from takeback.cli.output import JsonFlag, commit_exit_code, emit, err, finish, out
from takeback.harness.outcomes import Status
from takeback.state.slots import describe_slot

SHOWN = 20
"""How many entries and addresses are listed at most."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("backup")(backup)
    app.command("restore-journal")(restore_journal)


def backup(
    target: Path = typer.Argument(..., metavar="FILE", help="The new file to write."),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Copy the journal to a file, even while it is in use, and check the copy.

    The backup is a SQLite file, even if the journal is in PostgreSQL. Only its owner can read it, because it contains
    captured contents. It does not contain the keys of a sealed journal, and every PostgreSQL journal is sealed: keep
    a copy of `.takeback/journal.keys` elsewhere. `takeback restore-journal FILE` restores a backup.

    Example: `takeback backup ../journal-monday.db`
    """
    remember_directory(directory)
    made = back_up_journal(find_root(directory), target, journal, find_key_file())
    commit_exit_code(0)
    if as_json:
        emit({"file": str(made.path), "records": made.records, "head": made.head})
        return
    out.print(f"{made.path}: {made.records} records, head {made.head[:SHORT]}, read back and intact")


def restore_journal(
    source: Path | None = typer.Argument(
        None,
        metavar="FILE",
        help="A backup; without one, the journal in place is accepted as it is.",
        show_default=False,
    ),
    yes: bool = typer.Option(False, "--yes", help="Do it; otherwise only show what would be lost."),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Replace the journal with a backup, or accept the journal as it is.

    Entries it does not have are lost, and are listed first. The replaced journal is kept beside it, in PostgreSQL as
    a schema of another name. No file of the harness is changed: differences from the older journal appear as changes
    made outside Takeback.

    Example: `takeback restore-journal ../journal-monday.db --yes`
    """
    remember_directory(directory)
    root = find_root(directory)
    outcome = (return_journal if yes else plan_return)(root, source, journal, find_key_file())
    status: Status | None = None
    if outcome.done:
        commit_exit_code(0)
        with closing(open_workspace(root, journal=journal, keys=find_key_file(), hold=False)) as harness:
            status = harness.status()
    if as_json:
        emit(_to_json(outcome, status))
    else:
        _show(outcome, status)
    finish(yes=True)


def _to_json(outcome: JournalReturn, status: Status | None) -> dict[str, Any]:
    return {
        "done": outcome.done,
        "records": outcome.last,
        "head": outcome.head,
        "lost": [
            {"seq": record.entry, "id": record.id, "kind": record.kind, "at": record.created_at}
            for record in outcome.lost
        ],
        "unknown": outcome.unknown or None,
        "forgotten_since": outcome.forgotten,
        "aside": None if outcome.aside is None else str(outcome.aside),
        "drift": None if status is None else changes_to_json(status.drift),
    }


def _show(outcome: JournalReturn, status: Status | None) -> None:
    would = "" if outcome.done else "would be "
    for record in outcome.lost[:SHOWN]:
        out.print(f"  {would}lost: #{record.entry} {record.id[:SHORT]} {record.kind} of {record.created_at[:19]}")
    if len(outcome.lost) > SHOWN:
        out.print(f"  … and {len(outcome.lost) - SHOWN} more entries")
    if outcome.unknown:
        err.print(f"what would be lost is uncertain: {outcome.unknown}", style="yellow")
    if outcome.forgotten:
        err.print("contents that were forgotten since the backup are still in it, and would return", style="yellow")
    ends = f"at record {outcome.last}, head {outcome.head[:SHORT]}"
    if not outcome.done:
        out.print(localize_hints(f"with --yes the journal would end {ends}; nothing was changed"))
        return
    out.print(f"the journal ends {ends}")
    if outcome.aside is not None:
        out.print(f"the replaced journal is kept as {outcome.aside}")
    if status is not None and status.drift:
        out.print(localize_hints("the files were not changed; they differ from the journal in:"))
        for change in status.drift[:SHOWN]:
            out.print(f"  {describe_slot(change.slot)}")
        out.print(localize_hints("'takeback adopt' records that as an entry, 'takeback discard' restores the files"))
