"""`takeback lab relock`: recorded runs replayed under today's sources, compared, and locked anew."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

import typer

from takeback.cli.output import JsonFlag, emit, finish, out, show_bar
from takeback_lab.commands.lab.extra import lab_extra

RecordedFolder = typer.Argument(..., metavar="DIR", help="A folder with frozen recordings at or below it.")
RelockOutOption = typer.Option(
    None, "--out", metavar="DIR", help="Results folder for locks and runs; DIR if left out."
)
AcceptFlag = typer.Option(False, "--accept-changes", help="Write also what comes out otherwise than before.")


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command("relock")(relock)


def relock(
    folder: Path = RecordedFolder,
    results: Path | None = RelockOutOption,
    accept: bool = AcceptFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Replay recorded runs without a model, and lock them under today's sources if they come out as before.

    Asks nobody. Old locks are kept beside the new ones, earlier results in superseded/. What the answers were made
    with (weights, runtime) stays as it was locked. A run that comes out otherwise, or asks for what was not recorded,
    is left as it is.

    Example: `takeback lab relock results/v4`
    """
    with lab_extra():
        from takeback_lab.relocking import relock_recording, sort_recordings  # noqa: PLC0415 - loads statistics

        told = []
        for one in sort_recordings(folder):
            with show_bar(one.name) as tick, redirect_stdout(sys.stderr):
                told.append(relock_recording(one, results or folder, accept=accept, tick=tick))
    if as_json:
        emit({"recordings": [one.to_json() for one in told]})
        finish(yes=not any(one.is_left for one in told))
    for relocked in told:
        before = "as before" if relocked.compared else "with no earlier result to compare"
        what = f"changed: {', '.join(relocked.sources)}" if relocked.sources else "nothing changed"
        if relocked.left:
            out.print(f"{relocked.folder}: left under {relocked.old[:16]}: {relocked.left}")
            for name in relocked.changed:
                out.print(f"  {name}")
        else:
            came = f"{len(relocked.changed)} outcomes changed" if relocked.changed else before
            out.print(f"{relocked.folder}: {relocked.units} units replayed, {came}; {what}")
            out.print(f"  lock {relocked.old[:16]} -> {relocked.new[:16]}")
    out.print(f"{sum(not one.left for one in told)} of {len(told)} recordings locked")
    finish(yes=not any(one.is_left for one in told))
