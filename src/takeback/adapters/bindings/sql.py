"""Rows of a SQL table as records, through SQLAlchemy Core: one row is a record, its columns are fields.

All rows of one database change in one transaction, in which each row is locked, compared and written. A column that
is NULL is a field that is not there. Only the key and the declared fields are ever read.
"""

from __future__ import annotations

import datetime as dt
import decimal
import os
import random
import uuid
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from takeback.adapters.bindings.protocol import SECONDS, Binding, RecordChange, Seen, fill_in, is_as_known, is_same
from takeback.canonical import encode, sha256
from takeback.errors import ChangedMeanwhile, InputError
from takeback.journal.failpoint import failpoint
from takeback.state import ABSENT

_ENGINES: dict[str, sa.Engine] = {}
"""Engines of this process by URL: bindings of one database share its transactions."""


def _leave_engines() -> None:
    """Leave the connections of the process that was forked from alone, and make new ones."""
    for engine in _ENGINES.values():
        engine.dispose(close=False)
    _ENGINES.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_engines)


def open_engine(url: str) -> sa.Engine:
    """Return the engine of a database, made once; of SQLite, one whose transactions take the write lock at once."""
    if url not in _ENGINES:
        url_parts = sa.make_url(url)
        if url_parts.drivername in {"postgres", "postgresql"}:
            url_parts = url_parts.set(drivername="postgresql+psycopg")
        lite = url_parts.get_backend_name() == "sqlite"
        options: dict[str, Any] = {"connect_args": {"timeout": SECONDS}} if lite else {"pool_pre_ping": True}
        engine = sa.create_engine(url_parts, hide_parameters=True, **options)
        if lite:
            sa.event.listen(engine, "connect", _leave_begin_to_us)
            sa.event.listen(engine, "begin", _begin_immediately)
        _ENGINES[url] = engine
    return _ENGINES[url]


def _leave_begin_to_us(connection: Any, _: Any) -> None:
    connection.isolation_level = None


