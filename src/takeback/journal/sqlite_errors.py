"""What SQLite's errors mean for a file of ours: told by their codes, never by their words."""

from __future__ import annotations

import sqlite3
from typing import Final

from takeback.errors import JournalBusyError, JournalCorruptError, JournalError

DRIVER_FAULTS: Final = (sqlite3.Error, OverflowError, UnicodeError)
"""What the driver raises: its own errors, and others where a damaged file makes its messages unreadable."""

_PRIMARY: Final = 0xFF
"""The part of a code that says which kind of error it is."""
_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL})
_DAMAGED: Final = frozenset(
    {
        sqlite3.SQLITE_ERROR,  # a table or column that every journal has is missing
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_TOOBIG,
        sqlite3.SQLITE_MISMATCH,
    }
)
_FORBIDDEN: Final = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH}
)


def translated(error: Exception, what: str) -> JournalError:
    """Our error for one of the driver's; `what` names the file."""
    code = getattr(error, "sqlite_errorcode", None)
    kind = None if code is None else code & _PRIMARY
    if kind in _BUSY:
        return JournalBusyError(f"{what} is locked by another program; nothing was written, try again")
    if kind in _DAMAGED:
        return JournalCorruptError(f"{what} is damaged ({error})")
    if kind == sqlite3.SQLITE_FULL:
        return JournalError(f"no space left to write {what}; nothing was written")
    if kind in _FORBIDDEN:
        return JournalError(f"cannot write {what} ({error}): check permissions of it and its directory")
    if kind is None and not isinstance(error, sqlite3.ProgrammingError | sqlite3.InterfaceError):
        return JournalCorruptError(f"{what} is damaged (what is in it cannot be read)")
    return JournalError(f"{what} could not be used: {error}")
