"""A journal in PostgreSQL for a benchmark or torture: new, and dropped at the end."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg
from psycopg import errors, sql

from takeback.journal.encryption import locate_default_keys
from takeback.journal.url import read_url, require_path_or_url


@contextmanager
def open_scratch_journal(url: str) -> Iterator[str]:
    """Yield the URL of a new journal in the same database, dropped at the end."""
    require_path_or_url(url)
    bare, name = read_url(url).connect, f"scratch_{secrets.token_hex(6)}"
    try:
        yield f"{bare}#{name}"
    finally:
        with suppress(psycopg.Error, OSError, UnicodeError):  # what cannot be reached was not written to either
            _drop(bare, f"takeback_{name}")


def _drop(url: str, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        schema = sql.Identifier(name)
        try:
            about = sql.SQL("SELECT value FROM {}.about WHERE name = 'journal'").format(schema)
            for (journal,) in connection.execute(about).fetchall():
                locate_default_keys(journal).unlink(missing_ok=True)
        except errors.UndefinedTable:
            pass
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(schema))
