"""`takeback export`: the state after any entry, as `init --state` reads it."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.cli import completion
from takeback.cli.context import DirOption, JournalOption, open_harness, print_left_out
from takeback.cli.output import JsonFlag, emit
from takeback.cli.secrets import RevealFlag
from takeback.harness.entry_log import rebuild_state_after
from takeback.harness.entry_names import resolve_entry


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export)


def export(
    at: str = typer.Option(
        "HEAD",
        "--at",
        metavar="ENTRY",
        help="After which entry: its number, id, HEAD~N or @{TIME}.",
        autocompletion=completion.offer_entries,
    ),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Print the state as it was right after an entry. It is JSON, with or without `--json`.

    You can begin another workspace with it. Secrets are masked, and a state with masked values cannot begin a
    workspace: use `--reveal` for that.

    Example: `takeback export --at HEAD~2 --reveal > state.json`, `takeback init copy --state state.json`
    """
    del as_json, reveal
    with open_harness(directory, journal, looking=True) as harness:
        record = resolve_entry(harness.ledger, at)
        harness.note_read("export", record.id)
        state = rebuild_state_after(harness, record)
        print_left_out(harness)
        emit(state.write(), exact=True)
