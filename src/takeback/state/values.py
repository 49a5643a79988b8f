"""JSON values and records as immutable Python values, compared by type.

Mappings become `PMap`, lists become tuples, scalars stay. `true`, `1` and `1.0` are three different values,
absent is not null. Everything that comes from outside passes `freeze`, which enforces the bounds below. A
record is a mapping with fixed keys (tools, middleware, callbacks, resources), read with defaults and clear
errors; in its canonical form volatile fields and object addresses in references (`<function f at 0x7f…>`) are
placeholders.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final

from takeback.canonical import MAX_DEPTH, encode
from takeback.errors import InputError, LimitError
from takeback.state.pmap import ABSENT, PMap

MAX_TEXT: Final = 10_000_000
MAX_INT: Final = 2**63 - 1
MAX_ITEMS: Final = 200_000
MARK: Final = "\x1f"
"""Begins the name of a part in a slot, and no key of a mapping."""


class Whole(ABC):
    """A value that keeps track of its parts; it means what `whole` returns."""

    __slots__ = ()

    @abstractmethod
    def whole(self) -> Any:
        """Return the plain value."""


def freeze(raw: Any, where: str, *, depth: int = 0, stored: bool = False) -> Any:
    """Return `raw` (as `json.loads` gives it) as an immutable value, or raise naming the place.

    Limits of size are for what comes from outside. What a journal holds (`stored`) was checked when it was written,
    and is read again however long it is.
    """
    if raw is None or raw is True or raw is False:
        return raw
    kind = type(raw)
    if kind is str:
        return read_storable_text(raw, where, longest=len(raw) if stored else None)
    if kind is int:
        if abs(raw) > MAX_INT and not stored:
            raise LimitError(
                where,
                found=f"a whole number of {int(raw.bit_length() * 0.30103) + 1} digits",
                expected=f"at most {MAX_INT} in size",
            )
        return raw
    if kind is float:
        if not math.isfinite(raw):
            raise InputError(where, found=raw, expected="a finite number")
        return raw
    deepest = 2 * MAX_DEPTH if stored else MAX_DEPTH
    if depth >= deepest:
        raise LimitError(where, found="deeper nesting", expected=f"at most {deepest} levels")
    if isinstance(raw, dict | PMap):
        check_items(0 if stored else len(raw), where)
        return PMap(
            {
                read_key(key, f"{where} key"): freeze(
                    item, f"{where}.{_shorten_key(key)}", depth=depth + 1, stored=stored
                )
                for key, item in raw.items()
            }
        )
    if isinstance(raw, list | tuple):
        check_items(0 if stored else len(raw), where)
        return tuple(freeze(item, f"{where}[{at}]", depth=depth + 1, stored=stored) for at, item in enumerate(raw))
    raise InputError(where, found=kind.__name__, expected="a JSON value")


def read_key(raw: Any, where: str) -> str:
    """Return the key of a mapping, or raise."""
    key = read_storable_text(raw, where)
    if key[:1] == MARK:
        raise InputError(where, found=repr(raw), expected="a key that does not begin with U+001F")
    return key


def _shorten_key(key: str) -> str:
    """Return a key as it stands in the name of a place: places are made for every item, so they stay short."""
    return key if len(key) <= 40 else f"{key[:37]}..."  # noqa: PLR2004  (a name at a glance)


def check_length(size: int, where: str, *, longest: int | None = None) -> None:
    """Raise `LimitError` where a text of so many characters is too long to be read."""
    most = MAX_TEXT if longest is None else longest
    if size > most:
        raise LimitError(where, found=f"{size} characters", expected=f"at most {most}")


def check_items(size: int, where: str) -> None:
    """Raise `LimitError` where a list or mapping of so many items is too long to be read."""
    if size > MAX_ITEMS:
        raise LimitError(where, found=f"{size} items", expected=f"at most {MAX_ITEMS}")


def read_storable_text(raw: Any, where: str, *, longest: int | None = None) -> str:
    """Return `raw` if it is text that can be stored (UTF-8, bounded), or raise."""
    if type(raw) is not str:
        raise InputError(where, found=raw, expected="text")
    check_length(len(raw), where, longest=longest)
    try:
        raw.encode()
    except UnicodeEncodeError:
        raise InputError(where, found="a lone surrogate", expected="text that UTF-8 can hold") from None
    return raw


def thaw(value: Any) -> Any:
    """Return the plain JSON form of a frozen value."""
    kind = type(value)
    if kind is PMap:
        return {key: thaw(item) for key, item in value.items()}
    if kind is tuple:
        return [thaw(item) for item in value]
    if isinstance(value, Whole):
        return thaw(value.whole())
    return value


def is_same_value(old: Any, new: Any) -> bool:
    """Tell whether two values are equal by type and content."""
    if old is new:
        return True
    kind = type(old)
    if kind is not type(new):
        return old is not ABSENT and new is not ABSENT and _is_same_whole(old, new)
    if kind is PMap:
        return old == new  # type: ignore[no-any-return]
    if kind is tuple:
        return len(old) == len(new) and all(map(is_same_value, old, new))
    if kind is float:
        return old == new and math.copysign(1.0, old) == math.copysign(1.0, new)
    return bool(old == new)


def _is_same_whole(old: Any, new: Any) -> bool:
    """Compare values of different types: equal only where one of them keeps track of its parts."""
    if isinstance(old, Whole):
        return is_same_value(old.whole(), new)
    return isinstance(new, Whole) and is_same_value(old, new.whole())


MAX_NAME: Final = 200
VOLATILE: Final = "volatile"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_POINTER = re.compile(r" at 0x[0-9a-fA-F]+>")
_REFERENCES = ("implementation", "handler")

Reader = Callable[[Any, str], Any]


def read_name(raw: Any, where: str) -> str:
    """Return a name: non-empty, bounded, no control characters."""
    name = read_storable_text(raw, where, longest=MAX_NAME)
    if not name or _CONTROL.search(name):
        raise InputError(where, found=raw, expected="a name without control characters" if name else "a name")
    return name


def read_whole_number(raw: Any, where: str) -> int:
    """Return a whole number in a bounded range."""
    if type(raw) is not int or abs(raw) > 10**6:
        raise InputError(where, found=raw, expected="a whole number between -1000000 and 1000000")
    return raw


def read_mapping(raw: Any, where: str) -> PMap:
    """Return a frozen mapping."""
    if not isinstance(raw, dict | PMap):
        raise InputError(where, found=raw, expected="a mapping")
    return freeze(raw, where)  # type: ignore[no-any-return]


def read_record(raw: Any, where: str, fields: Mapping[str, tuple[Reader, Any]]) -> PMap:
    """Return a frozen record; `fields` gives each field's reader and default (ABSENT: it must be given)."""
    if not isinstance(raw, dict | PMap):
        raise InputError(where, found=raw, expected=f"a mapping with {', '.join(fields)}")
    unknown = [key for key in raw if key not in fields and key != VOLATILE]
    if unknown:
        raise InputError(where, found=f"the field {unknown[0]!r}", expected=f"only {', '.join(fields)}")
    record: dict[str, Any] = {}
    for field, (read, default) in fields.items():
        given = raw.get(field, ABSENT)
        if given is ABSENT:
            if default is ABSENT:
                raise InputError(where, found=f"no {field!r}", expected=f"a mapping with {', '.join(fields)}")
            record[field] = default
        else:
            record[field] = read(given, f"{where}.{field}")
    if VOLATILE in raw:
        record[VOLATILE] = read_mapping(raw[VOLATILE], f"{where}.{VOLATILE}")
    return PMap(record)


def make_canonical_record(record: PMap) -> dict[str, Any]:
    """Return the plain record with what varies from run to run replaced by placeholders."""
    plain: dict[str, Any] = {}
    for field, value in record.items():
        if field == VOLATILE:
            plain[field] = dict.fromkeys(value, "<volatile>")
        elif field in _REFERENCES and isinstance(value, str):
            plain[field] = _POINTER.sub(" at <address>>", value)
        else:
            plain[field] = thaw(value)
    return plain


def is_same_record(old: Any, new: Any) -> bool:
    """Tell whether two records (or ABSENT) mean the same."""
    if old is new:
        return True
    if old is ABSENT or new is ABSENT:
        return False
    return is_same_value(old, new) or encode(make_canonical_record(old)) == encode(make_canonical_record(new))
