"""`takeback install` and `uninstall`: hooks, server and skill in a client's files, as one change."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import typer

from takeback.adapters.clients.init import init_clients
from takeback.adapters.manifest import find_root, manifest_path
from takeback.adapters.open_by_manifest import manifest_of
from takeback.adapters.trust_gate import demand_trusted
from takeback.agents.events import CLIENTS
from takeback.agents.git.running import git_in
from takeback.agents.installing import (
    BY,
    Placing,
    additions,
    candidate_of,
    demand_private,
    installed,
    note_of,
    start_of,
    warn_of_commits,
)
from takeback.agents.own_traces import find_hooks, find_plugins, list_removals
from takeback.cli.completing import one_of
from takeback.cli.outcomes import conclude, exit_code
from takeback.cli.output import JsonFlag, emit, err, out
from takeback.cli.program_words import own_program
from takeback.cli.workspaces import SHORT, DirOption, JournalOption, PlanFlag, StatFlag, opened
from takeback.errors import InputError
from takeback.harness import Harness, Undone

NO_SERVER = "the server needs more: pip install 'takeback[mcp]'; without it the client cannot start it"
PRIVATE = "the server and the skill stand in files that others get too: --shared adds them"
FOR_YOURSELF = {"claude-code": "; for yourself: claude mcp add --scope local takeback -- takeback serve"}
ClientArgument = typer.Argument(
    ...,
    metavar="CLIENT",
    help=f"One of {', '.join(CLIENTS)}.",
    show_default=False,
    autocompletion=one_of(dict.fromkeys(CLIENTS, "")),
)
SharedFlag = typer.Option(
    False, "--shared", help="Into files that others get too; where takeback is missing they let every edit pass."
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("install")(install)
    app.command("uninstall")(uninstall)


def install(
    client: str = ClientArgument,
    shared: bool = SharedFlag,
    plan: bool = PlanFlag,
    command: str = typer.Option(
        "", "--command", metavar="PATH", help="The program that the client starts.", show_default="takeback"
    ),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Add Takeback's hooks to a file that others do not get, as one change.

    That is `.claude/settings.local.json` for Claude Code. The other clients have no such file: their hooks go into
    `.codex/hooks.json`, `.gemini/settings.json` or `.opencode/plugins/takeback.js` where git does not track it, and
    let every edit pass on a machine without takeback, should it be committed one day. Where git tracks it, others
    would get them, and `--shared` is needed. With `--shared` the hooks go into the settings that others get too,
    with the server and the skill, and let every edit pass on a machine without takeback. What is there already is
    not added again. A directory that is not yet under Takeback's care is put under it first. `takeback uninstall`
    takes the change back byte for byte.

    Example: `takeback install claude-code`, `takeback install gemini --shared`
    """
    _demand_client(client)
    root = find_root(directory)
    known = manifest_path(root) is not None
    if known:
        demand_trusted(root, manifest_of(root))
    user = known and manifest_of(root).workspace.user
    if not shared and not user:
        demand_private(client, git_in(root, os.environ))  # before anything is begun
    if not known or client not in manifest_of(root).workspace.kinds:
        init_clients(root, (client,), journal=journal)
    with opened(root, journal) as harness:
        kinds = manifest_of(root).workspace.kinds
        program = [command] if command else ["takeback"] if shared else own_program()
        ops = additions(client, kinds, harness.state, program, Placing(shared=shared, user=user))
        warnings = _warnings(client, root, shared=shared or user)
        if not ops:
            told = _where(harness, client)
            _say({"result": "nothing", "entry": told[0], "warnings": warnings}, told[1], warnings, as_json=as_json)
        candidate = candidate_of(ops, harness.state)
        outcome = harness.preview(candidate) if plan else harness.apply(candidate, note=note_of(client), by=BY)
        conclude(outcome, harness, as_json=as_json, stat=stat, warnings=warnings if exit_code(outcome) == 0 else ())


def _warnings(client: str, root: Path, *, shared: bool) -> list[str]:
    found = (
        [] if shared else [PRIVATE + FOR_YOURSELF.get(client, ""), *warn_of_commits(client, git_in(root, os.environ))]
    )
    return [*found, *([NO_SERVER] if find_spec("mcp") is None else [])]


def _where(harness: Harness, client: str) -> tuple[str | None, str]:
    """Return the entry by which hooks are there, if one is, and where they are."""
    entry = installed(harness, client)
    if entry is not None:
        return entry.id, f"installed already, by #{entry.seq}"
    events = sorted({event for event, _, _ in find_hooks(harness.state, client)})
    plugins = find_plugins(harness.state)
    by = f"the plugin of {', '.join(plugins)}" if plugins else f"hooks of {', '.join(events)}" if events else "a file"
    return None, f"installed already: {by}, which were there before; nothing was added"


def uninstall(
    client: str = ClientArgument,
    plan: bool = PlanFlag,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Take Takeback's hooks, server and skill out of a client's files, local and shared. Changes made since stay.

    What `takeback install` added here is taken back byte for byte; what came by other ways, such as a clone or an
    earlier version, is known by what it says and removed as one change, which can be taken back as well.

    Example: `takeback uninstall claude-code`
    """
    _demand_client(client)
    with opened(directory, journal) as harness:
        kinds = manifest_of(find_root(directory)).workspace.kinds
        there, start = installed(harness, client), start_of(client, kinds)
        if there is None and not list_removals(harness.state, client, start):
            raise InputError("client", found=f"{client}, for which nothing is installed", expected="one that has it")
        warnings: list[str] = []
        if there is not None:
            outcome = harness.plan_undo(there.id) if plan else harness.undo(there.id)
            after = harness.state if isinstance(outcome, Undone) else getattr(outcome, "state", harness.state)
            rest = list_removals(after, client, start)
            if plan and rest and exit_code(outcome) == 0:
                warnings.append(f"{len(rest)} more of ours, which install did not add here, would go as well")
            if plan or not rest or not isinstance(outcome, Undone):
                conclude(outcome, harness, as_json=as_json, stat=stat, warnings=warnings)
            warnings.append(f"entry {outcome.entry.id[:SHORT]} took back what install had added here")
        candidate = candidate_of(list_removals(harness.state, client, start), harness.state)
        removed = (
            harness.preview(candidate) if plan else harness.apply(candidate, note=f"takeback uninstall {client}")
        )
        conclude(removed, harness, as_json=as_json, stat=stat, warnings=warnings)


def _demand_client(client: str) -> None:
    if client not in CLIENTS:
        raise InputError("client", found=client, expected=f"one of {', '.join(CLIENTS)}")


def _say(answer: dict[str, object], text: str, warnings: list[str], *, as_json: bool) -> None:
    if as_json:
        emit(answer)
    else:
        out.print(text)
        for warning in warnings:
            err.print(f"note: {warning}", style="yellow")
    raise typer.Exit(0)
