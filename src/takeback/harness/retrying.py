"""A change is tried anew where someone else wrote to its files meanwhile; a look then tells what they did."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from takeback.errors import ChangedMeanwhile, HarnessError

SomeResult = TypeVar("SomeResult")
ATTEMPTS: Final = 5
"""How often a change is tried at least."""
PATIENCE: Final = 3.0
"""For how many seconds it is tried again, beyond that."""


def tried_again(make: Callable[[], SomeResult], look_anew: Callable[[], None]) -> SomeResult:
    """Make a change, anew as long as someone else is writing to its files, within bounds; each time on a new look."""
    tried, until = 0, time.monotonic() + PATIENCE
    while True:
        try:
            return make()
        except ChangedMeanwhile as fault:
            look_anew()
            tried += 1
            if tried >= ATTEMPTS and time.monotonic() > until:
                raise HarnessError(f"{fault.message}, again and again; nothing was changed") from fault
