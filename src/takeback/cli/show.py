"""`takeback show ENTRY`: one entry, whole."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.canonical import pretty
from takeback.cli.changes import changes_json, show_changes
from takeback.cli.output import JsonFlag, emit, out
from takeback.cli.plans import SEVERAL
from takeback.cli.revealing import RevealFlag
from takeback.cli.workspaces import (
    DirOption,
    EntryArgument,
    JournalOption,
    NoPagerFlag,
    StatFlag,
    opened,
    tell_left_out,
)
from takeback.harness.codec import candidate_of, evidence_of
from takeback.harness.log import changes_of, state_after, state_before, view
from takeback.harness.toggle_requests import named_entry
from takeback.present.entries import check_words, summary
from takeback.present.filters import names_in
from takeback.present.secrets import is_revealing, masked


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("show")(show)


def show(
    entry: str = EntryArgument,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    state: bool = typer.Option(False, "--state", help="Show the whole state right after it instead."),
    stat: bool = StatFlag,
    no_pager: bool = NoPagerFlag,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Show one entry: what it changed, its candidate and its evidence.

    Example: `takeback show 3f2a91 --dir agent`, `takeback show HEAD~2 --state`
    """
    del reveal  # read by its callback
    with opened(directory, journal, looking=True) as harness:
        record = named_entry(harness.ledger, entry)
        seen = view(harness, record)
        changes = () if record.kind == "genesis" else changes_of(harness, record)
        what = summary(seen, names_in(harness))
        whole = state_after(harness, record).write() if state else None
        if state:
            tell_left_out(harness)
        candidate, evidence = candidate_of(harness.journal, record), evidence_of(harness.journal, record)
        if as_json:
            details = {"what": what, "candidate": candidate, "evidence": evidence, "changes": changes_json(changes)}
            emit({**seen.to_json(), **details, "prev": record.prev, **({} if whole is None else {"state": whole})})
            return
        with out.paged(allowed=not no_pager):
            out.print(f"entry {seen.id}", style="bold")
            out.print(f"{seen.kind} #{seen.seq}, {seen.status}, {seen.at}{f', by {seen.by}' if seen.by else ''}")
            if seen.grade:
                out.print(f"evidence: {seen.grade}{', FORCED although not admitted' if seen.forced else ''}")
            if seen.origin:
                out.print(f"recorded from: {', '.join(f'{key} {value}' for key, value in seen.origin.items())}")
            if seen.check is not None:
                out.print(f"check: {check_words(seen.check)}")
            out.print(seen.note or what)
            if whole is not None:
                out.print(pretty(whole if is_revealing() else masked(whole)))
                return
            for address in seen.ambiguous:
                out.print(f"note: what was done to {address} {SEVERAL}", style="yellow")
            show_changes(changes, lambda: state_before(harness, record), stat=stat)
            if candidate is not None:
                out.print("candidate:")
                out.print(pretty(candidate if is_revealing() else masked(candidate)))
