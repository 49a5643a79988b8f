"""`takeback run`: a command on an overlay; what it did is shown, and kept or dropped."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

import typer

from takeback.adapters.manifest import PRIVATE, find_root
from takeback.agents.overlay.command import (
    Ended,
    NoOverlayError,
    execute_run,
    prepare_run,
    read_pending,
    require_linux,
)
from takeback.agents.overlay.entry import format_command, make_recorder
from takeback.agents.overlay.layer import Layer, LayerChange, show_path
from takeback.agents.overlay.runs import (
    OverlayRun,
    drop_run,
    find_leftovers,
    find_run_places,
    hold_run,
    make_run,
    sweep_trash,
)
from takeback.agents.overlay.transfer import Kept, keep_changes
from takeback.cli.context import (
    AuthorOption,
    DirOption,
    JournalOption,
    NoteOption,
    StatFlag,
    name_for_shell,
    open_harness,
)
from takeback.cli.hints import make_command_line
from takeback.cli.output import JsonFlag, commit_exit_code, emit, err, finish, out, set_interrupt_message
from takeback.cli.run_report import layer_to_json, list_untracked, result_to_json, show_changes, show_names
from takeback.cli.secrets import RevealFlag
from takeback.errors import InputError
from takeback.present.titles import format_count, join_words

STDERR: Final = 2
GIT_INDEX: Final = ".git/index"
Decision = Literal["keep", "drop", "later"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", context_settings={"allow_interspersed_args": False})(run)


@dataclass(frozen=True, slots=True)
class _Wishes:
    """What the options say."""

    directory: Path
    journal: str | None
    note: str
    by: str
    decision: Decision | None
    git: bool
    overwrite: bool
    stat: bool
    as_json: bool


def run(
    command: list[str] = typer.Argument(None, metavar="CMD", help="The command, with its own options."),
    keep: bool = typer.Option(False, "--keep", help="Keep what the command did, without asking."),
    drop: bool = typer.Option(False, "--drop", help="Drop what the command did, without asking."),
    git: bool = typer.Option(False, "--git", help="Keep changes below .git too."),
    overwrite: bool = typer.Option(
        False, "--overwrite", help="Keep the command's version of files that others changed meanwhile."
    ),
    resume: bool = typer.Option(False, "--resume", help="Decide about the changes that an earlier run left."),
    drop_leftovers: bool = typer.Option(False, "--drop-leftovers", help="Drop what earlier runs left."),
    scratch: Path | None = typer.Option(
        None,
        "--scratch",
        envvar="TAKEBACK_SCRATCH",
        metavar="DIR",
        help="The folder for what the command writes.",
        show_default="the user's folder for state",
    ),
    writable: list[Path] = typer.Option(
        None, "--writable", metavar="DIR", help="Let the command write to this folder directly, such as a cache."
    ),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    note: str = NoteOption,
    by: str = AuthorOption,
    stat: bool = StatFlag,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Run a command in an overlay of the project, then keep or drop its changes. Linux only.

    For the command, everything outside the project is read-only, and temporary folders are its own. This is no
    sandbox: the network, databases and other processes are as always. Afterwards the differences are shown. A
    terminal asks what to do with them; elsewhere they are kept if the command ended with 0, and otherwise held for
    `--resume`. Changes of the harness's files become one entry, and changes of a tracked project's own files another.
    A file that others changed meanwhile is not overwritten. Changes below .git are kept only with `--git`. With
    `--json` the command's own output goes to stderr.

    Exit code 1 if the command failed, or if a change that should be kept was not.

    Example: `takeback run -- npm run fix`, `takeback run --drop -- make clean`
    """
    del reveal  # read by its callback
    _require_options(command or [], keep=keep, drop=drop, other=resume or drop_leftovers)
    if resume and drop_leftovers:
        raise InputError("options", found="--resume and --drop-leftovers", expected="one of them")
    require_linux()
    decision: Decision | None = "keep" if keep else "drop" if drop else None
    wishes = _Wishes(directory, journal, note, by, decision, git, overwrite, stat, as_json)
    with open_harness(directory, journal) as harness:
        harness.require("apply")
        root = find_root(directory).resolve()
    places = _list_places(scratch)
    sweep_trash(*places, root / PRIVATE)
    if drop_leftovers:
        _drop_leftovers(find_leftovers(places, root), as_json=as_json)
    with ExitStack() as stack:
        if resume:
            _resume(find_leftovers(places, root), wishes, stack)
        left = find_leftovers(places, root)
        made = make_run(find_run_places(_find_state_folder()), root, command, chosen=scratch)
        stack.enter_context(hold_run(made))
        _tell_leftovers(left)
        _run(made, wishes, writable or [])


