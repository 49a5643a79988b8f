"""JSON values in TOML, exactly, and TOML's text for single values, also of several lines.

TOML has no null. A value it cannot hold is written as a table with the one key `$json`, whose text is the
value's JSON: `fallback = { "$json" = "null" }`. Types survive: `1`, `1.0` and `true` are three values in
TOML too. A client's file has no such tables: there null is refused, and what JSON lacks is read as
`{"$toml": "1979-05-27"}`.
"""

from __future__ import annotations

import re
import tomllib
from difflib import SequenceMatcher
from math import isfinite
from typing import Any, Final

from takeback.canonical import parse, write_pretty
from takeback.errors import InputError

ESCAPE: Final = "$json"
LITERAL: Final = "$toml"
MAX_LEVELS: Final = 100
"""Tables and lists in each other that a document may have; a value in it may have fewer."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_SPECIAL = re.compile(r'["\\\x00-\x1f\x7f]')


def encode_toml(plain: Any) -> Any:
    """Return a plain JSON value in a form that TOML can hold."""
    if isinstance(plain, dict) and set(plain) != {ESCAPE}:
        return {key: encode_toml(item) for key, item in plain.items()}
    if isinstance(plain, list):
        return [encode_toml(item) for item in plain]
    if plain is None or isinstance(plain, dict):
        return {ESCAPE: write_pretty(plain, indent=None, ascii_only=True)}
    return plain


def decode_toml(raw: Any, where: str) -> Any:
    """Invert `encode_toml`; raise `InputError` for a date or time, which JSON does not have."""
    if isinstance(raw, dict):
        if set(raw) == {ESCAPE}:
            if not isinstance(raw[ESCAPE], str):
                raise InputError(f"{where}.{ESCAPE}", found=raw[ESCAPE], expected="a text of JSON")
            return parse(raw[ESCAPE], f"{where}.{ESCAPE}")
        return {key: decode_toml(item, f"{where}.{key}") for key, item in raw.items()}
    if isinstance(raw, list):
        return [decode_toml(item, f"{where}[{at}]") for at, item in enumerate(raw)]
    if isinstance(raw, str | bool | int | float):
        return raw
    raise InputError(where, found=f"{raw} (a date or time)", expected="a JSON value; put it in quotes")


def decode_client_toml(raw: Any) -> Any:
    """Return a client's TOML as JSON; dates, times and infinite numbers become `{"$toml": "its text"}`."""
    if isinstance(raw, dict):
        return {key: decode_client_toml(item) for key, item in raw.items()}
    if isinstance(raw, list):
        return [decode_client_toml(item) for item in raw]
    if isinstance(raw, str | bool | int) or (isinstance(raw, float) and isfinite(raw)):
        return raw
    return {LITERAL: str(raw) if isinstance(raw, float) else raw.isoformat()}


