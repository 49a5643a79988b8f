"""The smallest value for which something still holds: members, or pieces of a text, are left out while it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

MOST: Final = 2_000
"""How many values are tried at most."""
MOST_TEXTS: Final = 300
"""How many texts, which take longer to read."""


def smallest(value: Any, holds: Callable[[Any], bool]) -> Any:
    """A value of which no member can be left out, made of one for which `holds` is true."""
    tried = 0
    smaller = True
    while smaller:
        smaller = False
        for reduced in _reduced(value):
            tried += 1
            if tried > MOST:
                return value
            if holds(reduced):
                value, smaller = reduced, True
                break
    return value


def smallest_text(text: str, holds: Callable[[str], bool]) -> str:
    """A text for which `holds` is still true, made by leaving out ever smaller pieces, as far as the bound allows."""
    tried = 0
    size, before = len(text) // 2, ""
    while size:
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + size :]
            tried += 1
            if tried > MOST_TEXTS:
                return text
            if holds(shorter):
                text = shorter
            else:
                at += size
        size = min(size, len(text)) // 2
        if not size and text != before:
            size, before = len(text) // 2, text  # what was left out may have been what held something else
    return text


def _reduced(value: Any) -> Iterator[Any]:
    """The value without one of its members, the outermost first."""
    if isinstance(value, dict):
        if len(value) > 1:
            for key in value:
                yield {key: value[key]}
        for key in value:
            yield {one: below for one, below in value.items() if one != key}
        for key, item in value.items():
            for below in _reduced(item):
                yield {**value, key: below}
    elif isinstance(value, list):
        for at in range(len(value)):
            yield [*value[:at], *value[at + 1 :]]
        for at, item in enumerate(value):
            for below in _reduced(item):
                yield [*value[:at], below, *value[at + 1 :]]
