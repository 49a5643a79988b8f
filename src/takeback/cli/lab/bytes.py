"""`takeback lab bytes`: every kind of change to every file of a corpus of odd formatting, applied and taken back."""

from __future__ import annotations

import typer
from rich.progress import Progress

from takeback.cli.output import JsonFlag, emit, err, finish, out
from takeback.lab.experiments import bytes as experiment

NAME = "bytes"


def register(lab_app: typer.Typer) -> None:
    """Add the command."""
    lab_app.command(NAME)(bytes_)


def bytes_(
    files: int | None = typer.Option(None, "--files", min=1, help="Only the first files of the corpus."),
    as_json: bool = JsonFlag,
) -> None:
    """Apply and undo every kind of change to hand-written files, and compare their bytes. 1 if any differs.

    Example: `takeback lab bytes --json`
    """
    chosen = experiment.corpus()[:files]
    with Progress(console=err.console) as bar:
        task = bar.add_task(NAME, total=len(chosen))
        found = experiment.run(chosen, progress=lambda done: bar.update(task, completed=done))
    if as_json:
        emit(found.to_json())
    else:
        out.print(
            f"{found.files} files, {found.of} changes: {found.untouched} left every other byte alone, "
            f"{found.identical} gave back every byte when undone"
        )
        for text in found.examples[:5]:
            out.print(f"  ! {text}")
    finish(yes=found.hold)
