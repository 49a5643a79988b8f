"""Canonical JSON text and its SHA-256: the form in which the journal stores and hashes everything.

Sorted keys, no spaces, ASCII only, no NaN: one value has one text, on every machine. Types survive
(`1`, `1.0` and `true` stay three different texts).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

_encoder = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def encode(value: Json) -> str:
    """The canonical text of a JSON value."""
    return _encoder.encode(value)


def decode(text: str) -> Json:
    """The value of a canonical text."""
    value: Json = json.loads(text)
    return value


def sha256(text: str) -> str:
    """Hex SHA-256 of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()
