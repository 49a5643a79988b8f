"""SQLite's errors are told by their codes: what its messages say does not matter."""

from __future__ import annotations

import sqlite3

import pytest

from takeback.errors import JournalBusyError, JournalCorruptError, JournalError
from takeback.journal.sqlite_files import translate_error


def raised(code, kind=sqlite3.OperationalError):
    error = kind("disk full, locked, readonly, malformed: words that mean nothing")
    if code is not None:
        error.sqlite_errorcode = code
    return translate_error(error, "the journal j.db")


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        (sqlite3.SQLITE_BUSY, JournalBusyError, "locked by another program"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, JournalBusyError, "locked by another program"),
        (sqlite3.SQLITE_LOCKED, JournalBusyError, "locked by another program"),
        (sqlite3.SQLITE_CORRUPT, JournalCorruptError, "is damaged"),
        (sqlite3.SQLITE_NOTADB, JournalCorruptError, "is damaged"),
        (sqlite3.SQLITE_ERROR, JournalCorruptError, "is damaged"),
        (sqlite3.SQLITE_FULL, JournalError, "no space left"),
        (sqlite3.SQLITE_READONLY, JournalError, "cannot write"),
        (sqlite3.SQLITE_CANTOPEN, JournalError, "cannot write"),
        (sqlite3.SQLITE_IOERR, JournalError, "could not be used"),
        (None, JournalCorruptError, "cannot be read"),
    ],
)
def test_sqlite_errors_are_classified_by_their_code(code, expected, said):
    found = raised(code)
    assert type(found) is expected
    assert said in found.message.partition("(disk")[0] + found.message.partition("(what")[2]


def test_using_a_closed_journal_is_not_reported_as_damage():
    assert type(raised(None, sqlite3.ProgrammingError)) is JournalError
