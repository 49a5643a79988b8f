"""A change is tried anew where someone else wrote to its files meanwhile; a look then tells what they did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from takeback.errors import ChangedMeanwhile, HarnessError

SomeResult = TypeVar("SomeResult")
ATTEMPTS: Final = 5


def tried_again(make: Callable[[], SomeResult]) -> SomeResult:
    """Make a change, up to five times."""
    for left in reversed(range(ATTEMPTS)):
        try:
            return make()
        except ChangedMeanwhile as fault:
            if not left:
                raise HarnessError(f"{fault.message}, again and again; nothing was changed") from fault
    raise AssertionError("a loop that ends by returning or raising")
