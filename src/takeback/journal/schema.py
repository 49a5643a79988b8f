"""The tables of a stored journal, and how an older layout becomes the present one.

`schema_version` has a row for each layout the journal has had. Layouts 1 and 2 kept captured values beside each
record; layout 3 keeps contents once and refers to them. A journal of an older layout is written anew when it is
opened (`journal/upgrade.py`); one written by a newer Takeback is refused, not guessed at.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from takeback.errors import JournalCorruptError, JournalError

CURRENT: Final = 3
OLDEST: Final = 1


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """Column types: a whole number, a text that sorts by code point (index ranges rely on that), bytes."""

    number: str
    text: str
    blob: str
    compact: str = ""
    """What makes a table lie in its primary key, where that is to be said."""


class Cursor(Protocol):
    """As much of a database connection as the layout needs."""

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement, and return its rows."""

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row."""


RARE_KINDS: Final = ("checkpoint", "forget", "layout")
RARE: Final = "kind IN ('checkpoint', 'forget', 'layout')"
"""Records that are looked for among many others; a statement must say exactly this to be given their index."""

TABLES: Final = (
    """CREATE TABLE records (
        seq {number} PRIMARY KEY, entry {number} UNIQUE, kind TEXT NOT NULL, created_at TEXT NOT NULL,
        payload TEXT NOT NULL, contents TEXT NOT NULL, touched TEXT NOT NULL, prev TEXT NOT NULL,
        digest {text} NOT NULL UNIQUE)""",
    f"CREATE INDEX rare_records ON records (kind, seq) WHERE {RARE}",
    """CREATE TABLE contents (
        id {text} PRIMARY KEY, tree INTEGER NOT NULL, salt {blob}, lookup {blob}, body {blob}, forgotten {number})""",
    "CREATE INDEX contents_by_lookup ON contents (lookup) WHERE lookup IS NOT NULL",
    "CREATE TABLE pieces (id {text} NOT NULL, at INTEGER NOT NULL, body {blob} NOT NULL, PRIMARY KEY (id, at))",
    """CREATE TABLE touches (
        key {text} NOT NULL, entry {number} NOT NULL, times INTEGER NOT NULL, PRIMARY KEY (key, entry)){compact}""",
    "CREATE TABLE touched_keys (key {text} PRIMARY KEY, bucket INTEGER NOT NULL, digest TEXT NOT NULL)",
    "CREATE INDEX touched_keys_by_bucket ON touched_keys (bucket)",
    "CREATE TABLE touched_buckets (bucket INTEGER PRIMARY KEY, total TEXT NOT NULL)",
    "CREATE TABLE about (name {text} PRIMARY KEY, value TEXT NOT NULL)",
)
VERSIONS: Final = "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, migrated_at TEXT NOT NULL)"


def create_tables(cursor: Cursor, dialect: SqlDialect, *, stamp: str, seal: bool) -> None:
    """Make the tables of the present layout."""
    cursor.run(VERSIONS)
    for statement in TABLES:
        cursor.run(
            statement.format(number=dialect.number, text=dialect.text, blob=dialect.blob, compact=dialect.compact)
        )
    cursor.run("INSERT INTO schema_version (version, migrated_at) VALUES (?, ?)", (CURRENT, stamp))
    about = {"journal": uuid.uuid4().hex, "sealed": "1" if seal else "0", "erased": "0"}
    cursor.run_many("INSERT INTO about (name, value) VALUES (?, ?)", about.items())


def layout_version(cursor: Cursor, location: str) -> int:
    """The layout a journal has; an error if it is none of those known."""
    found = cursor.run("SELECT version FROM schema_version")
    versions: list[int] = [row[0] for row in found]
    if not versions or not all(type(version) is int and version >= OLDEST for version in versions):
        raise JournalCorruptError(f"the journal {location} does not say which layout it has")
    if max(versions) > CURRENT:
        raise JournalError(
            f"the journal at {location} has layout version {max(versions)}; this Takeback knows up to {CURRENT}. "
            "Use the newer Takeback that wrote it."
        )
    return max(versions)


@dataclass(frozen=True, slots=True)
class About:
    """What a journal says of itself."""

    journal: str
    """A random name, which its key file knows."""
    sealed: bool
    erased: int
    """The last `forget` record after which nothing was left lying around."""


def read_about(cursor: Cursor, location: str) -> About:
    """What a journal says of itself."""
    rows = dict(cursor.run("SELECT name, value FROM about"))
    journal, sealed, erased = rows.get("journal"), rows.get("sealed"), rows.get("erased")
    if not isinstance(journal, str) or sealed not in {"0", "1"} or not str(erased).isdecimal():
        raise JournalCorruptError(f"the journal {location} does not say what it is")
    return About(journal, sealed == "1", int(str(erased)))


def note_erased(cursor: Cursor, seq: int) -> None:
    """Note that nothing is left of what was forgotten up to a record."""
    cursor.run("UPDATE about SET value = ? WHERE name = 'erased'", (str(seq),))
