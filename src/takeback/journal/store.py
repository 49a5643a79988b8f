"""What every journal store can do, and how one is opened from a path or a URL.

A store appends records atomically and serialises writers of all processes; it never changes a record. It
knows nothing of harnesses or slots: it looks up records by number, by the beginning of their id, and by the
keys they touch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from os import PathLike, fspath
from typing import Protocol
from urllib.parse import urlsplit

from takeback.errors import JournalError, UnknownEntryError
from takeback.journal.chain import ChainReport
from takeback.journal.record import Draft, Record

MIN_PREFIX = 4
"""Shortest beginning of an id that is taken for a name."""

FIND_LIMIT = 10
"""How many records with one beginning are listed at most."""

MISSING_HINT = "put it back from a copy, or name the right one with --journal; only 'takeback init' begins a journal"

HEX = re.compile(r"[0-9a-f]+")
SECRET = re.compile(r"(?i)(ssl)?password=.")


class Store(Protocol):
    """An append-only, hash-chained list of records."""

    @property
    def location(self) -> str:
        """Where it is, fit for a person to read: never with a password."""

    def append(self, drafts: Sequence[Draft], *, expect: str | None = None) -> tuple[Record, ...]:
        """Record all drafts durably, or none. With `expect`, only if that is the head's digest."""

    def head(self) -> Record | None:
        """The last record."""

    def get(self, seq: int) -> Record:
        """The record with this number; `UnknownEntryError` if there is none."""

    def find(self, prefix: str) -> tuple[Record, ...]:
        """Up to `FIND_LIMIT` records whose id begins so, oldest first."""

    def records(self, start: int = 1, *, reverse: bool = False) -> Iterator[Record]:
        """Records from number `start` on, or from the last down to `start`."""

    def touching(self, key: str, *, below: bool = False) -> tuple[int, ...]:
        """Numbers of records that touch `key`, ascending; with `below`, those that touch a key beneath it."""

    def attachment(self, seq: int, name: str) -> str | None:
        """Canonical text of an attachment, checked against its digest; None if it is gone."""

    def forget(self, names: Mapping[int, Sequence[str]]) -> Record:
        """Delete attachments for good (record number → names), with a record that says so."""

    def lock(self, timeout: float = 30.0) -> AbstractContextManager[None]:
        """Keep every other process and thread out until the block ends; re-entrant."""

    def check(self) -> ChainReport:
        """Examine everything stored."""

    def close(self) -> None:
        """Let go of files and connections."""


def open_journal(where: str | PathLike[str], *, timeout: float = 10.0, create: bool = True) -> Store:
    """Open a journal: `:memory:`, a path for SQLite, or a `postgresql://` URL. Makes it unless `create` is false.

    A URL may end in `#name` to keep several journals in one database.
    """
    place = fspath(where)
    if place == ":memory:":
        from takeback.journal.memory import MemoryStore  # noqa: PLC0415 - stores load on demand

        return MemoryStore()
    if place.startswith(("postgresql://", "postgres://")):
        try:
            from takeback.journal.postgres import PostgresStore  # noqa: PLC0415
        except ImportError as error:
            raise JournalError(
                "a PostgreSQL journal needs the 'postgres' extra: pip install 'takeback[postgres]'"
            ) from error
        return PostgresStore(place, timeout=timeout, create=create)
    if "://" in place:
        scheme = place.split("://", 1)[0]
        raise JournalError(f"unknown kind of journal {scheme!r}; expected a file path or postgresql://…")
    from takeback.journal.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(place, timeout=timeout, create=create)


def without_password(where: str) -> str:
    """A journal's path or URL without the passwords in it."""
    if "://" not in where:
        return where
    try:
        parts = urlsplit(where)
        password = parts.password
    except ValueError:
        raise JournalError("the journal's URL is malformed (not shown: it may hold a password)") from None
    if password:
        user, _, host = parts.netloc.rpartition("@")
        where = where.replace(parts.netloc, f"{user.partition(':')[0]}@{host}", 1)
    open_items = "&".join(item for item in parts.query.split("&") if not SECRET.match(item))
    return where.replace(f"?{parts.query}", f"?{open_items}" if open_items else "", 1) if parts.query else where


def missing(location: str) -> str:
    """What to say of a journal that should be there."""
    return f"the journal {location} is missing; nothing was changed"


def resolve(store: Store, name: str) -> Record:
    """The one record called `name`: `HEAD`, `#7` for number 7, or the beginning of an id."""
    if name == "HEAD":
        head = store.head()
        if head is None:
            raise UnknownEntryError("the journal is empty: there is no HEAD")
        return head
    if name.startswith("#") and name[1:].isdecimal():
        return store.get(int(name[1:]))
    wanted = name.lower()
    if len(wanted) < MIN_PREFIX or not HEX.fullmatch(wanted):
        raise UnknownEntryError(
            f"{name!r} names no entry; expected {MIN_PREFIX} or more hex digits of its id, #number, or HEAD"
        )
    found = store.find(wanted)
    if not found:
        raise UnknownEntryError(f"no entry's id begins with {name!r}; 'takeback log' lists them")
    if len(found) > 1:
        candidates = ", ".join(f"{record.digest[:12]} (#{record.seq})" for record in found)
        raise UnknownEntryError(f"{name!r} is ambiguous: {candidates}")
    return found[0]


def subtree_range(key: str) -> tuple[str, str]:
    """The half-open range of index keys beneath `key`, a JSON list such as `["config","a"]`."""
    stem = key.removesuffix("]")
    return stem + ",", stem + "-"


def now() -> str:
    """The time a record is written, UTC."""
    return datetime.now(UTC).isoformat(timespec="microseconds")
