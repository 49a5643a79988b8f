"""A program of its own: runs a command that sees the project through an overlay and all else read-only.

It is started with the file of a plan and a descriptor for what it reports, and imports nothing of Takeback. Mounts
are made in a mount namespace, so none is left behind; a process namespace ends with the command whatever that
started. System calls go through ctypes: Python 3.11 has no `os.unshare`, and `unshare`(1) cannot keep the user's
number while mounts are made in every version that is in use. This is no sandbox.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import stat
import struct
import sys
from collections.abc import Iterator
from typing import Any, Final, NoReturn

NEW_MOUNTS: Final = 0x00020000
NEW_USER: Final = 0x10000000
NEW_PROCESSES: Final = 0x20000000
NO_SUID, NO_DEVICES, NO_EXEC = 2, 4, 8
BIND, MOVE, RECURSIVE, PRIVATE = 0x1000, 0x2000, 0x4000, 0x40000
MOUNT_SETATTR: Final = 442
"""Number of the system call; one for all architectures that have it."""
HERE: Final = -100
WHOLE_TREE: Final = 0x8000
READ_ONLY: Final = 1
PARENT_DEATH: Final = 1
MOST_ENTRIES: Final = 4_000
"""So many things of a temporary folder are shown to the command at most."""
NOT_FOUND, NOT_STARTED = 127, 126

_LIBC: Final = ctypes.CDLL(None, use_errno=True)


class StepError(Exception):
    """A step of the preparation failed."""

    def __init__(self, step: str, number: int) -> None:
        super().__init__(step)
        self.step, self.number = step, number


def call(step: str, function: str, *arguments: Any) -> None:
    """Make a system call, or say at which step it failed."""
    if getattr(_LIBC, function)(*arguments) != 0:
        raise StepError(step, ctypes.get_errno())


def mount(
    step: str, source: str | None, place: str, kind: str | None = None, flags: int = 0, options: str = ""
) -> None:
    """Mount something."""
    words = [None if word is None else os.fsencode(word) for word in (source, place, kind)]
    call(step, "mount", *words, ctypes.c_ulong(flags), options.encode())


def set_read_only(place: str, *, whole: bool = False, on: bool = True) -> None:
    """Make a mount, or the whole tree of them, read-only; or one writable again."""
    bits = (READ_ONLY, 0) if on else (0, READ_ONLY)
    attributes = struct.pack("QQQQ", *bits, 0, 0)
    words = (
        ctypes.c_long(MOUNT_SETATTR),
        HERE,
        os.fsencode(place),
        WHOLE_TREE if whole else 0,
        attributes,
        len(attributes),
    )
    call(f"making {place} {'read-only' if on else 'writable'}", "syscall", *words)


def enter_namespaces() -> None:
    """Leave the mounts and processes of everybody else; without privileges through a user namespace of one user."""
    user, group = os.geteuid(), os.getegid()
    if user == 0 and _LIBC.unshare(NEW_MOUNTS | NEW_PROCESSES) == 0:
        return
    call("making a user namespace", "unshare", NEW_USER | NEW_MOUNTS | NEW_PROCESSES)
    try:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{user} {user} 1"),
            ("gid_map", f"{group} {group} 1"),
        ):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)
    except OSError as fault:
        raise StepError("naming the user in the user namespace", fault.errno or 0) from fault


def mount_overlay(plan: dict[str, Any]) -> None:
    """Mount the overlay at its waiting place, with Takeback's own folder and inner mounts as they are."""
    merged, root = plan["merged"], plan["root"]
    layers = {name: os.open(plan[name], os.O_RDONLY | os.O_DIRECTORY) for name in ("root", "upper", "work")}
    lower, upper, work = (f"/proc/self/fd/{fd}" for fd in layers.values())  # no name can break the options
    options = f"userxattr,index=off,lowerdir={lower},upperdir={upper},workdir={work}"
    mount("mounting the overlay", "overlay", merged, "overlay", options=options)
    for fd in layers.values():
        os.close(fd)
    for path in (*plan["shown"], *list_inner_mounts(root)):
        if os.path.isdir(os.path.join(root, path)):
            place = os.path.join(merged, path)
            mount(f"showing {path}", os.path.join(root, path), place, flags=BIND | RECURSIVE)


def list_inner_mounts(root: str) -> Iterator[str]:
    """Yield the folders below the project where something else is mounted, without those inside another."""
    last = ""
    with open("/proc/self/mountinfo", "rb") as file:
        places = sorted(os.fsdecode(line.split(b" ")[4].decode("unicode_escape").encode("latin-1")) for line in file)
    for place in places:
        if place.startswith(f"{root}/") and not (last and place.startswith(f"{last}/")):
            last = place
            yield os.path.relpath(place, root)


