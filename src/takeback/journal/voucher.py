"""Where a journal ends, and a word for that end which only those who know a secret can write.

The word stands in the journal itself and is written in the transaction that adds records, so that a process that is
killed never leaves records without it. Who knows the secret, and what an end without its word means, is decided by
whoever opens the journal (`adapters/trust_journal.py`).
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from takeback.errors import JournalError
from takeback.journal.record import COLUMNS, ROOT, read_row, require_unaltered

if TYPE_CHECKING:
    from takeback.journal.sql import Cursor

WORD: Final = "vouched"
"""The name under which a journal keeps the word for its end."""
_PUT = "INSERT INTO about (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"


@dataclass(frozen=True, slots=True)
class JournalEnd:
    """Where a journal ends."""

    journal: str = ""
    """The journal's random name."""
    seq: int = 0
    digest: str = ROOT
    word: str = ""
    """What it says for its end; empty if nothing."""


class Voucher(Protocol):
    """What a store asks about the end of its journal."""

    def vouch(self, journal: str, seq: int, digest: str) -> str:
        """Return the word for an end that this process has made; empty where none is kept."""

    def demand_vouched(self, end: JournalEnd) -> None:
        """Raise if the journal that is opened must not be acted on."""


def write_word(cursor: Cursor, voucher: Voucher | None, journal: str, seq: int, digest: str) -> None:
    """Write the word for a journal's new end; inside the transaction that makes it."""
    word = "" if voucher is None else voucher.vouch(journal, seq, digest)
    if word:
        cursor.run(_PUT, (WORD, word))


def read_end(cursor: Cursor) -> JournalEnd:
    """Return where a journal ends, inside a snapshot; an altered last record is an error."""
    about = dict(cursor.run("SELECT name, value FROM about"))
    rows = cursor.run(f"SELECT {COLUMNS} FROM records ORDER BY seq DESC LIMIT 1")  # noqa: S608 - a constant
    journal, word = str(about.get("journal", "")), str(about.get(WORD, ""))
    if not rows:
        return JournalEnd(journal, word=word)
    row = read_row(rows[0])
    require_unaltered(row)
    return JournalEnd(journal, row.seq, row.digest, word)


def look_at_end(path: Path) -> JournalEnd | None:
    """Return where the journal in a file ends, its log included; None if that cannot be read."""
    from takeback.journal.sqlite_files import (  # noqa: PLC0415 - start-up
        DRIVER_FAULTS,
        LOOKS,
        POLL,
        ConnectedFile,
        has_bytes,
        make_uri,
        name_companion,
    )

    for left in range(LOOKS - 1, -1, -1):  # looking takes no lock: a page may be on its way from the log to the file
        mode = "mode=ro" if has_bytes(name_companion(path, "-wal")) else "mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(make_uri(path, mode), uri=True, isolation_level=None)) as connection:
                connection.execute("PRAGMA trusted_schema=OFF")
                connection.execute("BEGIN")
                return read_end(ConnectedFile(connection))
        except (JournalError, *DRIVER_FAULTS):
            if left:
                time.sleep(POLL)
    return None
