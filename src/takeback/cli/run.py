"""`takeback run`: a command on an overlay; what it did is shown line by line or in counts, and kept or dropped."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

import typer

from takeback.adapters.directory import READ_FLAGS
from takeback.adapters.manifest import PRIVATE
from takeback.agents.overlay.entry import format_command, make_recorder
from takeback.agents.overlay.layer import Layer, LayerChange, NameTraits, show_path
from takeback.agents.overlay.runs import (
    Ended,
    NoOverlayError,
    OverlayRun,
    drop_run,
    execute_run,
    find_leftovers,
    find_run_places,
    hold_run,
    make_run,
    prepare_run,
    require_linux,
    sweep_trash,
)
from takeback.agents.overlay.transfer import Kept, keep_changes, read_pending
from takeback.cli.context import AuthorOption, NoteOption, ReadOptions, StatFlag, name_for_shell
from takeback.cli.display import show_difference
from takeback.cli.hints import make_command_line
from takeback.cli.options import argument, flag, refuse_several, setting
from takeback.cli.output import answer, commit_exit_code, err, finish, out, set_interrupt_message
from takeback.errors import InputError
from takeback.present.diffs import LONGEST, Difference, Sheet, compare_sheets, make_file_sheet
from takeback.present.titles import format_count, join_words

STDERR: Final = 2
GIT_INDEX: Final = ".git/index"
Decision = Literal["keep", "drop", "later"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run", context_settings={"allow_interspersed_args": False})(run)


@dataclass(frozen=True)
class RunOptions(ReadOptions):
    """What is to become of the changes of a command."""

    keep: bool = flag("--keep", "Keep what the command did, without asking.")
    drop: bool = flag("--drop", "Drop what the command did, without asking.")
    git: bool = flag("--git", "Keep changes below .git too.")
    overwrite: bool = flag("--overwrite", "Keep the command's version of files that others changed meanwhile.")
    note: str = NoteOption
    by: str = AuthorOption
    stat: bool = StatFlag


def run(
    options: RunOptions,
    command: list[str] = argument("CMD", "The command, with its own options.", None),
    resume: bool = flag("--resume", "Decide about the changes that an earlier run left."),
    drop_leftovers: bool = flag("--drop-leftovers", "Drop what earlier runs left."),
    scratch: Path | None = setting(
        "--scratch",
        "DIR",
        "The folder for what the command writes.",
        None,
        envvar="TAKEBACK_SCRATCH",
        show_default="the user's folder for state",
    ),
    writable: list[Path] = setting(
        "--writable", "DIR", "Let the command write to this folder directly, such as a cache.", None
    ),
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
    refuse_several("options", {"--keep": options.keep, "--drop": options.drop})
    refuse_several("options", {"--resume": resume, "--drop-leftovers": drop_leftovers})
    if bool(command) == (resume or drop_leftovers):
        given = "a command with --resume or --drop-leftovers" if command else "no command"
        raise InputError("takeback run", found=given, expected="a command after --, or one of these options")
    require_linux()
    with options.open() as harness:
        harness.require("apply")
        root = options.root.resolve()
    places = _list_places(scratch)
    sweep_trash(*places, root / PRIVATE)
    if drop_leftovers:
        _drop_leftovers(find_leftovers(places, root))
    with ExitStack() as stack:
        if resume:
            _resume(find_leftovers(places, root), options, stack)
        left = find_leftovers(places, root)
        made = make_run(find_run_places(_find_state_folder()), root, command, chosen=scratch)
        stack.enter_context(hold_run(made))
        _tell_leftovers(left)
        _run(made, options, writable or [])


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


def _run(made: OverlayRun, options: RunOptions, writable: Sequence[Path]) -> NoReturn:
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
    began, current = time.monotonic(), Path.cwd()
    try:
        ended = execute_run(
            made,
            cwd=current if current.is_relative_to(made.root) else made.root,
            temporary=os.environ.get("TMPDIR", ""),
            writable=writable,
            stdout=STDERR if options.as_json else None,
        )
    except (InputError, NoOverlayError):
        drop_run(made)
        raise
    set_interrupt_message(f"nothing was kept; {make_command_line('run', '--resume')} shows what is left of it")
    took = time.monotonic() - began
    _tell_end(ended, took, options)
    _decide(ended.run, options, {"seconds": round(took, 3)}, resumed=False)


def _tell_end(ended: Ended, took: float, options: RunOptions) -> None:
    said = err if options.as_json else out
    code = ended.run.code
    said.print(
        f"the command ended with exit code {code} after {took:.1f} s", style="bold" if code == 0 else "bold red"
    )
    if ended.others:
        said.print("processes that it left running were ended", style="yellow")


def _resume(left: Sequence[OverlayRun], options: RunOptions, stack: ExitStack) -> NoReturn:
    if not left:
        answer({"result": "nothing", "runs": []})
        out.print("no earlier run in this project left anything")
        finish(yes=False)
    earlier = left[0]
    if not stack.enter_context(hold_run(earlier)):
        raise InputError("--resume", found="a run that goes on", expected="one that has ended")
    err.print(f"{format_command(earlier.command)}, begun {time.ctime(earlier.began)}")
    _decide(earlier, options, {"left": len(left) - 1}, resumed=True)


def _drop_leftovers(left: Sequence[OverlayRun]) -> NoReturn:
    for leftover in left:
        with hold_run(leftover) as free:
            if free:
                drop_run(leftover)
    answer({"result": "dropped", "runs": [format_command(leftover.command) for leftover in left]})
    for leftover in left:
        out.print(f"dropped: {format_command(leftover.command)}")
    out.print(f"{format_count(len(left), 'run')} dropped")
    finish(yes=True)


def _decide(made: OverlayRun, options: RunOptions, more: dict[str, Any], *, resumed: bool) -> NoReturn:
    layer = read_pending(made)
    chosen, held = _divide(layer.changes, git=options.git)
    report = _layer_to_json(made, layer) if options.as_json else {}
    if not options.as_json:
        _show_layer(made, replace(layer, changes=tuple(chosen)), held, options)
    decision = _ask(made, chosen, held, options)
    kept = None
    if decision == "keep" and (chosen or not held):
        with options.open() as harness:
            harness.require("apply")
            recorder = make_recorder(harness, made, note=options.note, by=options.by)
            kept = keep_changes(
                made, chosen, recorder, overwrite=options.overwrite, withheld=[change.path for change in held]
            )
    rest = decision == "later" or (decision == "keep" and bool((kept and kept.conflicts) or held))
    code = 0 if (resumed or made.code == 0) and not rest else 1
    commit_exit_code(code)
    if not rest:
        drop_run(made)
    result = {"drop": "dropped", "later": "held"}.get(decision, "partly kept" if rest else "kept")
    result = "nothing" if not layer.changes else result
    answer(
        {
            "result": result,
            "command": [show_path(word) for word in made.command],
            "exit_code": made.code,
            **more,
            **report,
            **_result_to_json(kept),
            "git_held": [show_path(change.path) for change in held],
            "folder": str(made.folder) if rest else None,
        }
    )
    _show_result(made, kept, held, result)
    raise typer.Exit(code)


def _divide(changes: Sequence[LayerChange], *, git: bool) -> tuple[list[LayerChange], list[LayerChange]]:
    """Return the changes to be kept, and those below .git that are held; an index alone is only a cache."""
    chosen = [change for change in changes if git or not change.of_git]
    held = [] if git else [change for change in changes if change.of_git]
    return chosen, [] if all(change.path == GIT_INDEX for change in held) else held


def _show_layer(made: OverlayRun, layer: Layer, held: Sequence[LayerChange], options: RunOptions) -> None:
    show_changes(made, layer.changes, stat=options.stat)
    if held:
        _show_names("below .git, kept only with --git", [change.path for change in held])
    for path in layer.left_out:
        out.print(f"not applied: {show_path(path.path)}: {path.reason}", style="yellow")


def _ask(
    made: OverlayRun, chosen: Sequence[LayerChange], held: Sequence[LayerChange], options: RunOptions
) -> Decision:
    if options.keep or options.drop or not (chosen or held):
        return "keep" if options.keep else "drop"
    if options.as_json or not (sys.stdin.isatty() and out.is_terminal):
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
    untracked = _list_untracked(kept)
    if untracked:
        _show_names("kept, but not tracked: Takeback cannot undo these", untracked)
    for warning in kept.recorded.warnings:
        out.print(f"! {warning}", style="yellow")
    for conflict in kept.conflicts:
        out.print(f"conflict: {show_path(conflict.path)}: {conflict.reason}; it was left as it is", style="red")
        if conflict.left is not None:
            out.print(f"  the command's version: {conflict.left}")
    if kept.conflicts:
        again = make_command_line("run", "--resume", "--keep", "--overwrite")
        out.print(f"  to keep the command's versions after all: {again}", style="cyan")


MOST_FILES: Final = 40
"""Files whose lines are shown; of more, only counts."""
MOST_LINES: Final = 400
"""Lines that are shown in all."""
MOST_FOLDERS: Final = 20
MOST_NAMES: Final = 10
DEPTH: Final = 2
"""Names of a path that make a folder of the summary."""
MARKS: Final = {"added": "+", "removed": "-", "changed": "~", "mode": "m"}


def _compare_change(run: OverlayRun, change: LayerChange) -> Difference:
    address = show_path(change.path)
    notes: tuple[str, ...] = ()
    if change.form == "directory":
        before, after = change.before, change.after
        if before is not None and after is not None:
            notes = (f"mode {before.permissions:04o} -> {after.permissions:04o}",)
        else:
            notes = ("the folder is made",) if before is None else ("the folder goes",)
        return compare_sheets(address, None, None, *notes)
    old, new = (
        _make_sheet(place / change.path, traits)
        for place, traits in ((run.root, change.before), (run.upper, change.after))
    )
    return compare_sheets(address, old, new)


def _make_sheet(place: Path, traits: NameTraits | None) -> Sheet | None:
    if traits is None:
        return None
    mode = f"{traits.permissions:04o}" if traits.form == "file" else ""
    try:
        if traits.form == "link":
            return _make_line(f"link to {show_path(os.readlink(place))}")
        if traits.size <= LONGEST:
            file = os.open(place, READ_FLAGS)
            with open(file, "rb") as content:
                return make_file_sheet(content.read(LONGEST + 1), mode)
    except OSError as fault:
        return _make_line(f"(cannot be read: {fault.strerror})", mode)
    return _make_line(f"({traits.size:,} bytes, changed at {traits.modified})", mode)


def _make_line(text: str, mode: str = "") -> Sheet:
    return Sheet((f"{text}\n",), inline=text, mode=mode)


def show_changes(run: OverlayRun, changes: Sequence[LayerChange], *, stat: bool) -> None:
    """Print what a command did: lines up to a bound, above it counts by folder."""
    if len(changes) > MOST_FILES:
        _show_folders(changes)
    else:
        differences = [_compare_change(run, change) for change in changes]
        many = sum(len(hunk.lines) for difference in differences for hunk in difference.hunks) > MOST_LINES
        for change, difference in zip(changes, differences, strict=True):
            if stat or many:
                lines = f"  +{difference.added} -{difference.removed}" if difference.hunks else ""
                out.print(f"  {MARKS[change.kind]} {difference.address}{lines}")
            else:
                show_difference(difference)
    out.print(_summarize_changes(changes), style="bold")


def _show_folders(changes: Sequence[LayerChange]) -> None:
    folders: dict[str, Counter[str]] = {}
    for change in changes:
        folder = "/".join(change.path.split("/")[:-1][:DEPTH])
        folders.setdefault(folder, Counter())[change.kind] += 1
    largest = sorted(folders.items(), key=lambda item: -item[1].total())
    for folder, counts in largest[:MOST_FOLDERS]:
        out.print(f"  {show_path(folder) or '.'}/  {_format_counts(counts)}")
    if len(largest) > MOST_FOLDERS:
        out.print(f"  and {format_count(len(largest) - MOST_FOLDERS, 'more folder')}")


def _format_counts(counts: Counter[str]) -> str:
    words = {"mode": "with other permission bits"}
    return ", ".join(f"{counts[kind]:,} {words.get(kind, kind)}" for kind in MARKS if counts[kind])


def _summarize_changes(changes: Sequence[LayerChange]) -> str:
    if not changes:
        return "the command changed nothing in the project"
    of = format_count(len(changes), "path")
    return f"{of}: {_format_counts(Counter(change.kind for change in changes))}"


def _show_names(title: str, paths: Sequence[str]) -> None:
    out.print(f"{title}:", style="yellow")
    for path in paths[:MOST_NAMES]:
        out.print(f"  {show_path(path)}")
    if len(paths) > MOST_NAMES:
        out.print(f"  and {len(paths) - MOST_NAMES:,} more")


def _layer_to_json(run: OverlayRun, layer: Layer) -> dict[str, Any]:
    """Return what a command did as JSON; lines are counted for as many files as would be shown."""
    counted = len(layer.changes) <= MOST_FILES
    rows: list[dict[str, Any]] = []
    for change in layer.changes:
        difference = _compare_change(run, change) if counted and change.form != "directory" else None
        lines = {} if difference is None else {"lines_added": difference.added, "lines_removed": difference.removed}
        rows.append({"path": show_path(change.path), "change": change.kind, "form": change.form, **lines})
    return {
        "changes": rows,
        "counts": dict(Counter(change.kind for change in layer.changes)),
        "left_out": [{"path": show_path(path.path), "reason": path.reason} for path in layer.left_out],
    }


def _result_to_json(kept: Kept | None) -> dict[str, Any]:
    if kept is None:
        return {"entry": None, "entries": [], "recorded": [], "untracked": [], "conflicts": [], "warnings": []}
    entries = [{"seq": entry.entry, "id": entry.id} for entry in kept.recorded.entries]
    return {
        "entry": next(iter(entries), None),
        "entries": entries,
        "recorded": sorted(map(show_path, kept.recorded.paths)),
        "untracked": [show_path(path) for path in _list_untracked(kept)],
        "conflicts": [
            {
                "path": show_path(conflict.path),
                "reason": conflict.reason,
                "left": None if conflict.left is None else show_path(str(conflict.left)),
            }
            for conflict in kept.conflicts
        ],
        "warnings": list(kept.recorded.warnings),
    }


def _list_untracked(kept: Kept) -> list[str]:
    """Return the files that are in the project now and in no entry."""
    return [
        change.path
        for change in kept.changes
        if change.path not in kept.recorded.paths and change.form != "directory"
    ]
