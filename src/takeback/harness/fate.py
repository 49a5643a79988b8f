"""What becomes of an entry, and which kinds of entries there are."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from takeback.journal import Record

CHANGES: Final = frozenset({"apply", "adopt", "salvage"})
TOGGLES: Final = frozenset({"undo", "redo", "restore"})


class Fate(StrEnum):
    """What became of an entry."""

    LIVE = "live"
    UNDONE = "undone"
    DONE = "done"
    """It took entries back or brought them back; what it did is said by those."""
    ABORTED = "aborted"
    """It was given up while it was made; nothing of it is left."""
    PENDING = "pending"


def was_admitted(record: Record) -> bool:
    """Return whether an entry was made with a recovery that was admitted."""
    return record.kind == "apply" and not record.payload.get("forced") and "candidate" in record.contents
