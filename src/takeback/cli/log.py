"""`takeback log`: what was done, on what evidence, and what became of it, one line per entry."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import typer

from takeback.cli.changes import changes_json, show_changes
from takeback.cli.entries import checked_format, formatted, show_heading, show_line
from takeback.cli.output import JsonFlag, emit, err, out
from takeback.cli.workspaces import DirOption, JournalOption, NoPagerFlag, opened
from takeback.harness import Harness
from takeback.harness.log import EntryView, Rewind, changes_of, log
from takeback.present.entries import EntryNamer, summary
from takeback.present.filters import Filter, names_in, read_filter

ON_A_TERMINAL: Final = 30
"""Entries shown on a terminal where no number is given; elsewhere, all."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("log")(show_entries)


def show_entries(
    text: str = typer.Argument("", metavar="TEXT", help="Only entries that have this in their line or id."),
    number: int | None = typer.Option(
        None, "--number", "-n", min=0, metavar="N", help="Only the last so many; 0 for all. 30 on a terminal."
    ),
    patch: bool = typer.Option(False, "--patch", "-p", help="Show what each entry changed."),
    stat: bool = typer.Option(False, "--stat", help="Show how many lines came and went at each address."),
    surface: str = typer.Option("", "--surface", metavar="NAME", help="Only entries that changed this surface."),
    by: str = typer.Option("", "--by", metavar="WHO", help="Only entries that this person or agent made."),
    grade: str = typer.Option("", "--grade", metavar="GRADE", help="Only entries with this evidence, or forced."),
    since: str = typer.Option("", "--since", metavar="TIME", help="Only entries from this time on, or from 2h ago."),
    template: str = typer.Option(
        "", "--format", metavar="TEMPLATE", help="A line of one's own, such as '{short} {status} {what}'."
    ),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    no_pager: bool = NoPagerFlag,
    as_json: bool = JsonFlag,
) -> None:
    """List entries, newest first. An undo says what it took back.

    Fields of a format: id, short, number, at, kind, status, grade, forced, by, note, addresses, what.

    Example: `takeback log --dir agent -n 10`, `takeback log --surface prompts --since 2h -p`
    """
    wanted = read_filter(text, surface=surface, by=by, grade=grade, since=since)
    checked_format(template)
    with opened(directory, journal) as harness:
        named = names_in(harness)
        entries = wanted.admitted(log(harness), named)
        if as_json:
            found = [_json(harness, entry, named, patch=patch) for entry in islice(entries, number or None)]
            emit({"head": harness.ledger.head, "entries": found})
            return
        limit = number if number is not None else ON_A_TERMINAL if out.is_terminal and wanted == Filter() else 0
        past = Rewind(harness)
        with out.paged(allowed=not no_pager):
            if not template:
                show_heading()
            for entry in islice(entries, limit or None):
                what = summary(entry, named)
                if template:
                    out.print(formatted(template, entry, what))
                else:
                    show_line(entry, what)
                if (patch or stat) and entry.kind != "genesis":
                    record = harness.journal.get(entry.seq)
                    show_changes(changes_of(harness, record), partial(past.before, record), stat=stat)
                    out.print()
        _tell_of_more(entries, given=number)


def _tell_of_more(entries: Iterator[EntryView], *, given: int | None) -> None:
    if given is None and next(entries, None) is not None:
        err.print("older entries: 'takeback log -n 0' lists all of them", style="dim")


def _json(harness: Harness, entry: EntryView, named: EntryNamer, *, patch: bool) -> dict[str, object]:
    told = {**entry.to_json(), "what": summary(entry, named)}
    if patch and entry.kind != "genesis":
        told["changes"] = changes_json(changes_of(harness, harness.journal.get(entry.seq)))
    return told
