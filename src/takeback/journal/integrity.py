"""SQLite's own check of a journal's file: pages, tables and indexes, which the hash chain does not cover."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Protocol

from takeback.errors import JournalError
from takeback.journal.chain import Fault

MOST: Final = 20
"""How many problems SQLite names at most."""
GOOD: Final = "ok"


class Runner(Protocol):
    """As much of a database as the check needs."""

    def run(self, sql: str) -> list[Any]:
        """Run one statement, and return its rows."""


def integrity_faults(database: Runner) -> Iterator[Fault]:
    """Yield what SQLite finds wrong with the file itself; a check that cannot be run is a fault too."""
    try:
        rows = database.run(f"PRAGMA integrity_check({MOST})")
    except JournalError as error:
        yield Fault(None, f"SQLite cannot check the file: {error.message}")
        return
    for (told,) in rows:
        if told != GOOD:
            yield Fault(None, f"SQLite's integrity_check: {' '.join(str(told).split())}")
