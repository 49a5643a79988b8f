"""Progress of long work: reported to a listener in this context, and free where there is none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextvars import ContextVar
from typing import Final, TypeVar

Tell = Callable[[str, int, int], None]
"""Take what is counted, how many are done, and of how many."""
SomeItem = TypeVar("SomeItem")

listener: Final[ContextVar[Tell | None]] = ContextVar("takeback_listener", default=None)


def report_progress(what: str, done: int, of: int) -> None:
    """Report how many are done, of how many."""
    tell = listener.get()
    if tell is not None:
        tell(what, done, of)


def track_progress(what: str, items: Iterable[SomeItem], of: int) -> Iterable[SomeItem]:
    """Yield the items unchanged, counting each once it is dealt with."""
    tell = listener.get()
    return items if tell is None else _report_each(tell, what, items, of)


def track_all_progress(what: str, items: Collection[SomeItem]) -> Iterable[SomeItem]:
    """Yield the items unchanged, counted against how many there are."""
    return track_progress(what, items, len(items))


def _report_each(tell: Tell, what: str, items: Iterable[SomeItem], of: int) -> Iterator[SomeItem]:
    tell(what, 0, of)
    for done, item in enumerate(items, 1):
        yield item
        tell(what, done, max(done, of))
