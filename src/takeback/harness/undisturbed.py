"""Ctrl-C waits until a change is whole: it comes right after, so that nothing is left half done by it.

Only the thread that makes the change is shielded, and only from SIGINT. Whatever else ends a process in the middle of
a change is for recovery.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """Hold an interrupt back until the block is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