def _require_options(command: list[str], *, keep: bool, drop: bool, other: bool) -> None:
    if keep and drop:
        raise InputError("options", found="--keep and --drop", expected="one of them")
    if bool(command) == other:
        given = "a command with --resume or --drop-leftovers" if command else "no command"
        raise InputError("takeback run", found=given, expected="a command after --, or one of these options")


def _find_state_folder() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")


def _list_places(scratch: Path | None) -> tuple[Path, ...]:
    own = () if scratch is None else (scratch.absolute(),)
    return tuple(dict.fromkeys((*own, *find_run_places(_find_state_folder()))))


def find_own_leftovers(root: Path) -> tuple[OverlayRun, ...]:
    """Return the runs in a project that nobody decided about, where the environment says that runs are."""
    named = os.environ.get("TAKEBACK_SCRATCH")
    return find_leftovers(_list_places(Path(named) if named else None), root)


def _tell_leftovers(left: Sequence[OverlayRun]) -> None:
    if left:
        count = format_count(len(left), "earlier run")
        err.print(
            f"{count} in this project left undecided changes: "
            f"{make_command_line('run', '--resume')} shows them, "
            f"{make_command_line('run', '--drop-leftovers')} drops them",
            style="yellow",
        )


def _run(made: OverlayRun, wishes: _Wishes, writable: Sequence[Path]) -> NoReturn:
    """Run the command, and decide about what it did."""
    try:
        foreign = prepare_run(made)
    except BaseException:
        drop_run(made)
        raise
    if foreign:
        count = format_count(foreign, "thing")
        err.print(f"{count} in this project belong to another user or group: the command cannot change them")
    out.flush()
    err.flush()
    began = time.monotonic()
    try:
        ended = execute_run(
            made,
            cwd=_choose_cwd(made.root),
            temporary=os.environ.get("TMPDIR", ""),
            writable=writable,
            stdout=STDERR if wishes.as_json else None,
        )
    except (InputError, NoOverlayError):
        drop_run(made)
        raise
    _tell_later("nothing was kept")
    took = time.monotonic() - began
    _tell_end(ended, took, wishes)
    _decide(ended.run, wishes, {"seconds": round(took, 3)}, resumed=False)


def _choose_cwd(root: Path) -> Path:
    current = Path.cwd()
    return current if current.is_relative_to(root) else root


def _tell_later(what: str) -> None:
    set_interrupt_message(f"{what}; {make_command_line('run', '--resume')} shows what is left of it")


def _tell_end(ended: Ended, took: float, wishes: _Wishes) -> None:
    said = err if wishes.as_json else out
    code = ended.run.code
    said.print(
        f"the command ended with exit code {code} after {took:.1f} s", style="bold" if code == 0 else "bold red"
    )
    if ended.others:
        said.print("processes that it left running were ended", style="yellow")


def _resume(left: Sequence[OverlayRun], wishes: _Wishes, stack: ExitStack) -> NoReturn:
    if not left:
        if wishes.as_json:
            emit({"result": "nothing", "runs": []})
        else:
            out.print("no earlier run in this project left anything")
        finish(yes=False)
    earlier = left[0]
    if not stack.enter_context(hold_run(earlier)):
        raise InputError("--resume", found="a run that goes on", expected="one that has ended")
    err.print(f"{format_command(earlier.command)}, begun {time.ctime(earlier.began)}")
    _decide(earlier, wishes, {"left": len(left) - 1}, resumed=True)


def _drop_leftovers(left: Sequence[OverlayRun], *, as_json: bool) -> NoReturn:
    for leftover in left:
        with hold_run(leftover) as free:
            if free:
                drop_run(leftover)
    if as_json:
        emit({"result": "dropped", "runs": [format_command(leftover.command) for leftover in left]})
    else:
        for leftover in left:
            out.print(f"dropped: {format_command(leftover.command)}")
        out.print(f"{format_count(len(left), 'run')} dropped")
    finish(yes=True)


