"""`takeback git-hook`: git hooks that record harness files before a commit and name the journal's head in it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from takeback.adapters.manifest import find_manifest_path, find_root
from takeback.adapters.opener import load_manifest
from takeback.adapters.trust import require_trusted
from takeback.agents.git.command import open_git
from takeback.agents.git.hooks import HOOKS, PlacedHook, adopt_before_commit, sign_message
from takeback.agents.git.hooks import install_hooks as put_in
from takeback.agents.git.hooks import uninstall_hooks as take_out
from takeback.cli.context import DirOption, find_own_program
from takeback.cli.output import JsonFlag, commit_exit_code, emit, err, out
from takeback.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the `git-hook` commands."""
    group = typer.Typer(
        help="Record harness files before each git commit, and add the journal's head to its message.",
        no_args_is_help=True,
    )
    group.command("install")(install)
    group.command("uninstall")(uninstall)
    group.command("run")(run)
    app.add_typer(group, name="git-hook")


def install(
    block: bool = typer.Option(False, "--block", help="Prevent commits until Takeback can record."),
    command: str = typer.Option(
        "", "--command", metavar="PATH", help="The program that the hooks start.", show_default="takeback"
    ),
    directory: Path = DirOption,
    as_json: bool = JsonFlag,
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
    _tell("installed", placed, "there was a hook, which runs first", as_json=as_json)


def uninstall(directory: Path = DirOption, as_json: bool = JsonFlag) -> None:
    """Remove the hooks. A hook that was there before is restored.

    Example: `takeback git-hook uninstall`
    """
    root = find_root(directory)
    if find_manifest_path(root) is not None:
        require_trusted(root, load_manifest(root))
    placed = take_out(open_git(root, os.environ))
    _tell("uninstalled", placed, "what was there before is back", as_json=as_json)


def run(
    hook: str = typer.Argument(..., metavar="HOOK", help=f"One of {', '.join(HOOKS)}.", show_default=False),
    message: Path | None = typer.Argument(None, metavar="FILE", help="The commit message.", show_default=False),
    directory: Path = DirOption,
    as_json: bool = JsonFlag,
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
    if as_json:
        emit({"result": "done", "told": warning})
    elif warning:
        err.print(f"takeback: {warning}")


def _tell(result: str, placed: Sequence[PlacedHook], more: str, *, as_json: bool) -> None:
    commit_exit_code(0)
    if as_json:
        hooks: list[dict[str, Any]] = [{"path": str(hook.path), "earlier": hook.earlier} for hook in placed]
        emit({"result": result, "hooks": hooks})
        return
    for hook in placed:
        out.print(f"{result}: {hook.path}{f' ({more})' if hook.earlier else ''}")
