"""The tables of a stored journal, and how an older layout becomes the present one.

Each version is one step forward, run inside the transaction that opens the journal; the table
`schema_version` keeps a row for each. A journal written by a newer Takeback is refused, not guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from takeback.errors import JournalError
from takeback.journal.encoding import decode
from takeback.journal.record import touches_of

CURRENT = 2


@dataclass(frozen=True, slots=True)
class Dialect:
    """Column types: a whole number, and a text that sorts by code point (index ranges rely on that)."""

    number: str
    text: str


class Cursor(Protocol):
    """As much of a database connection as a migration needs."""

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement, and return its rows."""

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row."""


V1 = (
    """CREATE TABLE records (
        seq {number} PRIMARY KEY, kind TEXT NOT NULL, created_at TEXT NOT NULL, payload TEXT NOT NULL,
        attachments TEXT NOT NULL, prev TEXT NOT NULL, digest {text} NOT NULL UNIQUE)""",
    """CREATE TABLE attachments (
        seq {number} NOT NULL REFERENCES records (seq), name TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (seq, name))""",
)
"""Version 1: records and their attachments."""

V2 = (
    """CREATE TABLE touches (
        key {text} NOT NULL, seq {number} NOT NULL REFERENCES records (seq), PRIMARY KEY (key, seq))""",
)
"""Version 2 adds the index from a slot to the records that touch it."""


def _to_v1(cursor: Cursor, dialect: Dialect) -> None:
    for statement in V1:
        cursor.run(statement.format(number=dialect.number, text=dialect.text))


def _to_v2(cursor: Cursor, dialect: Dialect) -> None:
    for statement in V2:
        cursor.run(statement.format(number=dialect.number, text=dialect.text))
    rows = cursor.run("SELECT seq, payload FROM records ORDER BY seq")
    cursor.run_many(
        "INSERT INTO touches (key, seq) VALUES (?, ?)",
        [(key, seq) for seq, payload in rows for key in touches_of(decode(payload))],  # type: ignore[arg-type]
    )


STEPS: tuple[Callable[[Cursor, Dialect], None], ...] = (_to_v1, _to_v2)


def migrate(cursor: Cursor, *, dialect: Dialect, stamp: str, location: str) -> tuple[int, int]:
    """Bring the tables up to `CURRENT`; return the version found and the version left."""
    cursor.run("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, migrated_at TEXT NOT NULL)")
    found = int(cursor.run("SELECT COALESCE(MAX(version), 0) FROM schema_version")[0][0])
    if found > CURRENT:
        raise JournalError(
            f"the journal at {location} has layout version {found}; this Takeback knows up to {CURRENT}. "
            "Use the newer Takeback that wrote it."
        )
    for version in range(found + 1, CURRENT + 1):
        STEPS[version - 1](cursor, dialect)
        cursor.run("INSERT INTO schema_version (version, migrated_at) VALUES (?, ?)", (version, stamp))
    return found, CURRENT
