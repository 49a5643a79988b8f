"""Starts a declared call's programs: without a shell, with a clean environment, within a time limit.

A program is given the call's arguments as JSON on standard input, and the key, the action and the receipt in its
environment. Exit status 0 is yes (made, compensated, it happened); any other is no; a program that was killed, or
took too long, leaves the answer open. What it prints is the receipt.

A program outlives a Takeback that is killed, so it inherits a lock: whoever asks later whether the call happened
waits until that lock is free, and then nobody is making it any more.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from takeback.canonical import encode
from takeback.harness.calls_environment import get_call_environment
from takeback.journal.failpoint import failpoint

USUAL: Final = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME")
"""What of the environment every program is given; all else may be a secret."""
MOST: Final = 4_000
"""Characters of what a program says that are kept."""
ASKED_NO: Final = 1
POLL: Final = 0.02
"""Seconds between two looks at a lock."""


class ProgramAnswer(NamedTuple):
    """What a program answered: yes, no, or None where nobody knows; and what it said."""

    yes: bool | None
    said: str
    status: int | None = None


def run_program(
    vector: Sequence[str],
    *,
    root: Path,
    given: Mapping[str, Any],
    about: Mapping[str, str],
    names: Sequence[str] = (),
    seconds: float,
    lock: int | None = None,
) -> ProgramAnswer:
    """Start a program and wait for its answer; it inherits a lock, if it is given one."""
    outside = get_call_environment()
    environment = {name: outside[name] for name in (*USUAL, *names) if name in outside} | dict(about)
    try:
        child = subprocess.Popen(  # noqa: S603 - the vector is the trusted manifest's, no shell reads it
            list(vector),
            cwd=root,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=() if lock is None else (lock,),
        )
    except OSError as fault:
        return ProgramAnswer(False, f"{vector[0]} cannot be started: {fault.strerror or fault}")
    failpoint("call.started")
    try:
        output, errors = child.communicate(encode(given).encode(), timeout=seconds)
    except subprocess.TimeoutExpired:
        _end_group(child)
        return ProgramAnswer(None, f"{vector[0]} took more than {seconds:g} seconds")
    said = (output if child.returncode == 0 else errors or output).decode(errors="replace").strip()
    for name in names:  # what a program was given in secret is not kept where it says it
        if environment.get(name):
            said = said.replace(environment[name], f"(${name})")
    said = said[:MOST]
    if child.returncode < 0:
        return ProgramAnswer(None, f"{vector[0]} was ended by signal {-child.returncode}")
    if child.returncode == 0:
        return ProgramAnswer(True, said)
    told_why = f": {said}" if said else ""
    return ProgramAnswer(False, f"{vector[0]} ended with status {child.returncode}{told_why}", child.returncode)


def ask_program(
    vector: Sequence[str],
    *,
    root: Path,
    given: Mapping[str, Any],
    about: Mapping[str, str],
    names: Sequence[str] = (),
    seconds: float,
) -> ProgramAnswer:
    """Ask whether something happened: status 0 is yes, 1 is no, any other is no answer."""
    if not vector:
        return ProgramAnswer(None, "")
    outcome = run_program(vector, root=root, given=given, about=about, names=names, seconds=seconds)
    if outcome.yes is False and outcome.status != ASKED_NO:
        return ProgramAnswer(None, outcome.said)
    return outcome


@contextmanager
def hold_for_program(place: Path) -> Iterator[int]:
    """Yield a lock to give to a program; it is free again when this process and the program have let it go."""
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    lock = os.open(place, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield lock
    finally:
        os.close(lock)


def wait_for_program(place: Path, seconds: float) -> bool:
    """Wait until the program that was given a lock has ended, and remove the lock; return whether it has ended."""
    until = time.monotonic() + seconds
    try:
        lock = os.open(place, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    return False
                time.sleep(POLL)
            else:
                place.unlink(missing_ok=True)
                return True
    finally:
        os.close(lock)


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """End a program and whatever it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        child.kill()
    child.communicate()
