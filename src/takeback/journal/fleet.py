"""The journals of one PostgreSQL database: which there are, and the records of each, read and never written.

Contents stay sealed: no key is needed for what records say themselves (who, when, why, what was touched, on what
evidence). One connection serves the whole fleet, however many journals there are. As with a single journal, the URL
may hold a password, and nothing of the driver is passed on that might repeat it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import RLock
from typing import Any, Final

import psycopg
from psycopg import sql

from takeback.errors import JournalCorruptError, JournalError
from takeback.journal.postgres import REASONS
from takeback.journal.record import COLUMNS, Record, open_row, read_row
from takeback.journal.schema import CURRENT
from takeback.journal.url import BARE, ENCODE_HINT, read_url

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
        """The schemas that hold a journal, in order; only the one that the URL names, if it names one."""
        found = tuple(str(row[0]) for row in self._run(sql.SQL(_SCHEMAS)))
        return tuple(one for one in found if one == f"{BARE}_{self._place.name}") if self._place.name else found

    def head(self, schema: str) -> tuple[int, str]:
        """How far a journal has come: the place and the digest of its last record; none is 0 and nothing."""
        rows = self._from(schema, "SELECT seq, digest FROM {}.records ORDER BY seq DESC LIMIT 1")
        return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "")

    def records(self, schema: str, after: int) -> Iterator[Record]:
        """The records of a journal after a place, each checked against its own digest."""
        statement = f"SELECT {COLUMNS} FROM {{}}.records WHERE seq > %s ORDER BY seq LIMIT {PAGE}"  # noqa: S608 - constants
        while True:
            rows = self._from(schema, statement, (after,))
            yield from (open_row(read_row(row)) for row in rows)
            if len(rows) < PAGE:
                return
            after = rows[-1][0]

    def entries(self, schema: str, before: int | None, size: int) -> list[Record]:
        """The newest entries of a journal with smaller numbers than `before`, newest first."""
        bound = "entry IS NOT NULL" if before is None else "entry < %s"
        statement = f"SELECT {COLUMNS} FROM {{}}.records WHERE {bound} ORDER BY entry DESC LIMIT {int(size)}"  # noqa: S608
        rows = self._from(schema, statement, () if before is None else (before,))
        return [open_row(read_row(row)) for row in rows]

    def demand_layout(self, schema: str) -> None:
        """Refuse a journal whose records are not laid out as this Takeback writes them."""
        found = [row[0] for row in self._from(schema, "SELECT version FROM {}.schema_version")]
        version = max((one for one in found if type(one) is int), default=0)
        if version != CURRENT:
            older = "older: it is brought to the present one when its workspace is opened"
            raise JournalError(
                f"its layout, {version}, is {older if version < CURRENT else 'newer than this Takeback knows'}"
            )

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
                return self._tried(statement, parameters)
            except JournalError:
                if self._connection is not None and not (self._connection.closed or self._connection.broken):
                    raise
            self._connection = None
            return self._tried(statement, parameters)

    def _tried(self, statement: sql.SQL | sql.Composed, parameters: Sequence[Any]) -> list[Any]:
        if self._connection is None:
            self._connection = self._connected()
        problem: JournalError | None = None
        try:
            found: list[Any] = self._connection.execute(statement, tuple(parameters) or None).fetchall()
        except (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn):
            problem = JournalCorruptError("it lacks a table or a column that a journal has")
        except (psycopg.Error, OSError, UnicodeError) as error:
            problem = JournalError(f"{self.location} could not be read: {self._said(str(error))}")
        else:
            return found
        raise problem

    def _connected(self) -> psycopg.Connection[Any]:
        problem = ""
        try:
            connection = psycopg.connect(self._place.connect, autocommit=True, connect_timeout=SECONDS)
            connection.execute("SET default_transaction_read_only = on")
            connection.execute("SET statement_timeout = '60s'")
        except (psycopg.Error, OSError, UnicodeError) as error:
            problem = self._why_not(str(error))
        else:
            return connection
        hint = "" if self._place.clear else ENCODE_HINT
        raise JournalError(f"the journals at {self.location} could not be reached: {problem}", hint=hint)

    def _why_not(self, text: str) -> str:
        """A reason that repeats nothing of the URL."""
        found = [reason for reason in REASONS if reason in text]
        return "; ".join(found) or "the URL is malformed, or the server cannot be reached"

    def _said(self, text: str) -> str:
        for secret in self._place.secrets:
            text = text.replace(secret, "…")
        return text.strip()
