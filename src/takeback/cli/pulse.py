"""A sign of life: what takes longer than two seconds says on a terminal's stderr for how long it has been at it,
with a bar where it is known how many of how many are done.

It ends when the answer begins, when something else draws on the screen, and with the command. Other lines on stderr
stand above it. Never drawn into a pipe, on a simple terminal, with TAKEBACK_PROGRESS=0, or where JSON was asked for.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Final

AFTER: Final = 2.0
"""Seconds of silence."""
EVERY: Final = 0.5
WIDTH: Final = 20
"""Columns of a bar."""
CLEAR: Final = "\r\x1b[K"


class Pulse:
    """One line that counts the seconds."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._stop = threading.Event()
        self._write: Callable[[str], None] = lambda _: None
        self._label = ""
        self._doing = ""
        self._count: tuple[str, int, int] | None = None
        self._began = 0.0
        self._shown = False
        self._on = False

    def begin(self, label: str, write: Callable[[str], None]) -> None:
        """Count from now on; `write` puts safe text on the terminal at once."""
        self.end()
        self._label, self._doing, self._count, self._write = label, "", None, write
        self._stop, self._began, self._on = threading.Event(), time.monotonic(), True
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # Ctrl-C is for the one who works
        try:
            threading.Thread(target=self._run, args=(self._stop,), daemon=True).start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def set_activity(self, what: str) -> None:
        """Say what is being done now."""
        self._doing, self._count = what, None

    def counting(self, what: str, done: int, of: int) -> None:
        """Say how many are done, of how many."""
        self._count = (what, done, of)

    def hide(self) -> None:
        """Take the line away, so that another can be printed there."""
        with self._lock:
            if self._shown:
                self._shown = False
                self._write(CLEAR)

    def end(self) -> None:
        """Count no more."""
        if self._on:
            self._on = False
            self._stop.set()
            self.hide()

    def _run(self, stop: threading.Event) -> None:
        wait = AFTER
        while not stop.wait(wait):
            wait = EVERY
            with self._lock:
                if not stop.is_set():
                    self._shown = True
                    self._write(f"{CLEAR}{self._line()}")

    def _line(self) -> str:
        what = f" {self._doing}," if self._doing else ""
        if self._count is not None and self._count[2]:
            counted, done, of = self._count
            filled = WIDTH * done // of
            what = f" [{'#' * filled}{'.' * (WIDTH - filled)}] {done:,}/{of:,} {counted},"
        return f"{self._label}:{what} {time.monotonic() - self._began:.0f} s"


pulse = Pulse()
