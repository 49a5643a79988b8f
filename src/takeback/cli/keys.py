"""Keys from a terminal, one by one, and the whole screen to draw on; everything is as before afterwards.

Keys have names (`up`, `enter`, `space`, …) or are the character itself. Ctrl-C stays an interrupt.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NoReturn

from takeback.cli.output import Screen

NAMES: Final = {
    "\r": "enter",
    "\n": "enter",
    " ": "space",
    "\x04": "q",
    "\x1b": "escape",
    **{f"\x1b{middle}A": "up" for middle in "[O"},
    **{f"\x1b{middle}B": "down" for middle in "[O"},
    **{f"\x1b{middle}H": "home" for middle in "[O"},
    **{f"\x1b{middle}F": "end" for middle in "[O"},
    "\x1b[1~": "home",
    "\x1b[4~": "end",
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
}
RESIZED: Final = "resized"
ENDED: Final = "q"
"""What a terminal that went away means: leave."""
_KEY: Final = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z])|.", re.DOTALL)
_REST: Final = 0.05
"""Seconds within which the rest of an arrow key follows its first byte."""
_LOOK: Final = 0.5
"""Seconds after which to look whether the terminal has another size."""


class Keys:
    """The keys typed at a terminal that was taken out of line mode."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._typed = ""
        self._size = shutil.get_terminal_size()

    def next(self) -> str:
        """Wait for a key; `resized` if the terminal's size changed meanwhile."""
        while not self._typed:
            if not select.select([self._number], [], [], _LOOK)[0]:
                size = shutil.get_terminal_size()
                if size != self._size:
                    self._size = size
                    return RESIZED
                continue
            if not self._read():
                return ENDED
        if self._typed == "\x1b" and select.select([self._number], [], [], _REST)[0]:
            self._read()
        found = _KEY.match(self._typed)
        key = found[0] if found else self._typed
        self._typed = self._typed[len(key) :]
        return NAMES.get(key, key)

    def _read(self) -> bool:
        try:
            piece = os.read(self._number, 1024)
        except OSError:  # the terminal has gone
            return False
        self._typed += piece.decode(errors="ignore")
        return bool(piece)


@contextmanager
def whole_screen(screen: Screen, number: int) -> Iterator[Keys]:
    """The terminal as a page to draw on and keys to read.

    Ctrl-Z is off, because the page would stay behind; one who ends the process gets the terminal back too.
    """
    before = termios.tcgetattr(number)
    ended = signal.signal(signal.SIGTERM, _leave)
    tty.setcbreak(number)
    mode = termios.tcgetattr(number)
    mode[6][termios.VSUSP] = b"\0"
    termios.tcsetattr(number, termios.TCSADRAIN, mode)
    screen.write("\x1b[?1049h\x1b[?25l")
    try:
        yield Keys(number)
    finally:
        screen.write("\x1b[?25h\x1b[?1049l")
        screen.flush()
        termios.tcsetattr(number, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, ended)


def _leave(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)


def draw(screen: Screen, lines: Sequence[str]) -> None:
    """Show lines, from the top of the page; they must be safe, and no wider than the terminal."""
    screen.write("\x1b[H" + "\x1b[K\n".join(lines) + "\x1b[K\x1b[J")
    screen.flush()
