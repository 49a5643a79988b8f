"""What a look at a directory rests on: the paths it asked for and the folders it listed."""

from __future__ import annotations

import time


class LookTrail:
    """What was looked at since a look began."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        """Paths that were asked for, there or not."""
        self.listed: set[str] = set()
        """Folders that were listed."""
        self.began = 0
        """When the look began, in nanoseconds; 0 where none has."""

    def begin(self) -> None:
        """Begin a look."""
        self.asked.clear()
        self.listed.clear()
        self.began = time.time_ns()
