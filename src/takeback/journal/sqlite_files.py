"""The files of a SQLite journal: checked before they are opened, read past SQLite, locked, and their errors.

Inspecting writes nothing: a file that is not a journal is left exactly as it is. New files are readable by
their owner only. A lock file beside the database keeps other processes out; the system drops the lock when a
process dies. The system also drops every lock a process has on a file as soon as the process closes any
descriptor of it, so a file that is open as a database here is read through a descriptor kept until its last
connection has ended.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from takeback.errors import JournalBusyError, JournalCorruptError, JournalError
from takeback.journal.key_index import Tables

FileIdentity: TypeAlias = tuple[int, int]
"""Device and inode."""

CHUNK: Final = 1 << 20
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC
_mutex = threading.RLock()
_connections: Counter[FileIdentity] = Counter()
_kept: dict[FileIdentity, int] = {}


def note_connection(file: FileIdentity) -> None:
    """Note that a connection to a database is about to be made in this process."""
    with _mutex:
        _connections[file] += 1


def note_disconnection(file: FileIdentity) -> None:
    """Note that a connection has ended."""
    with _mutex:
        _connections[file] -= 1
        if not _connections[file]:
            del _connections[file]
            if file in _kept:
                os.close(_kept.pop(file))


@contextmanager
def _open_for_reading(path: Path) -> Iterator[int]:
    with _mutex:
        status = path.stat()
        file = (status.st_dev, status.st_ino)
        if file not in _connections:
            descriptor = os.open(path, _FLAGS)
            try:
                yield descriptor
            finally:
                os.close(descriptor)
            return
        if file not in _kept:
            _kept[file] = os.open(path, _FLAGS)
        yield _kept[file]


def _read_chunks(descriptor: int) -> Iterator[bytes]:
    at = 0
    while chunk := os.pread(descriptor, CHUNK, at):
        at += len(chunk)
        yield chunk


def has_any_bytes(path: Path, wanted: Sequence[bytes]) -> bool:
    """Return whether a file holds any of some short byte strings."""
    overlap = max(map(len, wanted), default=1) - 1
    before = b""
    with _open_for_reading(path) as descriptor:
        for chunk in _read_chunks(descriptor):
            window = before + chunk
            if any(piece in window for piece in wanted):
                return True
            before = window[len(window) - overlap :] if overlap else b""
    return False


def copy_file(path: Path, target: Path) -> None:
    """Copy a file."""
    with _open_for_reading(path) as descriptor, target.open("wb") as file:
        for chunk in _read_chunks(descriptor):
            file.write(chunk)


DRIVER_FAULTS: Final = (sqlite3.Error, OverflowError, UnicodeError)
"""What the driver raises: its own errors, and others where a damaged file makes its messages unreadable."""

_PRIMARY: Final = 0xFF
"""The part of a code that says which kind of error it is."""
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_DAMAGED: Final = frozenset(
    {
        sqlite3.SQLITE_ERROR,  # a table or column that every journal has is missing
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_TOOBIG,
        sqlite3.SQLITE_MISMATCH,
    }
)
_FORBIDDEN: Final = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
)


def translate_error(error: Exception, what: str) -> JournalError:
    """Return our error for one of the driver's; `what` names the file."""
    code = getattr(error, "sqlite_errorcode", None)
    kind = None if code is None else code & _PRIMARY
    if kind in _BUSY:
        return JournalBusyError(f"{what} is locked by another program; nothing was written, try again")
    if kind in _DAMAGED:
        return JournalCorruptError(f"{what} is damaged ({error})")
    if kind == sqlite3.SQLITE_FULL:
        return JournalError(f"no space left to write {what}; nothing was written")
    if kind in _FORBIDDEN:
        return JournalError(f"cannot write {what} ({error}): check permissions of it and its directory")
    if kind is None and not isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return JournalCorruptError(f"{what} is damaged (what is in it cannot be read)")
    return JournalError(f"{what} could not be used: {error}")


POLL: Final = 0.01
LOOKS: Final = 5
"""How often a file that looks damaged, or like no journal, is looked at."""
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
OURS: Final = frozenset({"records", "schema_version"})


def name_companion(path: Path, ending: str) -> Path:
    """Return the path of a file that belongs to a database: `-wal`, `-shm`, `.lock`."""
    return path.with_name(path.name + ending)


def require_plain_file(path: Path) -> None:
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


def make_uri(path: Path, mode: str) -> str:
    """Return a name under which SQLite opens the file in one mode only."""
    return f"file:{quote(os.fsencode(path.absolute()))}?{mode}"


def require_journal_file(path: Path) -> None:
    """Refuse what is not a journal, without writing a byte."""
    if not has_bytes(path) and not has_bytes(name_companion(path, "-wal")):
        raise JournalCorruptError(f"the journal {path} is empty: it was truncated; restore it from a copy")
    for left in range(LOOKS - 1, -1, -1):  # looking takes no lock: a page may be on its way from the log to the file
        try:
            if _read_tables(path) >= OURS:
                return
        except sqlite3.DatabaseError:
            if not left:
                raise
        time.sleep(POLL)
    raise JournalError(f"{path} is a SQLite database, but not a Takeback journal")


def _read_tables(path: Path) -> set[str]:
    logged = has_bytes(name_companion(path, "-wal"))
    try:
        tables = _query_tables(make_uri(path, "mode=ro&immutable=1"))
    except sqlite3.DatabaseError:
        if not logged:
            raise
        tables = set()  # what is missing from the file, or half written to it, is in the log
    return _query_tables(make_uri(path, "mode=ro")) if not tables >= OURS and logged else tables


def _query_tables(name: str) -> set[str]:
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
        self.uri = make_uri(path, "mode=ro")
        if not untouched and self._can_read_in_place():
            return
        if not has_bytes(name_companion(path, "-wal")):
            self.uri = make_uri(path, "mode=ro&immutable=1")
            return
        self._directory = tempfile.mkdtemp(prefix="takeback-reading-")
        self.path = Path(self._directory) / "journal.db"
        for ending in ("", "-wal"):
            copy_file(name_companion(path, ending), name_companion(self.path, ending))
        self.uri = make_uri(self.path, "mode=rw")

    def _can_read_in_place(self) -> bool:
        """Tell whether SQLite reads the file where it is; it may make others beside it for that."""
        try:
            _query_tables(self.uri)
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


def make_private_file(path: Path) -> Path:
    """Make an empty file to become a database, which only its owner can read; SQLite gives others the same mode."""
    made = name_companion(path, ".new")
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
            self._fd = self._lock_file(deadline, timeout)
            if self.is_held():
                return
            self.release()
            if time.monotonic() >= deadline:
                raise self._make_busy_error(timeout)

    def _make_busy_error(self, timeout: float) -> JournalBusyError:
        return JournalBusyError(f"another process held the journal {self._journal} for over {timeout:g} s; try again")

    def _lock_file(self, deadline: float, timeout: float) -> int:
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
                    raise self._make_busy_error(timeout) from None
                time.sleep(POLL)
            else:
                return fd

    def release(self) -> None:
        """Let the lock go."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def is_held(self) -> bool:
        """Tell whether the lock is held, and on the file that others would lock."""
        if self._fd is None:
            return False
        try:
            there = os.stat(self._path, follow_symlinks=False)
        except OSError:
            return False
        ours = os.fstat(self._fd)
        return (there.st_ino, there.st_dev) == (ours.st_ino, ours.st_dev)


class ConnectedFile(Tables):
    """A SQLite connection as the tables, the index and the word for an end want it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return self._connection.execute(sql, parameters).fetchall()

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)
