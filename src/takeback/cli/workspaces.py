"""What the everyday commands share: options that name a workspace and its entries, and opening one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from takeback.adapters import open_workspace
from takeback.adapters.manifest import find_root
from takeback.cli import completing
from takeback.cli.here import here, line
from takeback.cli.here import told as told_directory
from takeback.cli.output import err, when_interrupted
from takeback.errors import UntrustedError
from takeback.harness import Harness
from takeback.harness.missing import left_out

SHORT = 10
SHORT_NUMBERS = 1000
"""Numbers below this have fewer digits than the beginning of an id that is taken for a name."""

DirOption = typer.Option(Path(), "--dir", "-C", metavar="DIR", help="The workspace.", show_default="here")
JournalOption = typer.Option(
    None, "--journal", envvar="TAKEBACK_JOURNAL", metavar="PATH|URL", help="Use this journal, not the manifest's."
)
EntryArgument = typer.Argument(
    ...,
    metavar="ENTRY",
    help="An entry: its number, the beginning of its id, HEAD~N or @{TIME}.",
    show_default=False,
    autocompletion=completing.entries,
)
NoteOption = typer.Option("", "--note", "-m", metavar="TEXT", help="Say why, for the log.")
ByOption = typer.Option(
    "",
    "--by",
    envvar="TAKEBACK_BY",
    metavar="WHO",
    help="Say who makes the change, for the log.",
    autocompletion=completing.people,
)
AuthorOption = typer.Option(
    "",
    "--by",
    envvar=["TAKEBACK_BY", "USER"],
    metavar="WHO",
    help="Say who makes the change, for the log.",
    autocompletion=completing.people,
)
"""For changes that whoever types the command makes; what others made, or a program, has `ByOption`."""
StatFlag = typer.Option(False, "--stat", help="Show only how many lines came and went at each address.")
PlanFlag = typer.Option(False, "--plan", help="Only show what it would do.")
NoPagerFlag = typer.Option(False, "--no-pager", help="Print long output directly, even on a terminal.")


def entries_argument(completion: completing.Completion) -> Any:
    """Entries that a command takes, with those that the shell offers."""
    return typer.Argument(
        None,
        metavar="ENTRY",
        help="Entries: numbers, beginnings of ids, HEAD~N or @{TIME}.",
        show_default=False,
        autocompletion=completion,
    )


def name_for_shell(number: int, identity: str) -> str:
    """Return the name of an entry that no shell changes and that means no other entry."""
    return str(number) if number < SHORT_NUMBERS else identity[:SHORT]


def key_file() -> str | None:
    """Where TAKEBACK_KEYS says that the keys of a sealed journal are."""
    return os.environ.get("TAKEBACK_KEYS") or None


@contextmanager
def opened(directory: Path, journal: str | None, *, hold: bool = False, looking: bool = False) -> Iterator[Harness]:
    """The workspace, opened; what recovery had to finish is told.

    One that is not trusted is refused, unless the command is only `looking`: then nothing of it is acted on.
    """
    told_directory(directory)
    root = find_root(directory)
    try:
        harness = open_workspace(root, journal=journal, keys=key_file(), hold=hold)
    except UntrustedError as fault:
        if not looking:
            raise
        harness = open_workspace(root, journal=journal, keys=key_file(), hold=False, readonly=True)
        err.print(f"{fault.message}: it is only shown", style="yellow")
        err.print(f"  {fault.hint}", style="cyan")
    try:
        told = harness.recovered
        if told.fault:
            err.print(f"a change that a killed process left under way could not be finished: {told.fault}")
        elif told.entry is not None:
            done = "gave up" if told.given_up else "finished"
            err.print(f"{done} entry {told.entry.id[:SHORT]}, which a killed process had left under way")
        if harness.doubt:
            err.print(here(harness.doubt), style="yellow")
        before = harness.ledger.last
        try:
            yield harness
        except KeyboardInterrupt:
            when_interrupted(_left(harness, before))
            raise
    finally:
        harness.close()


def tell_left_out(harness: Harness) -> None:
    """Say which surfaces are not in a state that is shown, because they are not installed."""
    told = left_out(harness.ledger.missing)
    if told:
        err.print(told, style="yellow")


def _left(harness: Harness, before: int) -> str:
    """What is so when a command is interrupted that opened a workspace whose journal went up to `before`."""
    ledger = harness.ledger
    if ledger.pending is not None:
        return f"a change was under way: the next command finishes it, or {line('recover')}"
    if ledger.last == before:
        return "nothing was changed; the same command can be given again"
    entry = next(ledger.entries())
    undo = line("undo", entry.id[:SHORT])
    return f"entry {entry.id[:SHORT]} was made, and is whole; to take it back: {undo}"
