"""`takeback audit`: who read which contents, from the chain beside the journal."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import typer

from takeback.adapters.manifest import find_root
from takeback.adapters.opener import find_audit_anchor
from takeback.cli.context import SHORT, DirOption, JournalOption, open_harness
from takeback.cli.output import JsonFlag, emit, err, finish, out
from takeback.errors import InputError
from takeback.govern.audit import AuditChain, ReadNote
from takeback.harness.entry_names import read_time

COLUMNS: Final = ("seq", "at", "who", "way", "entry", "slots", "more")
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for a formula at the beginning of a cell."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("audit")(audit)


def audit(
    since: str = typer.Option("", "--since", metavar="TIME", help="Only reads from this time on, or from 30d ago."),
    as_csv: bool = typer.Option(False, "--csv", help="Print comma-separated values with a heading."),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """List who read which contents, oldest first, if the policy records reads.

    A line names the time, the kind of read, the entry and the slots, never their contents. Reads are recorded if
    `.takeback/policy.toml` has `[audit]` with `reads = true`. Exit code 1 if the chain of these records was altered,
    cut or started over; readable records are listed anyway.

    Example: `takeback audit --since 30d --csv`
    """
    if as_csv and as_json:
        raise InputError("audit", found="--csv and --json", expected="one of them")
    start = read_time(since, datetime.now(UTC), "--since") if since else None
    with open_harness(directory, journal, looking=True) as harness:
        harness.require("read")
    root = find_root(directory)
    report = AuditChain(root, find_audit_anchor(root)).examine()
    notes = [note for note in report.notes if start is None or _is_since(note, start)]
    if as_json:
        emit({"whole": not report.faults, "faults": list(report.faults), "reads": [note.to_json() for note in notes]})
    elif as_csv:
        typer.echo(_write_csv(notes), nl=False)
    else:
        for note in notes:
            what = f"{note.way} {note.entry[:SHORT]}".rstrip()
            more = f" and {note.more} more" if note.more else ""
            out.print(f"{note.at}  {note.who}  {what}  {', '.join(note.slots)}{more}")
    if not notes and not (as_json or as_csv):
        err.print(f"no reads are recorded{' since then' if report.notes else ''}")
        if not report.notes:
            err.print(
                "  reads are recorded if .takeback/policy.toml has [audit] with reads = true",
                style="cyan",
                markup=False,
            )
    if not as_json:
        for fault in report.faults:
            err.print(f"the chain of reads is damaged: {fault}", style="yellow")
    finish(yes=not report.faults)


def _is_since(note: ReadNote, start: datetime) -> bool:
    """Whether a read was noted from a time on; one whose time cannot be read is listed too."""
    try:
        at = datetime.fromisoformat(note.at)
    except ValueError:
        return True
    return (at if at.tzinfo else at.replace(tzinfo=UTC)) >= start


def _write_csv(notes: list[ReadNote]) -> str:
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(COLUMNS)
    for note in notes:
        cells = (note.seq, note.at, note.who, note.way, note.entry, "\n".join(note.slots), note.more)
        rows.writerow([f"'{cell}" if str(cell).startswith(FORMULA) else cell for cell in cells])
    return written.getvalue()
