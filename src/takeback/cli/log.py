"""`takeback log`, `show ENTRY` and `diff [ENTRY]`: what was done, on what evidence, and what became of it."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import typer

from takeback.cli.opening import DirOption, EntryArgument, JournalOption, opened, show_changes, show_log
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.harness.codec import candidate_of, evidence_of
from takeback.harness.log import change_json, changes_of, log, view
from takeback.harness.requests import named_entry
from takeback.undo import SlotChange, Write


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("log")(show_entries)
    app.command("show")(show_entry)
    app.command("diff")(show_diff)


def show_entries(
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    number: int = typer.Option(0, "--number", "-n", min=0, help="Only the last so many entries.", show_default="all"),
    as_json: bool = JsonFlag,
) -> None:
    """List entries, newest first, with their evidence grades.

    Example: `takeback log --dir agent -n 10`
    """
    with opened(directory, journal) as harness:
        entries = list(islice(log(harness), number or None))
        head = harness.ledger.head
    if as_json:
        emit({"head": head, "entries": [entry.to_json() for entry in entries]})
    else:
        show_log(entries)


def show_entry(
    entry: str = EntryArgument,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Show one entry: what it did, its candidate and its evidence.

    Example: `takeback show 3f2a91 --dir agent`
    """
    with opened(directory, journal) as harness:
        record = named_entry(harness.ledger, entry)
        seen = view(harness, record)
        candidate, evidence = candidate_of(harness.journal, record), evidence_of(harness.journal, record)
        changes = () if record.kind == "genesis" else changes_of(harness, record)
    if as_json:
        details = {
            "candidate": candidate,
            "evidence": evidence,
            "changes": [change_json(change) for change in changes],
            "prev": record.prev,
        }
        emit({**seen.to_json(), **details})
        return
    out.print(f"entry {seen.id}", highlight=False)
    out.print(f"{seen.kind} #{seen.seq}, {seen.status}, {seen.at}", highlight=False)
    if seen.grade:
        out.print(f"evidence: {seen.grade}{', FORCED although not admitted' if seen.forced else ''}")
    if seen.note:
        out.print(seen.note, markup=False)
    show_changes(changes)
    if candidate is not None:
        out.print(json.dumps(candidate, ensure_ascii=False, indent=2), markup=False)


def show_diff(
    entry: str | None = typer.Argument(None, metavar="[ENTRY]", help="An entry; without one, changes made by hand."),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Show what an entry changed, or without one what was changed behind Takeback's back. 1 if there is nothing.

    Example: `takeback diff 3f2a91 --dir agent`
    """
    changes: tuple[SlotChange | Write, ...]
    with opened(directory, journal) as harness:
        if entry is None:
            changes = harness.status().drift
        else:
            record = named_entry(harness.ledger, entry)
            changes = () if record.kind == "genesis" else changes_of(harness, record)
    if as_json:
        emit({"changes": [change_json(change) for change in changes]})
    else:
        show_changes(changes)
    finish(yes=bool(changes))
