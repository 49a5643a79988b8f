"""`takeback hook`: the guard and recorder that clients call."""

from __future__ import annotations

import typer

from takeback.agents.hook_events import CLIENTS
from takeback.cli.hook_answer import answer_hook
from takeback.cli.output import JsonFlag
from takeback.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("hook")(hook)


def hook(
    client: str = typer.Argument(
        CLIENTS[0], metavar="CLIENT", help=f"The client: {', '.join(CLIENTS)}.", show_default=True
    ),
    as_json: bool = JsonFlag,
) -> None:
    """Answer a client's hook: guard harness files before an edit, record what changed after it.

    Reads the hook's JSON on standard input, and answers in the client's own protocol; with or without `--json` that
    is what it prints. `takeback install` enters it in a client's settings.

    Exit code 2 blocks the edit, with the reason on standard error, in clients that take no JSON.

    Example: `takeback hook claude-code < event.json`
    """
    del as_json
    if client not in CLIENTS:
        raise InputError("client", found=client, expected=f"one of {', '.join(CLIENTS)}")
    raise typer.Exit(answer_hook(client))
