"""Records: mappings with fixed keys, those of tools, middleware, callbacks and resources.

Reads a record with defaults and clear errors, and gives its canonical form, in which volatile fields and
object addresses in references (`<function f at 0x7f…>`) are placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from takeback.canonical import encode
from takeback.errors import InputError
from takeback.state.pmap import ABSENT, PMap
from takeback.state.values import freeze, same, text, thaw

MAX_NAME: Final = 200
VOLATILE: Final = "volatile"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_POINTER = re.compile(r" at 0x[0-9a-fA-F]+>")
_REFERENCES = ("implementation", "handler")

Reader = Callable[[Any, str], Any]


def name_of(raw: Any, where: str) -> str:
    """Return a name: non-empty, bounded, no control characters."""
    found = text(raw, where, longest=MAX_NAME)
    if not found or _CONTROL.search(found):
        raise InputError(where, found=raw, expected="a name without control characters")
    return found


def whole_number(raw: Any, where: str) -> int:
    """Return a whole number in a bounded range."""
    if type(raw) is not int or abs(raw) > 10**6:
        raise InputError(where, found=raw, expected="a whole number between -1000000 and 1000000")
    return raw


def mapping(raw: Any, where: str) -> PMap:
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
        record[VOLATILE] = mapping(raw[VOLATILE], f"{where}.{VOLATILE}")
    return PMap(record)


def canonical_record(record: PMap) -> dict[str, Any]:
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


def equivalent_records(one: Any, two: Any) -> bool:
    """Tell whether two records (or ABSENT) mean the same."""
    if one is two:
        return True
    if one is ABSENT or two is ABSENT:
        return False
    return same(one, two) or encode(canonical_record(one)) == encode(canonical_record(two))
