"""Looks at the end of a SQLite journal before it is opened, without writing to it or taking a lock."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from takeback.errors import JournalError
from takeback.journal.sqlite_errors import DRIVER_FAULTS
from takeback.journal.sqlite_file import LOOKS, POLL, beside, has_bytes, uri
from takeback.journal.vouching import JournalEnd, read_end


def look_at_end(path: Path) -> JournalEnd | None:
    """Return where the journal in a file ends, its log included; None if that cannot be read."""
    for left in range(LOOKS - 1, -1, -1):  # looking takes no lock: a page may be on its way from the log to the file
        mode = "mode=ro" if has_bytes(beside(path, "-wal")) else "mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(uri(path, mode), uri=True, isolation_level=None)) as connection:
                connection.execute("PRAGMA trusted_schema=OFF")
                connection.execute("BEGIN")
                return read_end(_Reader(connection))
        except (JournalError, *DRIVER_FAULTS):
            if left:
                time.sleep(POLL)
    return None


class _Reader:
    """A connection as `read_end` wants it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement, and return its rows."""
        return self._connection.execute(sql, parameters).fetchall()

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row."""
        self._connection.executemany(sql, rows)
