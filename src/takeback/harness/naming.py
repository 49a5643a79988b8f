"""How a caller names an entry: the beginning of its id, `#number`, `HEAD`, or what applying or undoing it gave."""

from __future__ import annotations

from collections.abc import Sequence

from takeback.harness.log import EntryView
from takeback.harness.results import Adopted, Applied, Discarded, Undone
from takeback.journal import Record

EntryLike = str | Record | Applied | Adopted | Undone | Discarded | EntryView

_NAMED = (Record, EntryView)


def name_of(entry: EntryLike) -> str:
    """The name of an entry."""
    if isinstance(entry, str):
        return entry
    return entry.id if isinstance(entry, _NAMED) else entry.entry.digest


def names_of(entries: Sequence[EntryLike]) -> tuple[str, ...]:
    """The names of entries."""
    return tuple(map(name_of, entries))
