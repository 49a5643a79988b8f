"""Rows of a SQL table as records, through SQLAlchemy Core: one row is a record, its columns are fields.

All rows of one database change in one transaction, in which each row is locked, compared and written. A column that
is NULL is a field that is not there. Only the key and the declared fields are ever read.

What comes back is what was there, to the last digit. PostgreSQL keeps to the types of its columns: a type that JSON
does not have is read and written as the text that the database makes of it. SQLite lets a column hold anything: a
value that its column's type does not describe exactly is shown with the class that SQLite stores it in, `{"sqlite":
"text", "value": "abc"}`, and is put back so.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import os
import random
import time
import uuid
import warnings
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from takeback.adapters.bindings.protocol import SECONDS, Binding, RecordChange, Seen, fill_in, is_as_known, is_same
from takeback.canonical import encode, parse, sha256
from takeback.errors import ChangedMeanwhile, InputError, UnreachableError
from takeback.journal.failpoint import failpoint
from takeback.state import ABSENT

LOCKED: Final = 60.0
"""How long a lock of SQLite is waited for."""
READS: Final = "takeback_reads"
"""The option of a connection that only reads."""
BEGIN_WRITING: Final = ("BEGIN IMMEDIATE",)
BEGIN_READING: Final = ("BEGIN", "SELECT 1 FROM sqlite_master LIMIT 1")
"""BEGIN alone takes no lock."""
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
    """Return the engine of a database, made once; of SQLite, one whose transactions take their lock at once."""
    if url not in _ENGINES:
        url_parts = sa.make_url(url)
        if url_parts.drivername in {"postgres", "postgresql"}:
            url_parts = url_parts.set(drivername="postgresql+psycopg")
        lite = url_parts.get_backend_name() == "sqlite"
        options: dict[str, Any] = {"connect_args": {"timeout": SECONDS}} if lite else {"pool_pre_ping": True}
        engine = sa.create_engine(url_parts, hide_parameters=True, **options)
        if lite:
            sa.event.listen(engine, "connect", _leave_begin_to_us)
            sa.event.listen(engine, "begin", _begin)
        _ENGINES[url] = engine
    return _ENGINES[url]


def _leave_begin_to_us(connection: Any, _: Any) -> None:
    connection.isolation_level = None


def _begin(connection: sa.Connection) -> None:
    """Take SQLite's lock at once: the write lock, as it has no FOR UPDATE, or that of a reader.

    SQLite's own waiting backs off until it looks every tenth of a second, and misses the short moments in which busy
    writers leave the lock free; this one looks again every few milliseconds. It goes past SQLAlchemy, which ends the
    transaction at each refusal.
    """
    driver: Any = connection.connection.dbapi_connection
    statements = BEGIN_READING if connection.get_execution_options().get(READS) else BEGIN_WRITING
    until = time.monotonic() + LOCKED
    driver.execute("PRAGMA busy_timeout = 0").close()
    try:
        while True:
            try:
                for statement in statements:
                    driver.execute(statement).close()
            except connection.dialect.loaded_dbapi.OperationalError as fault:
                driver.rollback()
                if "locked" not in str(fault) or time.monotonic() >= until:
                    raise
                time.sleep(random.uniform(0.0005, 0.004))
            else:
                return
    finally:
        driver.execute(f"PRAGMA busy_timeout = {int(SECONDS * 1000)}").close()


class SqlBinding(Binding):
    """Rows of one table."""

    settings: Mapping[str, type] = {"url_env": str, "table": str, "key": list}
    required = ("url_env", "table", "key", "fields")

    def __init__(self, name: str, given: Mapping[str, Any]) -> None:
        super().__init__(name, given)
        self._table: sa.Table | None = None
        self._kinds: dict[str, Any] = {}
        """The declared types of the columns."""

    @property
    def system(self) -> str:
        return f"sql {sha256(self.read_variable('url_env'))[:16]}"

    @property
    def engine(self) -> sa.Engine:
        """The database's engine."""
        with self.reach():
            return open_engine(self.read_variable("url_env"))

    def _connect_to_read(self) -> sa.Connection:
        return self.engine.connect().execution_options(**{READS: True})

    @property
    def table(self) -> sa.Table:
        """The table, with its key and the declared columns only."""
        if self._table is None:
            named = str(self.given["table"])
            schema, _, plain = named.rpartition(".")
            spot = f"bindings.{self.name}"
            try:
                with self.reach(), warnings.catch_warnings():
                    warnings.simplefilter("ignore", sa.exc.SAWarning)  # types that it does not know go as text
                    with self._connect_to_read() as at:
                        table = sa.Table(plain, sa.MetaData(), schema=schema or None, autoload_with=at)
            except UnreachableError as fault:
                if not isinstance(fault.__context__, sa.exc.NoSuchTableError):
                    raise
                raise InputError(f"{spot}.table", found=named, expected="a table of the database") from None
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
            self._kinds = {column.name: find_kind(column) for column in table.c}
            self._table = self._strip(table) if self.engine.dialect.name == SQLITE else table
        return self._table

    def _find_kinds(self) -> Mapping[str, Any]:
        return self._kinds if self.table is not None else {}

    @staticmethod
    def _strip(table: sa.Table) -> sa.Table:
        """Return a table of SQLite without types: what it holds is read and written as it is."""
        columns = [sa.Column(column.name, sa.types.NullType()) for column in table.c]
        return sa.Table(table.name, sa.MetaData(), *columns, schema=table.schema)

    def find_version(self) -> str:
        with self.reach(), self._connect_to_read() as at:
            name = at.dialect.name
            asked = "select sqlite_version()" if name == "sqlite" else "select version()"
            return f"{name} {at.execute(sa.text(asked)).scalar_one()}"[:80]

    def look(self, name: str) -> Seen | None:
        table = self.table
        with self.reach(), self._connect_to_read() as at:
            return self._select(at, table, name, lock=False)

    def _select(self, at: sa.Connection, table: sa.Table, name: str, *, lock: bool) -> Seen | None:
        columns = [self._find_reading(table.c[field]) for field in self.fields]
        query = sa.select(*columns).where(*self._match(table, name))
        row = at.execute(query.with_for_update() if lock else query).mappings().first()
        if row is None:
            return None
        body = {field: self._to_json(field, row[field], name) for field in self.fields if row[field] is not None}
        return Seen(body, encode(body))

    def _find_reading(self, column: sa.Column[Any]) -> Any:
        """Return what is asked for to read a column: of JSON, and of what JSON does not have, the text."""
        kind = self._kinds[column.name]
        if self._is_sqlite or not (is_text_of_server(kind) or isinstance(kind, sa.JSON)):
            return column
        return sa.cast(column, sa.Text).label(column.name)

    @property
    def _is_sqlite(self) -> bool:
        return bool(self.engine.dialect.name == SQLITE)

    def _to_json(self, field: str, value: Any, name: str) -> Any:
        kind = self._kinds[field]
        if self._is_sqlite:
            return to_json_of_sqlite(kind, value)
        if isinstance(kind, sa.JSON):
            return parse(value, f"external[{self.name}/{name}].{field}")
        return to_json(value)

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
        kind = self._kinds[column.name]
        try:
            if self._is_sqlite:
                return from_json_of_sqlite(kind, item)
            value = from_json(kind, item)
        except (ValueError, TypeError, ArithmeticError):
            raise InputError(
                f"external[{self.name}/{name}].{column.name}",
                found=item,
                expected=f"a value for {type(kind).__name__}",
            ) from None
        as_text = is_text_of_server(kind) and type(value) is str and not isinstance(kind, sa.types.NullType)
        return sa.cast(sa.literal(value, sa.Text()), kind) if as_text else value

    def swap(self, name: str, known: Seen | None, body: dict[str, Any] | None) -> bool:
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
        values = {field: self._read(table.c[field], wanted.get(field, ABSENT), change.name) for field in self.fields}
        written = {field: values[field] for field in change.wanted or () if field in values}
        try:
            if seen is None:
                with at.begin_nested():
                    at.execute(sa.insert(table).values(**self._parse_key(table, change.name), **values))
            elif written:
                at.execute(sa.update(table).where(*self._match(table, change.name)).values(**written))
        except (sa.exc.IntegrityError, sa.exc.DataError, OverflowError) as fault:
            reason, *_ = self.mask(str(getattr(fault, "orig", None) or fault)).strip().splitlines() or [
                "no reason given"
            ]
            if seen is None and "unique" in reason.lower() and self._select(at, table, change.name, lock=False):
                raise changed from None
            raise InputError(
                f"external[{self.name}/{change.name}]",
                found=f"a record that the database does not take ({reason[:200]})",
                expected="one that it does",
                hint="nothing was changed",
            ) from None
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
        kinds = self._find_kinds()
        for wanted, value in ((sa.Integer, number), (sa.String, str(number))):
            for field in self.fields:
                if isinstance(kinds[field], wanted):
                    return {field: value}
        return super().make_probe(number)

    def make_probe_name(self, word: str) -> str:
        """Return a key that no row has, as the key's columns take it."""
        kinds, rng = self._find_kinds(), random.SystemRandom()
        words = [
            str(rng.randrange(10**8, 2 * 10**9))
            if isinstance(kinds[key], sa.Integer)
            else str(uuid.uuid4())
            if isinstance(kinds[key], sa.Uuid)
            else super(SqlBinding, self).make_probe_name(word)
            for key in self.given["key"]
        ]
        return "/".join(words)


