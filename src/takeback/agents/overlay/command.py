"""A command on an overlay: started, waited for, and what it did read back.

The command has the terminal; Ctrl-C is its own. If this process is killed, the command ends with it, and what it
wrote stays with its run. Where no overlay can be had the error names the step, the system's reason and a way out.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from takeback.adapters.directory import Directory
from takeback.adapters.roots import PRIVATE
from takeback.agents.overlay import namespace
from takeback.agents.overlay.layer import Layer, read_layer
from takeback.agents.overlay.runs import NAMES, OverlayRun, save_run
from takeback.agents.overlay.snapshot import take_snapshot
from takeback.agents.overlay.transfer import is_done
from takeback.errors import HarnessError, InputError, TakebackError

WITHOUT: Final = (
    "without Takeback the command runs as always, and 'takeback adopt' records what it did to the harness"
)
REASONS: Final = {
    errno.EPERM: "the system does not allow it to this user (user namespaces, AppArmor or a container)",
    errno.EACCES: "the system does not allow it to this user (AppArmor, SELinux or a container)",
    errno.ENOSYS: "this kernel is too old: Linux 5.12 or later is needed",
    errno.ENODEV: "this kernel has no overlay file system",
    errno.ENOSPC: "the system allows no more namespaces (user.max_user_namespaces)",
    errno.EINVAL: "this kernel, or the file system of the folder for what the command writes, cannot do it",
}
TEMPORARY: Final = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - folders that the command gets for itself


class NoOverlayError(TakebackError):
    """The system gives this user no overlay."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    run: OverlayRun
    others: bool = False
    """Whether processes that it had started were still running, and were ended."""


def require_linux(platform: str = sys.platform) -> None:
    """Refuse a system that has no overlays."""
    if platform != "linux":
        raise InputError("takeback run", found=platform, expected="Linux 5.12 or later", hint=WITHOUT)


def prepare_run(run: OverlayRun) -> int:
    """Take the snapshot; return how many things of the project the command cannot change, as others own them."""
    snapshot, foreign = take_snapshot(run.root)
    snapshot.save(run.folder / NAMES)
    return 0 if os.geteuid() == 0 else foreign


def execute_run(
    run: OverlayRun, *, cwd: Path, temporary: str = "", writable: Sequence[Path] = (), stdout: int | None = None
) -> Ended:
    """Run the command with the project as an overlay; return how it ended.

    `temporary` is a temporary folder besides the usual ones, `writable` are folders that it may really write to.
    """
    reading, writing = os.pipe()
    plan = run.folder / "plan.json"
    plan.write_text(json.dumps(_make_plan(run, cwd, temporary, writable)), encoding="ascii")
    ours = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        words = [sys.executable, "-I", "-S", namespace.__file__, str(plan), str(writing)]
        process = subprocess.Popen(words, pass_fds=(writing,), stdout=stdout)  # noqa: S603 - the command that the user gave
        os.close(writing)
        with os.fdopen(reading, encoding="ascii") as report:
            said = [json.loads(line) for line in report]
        process.wait()
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
    about: dict[str, Any] = {key: value for line in said for key, value in line.items()}
    _require_run(run, about)
    ended = replace(run, code=about["code"] if about["code"] >= 0 else 128 - about["code"])
    save_run(ended)
    return Ended(ended, bool(about["others"]))


def _make_plan(run: OverlayRun, cwd: Path, temporary: str, writable: Sequence[Path]) -> dict[str, Any]:
    places = {os.path.realpath(place) for place in (*TEMPORARY, *([temporary] if temporary else ()))}
    private = [
        place for place in sorted(places, key=len) if os.path.isdir(place) and not _covers(str(run.root), place)
    ]
    return {
        "root": str(run.root),
        "upper": str(run.upper),
        "work": str(run.folder / "work"),
        "merged": str(run.folder / "merged"),
        "shown": [PRIVATE],
        "private": [(place, str(run.folder / "private" / str(at))) for at, place in enumerate(private)],
        "writable": [os.path.realpath(place) for place in writable],
        "cwd": str(cwd),
        "command": run.command,
        "parent": os.getpid(),
    }


def _covers(root: str, place: str) -> bool:
    """Return whether a folder is the project or in it."""
    return place == root or place.startswith(f"{root}/")


def _require_run(run: OverlayRun, report: dict[str, Any]) -> None:
    """Raise if the command was not run to its end."""
    if "step" in report:
        number = int(report["errno"])
        why = REASONS.get(number, "an overlay needs Linux 5.12 or later and a file system such as ext4")
        raise NoOverlayError(
            f"no overlay can be had here: {report['step']} failed ({os.strerror(number)}): {why}", hint=WITHOUT
        )
    if "unstarted" in report:
        number = int(report["unstarted"])
        raise InputError(
            run.command[0],
            found="no such command" if number == errno.ENOENT else os.strerror(number),
            expected="an executable command",
            hint="to run a shell line: takeback run -- sh -c 'LINE'",
        )
    if "code" not in report:
        raise HarnessError(
            "the overlay ended before the command did, killed from outside; nothing was kept",
            hint="'takeback run --resume' shows what it wrote, 'takeback run --drop-leftovers' drops it",
        )


def read_pending(run: OverlayRun) -> Layer:
    """Return what a run did and nobody took over yet."""
    layer = read_layer(run.upper, run.root, run.snapshot)
    with closing(Directory(run.root)) as directory:
        return replace(layer, changes=tuple(change for change in layer.changes if not is_done(directory, change)))
