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
    """Answer a client's hook: guard harness files before an edit, record the change after it.

    It reads the hook's JSON from standard input and answers in the client's own protocol, with or without `--json`.
    `takeback install` adds it to a client's settings. In clients that take no JSON, exit code 2 blocks the edit, with
    the reason on standard error.

    Example: `takeback hook claude-code < event.json`
    """
    del as_json
    if client not in CLIENTS:
        raise InputError("client", found=client, expected=f"one of {', '.join(CLIENTS)}")
    raise typer.Exit(answer_hook(client))
