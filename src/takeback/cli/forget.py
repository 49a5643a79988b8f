"""`takeback forget ENTRY...`: delete what entries captured, for good."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli.output import JsonFlag, emit, out
from takeback.cli.workspaces import SHORT, DirOption, EntriesArgument, JournalOption, opened
from takeback.errors import InputError
from takeback.harness.requests import named_entry


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("forget")(forget)


def forget(
    entries: list[str] | None = EntriesArgument,
    yes: bool = typer.Option(False, "--yes", help="Do it: what is forgotten cannot be had back."),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Delete the contents that entries captured, such as secrets, for good. They stay in the log.

    An undo that needs what is gone says so, and `undo --salvage` puts back what is left of it.
    Example: `takeback forget 3f2a91 --yes --dir agent`
    """
    if not entries:
        raise InputError("forget", found="no entry", expected="at least one; 'takeback log' lists them")
    if not yes:
        raise InputError("forget", found="no --yes", expected="--yes: what is forgotten cannot be had back")
    with opened(directory, journal) as harness:
        ids = [named_entry(harness.ledger, name).id for name in entries]
        record = harness.forget(*entries)
    if as_json:
        emit({"forgotten": ids, "record": record.id})
    else:
        out.print(f"forgotten for good: what {', '.join(name[:SHORT] for name in ids)} captured")
