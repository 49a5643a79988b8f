"""Random histories with a planted set of entries that breaks them together, and three ways to find it.

A history is made on a real harness in memory; whether it is broken is read from the state that a plan of its undo
comes to. Beside Takeback's search stand bisection over time, which can leave out only what is newest, and delta
debugging (ddmin).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from takeback.adapters import open_memory
from takeback.harness import Applied, Harness
from takeback.harness.bisect import Bisection, LiveEntries, Trials, Try, find_breaking_entries
from takeback.language import read_program
from takeback.repair.oracle import invert_mutation
from takeback.state import Stage, State
from takeback.undo import Plan
from takeback.undo.record import run_and_record
from takeback_lab.random_changes import EVERY, random_base, random_op

SHORTEST: Final = 8
LONGEST: Final = 30
MOST_PLANTED: Final = 3
MARKS: Final = "planted"


@dataclass(frozen=True)
class Planted:
    """A history: its entries, oldest first, and those that break it."""

    harness: Harness
    entries: tuple[int, ...]
    planted: tuple[int, ...]

    def broken(self, live: LiveEntries) -> bool | None:
        """Whether the history of these entries alone has every mark; None if there is no such history."""
        off = [f"#{entry}" for entry in self.entries if entry not in live]
        if not off:
            return self._marked(self.harness.state)
        plan = self.harness.plan_undo(*off, cascade=True)
        return self._marked(plan.state) if isinstance(plan, Plan) else None

    def _marked(self, state: State) -> bool:
        return set(range(len(self.planted))) <= set(state["config"][MARKS])


def plant(number: int, seed: int) -> Planted:
    """The history of a number."""
    rng = random.Random(f"bisect {seed} {number}")
    length = rng.randint(SHORTEST, LONGEST)
    marks = rng.sample(range(length), rng.randint(1, MOST_PLANTED))
    base = random_base(rng).write()
    harness = open_memory(State.read({**base, "config": {**base.get("config", {}), MARKS: []}}))
    entries = []
    planted: dict[int, int] = {}
    for at in range(length):
        if at in marks:
            ops: list[Any] = [{"op_type": "append_config", "target": MARKS, "value": len(planted)}]
            planted[at] = _applied(harness, ops)
            entries.append(planted[at])
        else:
            entries.append(_applied(harness, _random_ops(rng, harness)))
    return Planted(harness, tuple(entries), tuple(sorted(planted.values())))


def _random_ops(rng: random.Random, harness: Harness) -> list[Any]:
    while True:
        ops = [random_op(rng, harness.state, EVERY)]
        if run_and_record(read_program(ops, Stage.FORWARD, "history"), harness.state).receipt.succeeded:
            return ops


def _applied(harness: Harness, ops: list[Any]) -> int:
    mutation = read_program(ops, Stage.FORWARD, "history")
    done = harness.apply(invert_mutation(mutation, harness.state), force=True)
    if not isinstance(done, Applied):
        raise AssertionError(f"a change that runs was not made: {done}")  # noqa: TRY004 - no wrong type was given
    return done.entry.entry


def over_time(entries: Sequence[int], broken: Try) -> Bisection:
    """Plain bisection: the first entry after which it is broken, with everything before it."""
    trial = Trials(broken)
    if not trial(entries) or trial(()):
        return Bisection((), trial.count)
    works, fails = 0, len(entries)
    while fails - works > 1:
        middle = (works + fails) // 2
        works, fails = (works, middle) if trial(entries[:middle]) else (middle, fails)
    return Bisection((entries[fails - 1],), trial.count)


def ddmin(entries: Sequence[int], broken: Try) -> Bisection:
    """Delta debugging as Zeller and Hildebrandt give it: subsets, then complements, in ever smaller pieces."""
    trial = Trials(broken)
    if not trial(entries) or trial(()):
        return Bisection((), trial.count)
    here, pieces = list(entries), 2
    while len(here) > 1:
        size = max(1, len(here) // pieces)
        parts = [here[at : at + size] for at in range(0, len(here), size)]
        smaller = next((part for part in parts if trial(part)), None)
        if smaller is not None:
            here, pieces = smaller, 2
            continue
        others = ([one for one in here if one not in part] for part in parts)
        smaller = next((rest for rest in others if trial(rest)), None)
        if smaller is not None:
            here, pieces = smaller, max(pieces - 1, 2)
        elif pieces < len(here):
            pieces = min(2 * pieces, len(here))
        else:
            break
    return Bisection(tuple(here), trial.count)


WAYS: Final = {"takeback": find_breaking_entries, "over time": over_time, "ddmin": ddmin}


def search(number: int, seed: int) -> dict[str, Any]:
    """What each way found in one history, with how many tests."""
    history = plant(number, seed)
    found = {name: way(history.entries, history.broken) for name, way in WAYS.items()}
    history.harness.close()
    return {
        "entries": len(history.entries),
        "planted": len(history.planted),
        **{name: {"found": one.entries == history.planted, "tests": one.tests} for name, one in found.items()},
    }
