"""A journal of PostgreSQL as a file, and a file as a journal of PostgreSQL: the same tables, row by row.

The file is a SQLite journal like any other, taken at one moment and readable by its owner only. A journal that is put
on a server is written into a schema of its own, read back there, and only then gets the name of the one it replaces,
which is kept under another name. Contents stay sealed; keys are in neither.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg import sql

from takeback.errors import JournalCorruptError, JournalError
from takeback.journal.postgres import DIALECT, GUARD, TRIGGER, ConnectedSchema, PostgresStore
from takeback.journal.record import COLUMNS
from takeback.journal.sql import create_tables
from takeback.journal.sqlite import DIALECT as SQLITE
from takeback.journal.sqlite import GUARDS
from takeback.journal.sqlite_copy import BATCH, COPIED, SECONDS, CheckedCopy, make_checked_copy
from takeback.journal.sqlite_files import DRIVER_FAULTS, ConnectedFile, translate_error
from takeback.journal.store import Options
from takeback.journal.url import read_url

TABLES: Final[Mapping[str, Sequence[str]]] = {
    "records": tuple(COLUMNS.split(", ")),
    **COPIED,
    "touches": ("key", "entry", "times"),
    "touched_keys": ("key", "bucket", "digest"),
    "touched_buckets": ("bucket", "total"),
}
"""Every table of a journal, with its columns."""
KEYS: Final[Mapping[str, int]] = {"pieces": 2, "touches": 2}
"""How many columns, the first ones, name a row; one where nothing is said."""
LONGEST: Final = 40
"""Characters of a schema's name that are kept in the name of one that was replaced: 63 fit."""
DUMP: Final = "the server's own way is 'pg_dump --schema=NAME --format=custom' and 'pg_restore'"


def copy_from_server(url: str, target: Path, keys: Path | None = None) -> CheckedCopy:
    """Copy a journal, also one that is being written to, into a file, and read that back before it gets its name."""
    options = Options(create=False, readonly=True, keys=keys)
    return make_checked_copy(target, keys, lambda made: _fill_file(url, options, made))


def _fill_file(url: str, options: Options, made: Path) -> None:
    try:
        with (
            closing(PostgresStore(url, options)) as store,
            closing(sqlite3.connect(made, isolation_level=None)) as file,
            store.snapshot(),
        ):
            file.execute("BEGIN")
            create_tables(ConnectedFile(file), SQLITE)
            for table, columns in TABLES.items():
                marks = ", ".join("?" * len(columns))
                for rows in _pages(store, table, columns):
                    file.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", rows)  # noqa: S608
            for guard in GUARDS:
                file.execute(guard)
            file.execute("COMMIT")
    except DRIVER_FAULTS as error:
        raise translate_error(error, f"the copy {made}") from error


def _pages(store: PostgresStore, table: str, columns: Sequence[str]) -> Iterator[list[Any]]:
    """Yield the rows of a table, some at a time, in the order of what names them."""
    names, keys = ", ".join(columns), columns[: KEYS.get(table, 1)]
    order, marks = ", ".join(keys), ", ".join("?" * len(keys))
    after: Sequence[Any] = ()
    while True:
        where = f"WHERE ({order}) > ({marks})" if after else ""
        rows = store.run(f"SELECT {names} FROM {table} {where} ORDER BY {order} LIMIT {BATCH}", after)  # noqa: S608
        if not rows:
            return
        yield rows
        after = rows[-1][: len(keys)]


def put_on_server(source: Path, url: str, keys: Path | None = None) -> str | None:
    """Put a file that was checked in a server's journal's place; return what the one that was there is named now.

    None if there was none. The copy on the server is read back whole before it gets the journal's name.
    """
    place = read_url(url)
    name = f"takeback_{place.name}" if place.name else "takeback"
    fresh = f"new_{secrets.token_hex(6)}"
    with _faults(place.shown), psycopg.connect(place.connect, connect_timeout=int(SECONDS)) as connection:
        _fill_schema(connection, f"takeback_{fresh}", source)
        connection.commit()
        try:
            _demand_whole(f"{place.connect}#{fresh}", place.shown, keys)
            aside = _exchange(connection, name, f"takeback_{fresh}", PostgresStore.lock_key(name))
            connection.commit()
        except BaseException:
            connection.rollback()
            connection.execute(_format_names("DROP SCHEMA IF EXISTS {} CASCADE", f"takeback_{fresh}"))
            connection.commit()
            raise
    return aside


def _fill_schema(connection: psycopg.Connection[Any], schema: str, source: Path) -> None:
    target = ConnectedSchema(connection)
    connection.execute("SET client_min_messages = warning")
    connection.execute(_format_names("CREATE SCHEMA {}", schema))
    connection.execute(_format_names("SET search_path = {}", schema))
    create_tables(target, DIALECT)
    try:
        with closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)) as file:
            for table, columns in TABLES.items():
                names, marks = ", ".join(columns), ", ".join("?" * len(columns))
                cursor = file.execute(f"SELECT {names} FROM {table}")  # noqa: S608 - constants
                while rows := cursor.fetchmany(BATCH):
                    target.run_many(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)  # noqa: S608
    except DRIVER_FAULTS as error:
        raise translate_error(error, f"the backup {source}") from error
    target.run(GUARD)
    target.run(TRIGGER)


def _demand_whole(url: str, where: str, keys: Path | None) -> None:
    with closing(PostgresStore(url, Options(create=False, readonly=True, keys=keys))) as store:
        report = store.check()
    if not report.whole:
        raise JournalCorruptError(
            f"what was written to {where} is no whole journal: {report.faults[0].problem}; nothing was changed"
        )


def _exchange(connection: psycopg.Connection[Any], name: str, fresh: str, key: int) -> str | None:
    """Give a schema the name of another, while nobody writes to that; return the other's name then."""
    connection.execute("SELECT set_config('lock_timeout', %s, true)", (f"{int(SECONDS)}s",))
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (key,))
    there = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (name,)).fetchone()
    aside = None
    if there is not None:
        stamp = datetime.now(UTC).strftime("%Y%m%dt%H%M%Sz")
        aside = f"replaced_{name[:LONGEST]}_{stamp}"[:59] + f"_{secrets.token_hex(1)}"
        connection.execute(_format_names("ALTER SCHEMA {} RENAME TO {}", name, aside))
    connection.execute(_format_names("ALTER SCHEMA {} RENAME TO {}", fresh, name))
    return aside


def _format_names(statement: str, *names: str) -> sql.Composed:
    return sql.SQL(statement).format(*map(sql.Identifier, names))


@contextmanager
def _faults(where: str) -> Iterator[None]:
    """Turn the driver's errors into ours; the connection's own are not repeated, for they may hold the password."""
    problem = ""
    try:
        yield
    except psycopg.Error as error:
        problem = error.diag.message_primary or type(error).__name__
    except (OSError, UnicodeError) as error:
        problem = type(error).__name__
    if problem:
        raise JournalError(f"the journal {where} could not be replaced: {problem}; nothing was changed", hint=DUMP)
