"""`takeback log`: what was done, on what evidence, and what became of it, one line per entry."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final

import typer

from takeback.cli import completing
from takeback.cli.changes import changes_json, show_changes, stats_json
from takeback.cli.entries import checked_format, formatted, show_heading, show_line
from takeback.cli.here import here
from takeback.cli.output import JsonFlag, emit, err, out
from takeback.cli.revealing import RevealFlag
from takeback.cli.workspaces import DirOption, JournalOption, NoPagerFlag, opened
from takeback.harness import Harness
from takeback.harness.depends import all_needs
from takeback.harness.log import EntryView, Rewind, changes_of, log
from takeback.present.entries import EntryNamer, summary
from takeback.present.filters import Filter, names_in, read_filter
from takeback.present.graph import DRAWN, PLAIN, direct, lanes

ON_A_TERMINAL: Final = 30
"""Entries shown on a terminal where no number is given; elsewhere, all."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("log")(show_entries)


def show_entries(
    text: str = typer.Argument("", metavar="TEXT", help="Only entries whose line or id contains this."),
    number: int | None = typer.Option(
        None, "--number", "-n", min=0, metavar="N", help="Only the last N; 0 for all. 30 on a terminal."
    ),
    patch: bool = typer.Option(False, "--patch", "-p", help="Show what each entry changed."),
    graph: bool = typer.Option(False, "--graph", help="Draw which entries depend on which, and name them."),
    stat: bool = typer.Option(False, "--stat", help="Show how many lines came and went at each address."),
    surface: str = typer.Option(
        "",
        "--surface",
        metavar="NAME",
        help="Only entries that changed this surface.",
        autocompletion=completing.one_of(completing.surfaces),
    ),
    by: str = typer.Option(
        "",
        "--by",
        metavar="WHO",
        help="Only entries that this person or agent made.",
        autocompletion=completing.people,
    ),
    grade: str = typer.Option(
        "",
        "--grade",
        metavar="GRADE",
        help="Only entries with this evidence, or forced.",
        autocompletion=completing.one_of(completing.GRADES),
    ),
    since: str = typer.Option("", "--since", metavar="TIME", help="Only entries from this time on, or from 2h ago."),
    template: str = typer.Option(
        "", "--format", metavar="TEMPLATE", help="A format for each line, such as '{short} {status} {what}'."
    ),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    no_pager: bool = NoPagerFlag,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """List entries, newest first. An undo says what it took back.

    Fields of a format: id, short, number, at, kind, status, grade, forced, by, note, addresses, what.

    Example: `takeback log --dir agent -n 10`, `takeback log --surface prompts --since 2h -p`,
    `takeback log --graph`
    """
    del reveal  # read by its callback
    wanted = read_filter(text, surface=surface, by=by, grade=grade, since=since)
    checked_format(template)
    with opened(directory, journal, looking=True) as harness:
        named = names_in(harness)
        entries = wanted.admitted(log(harness), named)
        if as_json:
            listed = list(islice(entries, number or None))
            _emit(harness, listed, named, patch=patch, stat=stat, graph=graph)
            return
        limit = number if number is not None else ON_A_TERMINAL if out.is_terminal and wanted == Filter() else 0
        past = Rewind(harness)
        with out.paged(allowed=not no_pager):
            shown = islice(entries, limit or None)
            lines = _graph(harness, list(shown)) if graph else ((entry, "", "") for entry in shown)
            if not template:
                show_heading(len(lines[0][1]) if isinstance(lines, list) and lines else 0)
            found_any = False
            for entry, before, needed in lines:
                found_any = True
                what = summary(entry, named) + needed
                if template:
                    out.print(f"{before}{formatted(template, entry, what)}")
                else:
                    show_line(entry, what, before)
                if (patch or stat) and entry.kind != "genesis":
                    record = harness.journal.get(entry.seq)
                    show_changes(changes_of(harness, record), partial(past.before, record), stat=stat)
                    out.print()
        if not found_any and wanted != Filter():
            err.print(here("no entry passes; 'takeback log' lists all of them"), style="yellow")
        _tell_of_more(entries, given=number)


def _tell_of_more(entries: Iterator[EntryView], *, given: int | None) -> None:
    if given is None and next(entries, None) is not None:
        err.print(here("older entries: 'takeback log -n 0' lists all of them"), style="dim")


def _needs(harness: Harness, entries: list[EntryView]) -> dict[int, set[int]]:
    """What each of the entries that are listed depends on, among them."""
    return all_needs(harness.ledger, (entry.seq for entry in entries if entry.status == "live"))


def _graph(harness: Harness, entries: list[EntryView]) -> list[tuple[EntryView, str, str]]:
    """Entries with their part of the graph, and what they depend on in words."""
    needs = _needs(harness, entries)
    undone = {entry.seq for entry in entries if entry.status in {"undone", "aborted"}}
    drawn = lanes([entry.seq for entry in entries], needs, off=undone, art=DRAWN if out.draws else PLAIN)
    near = {number: ", ".join(f"#{one}" for one in found) for number, found in direct(needs).items()}
    told = [f" (needs {near[entry.seq]})" if entry.seq in near else "" for entry in entries]
    return [(entry, f"{text}  ", needed) for entry, text, needed in zip(entries, drawn, told, strict=True)]


def _emit(
    harness: Harness, entries: list[EntryView], named: EntryNamer, *, patch: bool, stat: bool, graph: bool
) -> None:
    needs, past = _needs(harness, entries) if graph else {}, Rewind(harness)
    found: list[dict[str, object]] = []
    for entry in entries:
        told: dict[str, object] = {**entry.to_json(), "what": summary(entry, named)}
        told |= {"needs": sorted(needs.get(entry.seq, ()))} if graph else {}
        if entry.kind != "genesis" and (patch or stat):
            record = harness.journal.get(entry.seq)
            changes = changes_of(harness, record)
            told |= {"changes": changes_json(changes)} if patch else {}
            told |= {"stat": stats_json(changes, partial(past.before, record))} if stat else {}
        found.append(told)
    emit({"head": harness.ledger.head, "entries": found})
