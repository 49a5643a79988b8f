"""A journal in PostgreSQL, named by URL: for harnesses whose history is kept by a server.

Each journal is a schema of its own (`takeback`, or `takeback_<name>` for a URL that ends in `#name`).
Writers are serialised by an advisory lock that the server drops when a connection ends. The URL may hold a
password, so no message of the driver is passed on without having it taken out.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import psycopg
from psycopg import errors, sql

from takeback.errors import JournalBusyError, JournalError
from takeback.journal.schema import Dialect, migrate
from takeback.journal.sql import SqlStore
from takeback.journal.store import MISSING_HINT, missing, now

NAME = re.compile(r"[a-z0-9_]{1,40}")

DIALECT = Dialect(number="BIGINT", text='TEXT COLLATE "C"')

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


class PostgresStore(SqlStore):
    """A journal in a PostgreSQL schema; safe for threads, processes and machines."""

    def __init__(self, url: str, *, timeout: float = 10.0, create: bool = True) -> None:
        bare, _, name = url.partition("#")
        if name and not NAME.fullmatch(name):
            raise JournalError(f"journal name {name!r} in the URL: expected lower-case letters, digits and _")
        self.location, self._secrets = _redacted(url)
        self._schema = f"takeback_{name}" if name else "takeback"
        self._key = int.from_bytes(hashlib.sha256(self._schema.encode()).digest()[:8], "big", signed=True)
        self._timeout = timeout
        self._mutex = threading.RLock()
        self._depth = 0
        self._locks = 0
        with self._faults():
            self._connection: psycopg.Connection[Any] = psycopg.connect(
                bare, autocommit=True, connect_timeout=max(2, int(timeout))
            )
        try:
            self._prepare(create=create)
        except BaseException:
            self._connection.close()
            raise

    def _prepare(self, *, create: bool) -> None:
        schema = sql.Identifier(self._schema)
        with self._faults():
            self._connection.execute("SET synchronous_commit = on")
            self._connection.execute("SET client_min_messages = warning")
            self._connection.execute(sql.SQL("SET search_path = {}").format(schema))
            self._wait_at_most(self._timeout)
        if not create and not self.run("SELECT 1 FROM pg_namespace WHERE nspname = ?", (self._schema,)):
            raise JournalError(missing(self.location), hint=MISSING_HINT)
        with self.transaction(), self._faults():
            self._connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
            migrate(self, stamp=now(), dialect=DIALECT, location=self.location)
            self._connection.execute(GUARD)
            self._connection.execute(TRIGGER)

    def _wait_at_most(self, seconds: float) -> None:
        self._connection.execute(
            "SELECT set_config('lock_timeout', %s, false)", (f"{max(1, int(seconds * 1000))}ms",)
        )

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn the driver's errors into ours, without the password."""
        problem: JournalError | None = None
        try:
            yield
        except errors.LockNotAvailable:
            problem = JournalBusyError(f"another process held the journal {self.location} too long; try again")
        except (psycopg.Error, OSError) as error:
            text = str(error).strip() or type(error).__name__
            for secret in self._secrets:
                text = text.replace(secret, "…")
            problem = JournalError(f"the journal {self.location} could not be used: {text}")
        if problem is not None:
            raise problem

    def run(self, statement: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement, and return its rows."""
        with self._mutex, self._faults():
            cursor = self._connection.execute(statement.replace("?", "%s").encode(), parameters)
            return cursor.fetchall() if cursor.description else []

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row."""
        with self._mutex, self._faults(), self._connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s").encode(), rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A write transaction that no other process can enter; nested ones belong to the outermost."""
        with self._mutex:
            if self._depth == 0:
                self.run("BEGIN")
            self._depth += 1
            try:
                if self._depth == 1:
                    self.run("SELECT pg_advisory_xact_lock(?)", (self._key,))
                yield
            except BaseException:
                self._depth -= 1
                if self._depth == 0:
                    with suppress(JournalError):
                        self.run("ROLLBACK")
                raise
            self._depth -= 1
            if self._depth == 0:
                self.run("COMMIT")

    @contextmanager
    def lock(self, timeout: float = 30.0) -> Iterator[None]:
        """Keep every other process and thread out until the block ends."""
        if not self._mutex.acquire(timeout=timeout):
            raise JournalBusyError(f"another thread held the journal {self.location} for more than {timeout:g} s")
        try:
            if self._locks == 0:
                self._session_lock(timeout)
            self._locks += 1
            try:
                yield
            finally:
                self._locks -= 1
                if self._locks == 0 and not self._connection.closed:
                    with suppress(JournalError):
                        self.run("SELECT pg_advisory_unlock(?)", (self._key,))
        finally:
            self._mutex.release()

    def _session_lock(self, timeout: float) -> None:
        with self._faults():
            self._wait_at_most(timeout)
        try:
            self.run("SELECT pg_advisory_lock(?)", (self._key,))
        finally:
            with self._faults():
                self._wait_at_most(self._timeout)

    def assert_held(self) -> None:
        """Raise unless this connection still holds the lock: another process may have gone on otherwise."""
        unsigned = self._key % (1 << 64)
        try:
            held = self._locks and self.run(HELD, (unsigned >> 32, unsigned & 0xFFFFFFFF))[0][0]
        except JournalError as error:
            raise JournalError(f"the lock of the journal {self.location} was lost with its connection") from error
        if not held:
            raise JournalError(f"the lock of the journal {self.location} is not held")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@contextmanager
def scratch_journal(url: str) -> Iterator[str]:
    """A URL of a journal of its own in the same database, dropped at the end: for benchmarks and torture."""
    bare, name = url.partition("#")[0], f"scratch_{secrets.token_hex(6)}"
    try:
        yield f"{bare}#{name}"
    finally:
        store = PostgresStore(f"{bare}#{name}")
        with store.transaction():
            store.run(f"DROP SCHEMA takeback_{name} CASCADE")
        store.close()


def _redacted(url: str) -> tuple[str, tuple[str, ...]]:
    """The URL without its password, and every spelling of the password that a message might repeat."""
    try:
        parts = urlsplit(url)
        password = parts.password
    except ValueError:
        raise JournalError("the PostgreSQL URL is malformed (not shown: it may hold a password)") from None
    query = re.sub(r"(?i)(password=)[^&]*", r"\1…", parts.query)
    found = re.findall(r"(?i)password=([^&]*)", parts.query) + ([password] if password else [])
    netloc = parts.netloc if password is None else parts.netloc.replace(f":{password}@", ":…@")
    spellings = {url, url.partition("#")[0], *found, *(unquote(item) for item in found)}
    shown = urlunsplit((parts.scheme, netloc, parts.path, query, parts.fragment))
    return shown, tuple(sorted((s for s in spellings if s), key=len, reverse=True))
