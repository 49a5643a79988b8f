"""What one server shows: fleets, and harnesses with rows and a lock, so that one request at a time works on each."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock, Thread
from time import sleep
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self

from takeback.adapters import open_workspace
from takeback.adapters.manifest import find_root
from takeback.adapters.opener import require_workspace
from takeback.errors import InputError, MissingExtraError, TakebackError
from takeback.harness import Harness, Refused
from takeback.harness.attempts import find_directory
from takeback.harness.entry_log import PastPoint, Rewind
from takeback.journal import Record
from takeback.present.attempts import record_refusals
from takeback.state import State
from takeback.web.fleet import FleetRows, WatchedFleet
from takeback.web.rows import EntryRows, HarnessRow, JournalTally, build_harness_row

if TYPE_CHECKING:
    from takeback.journal.postgres import JournalFleet
    from takeback.present.summary import Summary
    from takeback.web.bisect import BisectSearch

AT_ONCE: Final = 400
"""Records that are taken into the index before a page is shown."""
PAUSE: Final = 0.002
"""Seconds in which others may have the harness while its index is made."""
TOLD: Final = 100
"""So many outcomes are remembered, to be told on the page of the entry they made."""
EVERY: Final = 400
"""Records between two states that are kept."""
MOST_STATES: Final = 500
"""So many states are kept; they share what is the same in them."""


class PastStates:
    """The states of one harness right after its entries, some kept: no look goes back more than a stretch."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self._known: dict[int, PastPoint] = {}
        self._gone = 0

    def after(self, entry: Record) -> State:
        """Return the state right after an entry."""
        forgotten = self._harness.journal.latest("forget")
        gone = 0 if forgotten is None else forgotten.seq
        if gone != self._gone or len(self._known) > MOST_STATES:  # a kept state may hold what was forgotten
            self._known.clear()
            self._gone = gone
        nearest = min((seq for seq in self._known if seq >= entry.seq), default=None)
        begin = None if nearest is None else self._known[nearest]
        rewind = Rewind(self._harness, begin, entry.seq)
        for seq in range((self._harness.ledger.last if nearest is None else nearest) - EVERY, entry.seq, -EVERY):
            self._known[seq] = rewind.mark(seq)
        return rewind.after(entry)


@dataclass(frozen=True, slots=True)
class WantedGone:
    """What somebody wants to be forgotten: what entries captured, or a value wherever it occurs."""

    entries: tuple[str, ...]
    value: bytes | None = field(default=None, repr=False)


@dataclass(slots=True)
class Shown:
    """A harness on the shelf."""

    number: int
    name: str
    harness: Harness
    rows: EntryRows
    where: str = ""
    """Its directory; empty for a harness without one."""
    tally: JournalTally = field(default_factory=JournalTally)
    lock: RLock = field(default_factory=RLock)
    indexing: bool = False
    """Whether the index of a long journal is being made."""
    told: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What was said when an entry was made here, by its id."""

    view: str = ""
    """The filters under which the timeline was last looked at, so that every way back leads there."""

    search: BisectSearch | None = None
    """The last search for what broke it, also one that is running."""

    card: tuple[tuple[int, int, int], Summary] | None = field(default=None, repr=False)
    """What happened since yesterday, as last worked out, and for which state of things."""

    past: PastStates = field(init=False, repr=False)
    """States of the past that were worked out."""

    gone: dict[str, tuple[WantedGone, str]] = field(default_factory=dict, repr=False)
    """What was shown to be forgotten and is not confirmed yet, by token, with the journal's head at that time."""

    def __post_init__(self) -> None:
        """Begin without any state of the past."""
        self.past = PastStates(self.harness)

    @property
    def home(self) -> str:
        """The address of the timeline, with the filters under which it was last looked at."""
        return f"/{self.number}/?{self.view}" if self.view else f"/{self.number}/"

    def follow_index(self) -> None:
        """Take into the index what is new: a little at once, the rest of a long journal in the background."""
        if not self.rows.index.refresh(AT_ONCE) and not self.indexing:
            self.indexing = True
            Thread(target=self._finish_index, daemon=True).start()

    def _finish_index(self) -> None:
        done = False
        while not done:
            try:
                with self.lock:
                    done = self.rows.index.refresh(AT_ONCE)
            except (TakebackError, sqlite3.Error):  # the harness was closed meanwhile
                return
            sleep(PAUSE)
        self.indexing = False

    def tell(self, entry: str, lines: Iterable[str]) -> None:
        """Remember what to say about an entry that was just made."""
        self.told[entry] = tuple(lines)
        while len(self.told) > TOLD:
            del self.told[next(iter(self.told))]

    def count_drifted(self) -> int:
        """How many things were changed outside Takeback, files that cannot be read among them."""
        with self.harness.held(clean=True) as inspection:
            return len(inspection.drift) + len(inspection.broken) if isinstance(inspection, Refused) else 0


