"""How a caller names an entry: the beginning of its id, `#number`, `HEAD`, or what applying or undoing it gave."""

from __future__ import annotations

from takeback.harness.log import EntryView
from takeback.harness.results import Adopted, Applied, Undone
from takeback.journal import Record

EntryLike = str | Record | Applied | Adopted | Undone | EntryView


def name_of(entry: EntryLike) -> str:
    """The name of an entry."""
    match entry:
        case str():
            return entry
        case Record() | EntryView():
            return entry.id
        case Applied() | Adopted() | Undone():
            return entry.entry.id


def names_of(entries: tuple[EntryLike, ...]) -> tuple[str, ...]:
    """The names of entries."""
    return tuple(map(name_of, entries))
