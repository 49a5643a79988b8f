"""Runs of commands on overlays: a folder on disk for each, and the command in it, started and waited for.

The folder has what the command wrote and what is needed to decide about that later. It lies outside the project, on a
file system that can be an overlay's upper layer, and is locked as long as its run goes on. What nobody decided about
stays there, and is found again by project. The command has the terminal; Ctrl-C is its own. It ends with this process
if that is killed. Where no overlay can be had the error names the step, the system's reason and a way out.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import secrets
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from takeback.adapters.roots import PRIVATE
from takeback.agents.overlay import namespace
from takeback.agents.overlay.layer import Snapshot, take_snapshot
from takeback.errors import HarnessError, InputError, TakebackError

ABOUT: Final = "run.json"
NAMES: Final = "names.json"
UNSUITABLE: Final = frozenset({"overlay", "tmpfs", "ramfs", "nfs", "nfs4", "cifs", "smb3", "9p", "vfat", "exfat"})
"""File systems that cannot be an upper layer, or would fill the memory."""
TRASH: Final = "gone-"
PATIENCE: Final = 1.0
"""Seconds for which removing is waited for."""
REMOVER: Final = "import shutil, sys; shutil.rmtree(sys.argv[1], ignore_errors=True)"
SPARE: Final = Path("/var/tmp")  # noqa: S108 - folders below it are this user's own, and checked


@dataclass(frozen=True, slots=True)
class OverlayRun:
    """One run of a command."""

    folder: Path
    root: Path
    command: tuple[str, ...]
    began: float
    """When, in seconds since 1970."""
    code: int | None = None
    """How the command ended; None where it did not, or nobody was left to see it."""

    @property
    def upper(self) -> Path:
        """What the command wrote, as the overlay has it."""
        return self.folder / "upper"

    @property
    def snapshot(self) -> Snapshot:
        """The project's names when the command began."""
        try:
            return Snapshot.load(self.folder / NAMES)
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise HarnessError(
                f"{self.folder} cannot be read: {fault}",
                hint=f"the command's files are in {self.upper}; 'takeback run --drop-leftovers' drops it",
            ) from fault


def find_run_places(state: Path) -> tuple[Path, ...]:
    """Return the folders in which runs may be, by the user's folder for state."""
    return (state / "takeback" / "runs", SPARE / f"takeback-{os.geteuid()}")


def make_run(places: Sequence[Path], root: Path, command: Sequence[str], *, chosen: Path | None = None) -> OverlayRun:
    """Make the folder of a run where an overlay can be; on the project's own file system if possible."""
    device = os.stat(root).st_dev
    tried: list[str] = []
    usable: list[tuple[bool, Path]] = []
    for place in [chosen.absolute()] if chosen is not None else places:
        why = _why_unusable(place, root, named=chosen is not None)
        if why is None:
            usable.append((os.stat(place).st_dev != device, place))
            if not usable[-1][0]:
                break  # the next places need not be made
        else:
            tried.append(f"{place} ({why})")
    if not usable:
        raise HarnessError(
            f"there is no folder for what the command writes: {'; '.join(tried)}; it must lie outside the project, "
            "on a file system such as ext4, xfs or btrfs",
            hint="'takeback run --scratch DIR -- CMD' names one",
        )
    place = min(usable, key=lambda match: match[0])[1]
    name = f"{_make_key(root)}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(3)}"
    run = OverlayRun(place / name, root, tuple(command), time.time())
    run.folder.mkdir(0o700)
    status = os.stat(root)
    for inner in (run.upper, run.folder / "work", run.folder / "merged", run.folder / "private"):
        inner.mkdir(0o700)
    os.chown(run.upper, *((status.st_uid, status.st_gid) if os.geteuid() == 0 else (-1, -1)))
    run.upper.chmod(stat.S_IMODE(status.st_mode))
    save_run(run)
    return run


def _make_key(root: Path) -> str:
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:12]


def _why_unusable(place: Path, root: Path, *, named: bool) -> str | None:
    """Return why runs cannot be in a folder, which is made if it is missing; None if they can."""
    if place.is_relative_to(root):
        return "it is inside the project"
    try:
        place.mkdir(0o700, parents=True, exist_ok=True)
        status = os.lstat(place)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return "it is not a folder of this user"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return "others can write there"
    except OSError as fault:
        return fault.strerror or str(fault)
    if place.resolve().is_relative_to(root):
        return "it is inside the project"
    kind = _find_file_system(status.st_dev)
    return kind if not named and (kind in UNSUITABLE or kind.startswith("fuse")) else None


