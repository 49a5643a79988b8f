"""Kills a real process at every durable step, and at random, and looks at what is left.

The parent forks a child that works on a real workspace and dies by SIGKILL: at the n-th time it reaches a named
boundary, or at a random moment. Children also die while they recover what the one before left. Then the parent
opens the workspace and demands: the chain holds, nothing acknowledged is lost, files equal the replay of what
the journal calls committed, no leftovers, and recovering again changes nothing.
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

from takeback.errors import TakebackError
from takeback.harness import Applied, Harness, Undone
from takeback.harness.founding import init_workspace
from takeback.harness.workspace import open_workspace
from takeback.journal.failpoint import BOUNDARIES, armed
from takeback.lab.naive import replay
from takeback.lab.torture_check import leftovers, naive_history, naive_state, snapshot
from takeback.lab.torture_work import START, random_mutation
from takeback.state import State
from takeback.synthesize import invert
from takeback.verify import Grade, Verdict

WORK_LIMIT = 15
MAX_DELAY = 0.05
CHECK_EVERY = 3
RECENT = 4
UNFINISHED = ("change.announced", "change.written", "file.", "directory.", "recovery.")
"""Dying here leaves a change for the next process to finish."""
TRUSTED = Verdict(admitted=True, grade=Grade.DECLARED, rule="torture", language="L1")
"""Nothing is verified here: what is tested is durability."""


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
    failpoints: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(BOUNDARIES, 0)))
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
    """Kill `kills` children working on a fresh workspace in `directory`; stops at the first check that fails."""
    init_workspace(directory, journal=journal, start=State.read(START), secret=True)
    found = Torture()
    rng = random.Random(seed)
    acknowledged: set[str] = set()
    while found.kills < kills and not found.violations:
        unfinished = False
        for _ in range(CHECK_EVERY):
            target = _next_target(found, rng, unfinished=unfinished)
            killed = _one_child(directory, journal, found, rng, target, acknowledged)
            unfinished = killed and target is not None and target.startswith(UNFINISHED)
            progress(found.kills)
        _check(directory, journal, found, acknowledged)
    return found


def _next_target(found: Torture, rng: random.Random, *, unfinished: bool) -> str | None:
    """The boundary hit least so far that can be reached now, or now and then a moment at random."""
    if rng.random() < 0.2:  # noqa: PLR2004 - one in five
        return None
    finishing = ("recovery.", "file.", "journal.")
    within = [
        name
        for name in found.failpoints
        if (name.startswith(finishing) if unfinished else not name.startswith("recovery."))
    ]
    fewest = min(found.failpoints[name] for name in within)
    return rng.choice([name for name in within if found.failpoints[name] <= fewest + 1])


def _one_child(
    directory: Path,
    journal: str | None,
    found: Torture,
    rng: random.Random,
    target: str | None,
    acknowledged: set[str],
) -> bool:
    rare = target is None or target.startswith(("recovery.", "directory.", "file.removed"))
    child_seed, count = rng.random(), 1 if rare else rng.choice((1, 1, 2, 3, 5))
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        _child(directory, journal, child_seed, target, count, write_end)
    os.close(write_end)
    if target is None:
        time.sleep(rng.random() * MAX_DELAY * 4)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(read_end, encoding="ascii") as pipe:
        words = pipe.read().splitlines()
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    for word in words:
        kind, _, value = word.partition(" ")
        if kind == "done":
            acknowledged.add(value)
            found.acknowledged += 1
        elif kind == "at":
            found.failpoints[value] += 1
        elif kind == "fault":
            found.violations.append(f"a child failed: {value}")
    found.kills += killed
    found.survived += not killed
    if killed:
        found.at_boundaries += target is not None
        found.at_random += target is None
    return killed


def _child(directory: Path, journal: str | None, seed: float, target: str | None, count: int, pipe: int) -> None:
    """Work until death; never returns."""
    hits = 0

    def probe(name: str) -> None:
        nonlocal hits
        if name == target:
            hits += 1
            if hits == count:
                os.write(pipe, f"at {name}\n".encode())
                os.kill(os.getpid(), signal.SIGKILL)

    code = 0
    try:
        with armed(probe):
            harness = open_workspace(directory, journal=journal, verifier=lambda _: TRUSTED)
            _work(harness, random.Random(seed), pipe)
    except TakebackError as fault:
        os.write(pipe, f"fault {fault.message}\n".encode("ascii", "replace"))
        code = 1
    finally:
        os._exit(code)


def _work(harness: Harness, rng: random.Random, pipe: int) -> None:
    for _ in range(WORK_LIMIT):
        undone = sorted(harness.ledger.history.undone)
        if rng.random() < 0.45 and harness.ledger.last > 2:  # noqa: PLR2004 - something to take back
            entries = [record for record in harness.ledger.entries() if record.kind in {"apply", "undo"}]
            record = rng.choice(entries[:RECENT]) if entries else None
            if record is None or record.number in undone:
                continue
            try:
                result: Any = harness.undo(record.id, cascade=True)
            except TakebackError:
                continue
        else:
            result = harness.apply(invert(random_mutation(rng, harness.state)))
        if isinstance(result, Applied | Undone):
            os.write(pipe, f"done {result.entry.id}\n".encode())


def _check(directory: Path, journal: str | None, found: Torture, acknowledged: set[str]) -> None:
    found.checks += 1
    try:
        harness = open_workspace(directory, journal=journal)
        try:
            found.violations += _wrongs(harness, directory, acknowledged)
        finally:
            harness.close()
    except TakebackError as fault:
        found.violations.append(f"cannot open: {fault}")


def _wrongs(harness: Harness, directory: Path, acknowledged: set[str]) -> list[str]:
    wrongs: list[str] = []
    report = harness.journal.check()
    wrongs += [fault.problem for fault in report.faults]
    status = harness.status()
    wrongs += [f"drift at {change.slot}" for change in status.drift]
    if status.pending is not None:
        wrongs.append("something is still pending")
    wrongs += [f"leftover {path}" for path in (*status.leftovers, *leftovers(directory))]
    committed, live = naive_history(harness)
    lost = acknowledged - committed
    if lost:
        wrongs.append(f"{len(lost)} acknowledged entries are lost")
    data, failed = replay(naive_state(harness), live)
    if failed or snapshot(data) != snapshot(harness.state.write()):
        wrongs.append(f"the state is not the replay of what is committed ({failed})")
    if harness.ledger.replayed() != harness.state:
        wrongs.append("the state is not what the records add up to")
    before = (harness.ledger.head, harness.state.digest(), _files(directory))
    harness.recover()
    harness.recover()
    if before != (harness.ledger.head, harness.state.digest(), _files(directory)):
        wrongs.append("recovering again changed something")
    return wrongs


def _files(directory: Path) -> dict[str, bytes]:
    private = directory / ".takeback"
    return {
        str(path): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and private not in path.parents
    }
