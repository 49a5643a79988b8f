"""`takeback watch`: follow the files, and record what others change."""

from __future__ import annotations

import signal
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import typer

from takeback.adapters.manifest import find_root
from takeback.adapters.opener import load_manifest
from takeback.adapters.trust import require_trusted
from takeback.agents.recorder import Noticed, Watched, follow_changes
from takeback.agents.scratch_copy import NOT_STARTED, explain_not_started, run_bounded
from takeback.canonical import encode
from takeback.cli.context import DirOption, JournalOption, name_for_shell, open_harness
from takeback.cli.hints import make_command_line, remember_directory
from takeback.cli.output import JsonFlag, err, out, set_interrupt_message
from takeback.cli.secrets import mask_answer
from takeback.errors import InputError, MissingExtraError
from takeback.harness import Undone
from takeback.present.entries import make_entry_namer, summarize_entry


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("watch")(watch)


def watch(
    verify: bool = typer.Option(
        False, "--verify", help="Warn about files that a client would not load, and about looser permissions."
    ),
    command: str = typer.Option("", "--exec", metavar="CMD", help="Run this after each change: a health check."),
    auto: bool = typer.Option(False, "--auto", help="Undo each change after which the command fails."),
    seconds: float = typer.Option(300.0, "--seconds", min=0.1, help="How long one run of the command may take."),
    until: float = typer.Option(0.0, "--for", min=0.0, help="End after this many seconds.", show_default="never"),
    polling: bool = typer.Option(False, "--polling", help="Poll the files, for network drives."),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Watch the harness's files, and record each change made outside Takeback as an entry.

    Each is reported on one line.

    Writes in quick succession, such as a switch of branches, form one entry. Earlier changes that are not recorded
    yet are recorded at the start. Needs `pip install 'takeback[watch]'`. With `--json` each change is one line of
    JSON.

    Example: `takeback watch --verify`, `takeback watch --exec 'make check' --auto`
    """
    if auto and not command:
        raise InputError("options", found="--auto without --exec", expected="a command that tells whether to undo")
    if find_spec("watchfiles") is None:
        raise MissingExtraError("watchfiles is not installed", hint="pip install 'takeback[watch]'")
    root = find_root(directory)
    remember_directory(directory)
    require_trusted(root, load_manifest(root))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if until:
        timer = threading.Timer(until, stop.set)
        timer.daemon = True
        timer.start()
    set_interrupt_message("recorded changes stay; running it again first records what changed in between")
    err.print(f"watching {root}")
    for noticed in follow_changes(Watched(root, journal=journal, check=verify), stop, polling=polling):
        code = run_bounded(command, root, seconds) if command and noticed.entry is not None else 0
        if code in NOT_STARTED:
            raise explain_not_started(command, code, "--exec")
        failed = code != 0
        undone = _undo_entry(root, journal, noticed) if failed and auto else ""
        _tell(root, journal, noticed, failed=failed, undone=undone, as_json=as_json)
    if not stop.is_set():
        raise KeyboardInterrupt


def _undo_entry(root: Path, journal: str | None, noticed: Noticed) -> str:
    if noticed.entry is None:
        return ""
    with open_harness(root, journal) as harness:
        outcome = harness.undo(noticed.entry.id)
        return "taken back" if isinstance(outcome, Undone) else f"could not be undone: {outcome}"


def _tell(root: Path, journal: str | None, noticed: Noticed, *, failed: bool, undone: str, as_json: bool) -> None:
    entry = noticed.entry
    what = ""
    if entry is not None:
        with open_harness(root, journal) as harness:
            what = summarize_entry(entry, make_entry_namer(harness))
    if as_json:
        line = {"entry": None if entry is None else entry.seq, "what": what, "warnings": list(noticed.warnings)}
        answer = mask_answer({**line, "failed": failed, "undone": undone}, exact=True)
        out.write(encode(answer, ascii_only=True) + "\n")
        sys.stdout.flush()
        return
    if entry is not None:
        out.print(f"#{entry.seq}  {what}")
    for warning in noticed.warnings:
        out.print(f"  warning: {warning}", style="yellow")
    if failed and entry is not None:
        told_undo = undone or f"to undo it: {make_command_line('undo', name_for_shell(entry.seq, entry.id))}"
        out.print(f"  the check failed; {told_undo}", style="red")
    sys.stdout.flush()
