"""What a child of torture does: changes and undos until it dies, is done, or its disk gives out."""

from __future__ import annotations

import os
import random
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from takeback.adapters import open_workspace
from takeback.errors import InputError, TakebackError
from takeback.harness import Applied, Harness, Undone
from takeback.journal.failpoint import arm_failpoints
from takeback.repair import invert_mutation
from takeback_lab.torture_faults import Faults
from takeback_lab.torture_work import random_mutation

WORK_LIMIT = 15
RECENT = 4
TAKING_BACK = 0.45


@dataclass(frozen=True, slots=True)
class Orders:
    """What one child is to do, and where it dies: the `count`-th time it reaches `target`."""

    root: Path
    journal: str
    seed: float
    target: str | None
    count: int
    fault: str | None


def child(orders: Orders, faults: Faults, pipe: int) -> NoReturn:
    """Work until death."""
    rng = random.Random(orders.seed)
    hits = 0
    strike: Any = None

    def probe(name: str) -> None:
        nonlocal hits
        if name == orders.target:
            hits += 1
            if hits == orders.count:
                os.write(pipe, f"at {name}\n".encode())
                os.kill(os.getpid(), signal.SIGKILL)
        if strike is not None:
            strike(name)

    code = 0
    try:
        with arm_failpoints(probe):
            harness = open_workspace(orders.root, journal=orders.journal)
            strike = faults.probe(orders.fault, harness, rng)
            _work(harness, rng, pipe, failing=orders.fault is not None)
    except TakebackError as fault:
        if orders.fault is None:
            os.write(pipe, f"fault {fault.message}\n".encode("ascii", "replace"))
        code = 1
    finally:
        os._exit(code)


def _work(harness: Harness, rng: random.Random, pipe: int, *, failing: bool) -> None:
    for _ in range(WORK_LIMIT):
        try:
            result = _one_change(harness, rng)
        except TakebackError:
            if not failing:
                raise
            os.write(pipe, b"failed\n")
            continue
        if isinstance(result, Applied | Undone):
            os.write(pipe, f"done {result.entry.id}\n".encode())


def _one_change(harness: Harness, rng: random.Random) -> Any:
    if rng.random() >= TAKING_BACK:
        return harness.apply(invert_mutation(random_mutation(rng, harness.state)))
    entries = [record for record in harness.ledger.entries() if record.kind in {"apply", "undo"}][:RECENT]
    record = rng.choice(entries) if entries else None
    if record is None:
        return None
    try:
        return harness.undo(record.id, cascade=True)
    except InputError:
        return None  # undone already, given up, or nothing of it is in force
