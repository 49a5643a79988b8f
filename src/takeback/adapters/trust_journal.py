"""Decides whether a journal in a file is still the one that was trusted, and grew only by what this user wrote.

A trust record holds which file the journal is, where it ended when it was trusted, and a secret. Whoever opens the
harness with that record writes a word for each new end into the journal, by the secret, in the transaction that adds
the records: several processes need not agree on anything, and one that is killed leaves nothing behind. A file that a
pull put in the journal's place is another file; records that came with it, or with a log beside it, have no word.
"""

from __future__ import annotations

import hmac
import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from takeback.adapters.directory import Directory
from takeback.adapters.trust_record import identify_file
from takeback.errors import TakebackError
from takeback.journal import Store
from takeback.journal.store import JournalEnd, look_at_end

SQLITE: Final = "sqlite://"
SECRET_BYTES: Final = 32


def make_secret() -> str:
    """Return a new secret for a trust record."""
    return os.urandom(SECRET_BYTES).hex()


def find_journal_file(root: Path, journal: str) -> Path | None:
    """Return the file of a journal that a manifest names; None for one in a database server."""
    where = journal.removeprefix(SQLITE)
    return None if "://" in where else root / where


def bind_journal(root: Path, journal: str, store: Store | None) -> dict[str, Any]:
    """Return what of a journal is trusted as it is; without a store, whatever the next opening finds."""
    place = find_journal_file(root, journal)
    about: dict[str, Any] = {"journal_id": str(getattr(store, "journal_id", ""))}
    if place is None or store is None:
        return about
    with suppress(TakebackError):
        head = store.head()
        about |= {"file": identify_file(str(place)), "end": None if head is None else [head.seq, head.digest]}
    return about


def make_word(secret: str, journal: str, seq: int, digest: str) -> str:
    """Return the word for an end of a journal; empty where there is no secret."""
    if not secret:
        return ""
    return blake2b(f"{journal} {seq} {digest}".encode(), key=bytes.fromhex(secret), digest_size=32).hexdigest()


def why_strange_journal(
    root: Path, record: dict[str, Any], journal: str, end: JournalEnd | None = None
) -> str | None:
    """Return why a journal is not the one that a record is about; looks at where it ends, if that is not given."""
    place = find_journal_file(root, journal)
    if place is None or not record.get("end") or not place.is_file():
        return None
    if not is_same_file(record.get("file"), identify_file(str(place))):
        return f"the journal {place} was replaced since by another file: by git, from a backup, or as a copy"
    if end is not None:
        return _why_strange_end(record, place, end)
    end = look_at_end(place)
    if end is None or find_noted_beyond(root, end.seq) is not None:
        return None  # it is damaged or was cut short, which whoever opens it says before acting on it
    return _why_strange_end(record, place, end)


def is_same_file(known: object, fields: object) -> bool:
    """Tell whether two files are one, by inode and, where both are told, by when they were made."""
    if not isinstance(known, list) or not isinstance(fields, list) or known[:1] != fields[:1]:
        return False
    return known[1:] == fields[1:] or None in (*known[1:], *fields[1:])


def _why_strange_end(record: dict[str, Any], place: Path, end: JournalEnd) -> str | None:
    trusted = record.get("journal_id")
    if trusted and end.journal != trusted:
        return f"the journal {place} is not the one that was trusted"
    if [end.seq, end.digest] == record["end"]:
        return None
    word = make_word(str(record.get("secret", "")), end.journal, end.seq, end.digest)
    if word and hmac.compare_digest(word.encode(), end.word.encode()):
        return None
    return f"the journal {place} ends with record {end.seq}, which no process of yours wrote"


def find_noted_beyond(root: Path, seq: int) -> tuple[int, str] | None:
    """Return how far it was noted that a journal had come, if that is further than it has now."""
    from takeback.adapters.files_adapter import FilesAdapter  # noqa: PLC0415 - start-up

    try:
        adapter = FilesAdapter(Directory(root))
        try:
            noted = adapter.read_noted_record()
        finally:
            adapter.close()
    except TakebackError:
        return None
    return noted if noted is not None and noted[0] > seq else None
