"""`takeback install`, `uninstall`, `hook` and `git-hook`: our hooks, server and skill in files of clients and git."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NoReturn

import typer

from takeback.adapters.clients.init import imagine_clients, init_clients
from takeback.adapters.init import NewHarness
from takeback.adapters.manifest import find_manifest_path, find_root
from takeback.adapters.opener import load_manifest
from takeback.adapters.trust import require_trusted
from takeback.agents.fast_hook import CLIENTS
from takeback.agents.git import HOOKS, PlacedHook, adopt_before_commit, open_git, sign_message
from takeback.agents.git import install_hooks as put_in
from takeback.agents.git import uninstall_hooks as take_out
from takeback.agents.installation import (
    BY,
    Placing,
    build_candidate,
    demand_private,
    describe_installation,
    find_hooks,
    find_installation,
    find_name_start,
    find_plugins,
    list_additions,
    list_removals,
    warn_of_commits,
)
from takeback.cli.completion import offer_words
from takeback.cli.context import (
    SHORT,
    DirOption,
    PlanFlag,
    StatFlag,
    WorkspaceOptions,
    find_own_program,
    open_harness,
)
from takeback.cli.display import describe_grade
from takeback.cli.hints import localize_hints
from takeback.cli.hook_answer import answer_hook
from takeback.cli.options import argument, flag, setting
from takeback.cli.outcomes import choose_exit_code, print_and_exit
from takeback.cli.output import answer, commit_exit_code, err, mention, out
from takeback.errors import InputError
from takeback.harness import Applied, Harness, Preview, Undone
from takeback.harness.images import paths_of
from takeback.language.suggestions import find_near_names
from takeback.present.titles import format_count, join_words
from takeback.track.database import TRACK

NO_SERVER = "the server needs more: pip install 'takeback[mcp]'; without it the client cannot start it"
PRIVATE = "the server and the skill go into shared files: --shared adds them"
FOR_YOURSELF = {"claude-code": "; for yourself: claude mcp add --scope local takeback -- takeback serve"}
DOES: Final = "each edit of the agent's own files is checked before and recorded after it; 'takeback log' lists them"
ClientArgument = argument(
    "CLIENT", f"One of {', '.join(CLIENTS)}.", autocompletion=offer_words(dict.fromkeys(CLIENTS, ""))
)
SharedFlag = flag("--shared", "Use files that others share; on a machine without takeback they let every edit pass.")


def install(
    options: WorkspaceOptions,
    client: str = ClientArgument,
    shared: bool = SharedFlag,
    plan: bool = PlanFlag,
    command: str = setting("--command", "PATH", "The program that the client starts.", show_default="takeback"),
    diff: bool = flag("--diff", "Show what changes in the files, line by line."),
    stat: bool = StatFlag,
) -> None:
    """Add Takeback's hooks to a settings file that only you have, as one change.

    For Claude Code that is `.claude/settings.local.json`. The other clients have no such file: their hooks go into
    `.codex/hooks.json`, `.gemini/settings.json` or `.opencode/plugins/takeback.js` if git does not track it. If git
    tracks it, others would get the hooks, and `--shared` is needed. `--shared` adds the hooks, the server and the
    skill to the settings that everybody gets. On a machine without takeback, hooks that others may get let every edit
    pass. Existing hooks are not added again. A directory that is not tracked yet is tracked first. `takeback
    uninstall` undoes the change byte for byte.

    Example: `takeback install claude-code`, `takeback install gemini --shared`
    """
    _require_client(client)
    root = options.root
    known = find_manifest_path(root) is not None
    if known:
        require_trusted(root, load_manifest(root))
    user = known and load_manifest(root).workspace.user
    if not shared and not user:
        demand_private(client, open_git(root, os.environ))  # before anything is begun
    begun = not known or client not in load_manifest(root).workspace.kinds
    imagined = plan and begun
    if begun and not imagined:
        init_clients(root, (client,), NewHarness(options.journal))
    with imagine_clients(root, (client,)) if imagined else open_harness(root, options.journal) as harness:
        kinds = getattr(harness.adapter, "kinds", ())
        program = [command] if command else ["takeback"] if shared else find_own_program()
        ops = list_additions(
            client, kinds, harness.state, program, Placing(shared=shared, user=user, tracked=(root / TRACK).exists())
        )
        warnings = _list_warnings(client, root, shared=shared or user)
        if not ops:
            hooks = _find_hooks(harness, client)
            _print_answer({"result": "nothing", "entry": hooks[0], "warnings": warnings}, hooks[1], warnings)
        candidate = build_candidate(ops, harness.state)
        outcome = (
            harness.preview(candidate)
            if plan
            else harness.apply(candidate, note=describe_installation(client), by=BY)
        )
        if isinstance(outcome, Applied | Preview) and not (diff or stat or options.as_json):
            _summarize(outcome, client, ops, warnings)
        print_and_exit(outcome, harness, stat=stat, warnings=warnings if choose_exit_code(outcome) == 0 else ())


WORDS: Final = {"add_listener": "hook", "register_tool": "server", "set_prompt": "skill", "write_file": "file"}
"""What an operation of an installation adds."""


def _summarize(outcome: Applied | Preview, client: str, ops: list[dict[str, Any]], warnings: list[str]) -> NoReturn:
    """Print what was added, where, and what it does, without the lines; end the command."""
    code = choose_exit_code(outcome)
    counts = Counter(
        "command" if "commands/" in str(op["target"]) else WORDS.get(op["op_type"], "setting") for op in ops
    )
    what = join_words([format_count(number, word) for word, number in counts.items()])
    if isinstance(outcome, Applied):
        commit_exit_code(code)
        number, paths = outcome.entry.entry, _drop_folders(paths_of(outcome.entry))
        out.print(f"installed for {client}: {what} in {join_words(paths)}", style="bold green")
        out.print(f"entry {outcome.entry.id[:SHORT]} (#{number}, {describe_grade(outcome.verdict)})")
        shows = f"'takeback show {number}' shows every line"
        ends = f"'takeback uninstall {client}' removes it, byte for byte"
    else:
        out.print(f"would install for {client}: {what} in {join_words(_drop_folders(outcome.paths))}", style="bold")
        shows, ends = (f"'takeback install {client} --plan --diff' shows every line", "nothing was changed")
    out.print(f"what it does: {DOES}")
    if isinstance(outcome, Applied) and outcome.entry.effect:
        out.print(f"takes effect: {', '.join(outcome.entry.effect)}")
    out.print(localize_hints(f"{shows}; {ends}"), style="cyan")
    for warning in warnings:
        err.print(f"note: {warning}", style="yellow")
    raise typer.Exit(code)


def _drop_folders(paths: Iterable[str]) -> list[str]:
    """Return paths without those of folders that another of them lies in."""
    listed = list(paths)
    return [path for path in listed if not any(other.startswith(f"{path}/") for other in listed)]


def _list_warnings(client: str, root: Path, *, shared: bool) -> list[str]:
    warnings = (
        []
        if shared
        else [PRIVATE + FOR_YOURSELF.get(client, ""), *warn_of_commits(client, open_git(root, os.environ))]
    )
    return [*warnings, *([NO_SERVER] if find_spec("mcp") is None else [])]


def _find_hooks(harness: Harness, client: str) -> tuple[str | None, str]:
    entry = find_installation(harness, client)
    if entry is not None:
        return entry.id, f"already installed, by #{entry.seq}"
    events = sorted({event for event, _, _ in find_hooks(harness.state, client)})
    plugins = find_plugins(harness.state)
    by = f"the plugin of {', '.join(plugins)}" if plugins else f"hooks of {', '.join(events)}" if events else "a file"
    return None, f"already installed: {by}; nothing was added"


def uninstall(
    options: WorkspaceOptions, client: str = ClientArgument, plan: bool = PlanFlag, stat: bool = StatFlag
) -> None:
    """Remove Takeback's hooks, server and skill from a client's files, local and shared. Changes made since stay.

    The entry of `takeback install` is undone byte for byte. Hooks from elsewhere, such as a clone or an earlier
    version, are recognised by their content and removed as one change, which can be undone too.

    Example: `takeback uninstall claude-code`
    """
    _require_client(client)
    with options.open() as harness:
        kinds = load_manifest(options.root).workspace.kinds
        there, start = find_installation(harness, client), find_name_start(client, kinds)
        if there is None and not list_removals(harness.state, client, start):
            raise InputError(
                "client",
                found=f"{client}, which has no Takeback hooks here",
                expected="a client that has them",
                hint=f"'takeback install {client}' installs it",
            )
        warnings: list[str] = []
        if there is not None:
            outcome = harness.plan_undo(there.id) if plan else harness.undo(there.id)
            after = harness.state if isinstance(outcome, Undone) else getattr(outcome, "state", harness.state)
            rest = list_removals(after, client, start)
            if plan and rest and choose_exit_code(outcome) == 0:
                warnings.append(
                    f"{len(rest)} more of Takeback's, which install did not add here, would be removed too"
                )
            if plan or not rest or not isinstance(outcome, Undone):
                print_and_exit(outcome, harness, stat=stat, warnings=warnings)
            warnings.append(f"entry {outcome.entry.id[:SHORT]} undid what install had added here")
        candidate = build_candidate(list_removals(harness.state, client, start), harness.state)
        removed = (
            harness.preview(candidate) if plan else harness.apply(candidate, note=f"takeback uninstall {client}")
        )
        print_and_exit(removed, harness, stat=stat, warnings=warnings)


def _require_client(client: str) -> None:
    if client not in CLIENTS:
        near = find_near_names(client, CLIENTS)
        hint = f"did you mean 'takeback install {near[0]}'?" if near else ""
        raise InputError("client", found=client, expected=f"one of {', '.join(CLIENTS)}", hint=hint)


def _print_answer(payload: dict[str, object], text: str, warnings: list[str]) -> None:
    answer(payload)
    out.print(text)
    for warning in warnings:
        mention(f"note: {warning}", style="yellow")
    raise typer.Exit(0)


def register(app: typer.Typer) -> None:
    """Add the `git-hook` commands."""
    group = typer.Typer(
        help="Record harness files before each git commit, and add the journal's head to its message.",
        no_args_is_help=True,
    )
    group.command("install")(install_git_hooks)
    group.command("uninstall")(uninstall_git_hooks)
    group.command("run")(run_git_hook)
    app.add_typer(group, name="git-hook")


def install_git_hooks(
    block: bool = flag("--block", "Prevent commits until Takeback can record."),
    command: str = setting("--command", "PATH", "The program that the hooks start.", show_default="takeback"),
    directory: Path = DirOption,
) -> None:
    """Add hooks to the git repository of a harness.

    Before a commit, they adopt unrecorded changes of harness files, and add the journal's head to the message as the
    trailer Takeback-Head. An existing hook runs first. Without `--block`, a failure in Takeback never prevents a
    commit; `git commit --no-verify` skips them.

    Example: `takeback git-hook install`
    """
    root = find_root(directory)
    require_trusted(root, load_manifest(root))
    placed = put_in(open_git(root, os.environ), root, [command] if command else find_own_program(), block=block)
    _tell_git_hooks("installed", placed, "there was a hook, which runs first")


def uninstall_git_hooks(directory: Path = DirOption) -> None:
    """Remove the hooks. A hook that was there before is restored.

    Example: `takeback git-hook uninstall`
    """
    root = find_root(directory)
    if find_manifest_path(root) is not None:
        require_trusted(root, load_manifest(root))
    placed = take_out(open_git(root, os.environ))
    _tell_git_hooks("uninstalled", placed, "what was there before is back")


def run_git_hook(
    hook: str = argument("HOOK", f"One of {', '.join(HOOKS)}."),
    message: Path | None = argument("FILE", "The commit message.", None),
    directory: Path = DirOption,
) -> None:
    """Run one of the hooks; git calls this. Outside a harness it does nothing.

    Example: `takeback git-hook run pre-commit`
    """
    if hook not in HOOKS or (message is None) == (hook == "commit-msg"):
        raise InputError(
            "hook", found=hook, expected="pre-commit or pre-merge-commit, or commit-msg with the file of the message"
        )
    git = open_git(Path(), os.environ)
    warning = ""
    if message is not None:
        sign_message(git, directory, message)
    else:
        warning = adopt_before_commit(git, directory)
    answer({"result": "done", "told": warning})
    if warning:
        mention(f"takeback: {warning}")


def _tell_git_hooks(result: str, placed: Sequence[PlacedHook], more: str) -> None:
    commit_exit_code(0)
    hooks: list[dict[str, Any]] = [{"path": str(hook.path), "earlier": hook.earlier} for hook in placed]
    answer({"result": result, "hooks": hooks})
    for hook in placed:
        out.print(f"{result}: {hook.path}{f' ({more})' if hook.earlier else ''}")


def hook(
    client: str = argument("CLIENT", f"The client: {', '.join(CLIENTS)}.", CLIENTS[0], show_default=True),
) -> None:
    """Answer a client's hook: guard harness files before an edit, record the change after it.

    It reads the hook's JSON from standard input and answers in the client's own protocol, with or without `--json`.
    `takeback install` adds it to a client's settings. In clients that take no JSON, exit code 2 blocks the edit, with
    the reason on standard error.

    Example: `takeback hook claude-code < event.json`
    """
    if client not in CLIENTS:
        raise InputError("client", found=client, expected=f"one of {', '.join(CLIENTS)}")
    raise typer.Exit(answer_hook(client))
