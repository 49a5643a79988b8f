"""`takeback diff [ENTRY [ENTRY]]`: what an entry changed, what differs between two, what was changed by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import typer

from takeback.cli import completing
from takeback.cli.changes import changes_json, show_changes, stats_json
from takeback.cli.outcomes import broken_json, show_broken
from takeback.cli.output import JsonFlag, emit, out
from takeback.cli.revealing import RevealFlag
from takeback.cli.workspaces import DirOption, JournalOption, NoPagerFlag, StatFlag, opened, tell_left_out
from takeback.harness import Harness
from takeback.harness.adapter import Broken
from takeback.harness.log import changes_between, changes_of, state_after, state_before
from takeback.harness.toggle_requests import named_entry
from takeback.state import State
from takeback.undo import SlotChange, Write


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diff")(diff)


def diff(
    entry: str | None = typer.Argument(
        None,
        metavar="ENTRY",
        help="An entry; without one, changes made behind Takeback's back.",
        autocompletion=completing.entries,
    ),
    other: str | None = typer.Argument(
        None,
        metavar="OTHER",
        help="Another entry: show what differs between the states right after the two.",
        autocompletion=completing.entries,
    ),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    no_pager: bool = NoPagerFlag,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Show what changed. Without an entry: what was changed behind Takeback's back, and which files cannot be read.

    Exit code 0, even if nothing changed; `takeback status` answers whether anything did.

    Example: `takeback diff 3f2a91 --dir agent`, `takeback diff 3f2a91 HEAD --stat`
    """
    del reveal  # read by its callback
    with opened(directory, journal, looking=True) as harness:
        changes, before, broken = _changes(harness, entry, other)
        if other is not None:
            tell_left_out(harness)
        if as_json:
            unread = [broken_json(fault) for fault in broken]
            emit({"changes": changes_json(changes), "stat": stats_json(changes, before), "broken": unread})
            return
        with out.paged(allowed=not no_pager):
            if changes or stat:
                show_changes(changes, before, stat=stat)
            show_broken(broken)


def _changes(
    harness: Harness, entry: str | None, other: str | None
) -> tuple[tuple[SlotChange | Write, ...], Callable[[], State], tuple[Broken, ...]]:
    """What is asked for, how to work out the state ahead of it, and the files that hide what was changed in them."""
    if entry is None:
        found = harness.status()
        return found.drift, lambda: harness.state, found.broken
    record = named_entry(harness.ledger, entry)
    if other is not None:
        first, last = (state_after(harness, one) for one in (record, named_entry(harness.ledger, other)))
        return changes_between(first, last), lambda: first, ()
    changes = () if record.kind == "genesis" else changes_of(harness, record)
    return changes, lambda: state_before(harness, record), ()
