"""Canonical JSON text and its SHA-256: the form in which the journal stores and hashes everything.

Sorted keys, no spaces, ASCII only, no NaN: one value has one text, on every machine. Types survive
(`1`, `1.0` and `true` stay three different texts).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from takeback.errors import InputError, JournalCorruptError

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

_encoder = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def encode(value: Json) -> str:
    """The canonical text of a JSON value."""
    return _encoder.encode(value)


def decode(text: str | bytes) -> Json:
    """The value of a canonical text."""
    value: Json = json.loads(text)
    return value


def sha256(text: str) -> str:
    """Hex SHA-256 of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


@contextmanager
def trusting(what: str, *, seq: int | None = None) -> Iterator[None]:
    """Read something the journal wrote; if it is not of the form it must have, that is damage and says so."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError, InputError) as fault:
        raise JournalCorruptError(f"{what} is not what a journal holds ({type(fault).__name__})", seq=seq) from fault