def _find_file_system(device: int) -> str:
    """Return the name of the file system with a device's number."""
    wanted = f"{os.major(device)}:{os.minor(device)}".encode()
    with suppress(OSError), open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            words = line.split(b" ")
            if words[2] == wanted:
                return words[words.index(b"-") + 1].decode()
    return ""


def save_run(run: OverlayRun) -> None:
    """Write down what a run is about."""
    about = {"root": str(run.root), "command": run.command, "began": run.began, "code": run.code}
    written = run.folder / f"{ABOUT}.new"
    written.write_text(json.dumps(about), encoding="ascii")
    written.replace(run.folder / ABOUT)


@contextmanager
def hold_run(run: OverlayRun) -> Iterator[bool]:
    """Hold a run's lock; yields whether nobody else holds it."""
    held = os.open(run.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(held)


def find_leftovers(places: Sequence[Path], root: Path) -> tuple[OverlayRun, ...]:
    """Return the runs in a project that nobody decided about and that do not go on, oldest first."""
    leftovers: list[OverlayRun] = []
    for place in places:
        for folder in sorted(place.glob(f"{_make_key(root)}-*")) if place.is_dir() else ():
            run = _load_run(folder)
            if run is None or run.root != root:
                continue
            with hold_run(run) as free:
                leftovers += [run] if free else []
    return tuple(sorted(leftovers, key=lambda run: run.began))


def _load_run(folder: Path) -> OverlayRun | None:
    try:
        if os.lstat(folder).st_uid != os.geteuid():
            return None
        about: dict[str, Any] = json.loads((folder / ABOUT).read_text(encoding="ascii"))
        return OverlayRun(folder, Path(about["root"]), tuple(about["command"]), float(about["began"]), about["code"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def drop_run(run: OverlayRun) -> None:
    """Remove a run with all that the command wrote."""
    try:
        discard_tree(run.folder)
    except OSError as fault:
        raise HarnessError(
            f"{run.folder} cannot be removed: {fault.strerror or fault}",
            hint=f"remove it yourself: rm -rf {run.folder}",
        ) from fault


def discard_tree(place: Path, seconds: float = PATIENCE) -> None:
    """Remove a folder with everything in it; where that takes long, a process of its own goes on with it.

    Some file systems need a minute for many files, and nobody has to wait for that. The folder gets another name
    first, so that what is half gone is not taken for a run; `sweep_trash` finds it if that process is killed.
    """
    gone = place.with_name(f"{TRASH}{secrets.token_hex(6)}")
    os.rename(place, gone)
    _remove_within(gone, seconds)


def sweep_trash(*places: Path) -> None:
    """Remove what a killed process did not get round to."""
    for place in places:
        for gone in place.glob(f"{TRASH}*") if place.is_dir() else ():
            with suppress(OSError):
                status = os.lstat(gone)
                if status.st_uid == os.geteuid() and stat.S_ISDIR(status.st_mode):
                    _remove_within(gone, 0)


def _remove_within(place: Path, seconds: float) -> None:
    folders, files = _list_tree(place)
    end = time.monotonic() + seconds
    for file in files:
        if time.monotonic() > end:
            words = [sys.executable, "-I", "-S", "-c", REMOVER, str(place)]
            quiet = subprocess.DEVNULL
            subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True)  # noqa: S603 - ours
            return
        with suppress(FileNotFoundError):  # another process sweeps too
            os.unlink(file)
    for folder in reversed(folders):
        with suppress(FileNotFoundError):
            os.rmdir(folder)


def _list_tree(place: Path) -> tuple[list[str], list[str]]:
    """Return all folders, the outer first, and files of a tree; folders that nobody may enter are opened."""
    folders: list[str] = [str(place)]
    files: list[str] = []
    for folder in folders:
        with suppress(PermissionError):
            os.chmod(folder, 0o700)
        with suppress(FileNotFoundError), os.scandir(folder) as entries:
            for entry in entries:
                (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.path)
    return folders, files


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
