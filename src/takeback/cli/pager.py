"""A pager for output longer than the terminal: `TAKEBACK_PAGER`, `PAGER`, or less; an empty one means none."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from typing import Final

DEFAULT: Final = "less"
LESS: Final = "FRX"
"""Quit if it fits, show colours, leave the screen as it is: as git asks for."""


class Pager:
    """Holds lines back until they fill a screen; only then the pager is started."""

    def __init__(self, words: list[str], direct: Callable[[str], None], height: int) -> None:
        self._words = words
        self._direct = direct
        self._height = height
        self._held: list[str] = []
        self._lines = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    @staticmethod
    def command(environment: Mapping[str, str]) -> list[str]:
        """The pager's words; none where the environment wants none, or there is none."""
        chosen = environment.get("TAKEBACK_PAGER", environment.get("PAGER", DEFAULT))
        try:
            words = shlex.split(chosen)
        except ValueError:
            return []
        if not words or words == ["cat"] or environment.get("TERM") == "dumb":
            return []
        return words if shutil.which(words[0]) else []

    def write(self, text: str) -> None:
        """Take text; once a screen is full, hand everything to the pager."""
        if self._closed:
            return
        if self._process is not None:
            self._send(text)
            return
        self._held.append(text)
        self._lines += text.count("\n")
        if self._lines >= self._height:
            self._start()

    def _start(self) -> None:
        environment = {"LESS": LESS, "LV": "-c", **os.environ}
        try:
            self._process = subprocess.Popen(self._words, stdin=subprocess.PIPE, env=environment)  # noqa: S603
        except OSError:
            self.close()
            return
        self._send("".join(self._held))
        self._held = []

    def _send(self, text: str) -> None:
        pipe = self._process.stdin if self._process is not None else None
        try:
            if pipe is not None:
                pipe.write(text.encode(errors="backslashreplace"))
        except OSError:
            self._closed = True

    def close(self) -> None:
        """Print what was held back, or wait until the reader is done."""
        self._closed = True
        if self._process is None:
            self._direct("".join(self._held))
            self._held = []
            return
        try:
            if self._process.stdin is not None:
                self._process.stdin.close()
        except OSError:
            pass
        while True:
            try:
                self._process.wait()
            except KeyboardInterrupt:
                continue
            return
