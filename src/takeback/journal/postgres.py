"""Journals in PostgreSQL, named by URL: one as a store, and all of a database as a fleet that is only read.

Each journal is a schema of its own (`takeback`, or `takeback_<name>` for a URL that ends in `#name`). Writers
are serialised by an advisory lock that the server drops when a connection ends. A connection that was lost is
made anew between operations, never while the lock is held. Contents are always encrypted: a server's log and
backups keep what was deleted. A fleet needs no key, because it reads records only. The URL may hold a
password, so no message of the driver is passed on that might repeat it.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import RLock
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors, sql

from takeback.errors import JournalBusyError, JournalCorruptError, JournalError, NotHeldError
from takeback.journal.content import Ref
from takeback.journal.encryption import locate_default_keys
from takeback.journal.key_index import Tables
from takeback.journal.record import COLUMNS, RecentRecords, Record, open_row, read_row
from takeback.journal.sql import (
    READ_VERSIONS,
    About,
    SqlDialect,
    SqlStore,
    begin_journal,
    note_erased,
    require_current_schema,
)
from takeback.journal.store import MISSING_HINT, Options, describe_missing_journal
from takeback.journal.url import BARE, ENCODE_HINT, read_url

T = TypeVar("T")

DIALECT: Final = SqlDialect(number="BIGINT", text='TEXT COLLATE "C"', blob="BYTEA")

GUARD = """
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'journal records are never changed'; END $$
"""
TRIGGER = """
CREATE OR REPLACE TRIGGER records_guard BEFORE UPDATE OR DELETE OR TRUNCATE ON records
FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()
"""
HELD = """
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted AND objsubid = 1
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
AND classid::bigint = ? AND objid::bigint = ?
"""
SOON: Final = 0.01
"""Seconds to wait for a lock that need not be had."""
REASONS: Final = (
    "Connection refused",
    "timeout expired",
    "password authentication failed",
    "no password supplied",
    "could not translate host name",
    "does not exist",
    "server closed the connection",
    "no pg_hba.conf entry",
    "too many clients",
    "starting up",
    "shutting down",
    "No such file or directory",
    "Network is unreachable",
    "No route to host",
)
"""What the driver says of a failed connection and may be repeated word for word."""


def _why_unreachable(error: Exception) -> str:
    """Return a reason that repeats nothing of the URL."""
    reasons = [reason for reason in REASONS if reason in str(error)]
    return "; ".join(reasons) or "the URL is malformed, or the server cannot be reached"


class ConnectedSchema(Tables):
    """A connection to a journal's schema, as the tables and the index want it."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection

    def run(self, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        cursor = self._connection.execute(statement.replace("?", "%s").encode(), tuple(parameters))
        return cursor.fetchall() if cursor.description else []

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s").encode(), list(rows))


class PostgresStore(SqlStore):
    """A journal in a PostgreSQL schema; safe for threads, processes and machines."""

    def __init__(self, url: str, options: Options) -> None:
        self._place = read_url(url)
        self.location = self._place.shown
        self._options = options
        self.schema = f"takeback_{self._place.name}" if self._place.name else "takeback"
        self._key = self.lock_key(self.schema)
        self._mutex = threading.RLock()
        self._recent = RecentRecords()
        self._connection = self._make_connection()
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def lock_key(schema: str) -> int:
        """Return the number of the advisory lock that writers of a schema's journal take."""
        return int.from_bytes(hashlib.sha256(schema.encode()).digest()[:8], "big", signed=True)

    @classmethod
    def open_at(cls, where: str, options: Options) -> PostgresStore:
        """Open the journal at a URL."""
        return cls(where, options)

    def _make_connection(self) -> psycopg.Connection[Any]:
        timeout = max(2, int(self._options.timeout))
        problem: str | None = None
        try:
            connection = psycopg.connect(self._place.connect, autocommit=True, connect_timeout=timeout)
        except (psycopg.Error, OSError, UnicodeError) as error:
            problem = str(error).strip() if self._place.bare and self._place.clear else _why_unreachable(error)
        if problem is not None:
            hint = "" if self._place.clear else ENCODE_HINT
            raise JournalError(f"the journal {self.location} could not be reached: {problem}", hint=hint)
        with self._faults():
            connection.execute("SET synchronous_commit = on")
            connection.execute("SET client_min_messages = warning")
            connection.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(self.schema)))
            connection.execute(
                "SELECT set_config('lock_timeout', %s, false)", (_milliseconds(self._options.timeout),)
            )
        return connection

    @property
    def database_role(self) -> str:
        """The role that the server knows this connection by; `SET ROLE` does not change it."""
        return str(self.run("SELECT session_user")[0][0])

    def _open(self) -> None:
        there = self.run("SELECT 1 FROM pg_namespace WHERE nspname = ?", (self.schema,))
        if not there and (not self._options.create or self._options.readonly):
            raise JournalError(describe_missing_journal(self.location), hint=MISSING_HINT)
        self.readonly = self._options.readonly or self.run("SHOW transaction_read_only")[0][0] == "on"
        if not self.readonly and there:
            may = self.run(
                "SELECT has_schema_privilege(?, 'USAGE') AND has_table_privilege(c.oid, 'INSERT') "
                "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                "WHERE n.nspname = ? AND c.relname = 'records'",
                (self.schema, self.schema),
            )
            self.readonly = bool(may) and not may[0][0]
        if not self.readonly:
            self._prepare()
        require_current_schema(self.run(READ_VERSIONS), self.location)
        about = self._use(locate_default_keys)
        if not self.readonly:
            self._finish_erasing(about)

    def _prepare(self) -> None:
        with self.transaction():
            tables = {
                row[0] for row in self.run("SELECT tablename FROM pg_tables WHERE schemaname = ?", (self.schema,))
            }
            if not tables:
                with self._faults():
                    schema = sql.Identifier(self.schema)
                    self._connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
                begin_journal(self, DIALECT, seal=True)
                self._guard()
            elif not tables >= {"records", "schema_version"}:
                raise JournalError(f"the schema of {self.location} is no Takeback journal")

    def _guard(self) -> None:
        self.run(GUARD)
        self.run(TRIGGER)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn the driver's errors into ours, without the password."""
        problem: JournalError | None = None
        try:
            yield
        except errors.LockNotAvailable:
            problem = JournalBusyError(f"another process held the journal {self.location} too long; try again")
        except (errors.UndefinedTable, errors.UndefinedColumn, errors.DatatypeMismatch) as error:
            problem = JournalCorruptError(f"the journal {self.location} is damaged ({self._clean_message(error)})")
        except (psycopg.Error, OSError, UnicodeError) as error:
            problem = JournalError(f"the journal {self.location} could not be used: {self._clean_message(error)}")
        if problem is not None:
            raise problem

    def _clean_message(self, error: Exception) -> str:
        text = str(error).strip()
        hidden = not text or any(secret in text for secret in self._place.secrets)
        return type(error).__name__ if hidden else text

    def _retry_if_lost(self, attempt: Callable[[], T]) -> T:
        """Try again on a new connection where the old one was lost and nothing was unfinished on it."""
        try:
            with self._faults():
                return attempt()
        except JournalError:
            if not (self._connection.closed or self._connection.broken):
                raise
            if self._depth or self._locks:
                raise
        self._connection = self._make_connection()
        with self._faults():
            return attempt()

    def run(self, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        with self._mutex:
            return self._retry_if_lost(lambda: ConnectedSchema(self._connection).run(statement, parameters))

    def execute_plain(self, statement: str) -> None:
        """Run one statement as it stands, without parameters."""
        with self._mutex, self._faults():
            self._connection.execute(statement.encode())

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._mutex, self._faults():
            ConnectedSchema(self._connection).run_many(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Enter a write transaction that excludes other processes; nested ones belong to the outermost."""
        with self._nest_transaction("BEGIN"):
            if self._depth == 1 and not self._locks:
                self.run("SELECT pg_advisory_xact_lock(?)", (self._key,))
            yield

    def snapshot(self) -> AbstractContextManager[None]:
        return self._nest_transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _has_begun(self) -> bool:
        return not self._connection.closed

    def _commit(self) -> None:
        try:
            self.run("COMMIT")
        except JournalError as error:
            if not (self._connection.closed or self._connection.broken):
                raise
            raise JournalError(
                f"the connection to {self.location} was lost at the commit: whether it was written shows when the "
                "journal is opened again"
            ) from error

    def _take_lock(self, timeout: float, deadline: float) -> None:
        del deadline
        wait = "SELECT set_config('lock_timeout', ?, false), pg_advisory_lock(?)"
        self.run(wait, (_milliseconds(timeout), self._key))
        self._note_head()

    def _release_lock(self) -> None:
        if not self._connection.closed:
            with suppress(JournalError):
                self.run("SELECT pg_advisory_unlock(?)", (self._key,))

    def assert_held(self) -> None:
        if not self._locks:
            raise NotHeldError(f"the journal {self.location} is not locked")
        unsigned = self._key % (1 << 64)
        try:
            held = self.run(HELD, (unsigned >> 32, unsigned & 0xFFFFFFFF))[0][0]
        except JournalError as error:
            raise NotHeldError(f"the lock of the journal {self.location} was lost; nothing more was done") from error
        if not held:
            raise NotHeldError(f"the lock of the journal {self.location} was lost; nothing more was done")
        self._require_same_head()

    def _erase_traces(self, refs: Sequence[Ref], traces: Sequence[bytes], seq: int, *, shrink: bool = False) -> str:
        del traces
        lingering = "" if self._keys is None else self._keys.drop(refs)
        if not lingering:
            with self.transaction():
                note_erased(self, seq)
        if shrink and not self._depth:
            with suppress(JournalError):  # only the owner of the tables may; otherwise the server does it in time
                self.run("VACUUM (FULL) contents, pieces")
        return lingering

    def _finish_erasing(self, about: About) -> None:
        """Delete the keys that a process killed while forgetting may have left."""
        last = self.latest("forget")
        if last is not None and last.seq > about.erased:
            with suppress(JournalBusyError), self.lock(SOON):  # whoever holds the lock may be about to do it
                gone = self._contents.list_idle_keys() if last.dropped else last.forgotten
                self._erase_traces(gone, (), last.seq)

    def measure_size(self) -> int:
        sizes = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
        of = "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'"
        return int(self.run(f"{sizes} {of}", (self.schema,))[0][0])

    def close(self) -> None:
        self._connection.close()
        if self._keys is not None:
            self._keys.close()


def _milliseconds(seconds: float) -> str:
    return f"{max(1, int(seconds * 1000))}ms"


PAGE: Final = 1000
SECONDS: Final = 10
_SCHEMAS = """
SELECT nspname FROM pg_namespace n WHERE (nspname = 'takeback' OR nspname LIKE 'takeback\\_%')
AND 2 = (SELECT count(*) FROM pg_tables WHERE schemaname = nspname AND tablename IN ('records', 'schema_version'))
ORDER BY nspname
"""


class JournalFleet:
    """Every journal in one database; safe for threads, one at a time."""

    def __init__(self, url: str) -> None:
        self._place = read_url(url)
        self.location = self._place.shown
        """Where it is, without a password."""
        self._lock = RLock()
        self._connection: psycopg.Connection[Any] | None = None

    def schemas(self) -> tuple[str, ...]:
        """Return the schemas that hold a journal, in order; only the one that the URL names, if it names one."""
        names = tuple(str(row[0]) for row in self._run(sql.SQL(_SCHEMAS)))
        return tuple(name for name in names if name == f"{BARE}_{self._place.name}") if self._place.name else names

    def head(self, schema: str) -> tuple[int, str]:
        """Return the number and digest of a journal's last record; 0 and an empty text if there is none."""
        rows = self._from(schema, "SELECT seq, digest FROM {}.records ORDER BY seq DESC LIMIT 1")
        return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "")

    def records(self, schema: str, after: int) -> Iterator[Record]:
        """Yield the records of a journal after a number, each checked against its own digest."""
        statement = f"SELECT {COLUMNS} FROM {{}}.records WHERE seq > %s ORDER BY seq LIMIT {PAGE}"  # noqa: S608 - constants
        while True:
            rows = self._from(schema, statement, (after,))
            yield from (open_row(read_row(row)) for row in rows)
            if len(rows) < PAGE:
                return
            after = rows[-1][0]

    def entries(self, schema: str, before: int | None, size: int) -> list[Record]:
        """Return the newest entries of a journal with smaller numbers than `before`, newest first."""
        bound = "entry IS NOT NULL" if before is None else "entry < %s"
        statement = f"SELECT {COLUMNS} FROM {{}}.records WHERE {bound} ORDER BY entry DESC LIMIT {int(size)}"  # noqa: S608
        rows = self._from(schema, statement, () if before is None else (before,))
        return [open_row(read_row(row)) for row in rows]

    def require_known_schema(self, schema: str) -> None:
        """Refuse a journal whose tables have another schema version than this Takeback writes."""
        require_current_schema(self._from(schema, "SELECT version FROM {}.schema_version"), schema)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _from(self, schema: str, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return self._run(sql.SQL(statement).format(sql.Identifier(schema)), parameters)

    def _run(self, statement: sql.SQL | sql.Composed, parameters: Sequence[Any] = ()) -> list[Any]:
        with self._lock:
            try:
                return self._try_statement(statement, parameters)
            except JournalError:
                if self._connection is not None and not (self._connection.closed or self._connection.broken):
                    raise
            self._connection = None
            return self._try_statement(statement, parameters)

    def _try_statement(self, statement: sql.SQL | sql.Composed, parameters: Sequence[Any]) -> list[Any]:
        if self._connection is None:
            self._connection = self._make_connection()
        problem: JournalError | None = None
        try:
            rows: list[Any] = self._connection.execute(statement, tuple(parameters) or None).fetchall()
        except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn):
            problem = JournalCorruptError("it lacks a table or a column that a journal has")
        except (psycopg.Error, OSError, UnicodeError) as error:
            problem = JournalError(f"{self.location} could not be read: {self._clean_message(str(error))}")
        else:
            return rows
        raise problem

    def _make_connection(self) -> psycopg.Connection[Any]:
        problem = ""
        try:
            connection = psycopg.connect(self._place.connect, autocommit=True, connect_timeout=SECONDS)
            connection.execute("SET default_transaction_read_only = on")
            connection.execute("SET statement_timeout = '60s'")
        except (psycopg.Error, OSError, UnicodeError) as error:
            problem = _why_unreachable(error)
        else:
            return connection
        hint = "" if self._place.clear else ENCODE_HINT
        raise JournalError(f"the journals at {self.location} could not be reached: {problem}", hint=hint)

    def _clean_message(self, text: str) -> str:
        for secret in self._place.secrets:
            text = text.replace(secret, "…")
        return text.strip()