def prepare_private(place: str, own: str) -> None:
    """Prepare a folder of the command's own in which everything that is in a temporary folder now can be read."""
    os.mkdir(own, 0o700)
    status = os.stat(place)
    mount(f"preparing {place}", own, own, flags=BIND)
    with os.scandir(place) as entries:
        for entry, _ in zip(entries, range(MOST_ENTRIES), strict=False):
            try:
                _show_entry(entry, os.path.join(own, entry.name))
            except (OSError, StepError):
                continue  # what cannot be shown is not there for the command
    os.chmod(own, stat.S_IMODE(status.st_mode))


def _show_entry(entry: os.DirEntry[str], shown: str) -> None:
    if entry.is_symlink():
        os.symlink(os.readlink(entry.path), shown)
        return
    if entry.is_dir():
        os.mkdir(shown)
    else:
        os.close(os.open(shown, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    mount(f"showing {entry.path}", entry.path, shown, flags=BIND | RECURSIVE)


def prepare_mounts(plan: dict[str, Any]) -> None:
    """Put the overlay over the project, and make everything else read-only."""
    mount("parting from other mounts", None, "/", flags=RECURSIVE | PRIVATE)
    mount_overlay(plan)
    for place, own in plan["private"]:
        prepare_private(place, own)
    set_read_only("/", whole=True)
    over = (*plan["private"], (plan["root"], plan["merged"]))
    mounts = [(place, os.open(own, os.O_PATH | os.O_DIRECTORY)) for place, own in over]
    for place, fd in mounts:  # by descriptor: their names may be hidden by what is put over a temporary folder
        mount(f"putting a folder over {place}", f"/proc/self/fd/{fd}", place, flags=MOVE)
        set_read_only(place, on=False)
        os.close(fd)
    for place in plan["writable"]:
        mount(f"opening {place}", place, place, flags=BIND | RECURSIVE)
        set_read_only(place, on=False)
    _mount_proc()


def _mount_proc() -> None:
    """Show the command its own processes; where that is not allowed, it sees the old list, read-only."""
    try:
        mount("mounting /proc", "proc", "/proc", "proc", NO_SUID | NO_DEVICES | NO_EXEC)
    except StepError:
        return
    try:
        mount("showing /proc/sys", "/proc/sys", "/proc/sys", flags=BIND)
        set_read_only("/proc/sys")
    except StepError:
        return


def die_with_parent(parent: int) -> None:
    """End this process when the one that started it ends."""
    _LIBC.prctl(PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def run_command(plan: dict[str, Any], report: int) -> NoReturn:
    """Become the first process of the namespace: run the command, and end everything else with it."""
    process = os.fork()
    if process == 0:
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        try:
            os.chdir(plan["cwd"])
            os.execvp(plan["command"][0], plan["command"])  # noqa: S606 - the command that the user gave
        except OSError as fault:
            tell(report, {"unstarted": fault.errno})
            os._exit(NOT_FOUND if isinstance(fault, FileNotFoundError) else NOT_STARTED)
    status = None
    while status is None:
        ended, wait_status = os.waitpid(-1, 0)
        status = wait_status if ended == process else None
    others = _has_others()
    tell(report, {"code": os.waitstatus_to_exitcode(status), "others": others})
    os._exit(0)


def _has_others() -> bool:
    """Return whether anything that the command started still runs."""
    ended = 1
    while ended:
        try:
            ended, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
    return True


def tell(report: int, said: dict[str, Any]) -> None:
    """Write one line of JSON to whoever started this."""
    os.write(report, json.dumps(said).encode() + b"\n")


def main() -> None:
    """Carry out the plan."""
    with open(sys.argv[1], encoding="ascii") as file:
        plan = json.load(file)
    report = int(sys.argv[2])
    os.set_inheritable(report, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    try:
        enter_namespaces()
        die_with_parent(plan["parent"])
        first = os.fork()
        if first == 0:
            _LIBC.prctl(PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
            prepare_mounts(plan)
            tell(report, {"ready": True})
            run_command(plan, report)
    except StepError as fault:
        tell(report, {"step": fault.step, "errno": fault.number})
        os._exit(1)
    except OSError as fault:
        tell(report, {"step": f"preparing {fault.filename or 'the overlay'}", "errno": fault.errno})
        os._exit(1)
    os.waitpid(first, 0)


if __name__ == "__main__":
    main()
