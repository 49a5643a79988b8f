"""Ctrl-C of a command that serves: the first one ends it, and those that follow while it ends are not heard.

Without that a second one, or one that comes while the interpreter ends, would end the process by the signal.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def end_at_first_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt in the block at the first Ctrl-C, and hear no other until the process has ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is _end:
            signal.signal(signal.SIGINT, before)


def _end(number: int, _frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
