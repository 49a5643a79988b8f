"""JSON values in TOML, exactly, and TOML's text for single values.

TOML has no null. A value it cannot hold is written as a table with the one key `$json`, whose text is the value's
JSON: `fallback = { "$json" = "null" }`. Types survive: `1`, `1.0` and `true` are three values in TOML too. A client's
file knows no such tables: there null is refused, and what JSON lacks is read as `{"$toml": "1979-05-27"}`.
"""

from __future__ import annotations

import re
import tomllib
from math import isfinite
from typing import Any, Final

from takeback.canonical import parse, pretty
from takeback.errors import InputError

ESCAPE: Final = "$json"
LITERAL: Final = "$toml"
MAX_LEVELS: Final = 100
"""Tables and lists in each other that a document may have; a value in it may have fewer."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_SPECIAL = re.compile(r'["\\\x00-\x1f\x7f]')


def to_toml(plain: Any) -> Any:
    """A plain JSON value as TOML can hold it."""
    if isinstance(plain, dict) and set(plain) != {ESCAPE}:
        return {key: to_toml(item) for key, item in plain.items()}
    if isinstance(plain, list):
        return [to_toml(item) for item in plain]
    if plain is None or isinstance(plain, dict):
        return {ESCAPE: pretty(plain, indent=None, ascii_only=True)}
    return plain


def from_toml(raw: Any, where: str) -> Any:
    """The inverse of `to_toml`; a date or time, which JSON does not have, is named."""
    if isinstance(raw, dict):
        if set(raw) == {ESCAPE}:
            if not isinstance(raw[ESCAPE], str):
                raise InputError(f"{where}.{ESCAPE}", found=raw[ESCAPE], expected="a text of JSON")
            return parse(raw[ESCAPE], f"{where}.{ESCAPE}")
        return {key: from_toml(item, f"{where}.{key}") for key, item in raw.items()}
    if isinstance(raw, list):
        return [from_toml(item, f"{where}[{at}]") for at, item in enumerate(raw)]
    if isinstance(raw, str | bool | int | float):
        return raw
    raise InputError(where, found=f"{raw} (a date or time)", expected="a JSON value; put it in quotes")


def from_client(raw: Any) -> Any:
    """A client's TOML as JSON: a date, a time or a number that is not finite is `{"$toml": "its text"}`."""
    if isinstance(raw, dict):
        return {key: from_client(item) for key, item in raw.items()}
    if isinstance(raw, list):
        return [from_client(item) for item in raw]
    if isinstance(raw, str | bool | int) or (isinstance(raw, float) and isfinite(raw)):
        return raw
    return {LITERAL: str(raw) if isinstance(raw, float) else raw.isoformat()}


def to_client(plain: Any) -> Any:
    """The inverse of `from_client`, to be written; ValueError for what a client's TOML cannot hold."""
    if plain is None:
        raise ValueError("TOML has no null")
    if isinstance(plain, list):
        return [to_client(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if set(plain) != {LITERAL}:
        return {key: to_client(item) for key, item in plain.items()}
    try:
        alike = from_client(tomllib.loads(f"x = {plain[LITERAL]}")) == {"x": plain}
    except tomllib.TOMLDecodeError:
        alike = False
    if not alike:
        raise ValueError(f"{plain[LITERAL]!r} is no date, time or number of TOML")
    return Literal(plain[LITERAL])


class Literal(str):
    """A text that is TOML already."""

    __slots__ = ()


def is_table(plain: Any) -> bool:
    """Whether a value is a mapping that can have a table of its own."""
    return isinstance(plain, dict) and set(plain) != {ESCAPE}


def load_toml(text: str, where: str) -> dict[str, Any]:
    """The plain contents of a TOML text, or `InputError` with line and column."""
    try:
        return _demand_shallow(tomllib.loads(text))
    except tomllib.TOMLDecodeError as fault:
        last = f"at end of document, line {text.count(chr(10)) + 1}, column {len(text) - text.rfind(chr(10))}"
        told = str(fault).replace("at end of document", last)
        raise InputError(where, found=f"malformed TOML: {told}", expected="valid TOML") from None
    except RecursionError:
        raise InputError(where, found="deeper nesting than can be read", expected="valid TOML") from None
    except ValueError as fault:
        raise InputError(where, found=f"a value that cannot be read ({fault})", expected="valid TOML") from None


def _demand_shallow(raw: dict[str, Any]) -> dict[str, Any]:
    """The contents, or RecursionError: headers and dotted keys can nest deeper than any value can be walked."""
    level: list[Any] = [raw]
    for _ in range(MAX_LEVELS):
        level = [
            item
            for one in level
            for item in (one.values() if isinstance(one, dict) else one)
            if isinstance(item, dict | list)
        ]
        if not level:
            return raw
    raise RecursionError


def key_text(key: str) -> str:
    """A key as it stands in a document."""
    return key if _BARE.fullmatch(key) else string_text(key)


def string_text(text: str) -> str:
    """A basic string."""
    return f'"{_SPECIAL.sub(lambda found: _SHORT.get(found[0], f"{chr(92)}u{ord(found[0]):04X}"), text)}"'


def value_text(plain: Any) -> str:
    """A value on one line, escapes included."""
    raw = to_toml(plain)
    return _text(raw)


def _text(raw: Any) -> str:
    match raw:
        case bool():
            return "true" if raw else "false"
        case int():
            return str(raw)
        case float():
            return repr(raw)
        case Literal():
            return str(raw)
        case str():
            return string_text(raw)
        case list():
            return f"[{', '.join(_text(item) for item in raw)}]"
        case dict():
            pairs = ", ".join(f"{key_text(key)} = {_text(item)}" for key, item in raw.items())
            return f"{{ {pairs} }}" if pairs else "{}"
        case _:
            raise InputError("a TOML value", found=raw, expected="a JSON value")