class HarnessShelf:
    """Harnesses by number, from 1; fleets of journals by number, from 1; and what could not be opened."""

    def __init__(
        self,
        harnesses: Iterable[tuple[str, Harness]],
        fleets: Iterable[JournalFleet] = (),
        shut: Iterable[HarnessRow] = (),
        places: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.all = tuple(
            Shown(number, name, harness, EntryRows(harness), places.get(name, "") or find_directory(harness.adapter))
            for number, (name, harness) in enumerate(harnesses, 1)
        )
        for shown in self.all:
            record_refusals(shown.harness)
        self.fleets = tuple(WatchedFleet(number, fleet) for number, fleet in enumerate(fleets, 1))
        self.shut = tuple(shut)

    @classmethod
    def of(cls, places: Iterable[str | Path]) -> Self:
        """The harnesses in some directories, or in directories above them, each once, and the fleets at some URLs.

        One of several directories that cannot be opened is a row that says why; a single one is an error.
        """
        given = [str(place) for place in places]
        fleets = [_fleet(place) for place in dict.fromkeys(given) if "://" in place]
        roots = dict.fromkeys(find_root(Path(place)).resolve() for place in given if "://" not in place)
        names = _names(roots)
        opened: list[tuple[str, Harness]] = []
        shut: list[HarnessRow] = []
        try:
            for root in roots:
                try:
                    opened.append((names[root], open_workspace(root, hold=False)))
                except TakebackError as fault:
                    require_workspace(root)
                    if len(roots) + len(fleets) == 1:
                        raise
                    shut.append(HarnessRow(names[root], str(root), problems=(fault.message,)))
        except BaseException:
            for _, harness in opened:
                harness.close()
            raise
        return cls(opened, fleets, shut, {names[root]: str(root) for root in roots})

    @property
    def single(self) -> bool:
        """Whether there is one harness, and nothing else."""
        return len(self.all) == 1 and not self.fleets and not self.shut

    @property
    def empty(self) -> bool:
        """Whether there is nothing but what else the server shows."""
        return not (self.all or self.fleets or self.shut)

    def get(self, number: int) -> Shown | None:
        """The harness with a number."""
        return self.all[number - 1] if 1 <= number <= len(self.all) else None

    def heads(self) -> tuple[str, ...]:
        """How far every journal has come: another answer says that some row has changed."""
        heads: list[str] = []
        for shown in self.all:
            try:
                with shown.lock:
                    head = shown.harness.journal.head()
            except TakebackError as fault:
                heads.append(fault.message)
            else:
                heads.append("" if head is None else head.digest)
        return (*heads, *(digest for watched in self.fleets for digest in watched.heads()))

    def standings(self) -> tuple[list[HarnessRow], list[FleetRows]]:
        """How everything stands: directories, several at a time, and each fleet."""
        with ThreadPoolExecutor(max_workers=4) as pool:
            own = [*pool.map(build_harness_row, self.all), *self.shut]
            fleets = list(pool.map(lambda watched: watched.list_rows(own), self.fleets))
        listed = {row.identity for fleet in fleets for row in fleet.rows if row.here}
        return [row for row in own if not row.identity or row.identity not in listed], fleets

    def close(self) -> None:
        """Let go of all of them."""
        for shown in self.all:
            if shown.search is not None:
                shown.search.stop()
            with shown.lock:
                shown.rows.index.close()
                shown.harness.close()
        for watched in self.fleets:
            watched.fleet.close()


def _names(roots: Iterable[Path]) -> dict[Path, str]:
    """A directory's own name, or where several have the same one, with the directory above it."""
    names = list(roots)
    last = Counter(root.name for root in names)
    return {root: root.name if last[root.name] == 1 else str(root) for root in names}


def _fleet(url: str) -> JournalFleet:
    if not url.startswith(("postgresql://", "postgres://")):
        raise InputError("DIR", found=f"{url.partition('://')[0]}://…", expected="a directory, or postgresql://…")
    try:
        from takeback.journal.postgres import JournalFleet  # noqa: PLC0415 - needs the extra
    except ImportError as missing:
        raise MissingExtraError(
            "a fleet needs the 'postgres' extra", hint="pip install 'takeback[postgres]'"
        ) from missing
    fleet = JournalFleet(url)
    fleet.schemas()
    return fleet
