"""`takeback leave`: take Takeback out of a project, every trace of it, and say what is left."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import typer

from takeback.adapters.clients import CLIENTS as DECLARED
from takeback.adapters.manifest import Manifest, find_manifest_path
from takeback.adapters.opener import load_manifest
from takeback.adapters.roots import LOCAL, MANIFEST, PRIVATE
from takeback.adapters.trust import UNKNOWN_HERE, refuse_untrusted, remove_trust, require_trusted
from takeback.adapters.trust_record import forget_record, is_trusted
from takeback.agents.fast_hook import CLIENTS
from takeback.agents.git import TRAILER, Git, find_placed, open_git
from takeback.agents.git import uninstall_hooks as take_out
from takeback.agents.hook_files import OWN_FILES
from takeback.agents.installation import (
    NAME,
    ClientFiles,
    build_candidate,
    find_installation,
    list_own,
    open_client_files,
)
from takeback.cli.context import WorkspaceOptions, open_harness
from takeback.cli.options import flag, refuse_several, setting
from takeback.cli.outcomes import print_and_exit
from takeback.cli.output import answer, commit_exit_code, out
from takeback.errors import InputError, TakebackError, UntrustedError
from takeback.harness import Applied, Harness, Refused
from takeback.present.titles import format_count
from takeback.state import State

NOTE: Final = "takeback leave"
HOME: Final = "the program itself (pip uninstall takeback) and clients' files in your home directory are not touched"


def leave(
    options: WorkspaceOptions,
    yes: bool = flag("--yes -y", "Do not ask; the journal is removed too unless you keep it."),
    keep_journal: bool = flag(
        "--keep-journal", "Leave .takeback and its journal where they are: init continues with it."
    ),
    export: Path | None = setting(
        "--export", "DIR", "Move .takeback with its journal there, out of the project.", None
    ),
    plan: bool = flag("--plan", "Only show what it would do."),
) -> None:
    """Remove Takeback from a project: hooks, server, skill, plugin, git hooks, .takeback and takeback.toml.

    Everything else stays as it is, including changes that Takeback recorded. The journal is your history: it is
    removed only if you confirm, or with `--yes`. `--keep-journal` leaves it in place, and `--export` moves it
    elsewhere; moved back, it continues. This works even if the harness cannot be opened: Takeback removes what it
    recognises in the files, and lists what it could not check.

    Example: `takeback leave --plan`, `takeback leave --export ../history --yes`
    """
    refuse_several("options", {"--keep-journal": keep_journal, "--export": export is not None})
    root = options.root
    if find_manifest_path(root) is None:
        raise InputError(str(root), found="no tracked harness", expected="a tracked harness")
    if export is not None and export.exists():
        raise InputError("--export", found=f"{export}, which already exists", expected="a new directory")
    manifest, unread = _read_manifest(root)
    git = open_git(root, os.environ)
    placed = find_placed(git)
    gone = [] if keep_journal else [name for name in (PRIVATE, MANIFEST) if os.path.lexists(root / name)]
    elsewhere = _find_outside_journal(root, options.journal, manifest)
    with ExitStack() as stack:
        harness = None if manifest is None else _open(stack, root, options.journal, unread)
        if harness is not None and not plan and not keep_journal:
            harness.require("forget" if export is None else "read")
        files = None if harness is not None else _open_files(stack, root, manifest, unread)
        state = harness.state if harness is not None else State() if files is None else files.reading.state
        ops = list_own(state)
        removals = [_describe_removal(op) for op in ops] + [str(path) for path in placed] + gone
        entries = None if harness is None else sum(1 for _ in harness.log())
        if plan:
            about = {"result": "plan", "would_remove": removals, "entries": entries, "unchecked": unread}
            _print_answer(about, [f"not checked: {path}" for path in unread])
        if not yes:
            _confirm(
                [*removals, *(f"not checked: {path}" for path in unread)], entries, keep=bool(keep_journal or export)
            )
        if ops and harness is not None:
            _take_back(harness)
        elif ops and files is not None:
            unread += [
                f"{path}: it was changed just now; Takeback's part is still in it" for path in files.take_out(ops)
            ]
    commit_exit_code(0)
    removed = [_describe_removal(op) for op in ops] + [str(hook.path) for hook in (take_out(git) if placed else ())]
    if gone and export is None:
        remove_trust(root)
    removed += _clear(root, gone, export)
    left = [*elsewhere, *_find_remains(root, git)] + (
        [f"{root / PRIVATE}: the journal, as asked"] if keep_journal else []
    )
    exported = None if export is None else str(export)
    about = {"result": "left", "removed": removed, "exported": exported, "left": left, "unchecked": unread}
    lines = [*(f"not checked: {path}" for path in unread), *(f"left: {path}" for path in left)]
    _print_answer(about, lines)


def _read_manifest(root: Path) -> tuple[Manifest | None, list[str]]:
    """Return the manifest of a harness that may be acted on, or why it cannot be read."""
    try:
        manifest = load_manifest(root)
    except TakebackError as fault:
        if not is_trusted(str(root)):
            raise refuse_untrusted(root, UNKNOWN_HERE) from fault
        return None, [f"{_say_why(fault)}; changes made outside Takeback were not looked for"]
    require_trusted(root, manifest)
    return manifest, []


def _open(stack: ExitStack, root: Path, journal: str | None, unread: list[str]) -> Harness | None:
    """Return the harness; where it cannot be opened, None, and why is added to what could not be checked."""
    try:
        return stack.enter_context(open_harness(root, journal))
    except UntrustedError:
        raise
    except TakebackError as fault:
        unread.append(f"{fault.message}; changes made outside Takeback were not looked for, and nothing is recorded")
        return None


def _say_why(fault: TakebackError) -> str:
    """Return what an error says, where something is changed all the same."""
    return fault.message.removesuffix("; nothing was changed")


def _open_files(stack: ExitStack, root: Path, manifest: Manifest | None, unread: list[str]) -> ClientFiles | None:
    """Return the clients' files as they are, without the journal; None where these cannot be read either."""
    user = manifest is not None and manifest.workspace.user
    try:
        files = stack.enter_context(open_client_files(root, user=user))
    except TakebackError as fault:
        unread.append(_say_why(fault))
        return None
    unread += [f"{fault}; it may still contain something of Takeback's" for fault in files.reading.broken]
    return files