def _begin_immediately(connection: sa.Connection) -> None:
    """Take SQLite's write lock at once: it has no FOR UPDATE."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


class SqlBinding(Binding):
    """Rows of one table."""

    settings: Mapping[str, type] = {"url_env": str, "table": str, "key": list}
    required = ("url_env", "table", "key", "fields")

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        super().__init__(name, given)
        self._table: sa.Table | None = None

    @property
    def system(self) -> str:
        """The database."""
        return f"sql {sha256(self.read_variable('url_env'))[:16]}"

    @property
    def engine(self) -> sa.Engine:
        """The database's engine."""
        with self.reach():
            return open_engine(self.read_variable("url_env"))

    @property
    def table(self) -> sa.Table:
        """The table, with its key and the declared columns only."""
        if self._table is None:
            named = str(self.given["table"])
            schema, _, plain = named.rpartition(".")
            with self.reach():
                table = sa.Table(plain, sa.MetaData(), schema=schema or None, autoload_with=self.engine)
            spot = f"bindings.{self.name}"
            for setting in ("key", "fields"):
                for column in self.given[setting]:
                    if column not in table.c:
                        columns = ", ".join(table.c.keys())
                        raise InputError(
                            f"{spot}.{setting}", found=column, expected=f"a column of {named}: {columns}"
                        )
            key = set(self.given["key"])
            uniques = [{column.name for column in table.primary_key}]
            uniques += [
                {c.name for c in constraint.columns}
                for constraint in table.constraints
                if isinstance(constraint, sa.UniqueConstraint)
            ]
            uniques += [{c.name for c in index.columns} for index in table.indexes if index.unique]
            if key not in uniques:
                raise InputError(f"{spot}.key", found=", ".join(sorted(key)), expected="a primary or unique key")
            computed = [field for field in self.fields if table.c[field].computed is not None]
            if computed:
                raise InputError(
                    f"{spot}.fields", found=computed[0], expected="a column that the database lets be set"
                )
            self._table = table
        return self._table

    def find_version(self) -> str:
        """Return the database and its version."""
        with self.reach(), self.engine.connect() as at:
            name = at.dialect.name
            asked = "select sqlite_version()" if name == "sqlite" else "select version()"
            return f"{name} {at.execute(sa.text(asked)).scalar_one()}"[:80]

    def look(self, name: str) -> Seen | None:
        """Return a row as a record."""
        table = self.table
        with self.reach(), self.engine.connect() as at:
            return self._select(at, table, name, lock=False)

    def _select(self, at: sa.Connection, table: sa.Table, name: str, *, lock: bool) -> Seen | None:
        columns = [table.c[field] for field in self.fields]
        query = sa.select(*columns).where(*self._match(table, name))
        row = at.execute(query.with_for_update() if lock else query).mappings().first()
        if row is None:
            return None
        body = {field: to_json(row[field]) for field in self.fields if row[field] is not None}
        return Seen(body, encode(body))

    def _match(self, table: sa.Table, name: str) -> list[Any]:
        return [table.c[key] == value for key, value in self._parse_key(table, name).items()]

    def _parse_key(self, table: sa.Table, name: str) -> dict[str, Any]:
        """Return the key's columns from a record's name: one, or several with `/` between them."""
        keys = self.given["key"]
        words = name.split("/") if len(keys) > 1 else [name]
        if len(words) != len(keys):
            raise InputError(f"external[{self.name}/{name}]", found=name, expected="/".join(keys).upper())
        return {key: self._read(table.c[key], word, name) for key, word in zip(keys, words, strict=True)}

    def _read(self, column: sa.Column[Any], item: Any, name: str) -> Any:
        try:
            return from_json(column, item)
        except (ValueError, TypeError, ArithmeticError):
            raise InputError(
                f"external[{self.name}/{name}].{column.name}", found=item, expected=f"a value for {column.type!s}"
            ) from None

    def swap(self, name: str, known: Seen | None, body: dict[str, Any] | None) -> bool:
        """Put a row, if it is as known."""
        try:
            all_of_it = None if known is None else {field: known.body.get(field, ABSENT) for field in self.fields}
            list(self.put_together([(self, RecordChange(name, all_of_it, body))]))
        except ChangedMeanwhile:
            return False
        return True

    def put(self, change: RecordChange) -> None:
        """Make one change in a transaction of its own."""
        list(self.put_together([(self, change)]))

    def put_together(self, pairs: Sequence[tuple[Binding, RecordChange]]) -> Iterator[RecordChange]:
        """Make all changes in one transaction, or none."""
        with self.reach():
            tables = [(binding, binding.table) for binding, _ in pairs if isinstance(binding, SqlBinding)]
            changes = [(binding, table, change) for (binding, table), (_, change) in zip(tables, pairs, strict=True)]
            with self.engine.begin() as at:
                for binding, table, change in sorted(changes, key=lambda item: (item[1].name, item[2].name)):
                    binding.write(at, table, change)
                failpoint("record.open")
        yield from (change for _, change in pairs)

    def write(self, at: sa.Connection, table: sa.Table, change: RecordChange) -> None:
        """Lock a row, compare what is known of it, and write what is wanted; refuse what the database changes."""
        self.require_visible(change)
        seen = self._select(at, table, change.name, lock=True)
        changed = ChangedMeanwhile(f"{self.name}/{change.name} was changed by someone else just now")
        if not is_as_known(self.show(seen), change.known, whole=change.wanted is None):
            raise changed
        wanted = fill_in(seen, change.wanted)
        if wanted is None:
            if seen is not None:
                at.execute(sa.delete(table).where(*self._match(table, change.name)))
            return
        values = {field: self._read(table.c[field], wanted.get(field), change.name) for field in self.fields}
        if seen is None:
            try:
                at.execute(sa.insert(table).values(**self._parse_key(table, change.name), **values))
            except sa.exc.IntegrityError as fault:
                if "unique" in str(fault.orig).lower():
                    raise changed from None
                raise
        else:
            written = {field: values[field] for field in change.wanted or () if field in values}
            if written:
                at.execute(sa.update(table).where(*self._match(table, change.name)).values(**written))
        self._require_same(self._select(at, table, change.name, lock=False), wanted, change.name)

    def _require_same(self, there: Seen | None, wanted: dict[str, Any], name: str) -> None:
        body = {} if there is None else there.body
        wrong = [field for field in self.fields if not is_same(body.get(field, ABSENT), wanted.get(field, ABSENT))]
        if wrong:
            raise InputError(
                f"external[{self.name}/{name}].{wrong[0]}",
                found=wanted.get(wrong[0]),
                expected="a value as the database keeps it (a field that is NULL is left out)",
                hint=f"the database would make {encode(body.get(wrong[0]))} of it; nothing was changed",
            )

    def make_probe(self, number: int) -> dict[str, Any]:
        """Return a row with a number in a column of numbers, or of text."""
        if "probe" in self.given:
            return super().make_probe(number)
        for wanted, value in ((sa.Integer, number), (sa.String, str(number))):
            for field in self.fields:
                if isinstance(self.table.c[field].type, wanted):
                    return {field: value}
        return super().make_probe(number)

    def make_probe_name(self, word: str) -> str:
        """Return a key that no row has, as the key's columns take it."""
        table, rng = self.table, random.SystemRandom()
        words = [
            str(rng.randrange(10**8, 2 * 10**9))
            if isinstance(table.c[key].type, sa.Integer)
            else str(uuid.uuid4())
            if isinstance(table.c[key].type, sa.Uuid)
            else super(SqlBinding, self).make_probe_name(word)
            for key in self.given["key"]
        ]
        return "/".join(words)


def to_json(value: Any) -> Any:
    """Return a column's value as JSON."""
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return b64encode(bytes(value)).decode()
    return value


def from_json(column: sa.Column[Any], item: Any) -> Any:
    """Return JSON as a column takes it; raises where it does not fit."""
    if item is None or isinstance(column.type, sa.JSON):
        return sa.null() if item is None else item
    python = column.type.python_type
    if python in {dt.datetime, dt.date, dt.time}:
        return python.fromisoformat(item)
    if python is bytes:
        return b64decode(item, validate=True)
    if python in {decimal.Decimal, uuid.UUID}:
        return python(item)
    if python is int and type(item) is str:
        return int(item)
    if python is float and type(item) is int:
        raise ValueError("a whole number")
    if python is not object and type(item) is not python:
        raise TypeError("another type")
    return item
