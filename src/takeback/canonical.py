"""JSON text, in one place: how it is written and how it is read, everywhere in Takeback.

`encode` writes the one canonical text of a value, for digests and for storing; `compact` and `pretty` keep the
order of keys, for prompts and for people. `parse` reads text from outside and refuses whatever has two readings;
`decode` reads what `encode` wrote. Types survive all of them: `1`, `1.0` and `true` stay three values.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final, TypeAlias

from takeback.errors import InputError, LimitError

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

MAX_DEPTH: Final = 32
"""How deep values may be nested."""
_MOST_DIGITS: Final = 400
_utf8 = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_ascii = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def encode(value: Any, *, ascii_only: bool = False) -> str:
    """Return the one canonical text of a JSON value: sorted keys, no spaces, no NaN.

    Characters beyond ASCII stand as they are; with `ascii_only` as escapes, which is the form that journals hash.
    """
    return (_ascii if ascii_only else _utf8).encode(value)


def sha256(text: str) -> str:
    """Return the hex SHA-256 of a text's UTF-8 bytes; half a surrogate pair, as in odd names of files, has some."""
    import hashlib  # noqa: PLC0415 - start-up of hooks, which compare and never hash

    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's canonical text."""
    return sha256(encode(value))


def write_compact(value: Any) -> str:
    """Return JSON on one line without spaces, keys in the order they have."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def write_pretty(
    value: Any, *, indent: int | str | None = 2, sort_keys: bool = False, ascii_only: bool = False
) -> str:
    """Return JSON with spaces, for people; on one line where `indent` is None. No newline at the end."""
    return json.dumps(value, ensure_ascii=ascii_only, indent=indent, sort_keys=sort_keys, allow_nan=False)


def make_comparable(value: Any, *, ordered: bool = False) -> str:
    """Return a text that two plain values share only if they are the same by type and content; never to be stored.

    Numbers that JSON does not have (JSON5 does) are allowed; with `ordered` the order of keys counts.
    """
    return json.dumps(value, sort_keys=not ordered)


def decode(text: str | bytes, where: str = "stored text") -> Any:
    """Return the value of a text that `encode` wrote; faster than `parse`, and as strict as that needs."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise InputError(where, found=_shorten_text(str(fault)), expected="a JSON text that Takeback wrote") from None


def parse(raw: str | bytes, where: str) -> Any:
    """Return the JSON value in text from outside, or raise with line and column.

    Refused besides malformed text: a key twice in one object, NaN and infinities, whole numbers of more than 400
    digits, bytes that are not UTF-8, and text that UTF-8 cannot hold (half a surrogate pair). A byte-order mark is
    skipped.
    """
    try:
        text = raw.decode("utf-8-sig") if isinstance(raw, bytes) else raw
        value = parse_strict(text)
    except json.JSONDecodeError as fault:
        place = f"{where}, line {fault.lineno}, column {fault.colno}"
        raise InputError(place, found=f"malformed JSON ({fault.msg})", expected="valid JSON") from None
    except UnicodeDecodeError:
        raise InputError(where, found="bytes that are not UTF-8", expected="UTF-8 JSON text") from None
    except RecursionError:
        raise LimitError(where, found="deeper nesting", expected="at most 32 levels in a value") from None
    except _KeyTwiceError as fault:
        raise InputError(where, found=str(fault), expected="each key once") from None
    except ValueError as fault:
        raise InputError(where, found=_shorten_text(str(fault)), expected="valid JSON") from None
    if "\\u" in text or not _is_storable(text):
        check_text(value, where)
    return value


def parse_strict(text: str) -> Any:
    """Return the JSON value in a text, read as `parse` does; ValueError or RecursionError where there is none."""
    return json.loads(
        text,
        object_pairs_hook=_build_object,
        parse_constant=_refuse,
        parse_int=_parse_whole_number,
        parse_float=_parse_finite,
    )


def find_value_end(text: str) -> int | None:
    """Return where the JSON value ends that a text begins with; None where it begins with none."""
    try:
        return json.JSONDecoder().raw_decode(text)[1]
    except (ValueError, RecursionError):
        return None


def check_text(value: Any, where: str) -> None:
    """Raise, naming the place, if a text in a JSON value, key or item, is one that UTF-8 cannot hold."""
    left: list[tuple[str, Any]] = [(where, value)]
    while left:
        place, item = left.pop()
        if isinstance(item, str):
            if not _is_storable(item):
                raise InputError(place, found="a lone surrogate", expected="text that UTF-8 can hold")
        elif isinstance(item, Mapping):
            left += ((f"{place} key", key) for key in item)
            left += ((f"{place}.{_shorten_text(str(key))}", value) for key, value in item.items())
        elif isinstance(item, list | tuple):
            left += ((f"{place}[{at}]", value) for at, value in enumerate(item))


def _is_storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shorten_text(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:97]}..."  # noqa: PLR2004  (a line of text)


def _parse_whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits")
    return int(digits)


def _parse_finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"{digits} is beyond every number")
    return number


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


class _KeyTwiceError(ValueError):
    """An object names a key twice."""


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        counted = Counter(name for name, _ in pairs)
        twice = next(name for name, times in counted.items() if times > 1)
        raise _KeyTwiceError(f"the key {twice!r} twice in one object")
    return members