def _describe_removal(op: dict[str, Any]) -> str:
    value = op.get("value")
    return f"{op['op_type'].partition('_')[2]} {op['target']}" + (f" {value}" if isinstance(value, str) else "")


def has_terminal() -> bool:
    """Return whether there is someone to ask."""
    return sys.stdin.isatty()


def _confirm(removals: Sequence[str], entries: int | None, *, keep: bool) -> None:
    """Ask before anything is removed; the journal is named, because it is the user's history."""
    if not has_terminal():
        raise InputError(
            "leave",
            found="no terminal to ask on",
            expected="--yes",
            hint="'takeback leave --plan' shows what would be removed; --keep-journal or --export DIR keeps the "
            "history",
        )
    for removal in removals:
        out.print(f"  {removal}")
    if not keep:
        size = "which cannot be read," if entries is None else f"with {format_count(entries, 'entry', 'entries')}"
        out.print(f"the journal {size} is removed too: --export DIR keeps it elsewhere")
    if not typer.confirm("Remove all of this?"):
        out.print("nothing was removed")
        raise typer.Exit(1)


def _take_back(harness: Harness) -> None:
    """Remove what is ours from the clients' files; what was changed behind our back is recorded first."""
    adopted = harness.adopt("before leaving", by=NOTE)
    if isinstance(adopted, Refused):
        print_and_exit(adopted, harness)
    for client in CLIENTS:
        entry = find_installation(harness, client)
        if entry is not None:
            harness.undo(entry.id, by=NOTE)  # byte for byte; where it cannot be done, what is ours goes below
    rest = list_own(harness.state)
    done = harness.apply(build_candidate(rest, harness.state), note=NOTE, by=NOTE) if rest else None
    if done is not None and not isinstance(done, Applied):
        print_and_exit(done, harness)


def _clear(root: Path, gone: Sequence[str], export: Path | None) -> Iterator[str]:
    """Remove our own directory and manifest, or move the directory out of the project, where trust in it is kept."""
    if PRIVATE in gone and export is None and forget_record(str(root)):
        yield "the record that this harness is trusted"
    for name in gone:
        place = root / name
        if name == PRIVATE and export is not None:
            export.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(place, export)
        elif place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink()
        yield name


def _find_outside_journal(root: Path, journal: str | None, manifest: Manifest | None) -> list[str]:
    where = journal or (LOCAL if manifest is None else manifest.workspace.journal)
    inside = "://" not in where and (root / where).resolve().is_relative_to((root / PRIVATE).resolve())
    return [] if inside else [f"the journal {where.partition('@')[2] or where}"]


def _find_remains(root: Path, git: Git) -> Iterator[str]:
    for path in _iter_paths(root):
        try:
            if NAME.encode() in path.read_bytes():
                yield f"{path.relative_to(root)}, which names {NAME}"
        except OSError:
            continue
    try:
        code, output, _ = git.attempt("log", "-1", "--format=%h", f"--grep=^{TRAILER}:")
    except TakebackError:
        code, output = 1, b""
    if code == 0 and output.strip():
        yield f"the trailer {TRAILER} of commits, {output.decode().strip()} the newest of them"
    yield HOME


def _iter_paths(root: Path) -> Iterator[Path]:
    clients = [make() for make in DECLARED.values()]
    places = {documents.path for client in clients for documents in client.documents}
    skills = {f"{skill.folder}/{NAME}/SKILL.md" for client in clients for skill in client.skills}
    own = {path for files in OWN_FILES.values() for path in files}
    yield from (root / place for place in sorted({*places, *skills, *own}) if (root / place).is_file())


def _print_answer(payload: dict[str, Any], lines: Sequence[str]) -> None:
    answer(payload)
    for removal in payload.get("removed", payload.get("would_remove", ())):
        out.print(f"{'removed' if 'removed' in payload else 'would remove'}: {removal}")
    if payload.get("exported"):
        out.print(f"the journal is in {payload['exported']}")
    for line in lines:
        out.print(line, style="yellow")
    raise typer.Exit(0)
