"""`takeback diff [ENTRY [ENTRY]]`: changes of an entry, between two entries, or made outside Takeback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import typer

from takeback.cli import completion
from takeback.cli.changes import changes_to_json, show_changes, stats_to_json
from takeback.cli.context import DirOption, JournalOption, NoPagerFlag, StatFlag, open_harness, print_left_out
from takeback.cli.outcomes import fault_to_json, show_broken
from takeback.cli.output import JsonFlag, emit, out
from takeback.cli.secrets import RevealFlag
from takeback.harness import Harness
from takeback.harness.adapter import Broken
from takeback.harness.entry_log import diff_states, load_entry_writes, rebuild_state_after, rebuild_state_before
from takeback.harness.entry_names import resolve_entry
from takeback.state import State
from takeback.undo import SlotChange, Write


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("diff")(diff)


def diff(
    entry: str | None = typer.Argument(
        None,
        metavar="ENTRY",
        help="An entry; without one, changes made outside Takeback.",
        autocompletion=completion.offer_entries,
    ),
    other: str | None = typer.Argument(
        None,
        metavar="OTHER",
        help="Another entry: show what differs between the states right after the two.",
        autocompletion=completion.offer_entries,
    ),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    no_pager: bool = NoPagerFlag,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Show what changed. Without an entry: changes made outside Takeback, and files that cannot be read.

    Exit code 0, even if nothing changed; `takeback status` answers whether anything did.

    Example: `takeback diff 3f2a91`, `takeback diff 3f2a91 HEAD --stat`
    """
    del reveal  # read by its callback
    with open_harness(directory, journal, looking=True) as harness:
        harness.require("read")
        changes, before, broken = _find_changes(harness, entry, other)
        named = ",".join(resolve_entry(harness.ledger, name).id for name in (entry, other) if name is not None)
        harness.note_read("diff", named, [change.slot for change in changes])
        if other is not None:
            print_left_out(harness)
        if as_json:
            unread = [fault_to_json(fault) for fault in broken]
            emit({"changes": changes_to_json(changes), "stat": stats_to_json(changes, before), "broken": unread})
            return
        with out.page_output(allowed=not no_pager):
            if changes or stat:
                show_changes(changes, before, stat=stat)
            show_broken(broken)


def _find_changes(
    harness: Harness, entry: str | None, other: str | None
) -> tuple[tuple[SlotChange | Write, ...], Callable[[], State], tuple[Broken, ...]]:
    """Return the changes asked for, how to build the state ahead of them, and the files that cannot be read."""
    if entry is None:
        status = harness.status()
        return status.drift, lambda: harness.state, status.broken
    record = resolve_entry(harness.ledger, entry)
    if other is not None:
        first, last = (
            rebuild_state_after(harness, record) for record in (record, resolve_entry(harness.ledger, other))
        )
        return diff_states(first, last), lambda: first, ()
    changes = () if record.kind == "genesis" else load_entry_writes(harness, record)
    return changes, lambda: rebuild_state_before(harness, record), ()
