"""`takeback watch`: follow the files, and record what others change."""

from __future__ import annotations

import signal
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import typer

from takeback.adapters.manifest import find_root
from takeback.adapters.open_by_manifest import manifest_of
from takeback.adapters.trust_gate import demand_trusted
from takeback.agents.scratch import NOT_STARTED, explain_not_started, run_bounded
from takeback.agents.watching import Noticed, Watched, follow
from takeback.canonical import encode
from takeback.cli.here import line, told
from takeback.cli.output import JsonFlag, err, out, when_interrupted
from takeback.cli.revealing import mask_answer
from takeback.cli.workspaces import DirOption, JournalOption, name_for_shell, opened
from takeback.errors import InputError, MissingExtraError
from takeback.harness import Undone
from takeback.present.entries import summary
from takeback.present.filters import names_in


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("watch")(watch)


def watch(
    verify: bool = typer.Option(
        False, "--verify", help="Warn of what a client would not load, and of looser permissions."
    ),
    command: str = typer.Option("", "--exec", metavar="CMD", help="Run this after each change: a health check."),
    auto: bool = typer.Option(False, "--auto", help="Take a change back after which the command fails."),
    seconds: float = typer.Option(300.0, "--seconds", min=0.1, help="How long one run of the command may take."),
    until: float = typer.Option(0.0, "--for", min=0.0, help="End after this many seconds.", show_default="never"),
    polling: bool = typer.Option(False, "--polling", help="Poll the files, for network drives."),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Follow the harness's files, and record each change that others make as an entry. Each is told in one line.

    Writes that come close together, such as a switch of branches, are one entry. What changed while nobody watched is
    recorded at the start. Needs `pip install 'takeback[watch]'`. With `--json` each change is one line of JSON.

    Example: `takeback watch --verify`, `takeback watch --exec 'make check' --auto`
    """
    if auto and not command:
        raise InputError("options", found="--auto without --exec", expected="a command that tells whether to undo")
    if find_spec("watchfiles") is None:
        raise MissingExtraError("watchfiles is not installed", hint="pip install 'takeback[watch]'")
    root = find_root(directory)
    told(directory)
    demand_trusted(root, manifest_of(root))
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if until:
        timer = threading.Timer(until, stop.set)
        timer.daemon = True
        timer.start()
    when_interrupted("what was recorded stays; the same command records first what changed meanwhile")
    err.print(f"watching {root}")
    for noticed in follow(Watched(root, journal=journal, check=verify), stop, polling=polling):
        code = run_bounded(command, root, seconds) if command and noticed.entry is not None else 0
        if code in NOT_STARTED:
            raise explain_not_started(command, code, "--exec")
        failed = code != 0
        undone = _undone(root, journal, noticed) if failed and auto else ""
        _tell(root, journal, noticed, failed=failed, undone=undone, as_json=as_json)
    if not stop.is_set():
        raise KeyboardInterrupt


def _undone(root: Path, journal: str | None, noticed: Noticed) -> str:
    """Take the entry back; says how that went."""
    if noticed.entry is None:
        return ""
    with opened(root, journal) as harness:
        outcome = harness.undo(noticed.entry.id)
        return "taken back" if isinstance(outcome, Undone) else f"could not be taken back: {outcome}"


def _tell(root: Path, journal: str | None, noticed: Noticed, *, failed: bool, undone: str, as_json: bool) -> None:
    entry = noticed.entry
    what = ""
    if entry is not None:
        with opened(root, journal) as harness:
            what = summary(entry, names_in(harness))
    if as_json:
        told = {"entry": None if entry is None else entry.seq, "what": what, "warnings": list(noticed.warnings)}
        answer = mask_answer({**told, "failed": failed, "undone": undone}, exact=True)
        out.write(encode(answer, ascii_only=True) + "\n")
        sys.stdout.flush()
        return
    if entry is not None:
        out.print(f"#{entry.seq}  {what}")
    for warning in noticed.warnings:
        out.print(f"  warning: {warning}", style="yellow")
    if failed and entry is not None:
        told_undo = undone or f"to take it back: {line('undo', name_for_shell(entry.seq, entry.id))}"
        out.print(f"  the check failed; {told_undo}", style="red")
    sys.stdout.flush()
