"""How a caller names an entry: its number, the beginning of its id, `HEAD`, or what applying or undoing it gave."""

from __future__ import annotations

from collections.abc import Sequence

from takeback.errors import InputError
from takeback.harness.log import EntryView
from takeback.harness.results import Adopted, Applied, Discarded, Undone
from takeback.journal import Record

EntryLike = str | Record | Applied | Adopted | Undone | Discarded | EntryView

_NAMED = (Record, EntryView)


def name_of(entry: EntryLike) -> str:
    """The name of an entry."""
    if isinstance(entry, str):
        return entry
    if isinstance(entry, _NAMED):
        return entry.id
    record = getattr(entry, "entry", None)  # Refused, Blocked, … are answers without an entry
    if isinstance(record, Record):
        return record.id
    raise InputError("entry", found=entry, expected="the name of an entry, or what applying or undoing it gave")


def names_of(entries: Sequence[EntryLike]) -> tuple[str, ...]:
    """The names of entries."""
    return tuple(map(name_of, entries))
