"""What a SQLite journal's files are before they are opened: ours or not, whole or not, writable or not.

Looking writes nothing: a file that is not a journal is left exactly as it is. New files are readable by their owner
only. A lock file beside the database keeps other processes out; the system drops the lock when a process dies.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from takeback.errors import JournalBusyError, JournalCorruptError, JournalError
from takeback.journal.raw_file import copy_file

POLL: Final = 0.01
LOOKS: Final = 5
"""How often a file that looks damaged, or like no journal, is looked at."""
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
OURS: Final = frozenset({"records", "schema_version"})


def beside(path: Path, ending: str) -> Path:
    """A file that belongs to a database: `-wal`, `-shm`, `.lock`."""
    return path.with_name(path.name + ending)


def demand_plain(path: Path) -> None:
    """Refuse a journal reached through a link, and one whose directory is not there."""
    if not path.parent.is_dir():
        raise JournalError(f"cannot open the journal {path}: its directory does not exist")
    for place in (path, path.parent):
        if place.is_symlink():
            what = "it is" if place == path else f"its directory {place} is"
            raise JournalError(f"cannot open the journal {path}: {what} a link, which is not followed")
    if path.exists() and not path.is_file():
        raise JournalError(f"cannot open the journal {path}: it is not a file")


def has_bytes(path: Path) -> bool:
    """Tell whether there is anything in a file."""
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def uri(path: Path, mode: str) -> str:
    """A name under which SQLite opens the file in a mode and no other."""
    return f"file:{quote(os.fsencode(path.absolute()))}?{mode}"


def demand_journal(path: Path) -> None:
    """Refuse what is not a journal, without writing a byte."""
    if not has_bytes(path) and not has_bytes(beside(path, "-wal")):
        raise JournalCorruptError(f"the journal {path} is empty: it was truncated; restore it from a copy")
    for left in range(LOOKS - 1, -1, -1):  # looking takes no lock: a page may be on its way from the log to the file
        try:
            if _tables_of(path) >= OURS:
                return
        except sqlite3.DatabaseError:
            if not left:
                raise
        time.sleep(POLL)
    raise JournalError(f"{path} is a SQLite database, but not a Takeback journal")


def _tables_of(path: Path) -> set[str]:
    logged = has_bytes(beside(path, "-wal"))
    try:
        tables = _tables(uri(path, "mode=ro&immutable=1"))
    except sqlite3.DatabaseError:
        if not logged:
            raise
        tables = set()  # what is missing from the file, or half written to it, is in the log
    return _tables(uri(path, "mode=ro")) if not tables >= OURS and logged else tables


def _tables(name: str) -> set[str]:
    with closing(sqlite3.connect(name, uri=True)) as connection:
        return {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def can_write(path: Path) -> bool:
    """Tell whether this process may change the file and make others beside it."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


class ReadingCopy:
    """How to read a journal or key file that cannot be written; a copy where SQLite could not read it in place.

    With `untouched`, SQLite makes no file beside it either, as it does for a write-ahead log.
    """

    def __init__(self, path: Path, *, untouched: bool = False) -> None:
        self._directory: str | None = None
        self.path = path
        self.uri = uri(path, "mode=ro")
        if not untouched and self._can_read_in_place():
            return
        if not has_bytes(beside(path, "-wal")):
            self.uri = uri(path, "mode=ro&immutable=1")
            return
        self._directory = tempfile.mkdtemp(prefix="takeback-reading-")
        self.path = Path(self._directory) / "journal.db"
        for ending in ("", "-wal"):
            copy_file(beside(path, ending), beside(self.path, ending))
        self.uri = uri(self.path, "mode=rw")

    def _can_read_in_place(self) -> bool:
        """Tell whether SQLite reads the file where it is; it may make others beside it for that."""
        try:
            _tables(self.uri)
        except sqlite3.Error:
            return False
        return True

    @property
    def made(self) -> bool:
        """Whether it took a copy."""
        return self._directory is not None

    def close(self) -> None:
        """Remove the copy."""
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)


def make_file(path: Path) -> Path:
    """Make an empty file to become a database, which only its owner can read; SQLite gives others the same mode."""
    made = beside(path, ".new")
    made.unlink(missing_ok=True)
    os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    return made


def put_in_place(made: Path, path: Path) -> None:
    """Give a finished file its name, durably."""
    made.rename(path)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


class FileLock:
    """A lock on a file, for one process at a time."""

    def __init__(self, path: Path, journal: str) -> None:
        self._path = path
        self._journal = journal
        self._fd: int | None = None

    def acquire(self, deadline: float, timeout: float) -> None:
        """Wait for the lock until a moment; on the file that is there when it is given."""
        while True:
            self._fd = self._locked(deadline, timeout)
            if self.held():
                return
            self.release()
            if time.monotonic() >= deadline:
                raise self._busy(timeout)

    def _busy(self, timeout: float) -> JournalBusyError:
        return JournalBusyError(f"another process held the journal {self._journal} for over {timeout:g} s; try again")

    def _locked(self, deadline: float, timeout: float) -> int:
        try:
            fd = os.open(self._path, _LOCK_FLAGS, 0o600)
        except OSError as error:
            why = "its lock is a link, which is not followed" if error.errno == errno.ELOOP else error.strerror
            raise JournalError(f"cannot lock the journal {self._journal}: {why}") from error
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(fd)
                    raise self._busy(timeout) from None
                time.sleep(POLL)
            else:
                return fd

    def release(self) -> None:
        """Let the lock go."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def held(self) -> bool:
        """Tell whether the lock is held, and on the file that others would lock."""
        if self._fd is None:
            return False
        try:
            there = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return False
        ours = os.fstat(self._fd)
        return (there.st_ino, there.st_dev) == (ours.st_ino, ours.st_dev)
