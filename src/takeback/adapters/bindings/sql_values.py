"""What a column's value is as JSON, and back: so that what comes back is what was there, to the last digit.

PostgreSQL keeps to the types of its columns. A type that JSON does not have is read and written as the text that the
database makes of it. SQLite lets a column hold anything: a value that its column's type does not describe exactly is
shown with the class that SQLite stores it in, `{"sqlite": "text", "value": "abc"}`, and is put back so.
"""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import uuid
from base64 import b64decode, b64encode
from typing import Any, Final

import sqlalchemy as sa

from takeback.state import ABSENT

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
