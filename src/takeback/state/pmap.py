"""An immutable map whose cost follows what changed.

A `PMap` is a base dict that many maps share and a small overlay of its own. Writing copies the overlay;
comparing two maps of one base looks at the two overlays only. When an overlay outgrows the square root of its
base the two are folded into a new base, so that a long history stays cheap on average. `fast_tuple` makes a
named tuple without the cost of its constructor; all fields must be given in order: `fast_tuple(Address,
(surface, key))`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import isqrt
from typing import Any, Final, TypeVar


class _Absent:
    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __reduce__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""Nothing is there. Not null: null is a value."""

_SMALL = 16
_new = object.__new__


class PMap(Mapping[str, Any]):
    """Immutable mapping from text to values; equality is type-strict (see `takeback.state.values.is_same_value`)."""

    __slots__ = ("_base", "_limit", "_origin", "_over")

    def __init__(self, entries: Mapping[str, Any] | None = None) -> None:
        self._base: dict[str, Any] = dict(entries) if entries else {}
        self._over: dict[str, Any] = {}
        self._origin: PMap | None = None
        """The map of this base without an overlay, which a map that is changed back becomes again; None: itself."""
        self._limit = _SMALL + 2 * isqrt(len(self._base))

    def put(self, key: str, value: Any) -> PMap:
        """Return this map with `key` bound to `value`."""
        over = self._over.copy()
        if self._base.get(key, ABSENT) is value:
            over.pop(key, None)
            if not over:
                return self if self._origin is None else self._origin
        else:
            over[key] = value
            if len(over) > self._limit:
                return PMap(dict(_yield_merged(self._base, over)))
        new = _new(PMap)
        new._base = self._base
        new._over = over
        new._origin = self if self._origin is None else self._origin
        new._limit = self._limit
        return new

    def drop(self, key: str) -> PMap:
        """Return this map without `key`; the map itself if it is not there."""
        over = self._over
        there = over[key] if key in over else self._base.get(key, ABSENT)
        if there is ABSENT:
            return self
        over = over.copy()
        if key in self._base:
            over[key] = ABSENT
        else:
            del over[key]
            if not over and self._origin is not None:
                return self._origin
        if len(over) > self._limit:
            return PMap(dict(_yield_merged(self._base, over)))
        new = _new(PMap)
        new._base = self._base
        new._over = over
        new._origin = self if self._origin is None else self._origin
        new._limit = self._limit
        return new

    def put_all(self, entries: Mapping[str, Any]) -> PMap:
        """Return this map with some keys bound to other values; a key of ABSENT is not in it."""
        over = self._over.copy()
        for key, value in entries.items():
            if self._base.get(key, ABSENT) is value:
                over.pop(key, None)
            else:
                over[key] = value
        if not over:
            return self if self._origin is None else self._origin
        if len(over) > self._limit:
            return PMap(dict(_yield_merged(self._base, over)))
        new = _new(PMap)
        new._base = self._base
        new._over = over
        new._origin = self if self._origin is None else self._origin
        new._limit = self._limit
        return new

    def get(self, key: str, default: Any = None) -> Any:
        """Return what `key` is bound to, or `default`."""
        over = self._over
        if over and key in over:
            value = over[key]
            return default if value is ABSENT else value
        return self._base.get(key, default)

    def __getitem__(self, key: str) -> Any:
        value = self.get(key, ABSENT)
        if value is ABSENT:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        over = self._over
        if over and key in over:
            return over[key] is not ABSENT
        return key in self._base

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in _yield_merged(self._base, self._over))

    def items(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        """Iterate over keys and what they are bound to."""
        return iter(self._base.items()) if not self._over else _yield_merged(self._base, self._over)

    def __len__(self) -> int:
        base = self._base
        size = len(base)
        for key, value in self._over.items():
            size += (value is not ABSENT) - (key in base)
        return size

    def __bool__(self) -> bool:
        return bool(self._base) if not self._over else len(self) > 0

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PMap):
            return NotImplemented
        return all(False for _ in self.changes(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"PMap({dict(self)!r})"

    def candidates(self, other: PMap) -> list[tuple[str, Any, Any]]:
        """Return `(key, mine, theirs)` for every key that is not bound to the identical object in both."""
        mine, theirs = self._over, other._over
        base, base_too = self._base, other._base
        if base is base_too:
            if not mine and not theirs:
                return []
            keys = mine if not theirs else theirs if not mine else mine | theirs
        else:
            keys = {**base, **mine, **base_too, **theirs}
        candidates = []
        for key in keys:
            value = mine[key] if key in mine else base.get(key, ABSENT)
            two = theirs[key] if key in theirs else base_too.get(key, ABSENT)
            if value is not two:
                candidates.append((key, value, two))
        return candidates

    def changes(self, other: PMap) -> Iterator[tuple[str, Any, Any]]:
        """Yield `(key, mine, theirs)` for every key whose values differ, by type and value."""
        from takeback.state.values import is_same_value  # noqa: PLC0415  (maps and values are defined by each other)

        for key, old, new in self.candidates(other):
            if not is_same_value(old, new):
                yield key, old, new


def _yield_merged(base: dict[str, Any], over: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    if not over:
        yield from base.items()
        return
    for key, value in base.items():
        if key not in over:
            yield key, value
    for key, value in over.items():
        if value is not ABSENT:
            yield key, value


EMPTY: Final = PMap()


SomeTuple = TypeVar("SomeTuple", bound=tuple[Any, ...])
fast_tuple: Final[Callable[[type[SomeTuple], tuple[Any, ...]], SomeTuple]] = tuple.__new__