SQLITE: Final = "sqlite"
MOMENTS: Final = (sa.DateTime, sa.Date, sa.Time)
PLAIN: Final = (
    sa.Integer,
    sa.Numeric,
    sa.Float,
    sa.String,
    sa.Boolean,
    *MOMENTS,
    sa.Uuid,
    sa.LargeBinary,
    sa.JSON,
)
"""Types of columns whose values have a form in JSON."""
CLASSES: Final = {int: "integer", float: "real", str: "text", bytes: "blob"}
INFINITE: Final = frozenset({"nan", "inf", "-inf"})


def find_kind(column: sa.Column[Any]) -> Any:
    """Return the type of a column; of a domain, the type that it is made of."""
    return getattr(column.type, "data_type", column.type)


def is_text_of_server(kind: Any) -> bool:
    """Tell whether values of a type are read and written as the text that the server makes of them."""
    if isinstance(kind, sa.ARRAY):
        return not isinstance(kind.item_type, sa.Integer | sa.String | sa.Boolean)
    return not isinstance(kind, PLAIN)


def to_json(value: Any) -> Any:
    """Return a column's value as JSON."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).isoformat()  # whatever zone the session is in
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return b64encode(bytes(value)).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def from_json(kind: Any, item: Any) -> Any:
    """Return JSON as a column of a type takes it; raises where it does not fit."""
    if item is ABSENT:
        return sa.null()
    if isinstance(kind, sa.JSON):
        return sa.JSON.NULL if item is None else item
    if item is None or is_text_of_server(kind):
        return sa.null() if item is None else _require(item, str)
    python = list if isinstance(kind, sa.ARRAY) else kind.python_type
    if python in {dt.datetime, dt.date, dt.time}:
        return python.fromisoformat(item)
    if python is bytes:
        return b64decode(item, validate=True)
    if python in {decimal.Decimal, uuid.UUID}:
        return python(item)
    if python is int and type(item) is str:
        return int(item)
    if python is float and item in INFINITE:
        return float(item)
    if python is float and type(item) is int:
        raise ValueError("a whole number")
    return _require(item, python)


def _require(item: Any, python: type) -> Any:
    if type(item) is not python:
        raise TypeError("another type")
    return item


def to_json_of_sqlite(kind: Any, value: Any) -> Any:
    """Return what SQLite holds in a column of a type as JSON; with its class where the type does not describe it."""
    try:
        item = _describe(kind, value)
        kept = _store(kind, item)
    except (ValueError, TypeError, ArithmeticError):
        pass
    else:
        if isinstance(kind, sa.JSON) or (type(kept) is type(value) and kept == value):
            return item
    plain = b64encode(value).decode() if isinstance(value, bytes) else value
    return {SQLITE: CLASSES[type(value)], "value": str(plain) if value in {math.inf, -math.inf} else plain}


def from_json_of_sqlite(kind: Any, item: Any) -> Any:
    """Return JSON as SQLite is to hold it in a column of a type; raises where it does not fit."""
    if item is ABSENT or (item is None and not isinstance(kind, sa.JSON)):
        return None
    if isinstance(item, dict) and item.keys() == {SQLITE, "value"}:
        value, name = item["value"], item[SQLITE]
        made = b64decode(value, validate=True) if name == "blob" else float(value) if name == "real" else value
        if CLASSES.get(type(made)) != name:
            raise TypeError("another class")
        return made
    return _store(kind, item)


def _describe(kind: Any, value: Any) -> Any:
    """Return what SQLite holds as a value of its column's type would be in JSON."""
    if isinstance(kind, sa.JSON):
        return value if type(value) in {int, float} else json.loads(_require(value, str), parse_constant=_refuse)
    if isinstance(kind, sa.Boolean):
        return {0: False, 1: True}[value] if type(value) is int and value in {0, 1} else _refuse(value)
    if isinstance(kind, sa.Numeric) and not isinstance(kind, sa.Float) and kind.scale is not None:
        return f"{decimal.Decimal(repr(value)):.{kind.scale}f}"
    return b64encode(value).decode() if isinstance(value, bytes) else value


def _store(kind: Any, item: Any) -> Any:
    """Return JSON as SQLite keeps it in a column of a type."""
    if isinstance(kind, sa.JSON):
        return json.dumps(item)
    if isinstance(kind, sa.Boolean):
        return int(_require(item, bool))
    if isinstance(kind, sa.LargeBinary):
        return b64decode(_require(item, str), validate=True)
    if isinstance(kind, MOMENTS):
        kind.python_type.fromisoformat(_require(item, str))
        return item
    if isinstance(kind, sa.Float):
        return _require(item, float) if not isinstance(item, float) or math.isfinite(item) else _refuse(item)
    if isinstance(kind, sa.Numeric):
        number = decimal.Decimal(item) if type(item) is str else decimal.Decimal(repr(item))
        return int(number) if number == number.to_integral_value() and abs(number) < 1 << 63 else float(number)
    if isinstance(kind, sa.Integer):
        return int(item) if type(item) is str else _require(item, int)
    if isinstance(kind, sa.String | sa.Uuid):
        return _require(item, str)
    if type(item) not in CLASSES:
        raise TypeError("another type")
    return item


def _refuse(value: Any) -> Any:
    raise ValueError(str(value))
