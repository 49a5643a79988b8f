"""Kills a real process at every durable step, and at random, with writes that fail, and looks at what is left.

The parent forks a child that works on a real workspace and dies by SIGKILL: at the n-th time it reaches a named
boundary, or at a random moment. Children also die while they recover what the one before left, and work while the
disk is full, a directory cannot be written to, or their connection is cut. Then the parent opens the workspace and
demands: the chain holds, nothing acknowledged is lost, files equal the replay of what the journal calls committed, no
leftovers, and recovering again changes nothing.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from takeback.adapters import init_workspace, open_workspace
from takeback.errors import TakebackError
from takeback.journal.failpoint import BOUNDARIES
from takeback.state import State
from takeback_lab.torture_check import aborted, wrongs
from takeback_lab.torture_child import Orders, child
from takeback_lab.torture_faults import ROLLING_BACK, STALE, UNWRITABLE, Faults, small_disk
from takeback_lab.torture_work import START

MAX_DELAY = 0.2
CHECK_EVERY = 3
RANDOM_MOMENTS = 0.2
FAILING = 0.3
UNFINISHED = ("change.written", "file.renamed", "file.removed", "directory.", "recovery.")
"""Dying here leaves a change for the next process to finish."""


def _list_boundaries() -> list[str]:
    """Return the boundaries of changes of files alone; `torture --external` has those that reach further."""
    return [name for name in BOUNDARIES if not name.startswith(("call.", "record."))]


@dataclass
class Torture:
    """What a run did and found."""

    kills: int = 0
    at_boundaries: int = 0
    at_random: int = 0
    survived: int = 0
    """Children that finished their work before their end was due."""
    checks: int = 0
    acknowledged: int = 0
    gave_up: int = 0
    """Changes that were announced and given up: their writes failed, or their process died before the first."""
    failed: int = 0
    """Changes that were answered with an error because a write failed."""
    faults: Counter[str] = field(default_factory=Counter)
    """Children that worked under a fault, by its kind."""
    failpoints: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_list_boundaries(), 0)))
    violations: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The findings as JSON."""
        return {
            "kills": self.kills,
            "at_boundaries": self.at_boundaries,
            "at_random": self.at_random,
            "survived": self.survived,
            "checks": self.checks,
            "acknowledged": self.acknowledged,
            "gave_up": self.gave_up,
            "failed": self.failed,
            "faults": dict(self.faults),
            "failpoints": dict(self.failpoints),
            "missed": [n for n, hits in self.failpoints.items() if not hits],
            "violations": len(self.violations),
            "examples": self.violations[:5],
        }


def torture(
    directory: Path,
    *,
    kills: int,
    seed: int = 0,
    journal: str | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Torture:
    """Kill `kills` children working on a fresh workspace below `directory`; stops at the first check that fails."""
    directory.mkdir(parents=True, exist_ok=True)
    with small_disk(directory / "disk") as mounted:
        root = directory / "disk" / "agent"
        place = journal if journal is not None else str(directory / "journal.db")
        init_workspace(root, journal=place, start=State.read(START), secret=True)
        run = _Run(root, place, Faults(root, directory / "disk" if mounted else None, place), random.Random(seed))
        try:
            while run.found.kills < kills and not run.found.violations:
                run.some_children(progress)
                run.check()
        finally:
            run.faults.end()
    return run.found


class _Run:
    """One run."""

    def __init__(self, root: Path, journal: str, faults: Faults, rng: random.Random) -> None:
        self.root = root
        self.journal = journal
        self.faults = faults
        self.rng = rng
        self.found = Torture()
        self.acknowledged: set[str] = set()

    def some_children(self, progress: Callable[[int], None]) -> None:
        """A few children one after the other, each meeting what the one before left."""
        unfinished = False
        for _ in range(CHECK_EVERY):
            target = self._next_target(unfinished=unfinished)
            killed = self._one_child(target, self._next_fault(target))
            unfinished = killed and target is not None and target.startswith(UNFINISHED)
            progress(self.found.kills)

    def _next_target(self, *, unfinished: bool) -> str | None:
        """The boundary hit least so far that can be reached now, or now and then a moment at random."""
        if self.rng.random() < RANDOM_MOMENTS:
            return None
        finishing = ("recovery.", "file.renamed", "file.temp", "journal.")
        within = [
            name
            for name in self.found.failpoints
            if (name.startswith(finishing) if unfinished else not name.startswith("recovery."))
        ]
        fewest = min(self.found.failpoints[name] for name in within)
        enough = fewest + 1 if fewest else 0  # what was never hit comes first
        return self.rng.choice([name for name in within if self.found.failpoints[name] <= enough])

    def _next_fault(self, target: str | None) -> str | None:
        """A fault to work under, now and then; to be killed while rolling back there must be one."""
        if target is not None and target.startswith(ROLLING_BACK):
            return UNWRITABLE
        return self.rng.choice(self.faults.kinds) if self.rng.random() < FAILING else None

    def _one_child(self, target: str | None, fault: str | None) -> bool:
        rare = target is None or fault is not None or target.startswith(("recovery.", "directory.", "file.removed"))
        count = 1 if rare else self.rng.choice((1, 1, 2, 3, 5))
        orders = Orders(self.root, self.journal, self.rng.random(), target, count, fault)
        self.faults.begin(fault)
        self.found.faults.update([fault] if fault is not None else [])
        read_end, write_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read_end)
            child(orders, self.faults, write_end)
        os.close(write_end)
        status = self._overtake(pid) if fault == STALE else None
        if target is None and status is None:
            time.sleep(self.rng.random() * MAX_DELAY)
            os.kill(pid, signal.SIGKILL)
        with os.fdopen(read_end, encoding="ascii") as pipe:
            words = pipe.read().splitlines()
        if status is None:
            _, status = os.waitpid(pid, 0)
        self.faults.end()
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        self._take_down(words, target, killed=killed)
        return killed

    def _overtake(self, pid: int) -> int | None:
        """While a child stands still in the middle of a change, let another recover it and go on; then wake it.

        Returns how it ended if it did before it stood still.
        """
        _, status = os.waitpid(pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return status
        self._one_child("journal.append.done", None)
        os.kill(pid, signal.SIGCONT)
        return None

    def _take_down(self, words: list[str], target: str | None, *, killed: bool) -> None:
        for word in words:
            kind, _, value = word.partition(" ")
            if kind == "done":
                self.acknowledged.add(value)
                self.found.acknowledged += 1
            elif kind == "at":
                self.found.failpoints[value] += 1
            elif kind == "failed":
                self.found.failed += 1
            elif kind == "fault":
                self.found.violations.append(f"a child failed: {value}")
        self.found.kills += killed
        self.found.survived += not killed
        if killed:
            self.found.at_boundaries += target is not None
            self.found.at_random += target is None

    def check(self) -> None:
        """Open the workspace and look at everything."""
        self.found.checks += 1
        try:
            with open_workspace(self.root, journal=self.journal) as harness:
                self.found.violations += wrongs(harness, self.root, self.acknowledged)
                self.found.gave_up = aborted(harness)
        except TakebackError as fault:
            self.found.violations.append(f"cannot open: {fault}")