def encode_client_toml(plain: Any) -> Any:
    """Invert `decode_client_toml`; raise ValueError for what a client's TOML cannot hold."""
    if plain is None:
        raise ValueError("TOML has no null")
    if isinstance(plain, list):
        return [encode_client_toml(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if set(plain) != {LITERAL}:
        return {key: encode_client_toml(item) for key, item in plain.items()}
    try:
        alike = decode_client_toml(tomllib.loads(f"x = {plain[LITERAL]}")) == {"x": plain}
    except tomllib.TOMLDecodeError:
        alike = False
    if not alike:
        raise ValueError(f"{plain[LITERAL]!r} is no date, time or number of TOML")
    return Literal(plain[LITERAL])


class Literal(str):
    """A text that is TOML already."""

    __slots__ = ()


def is_table(plain: Any) -> bool:
    """Return whether a value is a mapping that can have a table of its own."""
    return isinstance(plain, dict) and set(plain) != {ESCAPE}


def load_toml(text: str, where: str) -> dict[str, Any]:
    """Return the plain contents of a TOML text; raise `InputError` with line and column."""
    try:
        return _require_shallow(tomllib.loads(text))
    except tomllib.TOMLDecodeError as fault:
        last = f"at end of document, line {text.count(chr(10)) + 1}, column {len(text) - text.rfind(chr(10))}"
        problem = str(fault).replace("at end of document", last)
        raise InputError(where, found=f"malformed TOML: {problem}", expected="valid TOML") from None
    except RecursionError:
        raise InputError(where, found="deeper nesting than can be read", expected="valid TOML") from None
    except ValueError as fault:
        raise InputError(where, found=f"a value that cannot be read ({fault})", expected="valid TOML") from None


def _require_shallow(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the contents; raise RecursionError, as headers and dotted keys can nest too deep to walk."""
    level: list[Any] = [raw]
    for _ in range(MAX_LEVELS):
        level = [
            item
            for value in level
            for item in (value.values() if isinstance(value, dict) else value)
            if isinstance(item, dict | list)
        ]
        if not level:
            return raw
    raise RecursionError


def format_key(key: str) -> str:
    """Return a key as TOML text."""
    return key if _BARE.fullmatch(key) else format_string(key)


def format_string(text: str) -> str:
    """Return a text as a basic string of TOML."""
    return f'"{_SPECIAL.sub(lambda match: _SHORT.get(match[0], f"{chr(92)}u{ord(match[0]):04X}"), text)}"'


def format_value(plain: Any) -> str:
    """Return a value on one line, escapes included."""
    raw = encode_toml(plain)
    return _format_raw(raw)


def _format_raw(raw: Any) -> str:
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
            return format_string(raw)
        case list():
            return f"[{', '.join(_format_raw(item) for item in raw)}]"
        case dict():
            pairs = ", ".join(f"{format_key(key)} = {_format_raw(item)}" for key, item in raw.items())
            return f"{{ {pairs} }}" if pairs else "{}"
        case _:
            raise InputError("a TOML value", found=raw, expected="a JSON value")


BASIC: Final = '"""'
LITERAL_QUOTES: Final = "'''"
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_FOLDED: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[ \t]*(?:\r?\n|$)")
_BARE_END: Final = re.compile(r'(?<!\\)(?:\\\\)*"$')
"""A quotation mark at the end that no backslash stands before."""


def edit_lines(raw: bytes, old: str, new: str) -> bytes | None:
    """Return a value of several lines edited from `old` to `new`; None if its style cannot hold that."""
    text = raw.decode()
    mark = text[: len(BASIC)]
    if mark not in {BASIC, LITERAL_QUOTES} or "\n" not in new:
        return None
    body = text[len(mark) : -len(mark)]
    first = re.match(r"\r?\n", body)
    start = first[0] if first else ""
    end = "\r\n" if "\r\n" in body else "\n"
    lines = body[len(start) :].replace("\r\n", "\n").split("\n")
    before, after = old.split("\n"), new.split("\n")
    if len(lines) != len(before) or (mark == BASIC and _FOLDED.search(body)):
        lines = [_encode_line(line, mark) or "" for line in before]
    made: list[str] = []
    for tag, low, stop, low_after, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            made += lines[low:stop]
            continue
        for line in after[low_after:last]:
            said = _encode_line(line, mark)
            if said is None:
                return None
            made.append(said)
    whole = end.join(made)
    if mark == BASIC and _BARE_END.search(whole):
        whole = f'{whole[:-1]}\\"'
    elif mark == LITERAL_QUOTES and whole.endswith("'"):
        return None
    return f"{mark}{start or (end if whole.startswith(end) else '')}{whole}{mark}".encode()


def _encode_line(line: str, mark: str) -> str | None:
    if mark == LITERAL_QUOTES:
        return None if LITERAL_QUOTES in line or _CONTROL.search(line) else line
    escaped = line.replace("\\", "\\\\").replace(BASIC, '""\\"')
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", escaped)
