"""How far long work has come: told to whoever listens in this context, and free where nobody does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextvars import ContextVar
from typing import Final, TypeVar

Tell = Callable[[str, int, int], None]
"""Take what is counted, how many are done, and of how many."""
SomeItem = TypeVar("SomeItem")

listener: Final[ContextVar[Tell | None]] = ContextVar("takeback_listener", default=None)


def told(what: str, done: int, of: int) -> None:
    """Tell how many are done, of how many."""
    tell = listener.get()
    if tell is not None:
        tell(what, done, of)


def counted(what: str, items: Iterable[SomeItem], of: int) -> Iterable[SomeItem]:
    """The items as they are, each counted once it is dealt with."""
    tell = listener.get()
    return items if tell is None else _counting(tell, what, items, of)


def counted_all(what: str, items: Collection[SomeItem]) -> Iterable[SomeItem]:
    """The items as they are, counted against how many they are."""
    return counted(what, items, len(items))


def _counting(tell: Tell, what: str, items: Iterable[SomeItem], of: int) -> Iterator[SomeItem]:
    tell(what, 0, of)
    for done, item in enumerate(items, 1):
        yield item
        tell(what, done, max(done, of))
