"""Smaller examples: what shows a fault is made smaller as long as it still shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")
Stop = Callable[[], bool]
"""Asked before each try: whether enough was tried."""


def limit_tries(most: int) -> Stop:
    """Return what ends a search after so many tries."""
    tries = count(1)
    return lambda: next(tries) > most


def shrink_pieces(pieces: Sequence[T], holds: Callable[[list[T]], bool], stop: Stop, *, enough: int = 0) -> list[T]:
    """Return pieces for which `holds` is true, without any that can be left out: runs of half of them first.

    What was left out may have held other pieces, so that all is tried again after a success. No more are left out
    where at most `enough` remain.
    """
    left, before = list(pieces), -1
    while len(left) != before:
        before, size = len(left), max(1, len(left) // 2)
        while size and len(left) > enough:
            at = 0
            while at < len(left):
                less = left[:at] + left[at + size :]
                if stop():
                    return left
                if holds(less):
                    left = less
                else:
                    at += size
            size //= 2
    return left


def shrink_by_steps(
    value: T, list_smaller: Callable[[T], Iterable[T]], holds: Callable[[T], bool], stop: Stop = lambda: False
) -> T:
    """Return a value for which `holds` is true and, unless the search was stopped, no smaller one next to it does."""
    while True:
        for less in list_smaller(value):
            if stop():
                return value
            if holds(less):
                value = less
                break
        else:
            return value


def list_smaller_json(value: Any) -> Iterator[Any]:
    """Yield a JSON value with one member alone, without one, and with a smaller one."""
    if isinstance(value, dict):
        if len(value) > 1:
            for key in value:
                yield {key: value[key]}
        for key in value:
            yield {name: below for name, below in value.items() if name != key}
        for key, item in value.items():
            for below in list_smaller_json(item):
                yield {**value, key: below}
    elif isinstance(value, list):
        for at in range(len(value)):
            yield [*value[:at], *value[at + 1 :]]
        for at, item in enumerate(value):
            for below in list_smaller_json(item):
                yield [*value[:at], below, *value[at + 1 :]]
