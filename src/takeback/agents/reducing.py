"""The smallest value for which something still holds: members are left out one by one while it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

MOST: Final = 2_000
"""How many values are tried at most."""


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
