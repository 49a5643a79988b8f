"""`takeback install` and `uninstall`: hooks, server and skill in a client's files, as one change."""

from __future__ import annotations

from pathlib import Path

import typer

from takeback.adapters.clients.init import init_clients
from takeback.adapters.manifest import find_root, manifest_path
from takeback.adapters.open_by_manifest import manifest_of
from takeback.agents.events import CLIENTS
from takeback.agents.installing import BY, additions, candidate_of, installed, note_of
from takeback.cli.completing import one_of
from takeback.cli.outcomes import conclude
from takeback.cli.output import JsonFlag, emit, out
from takeback.cli.program_words import own_program
from takeback.cli.workspaces import DirOption, JournalOption, PlanFlag, StatFlag, opened
from takeback.errors import InputError

ClientArgument = typer.Argument(
    ...,
    metavar="CLIENT",
    help=f"One of {', '.join(CLIENTS)}.",
    show_default=False,
    autocompletion=one_of(dict.fromkeys(CLIENTS, "")),
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("install")(install)
    app.command("uninstall")(uninstall)


def install(
    client: str = ClientArgument,
    plan: bool = PlanFlag,
    command: str = typer.Option(
        "", "--command", metavar="PATH", help="The program that the client starts.", show_default="takeback"
    ),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Add Takeback's hooks, server and skill to a client's files, as one change.

    A directory that is not yet under Takeback's care is put under it first. `takeback uninstall` takes the change
    back byte for byte.

    Example: `takeback install claude-code`
    """
    _demand_client(client)
    root = find_root(directory)
    if manifest_path(root) is None or client not in manifest_of(root).workspace.kinds:
        init_clients(root, (client,), journal=journal)
    with opened(root, journal) as harness:
        there = installed(harness, client)
        if there is not None:
            _say({"result": "nothing", "entry": there.id}, f"installed already, by #{there.seq}", as_json=as_json)
        kinds = manifest_of(root).workspace.kinds
        ops = additions(client, kinds, harness.state, [command] if command else own_program())
        candidate = candidate_of(ops, harness.state)
        if plan:
            conclude(harness.preview(candidate), harness, as_json=as_json, stat=stat)
        outcome = harness.apply(candidate, note=note_of(client), by=BY)
        conclude(outcome, harness, as_json=as_json, stat=stat)


def uninstall(
    client: str = ClientArgument,
    plan: bool = PlanFlag,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Take back what `takeback install` added to a client's files. Changes made since stay.

    Example: `takeback uninstall claude-code`
    """
    _demand_client(client)
    with opened(directory, journal) as harness:
        there = installed(harness, client)
        if there is None:
            raise InputError("client", found=f"{client}, for which nothing is installed", expected="one that has it")
        outcome = harness.plan_undo(there.id) if plan else harness.undo(there.id)
        conclude(outcome, harness, as_json=as_json, stat=stat)


def _demand_client(client: str) -> None:
    if client not in CLIENTS:
        raise InputError("client", found=client, expected=f"one of {', '.join(CLIENTS)}")


def _say(answer: dict[str, object], text: str, *, as_json: bool) -> None:
    if as_json:
        emit(answer)
    else:
        out.print(text)
    raise typer.Exit(0)
