"""The default journal: one SQLite file, write-ahead, synced at every commit.

Writers of all processes are serialised by SQLite itself; `lock` additionally keeps them out across several
transactions, with a lock on a file beside the database that the system drops when the process dies.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from takeback.errors import JournalBusyError, JournalCorruptError, JournalError
from takeback.journal.schema import Dialect, migrate
from takeback.journal.sql import SqlStore
from takeback.journal.store import MISSING_HINT, missing, now

POLL = 0.01
LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC

DIALECT = Dialect(number="INTEGER", text="TEXT")

GUARDS = tuple(
    f"CREATE TRIGGER IF NOT EXISTS records_no_{verb.lower()} BEFORE {verb} ON records "
    "BEGIN SELECT RAISE(ABORT, 'journal records are never changed'); END"
    for verb in ("UPDATE", "DELETE")
)


class SqliteStore(SqlStore):
    """A journal in a SQLite file; safe for threads and processes."""

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 10.0, create: bool = True) -> None:
        self._path = Path(path)
        self.location = str(self._path)
        self._mutex = threading.RLock()
        self._depth = 0
        self._lock_fd: int | None = None
        self._locks = 0
        if not self._path.parent.is_dir():
            raise JournalError(f"cannot open the journal {self.location}: its directory does not exist")
        if self._path.is_symlink():
            raise JournalError(f"cannot open the journal {self.location}: it is a link, which is not followed")
        fresh = not self._path.exists()
        if fresh and not create:
            raise JournalError(missing(self.location), hint=MISSING_HINT)
        with self._faults():
            self._connection = sqlite3.connect(
                self._path, timeout=timeout, isolation_level=None, check_same_thread=False
            )
        try:
            self._prepare(fresh=fresh)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, *, fresh: bool) -> None:
        if (
            not fresh
            and self._path.stat().st_size == 0
            and not self._path.with_name(self._path.name + "-wal").exists()
        ):
            raise JournalCorruptError(
                f"the journal {self.location} is empty: it was truncated; restore it from a copy"
            )
        with self._faults():
            mode = self._connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            if mode != "wal":
                raise JournalError(f"{self.location}: SQLite cannot use write-ahead logging here (got {mode!r})")
            self._connection.execute("PRAGMA synchronous=FULL")
            self._connection.execute("PRAGMA foreign_keys=ON")
        with self.transaction():
            tables = {row[0] for row in self.run("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and "records" not in tables:
                raise JournalError(f"{self.location} is a SQLite database, but not a Takeback journal")
            migrate(self, dialect=DIALECT, stamp=now(), location=self.location)
            for guard in GUARDS:
                self.run(guard)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn SQLite's errors into ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise _translate(error, self.location) from error

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement, and return its rows."""
        with self._mutex, self._faults():
            return self._connection.execute(sql, parameters).fetchall()

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row."""
        with self._mutex, self._faults():
            self._connection.executemany(sql, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A write transaction; nested ones belong to the outermost."""
        with self._mutex:
            if self._depth == 0:
                self.run("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0 and self._connection.in_transaction:
                    with suppress(JournalError):
                        self.run("ROLLBACK")
                raise
            self._depth -= 1
            if self._depth == 0:
                try:
                    self.run("COMMIT")
                except JournalError:
                    with suppress(JournalError):
                        self.run("ROLLBACK")
                    raise

    @contextmanager
    def lock(self, timeout: float = 30.0) -> Iterator[None]:
        """Keep every other process and thread out until the block ends."""
        deadline = time.monotonic() + timeout
        if not self._mutex.acquire(timeout=timeout):
            raise JournalBusyError(f"another thread held the journal {self.location} for more than {timeout:g} s")
        try:
            if self._locks == 0:
                self._acquire(deadline, timeout)
            self._locks += 1
            try:
                yield
            finally:
                self._locks -= 1
                if self._locks == 0 and self._lock_fd is not None:
                    os.close(self._lock_fd)
                    self._lock_fd = None
        finally:
            self._mutex.release()

    def _acquire(self, deadline: float, timeout: float) -> None:
        try:
            fd = os.open(f"{self.location}.lock", LOCK_FLAGS, 0o600)
        except OSError as error:
            why = "its lock is a link, which is not followed" if error.errno == errno.ELOOP else error.strerror
            raise JournalError(f"cannot lock the journal {self.location}: {why}") from error
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(fd)
                    raise JournalBusyError(
                        f"another process held the journal {self.location} for over {timeout:g} s; try again"
                    ) from None
                time.sleep(POLL)
            else:
                self._lock_fd = fd
                return

    def close(self) -> None:
        """Close the file."""
        with self._mutex, self._faults():
            self._connection.close()


def _translate(error: sqlite3.Error, location: str) -> JournalError:
    text = str(error)
    if "locked" in text or "busy" in text:
        return JournalBusyError(
            f"the journal {location} is locked by another program; nothing was written, try again"
        )
    if "malformed" in text or "not a database" in text or "encoding" in text:
        return JournalCorruptError(f"the journal {location} is damaged ({text})")
    if "full" in text:
        return JournalError(f"no space left to write the journal {location}; nothing was written")
    if "readonly" in text or "unable to open" in text:
        return JournalError(
            f"cannot write the journal {location} ({text}): check permissions of it and its directory"
        )
    return JournalError(f"the journal {location} could not be used: {text}")
