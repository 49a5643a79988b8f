"""`takeback init DIR`: make a directory a workspace."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.adapters.workspace.init import make_workspace
from takeback.cli.inputs import read_state
from takeback.cli.output import JsonFlag, emit, out, settle
from takeback.cli.workspaces import JournalOption, key_file, opened


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("init")(init)


def init(
    context: typer.Context,
    directory: Path = typer.Argument(..., metavar="DIR", help="The directory; made if it is not there."),
    state: Path | None = typer.Option(None, "--state", metavar="FILE", help="Begin with this state, as JSON."),
    journal: str | None = JournalOption,
    seal: bool = typer.Option(
        False, "--seal", help="Encrypt captured contents, each under a key of its own, as always on PostgreSQL."
    ),
    as_json: bool = JsonFlag,
) -> None:
    """Make a directory a workspace. It gets a file or folder for each surface, a manifest, and a journal.

    Files that are there already are taken as they are, and so is a workspace. The manifest names the journal, but
    never a password: give a URL that has one in TAKEBACK_JOURNAL. A sealed journal's keys are in
    .takeback/journal.keys, or where TAKEBACK_KEYS says.

    Example: `takeback init agent`
    """
    start = None if state is None else read_state(state)
    source = context.get_parameter_source("journal")
    secret = source is not None and source.name == "ENVIRONMENT"
    root, fresh = make_workspace(directory, journal=journal, start=start, secret=secret, seal=seal, keys=key_file())
    with opened(root, journal) as harness:
        payload = {
            "workspace": str(root),
            "created": fresh,
            "head": harness.ledger.head,
            "entries": harness.state.size(),
        }
    settle(0)
    if as_json:
        emit(payload)
    else:
        was = "is" if fresh else "is already"
        out.print(f"{root} {was} a workspace with {payload['entries']} things in it")
