"""Writes that fail while torture works: a disk that fills up, a directory nobody may write to, a lost connection.

Faults are real where the machine lets them be: a small disk of the run's own is mounted, and directories are made
immutable, when the run is root's; otherwise permissions are taken away, or the system call is made to fail. A lost
connection ends the PostgreSQL backend that holds the journal's lock while files are being written; with SQLite, the
file that is locked is taken away.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from takeback.journal.sqlite_files import name_companion

ROOT_USER: Final = 0
DISK: Final = "16m"
FILLER: Final = "filler"
FULL: Final = "full disk"
UNWRITABLE: Final = "unwritable directory"
CUT: Final = "lost connection"
STALE: Final = "stale writer"
"""A process that lost its lock, stood still while another went on, and wakes up in the middle of its change."""
ROLLING_BACK: Final = "rollback."


@contextmanager
def small_disk(place: Path) -> Iterator[bool]:
    """A disk of its own at a place; yields whether there is one."""
    place.mkdir()
    done = _run("mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place))
    try:
        yield done
    finally:
        if done:
            _run("umount", str(place))


class Faults:
    """The faults of one run; `disk` is the small disk the workspace lies on, if there is one."""

    def __init__(self, root: Path, disk: Path | None, journal: str) -> None:
        self._root = root
        self._disk = disk
        self._journal = journal
        self.kinds = (FULL, UNWRITABLE, CUT, STALE)

    def begin(self, kind: str | None) -> None:
        """Let a fault set in, before a child works."""
        if kind == FULL and self._disk is not None:
            _fill(self._disk / FILLER)
        elif kind == UNWRITABLE and not _run("chattr", "+i", str(self._root / "files")):
            (self._root / "files").chmod(0o500)

    def end(self) -> None:
        """Take every fault away again."""
        if self._disk is not None:
            (self._disk / FILLER).unlink(missing_ok=True)
        if not _run("chattr", "-i", str(self._root / "files")):
            (self._root / "files").chmod(0o755)

    def probe(self, kind: str | None, harness: Any, rng: random.Random) -> Any:
        """What a child does at a boundary to make its fault felt, where the machine does not."""
        left = rng.randrange(1, 4)

        def strike(name: str) -> None:
            nonlocal left
            if kind in {CUT, STALE} and name == "file.renamed":
                left -= 1
                if left == 0:
                    _cut(harness.journal, self._journal)
                    if kind == STALE:
                        os.kill(os.getpid(), signal.SIGSTOP)
            elif kind == FULL and self._disk is None and name == "file.temp.created":
                left -= 1
                if left <= 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return strike


def _cut(store: Any, url: str) -> None:
    """Make a store lose its lock: end its connection from another one, or remove the file that it locked."""
    if "://" not in url:
        name_companion(Path(url), ".lock").unlink(missing_ok=True)
        return
    import psycopg  # noqa: PLC0415 - only with the extra, and only here

    pid = store._connection.info.backend_pid  # noqa: SLF001 - nobody else may want to do this
    with psycopg.connect(url.partition("#")[0], autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", (pid,))


def _fill(place: Path) -> None:
    """Fill a disk to the last byte."""
    with place.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(65536))
        except OSError:
            pass
        try:
            while True:
                file.write(b"x")
        except OSError:
            return


def _run(name: str, *args: str) -> bool:
    """Run a tool of the system, if it is there and the run is root's; whether it did what it should."""
    tool = shutil.which(name)
    if os.geteuid() != ROOT_USER or tool is None:
        return False
    return subprocess.run([tool, *args], capture_output=True, check=False).returncode == 0  # noqa: S603 - as named