def _decide(made: OverlayRun, wishes: _Wishes, more: dict[str, Any], *, resumed: bool) -> NoReturn:
    """Show what a command did, keep it or drop it, and end."""
    layer = read_pending(made)
    chosen, held = _divide(layer.changes, git=wishes.git)
    report = layer_to_json(made, layer) if wishes.as_json else {}
    if not wishes.as_json:
        _show_layer(made, replace(layer, changes=tuple(chosen)), held, wishes)
    decision: Decision = wishes.decision or _ask(made, chosen, held, wishes)
    kept = None
    if decision == "keep" and (chosen or not held):
        with open_harness(wishes.directory, wishes.journal) as harness:
            harness.require("apply")
            recorder = make_recorder(harness, made, note=wishes.note, by=wishes.by)
            kept = keep_changes(
                made, chosen, recorder, overwrite=wishes.overwrite, withheld=[change.path for change in held]
            )
    rest = decision == "later" or (decision == "keep" and bool((kept and kept.conflicts) or held))
    code = 0 if (resumed or made.code == 0) and not rest else 1
    commit_exit_code(code)
    if not rest:
        drop_run(made)
    result = {"drop": "dropped", "later": "held"}.get(decision, "partly kept" if rest else "kept")
    result = "nothing" if not layer.changes else result
    if wishes.as_json:
        answer = {
            "result": result,
            "command": [show_path(word) for word in made.command],
            "exit_code": made.code,
            **more,
            **report,
        }
        emit(
            {
                **answer,
                **result_to_json(kept),
                "git_held": [show_path(change.path) for change in held],
                "folder": str(made.folder) if rest else None,
            }
        )
    else:
        _show_result(made, kept, held, result)
    raise typer.Exit(code)


def _divide(changes: Sequence[LayerChange], *, git: bool) -> tuple[list[LayerChange], list[LayerChange]]:
    """Return the changes to be kept, and those below .git that are held; an index alone is only a cache."""
    chosen = [change for change in changes if git or not change.of_git]
    held = [] if git else [change for change in changes if change.of_git]
    return chosen, [] if all(change.path == GIT_INDEX for change in held) else held


def _show_layer(made: OverlayRun, layer: Layer, held: Sequence[LayerChange], wishes: _Wishes) -> None:
    show_changes(made, layer.changes, stat=wishes.stat)
    if held:
        show_names("below .git, kept only with --git", [change.path for change in held])
    for path in layer.left_out:
        out.print(f"not applied: {show_path(path.path)}: {path.reason}", style="yellow")


def _ask(made: OverlayRun, chosen: Sequence[LayerChange], held: Sequence[LayerChange], wishes: _Wishes) -> Decision:
    if not chosen and not held:
        return "drop"
    if wishes.as_json or not (sys.stdin.isatty() and out.is_terminal):
        return "keep" if made.code == 0 else "later"
    answers: dict[str, Decision] = {"k": "keep", "keep": "keep", "d": "drop", "drop": "drop"}
    out.write("keep these changes? [k]eep, [d]rop, anything else to decide later: ")
    out.flush()
    return answers.get(sys.stdin.readline().strip().casefold(), "later")


def _show_result(made: OverlayRun, kept: Kept | None, held: Sequence[LayerChange], result: str) -> None:
    if result == "dropped":
        out.print("dropped: the project is as it was")
    elif result == "held":
        out.print("held: the project is unchanged, and nothing was dropped", style="yellow")
    if kept is not None:
        _show_kept(kept)
    if result == "partly kept" and held:
        count = format_count(len(held), "change")
        again = make_command_line("run", "--resume", "--keep", "--git")
        out.print(f"{count} below .git not kept; to keep them too: {again}", style="yellow")
    if result in {"held", "partly kept"}:
        out.print(f"  the command's files are in {made.upper}")
        out.print(f"  next: {make_command_line('run', '--resume')}", style="cyan")
        out.print(f"  or drop it: {make_command_line('run', '--drop-leftovers')}", style="cyan")


def _show_kept(kept: Kept) -> None:
    entries = kept.recorded.entries
    if entries:
        undo = make_command_line("undo", *(name_for_shell(entry.entry, entry.id) for entry in entries))
        named = join_words([f"#{entry.entry}" for entry in entries])
        out.print(f"kept, and recorded as {named}; to undo it: {undo}", style="green")
    untracked = list_untracked(kept)
    if untracked:
        show_names("kept, but not tracked: Takeback cannot undo these", untracked)
    for warning in kept.recorded.warnings:
        out.print(f"! {warning}", style="yellow")
    for conflict in kept.conflicts:
        out.print(f"conflict: {show_path(conflict.path)}: {conflict.reason}; it was left as it is", style="red")
        if conflict.left is not None:
            out.print(f"  the command's version: {conflict.left}")
    if kept.conflicts:
        again = make_command_line("run", "--resume", "--keep", "--overwrite")
        out.print(f"  to keep the command's versions after all: {again}", style="cyan")
