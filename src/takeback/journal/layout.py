"""Brings the tables of a stored journal to the present layout: makes them, or writes an older journal anew."""

from __future__ import annotations

from typing import Protocol

from takeback.errors import JournalCorruptError
from takeback.journal.content import decode, guard_against_corruption, sha256
from takeback.journal.record import ENTRY_KINDS, ROOT, Draft, Record
from takeback.journal.sql import Cursor, SqlDialect, create_tables
from takeback.journal.upgrade import OLD_COLUMNS, OldRow, demand_whole, upgraded

_OLD = ("touches", "attachments", "records")


class Target(Cursor, Protocol):
    """A store that takes records at their places."""

    location: str

    def insert(self, draft: Draft, seq: int, entry: int | None, touched: str, created_at: str, prev: str) -> Record:
        """Write one record at its place."""

    def finish(self) -> None:
        """Write the contents of the records that were inserted."""


def set_old_tables_aside(cursor: Cursor, dialect: SqlDialect, *, version: int, stamp: str, seal: bool) -> None:
    """Give the tables of an older layout other names, and make the present ones; inside a transaction."""
    for name in _OLD[1 if version == 1 else 0 :]:
        cursor.run(f"ALTER TABLE {name} RENAME TO old_{name}")
    create_tables(cursor, dialect, stamp=stamp, seal=seal)


def write_anew(store: Target, *, version: int) -> None:
    """Copy every record of the older layout into the present one, and drop the old tables."""
    with guard_against_corruption(f"the older layout of {store.location}"):
        rows = [OldRow(*row) for row in store.run(f"SELECT {OLD_COLUMNS} FROM old_records ORDER BY seq")]  # noqa: S608
        texts: dict[int, dict[str, str]] = {}
        for seq, name, body in store.run("SELECT seq, name, body FROM old_attachments"):
            texts.setdefault(seq, {})[name] = body
    demand_whole(rows, store.location)
    _demand_attachments(rows, texts, store.location)
    prev = touched = ROOT
    number = 1
    for seq, (draft, created_at) in enumerate(upgraded(rows, texts), start=1):
        entry = number if draft.kind in ENTRY_KINDS else None
        record = store.insert(draft, seq, entry, touched, created_at, prev)
        number += entry is not None
        prev, touched = record.digest, record.touched
    store.finish()
    for name in _OLD[1 if version == 1 else 0 :]:
        store.run(f"DROP TABLE old_{name}")


def _demand_attachments(rows: list[OldRow], texts: dict[int, dict[str, str]], location: str) -> None:
    with guard_against_corruption(f"the older layout of {location}"):
        for row in rows:
            digests = decode(row.attachments)
            if not isinstance(digests, dict):
                raise TypeError("no mapping")
            for name, digest in digests.items():
                text = texts.get(row.seq, {}).get(name)
                if text is not None and sha256(text) != digest:
                    raise JournalCorruptError(f"{name} of record {row.seq} was altered", seq=row.seq)
