"""Every error Takeback raises: what happened, where, what to do next.

Results such as "not admitted" or "blocked" are values, not errors. An error is a fault of the input or of
the world, and its text stands alone on a terminal.
"""

from __future__ import annotations


class TakebackError(Exception):
    """Base of every error Takeback raises on purpose."""


# journal, harness -------------------------------------------------------------------------------


class JournalError(TakebackError):
    """The journal could not do what was asked; nothing was written."""


class JournalBusyError(JournalError):
    """Another process holds the journal longer than the time allowed for waiting."""


class JournalCorruptError(JournalError):
    """The journal holds something it cannot have written. `seq` names the record where that is known."""

    def __init__(self, message: str, *, seq: int | None = None) -> None:
        super().__init__(message)
        self.seq = seq


class StaleHeadError(JournalError):
    """The journal has grown since the caller looked at it."""


class UnknownEntryError(JournalError):
    """No record, or more than one, answers to the name given."""


class UnsafePathError(TakebackError):
    """A path leaves its directory, or cannot be a path at all."""


class HarnessError(TakebackError):
    """The real things behind a harness could not be read or changed; `str` says which and why."""
