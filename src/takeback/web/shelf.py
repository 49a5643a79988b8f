"""The harnesses that one server shows, each with its rows and a lock, so that one request at a time works on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Final, Self

from takeback.adapters import open_workspace
from takeback.adapters.manifest import find_root
from takeback.harness import Harness, Refused
from takeback.harness.ledger import CHANGES, was_admitted
from takeback.web.rows import EntryRow, EntryRows

TOLD: Final = 100
"""So many outcomes are remembered, to be told on the page of the entry they made."""


@dataclass(slots=True)
class Shown:
    """A harness on the shelf."""

    number: int
    name: str
    harness: Harness
    rows: EntryRows
    lock: RLock = field(default_factory=RLock)
    told: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What was said when an entry was made here, by its id."""

    def tell(self, entry: str, lines: Iterable[str]) -> None:
        """Remember what to say about an entry that was just made."""
        self.told[entry] = tuple(lines)
        while len(self.told) > TOLD:
            del self.told[next(iter(self.told))]

    def drifted(self) -> int:
        """How many things were changed behind Takeback's back, files that cannot be read among them."""
        with self.harness.held() as found:
            return len(found.drift) + len(found.broken) if isinstance(found, Refused) else 0


@dataclass(frozen=True, slots=True)
class Standing:
    """How a harness stands, for the list of several."""

    shown: Shown
    head: str
    drift: int
    unadmitted: int
    last: EntryRow | None


class HarnessShelf:
    """Harnesses by number, from 1."""

    def __init__(self, harnesses: Iterable[tuple[str, Harness]]) -> None:
        self.all = tuple(
            Shown(number, name, harness, EntryRows(harness)) for number, (name, harness) in enumerate(harnesses, 1)
        )

    @classmethod
    def of(cls, directories: Iterable[Path]) -> Self:
        """The harnesses in some directories, or in directories above them, each once."""
        roots = dict.fromkeys(find_root(directory).resolve() for directory in directories)
        opened: list[tuple[str, Harness]] = []
        try:
            for root in roots:
                opened.append((root.name, open_workspace(root, hold=False)))  # noqa: PERF401 - what is open must be closed
        except BaseException:
            for _, harness in opened:
                harness.close()
            raise
        return cls(opened)

    def get(self, number: int) -> Shown | None:
        """The harness with a number."""
        return self.all[number - 1] if 1 <= number <= len(self.all) else None

    def close(self) -> None:
        """Let go of all of them."""
        for shown in self.all:
            with shown.lock:
                shown.harness.close()


def standing(shown: Shown) -> Standing:
    """How one harness stands."""
    with shown.lock:
        drift = shown.drifted()
        (rows, _) = shown.rows.page(size=1)
        harness = shown.harness
        live = (
            record
            for record in harness.ledger.entries()
            if record.kind in CHANGES and record.entry not in harness.ledger.history.undone
        )
        unadmitted = sum(not was_admitted(record) for record in live)
        return Standing(shown, harness.ledger.head, drift, unadmitted, rows[0] if rows else None)


def each(shelf: HarnessShelf, ask: Callable[[Shown], Standing]) -> list[Standing]:
    """Ask every harness, several at a time."""
    with ThreadPoolExecutor(max_workers=4) as pool:
        return list(pool.map(ask, shelf.all))
