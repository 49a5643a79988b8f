"""What a long history costs: the same questions asked of a journal with few entries and of one with many.

Histories are made through a harness, by changes of every surface on a fixed number of keys, now and then one taken
back; many to a transaction, which is all that sets them apart from a history made over months. The first entry stands
alone on its key. Each figure is the median of several rounds on a harness that was opened for it.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

from takeback.adapters import open_memory
from takeback.harness import Applied, Harness, Undone
from takeback.harness.doctor import examine_harness
from takeback.harness.entry_log import iter_entries
from takeback.harness.entry_names import build_restore_request
from takeback.journal import open_journal
from takeback.journal.sql import SqlStore
from takeback.language import Candidate, read_program
from takeback.repair import invert_mutation
from takeback.state import Level, Stage, State
from takeback.undo import Plan
from takeback.verify.sampled import reject_candidate
from takeback.verify.verdict import Code, Reason, Verdict
from takeback_lab.bench.governed import measure_governed

SIZES: Final = (1_000, 100_000)
KEYS: Final = 100
BATCH: Final = 500
SHOWN: Final = 20
"""How many entries a log shows at once."""
UNDO_EVERY: Final = 20
ROUNDS: Final = 5
FLAT: Final = ("open", "status", "log", "undo")
"""What must not grow with the history."""


def measure(
    sizes: tuple[int, ...] = SIZES, progress: Callable[[int], None] = lambda _: None, rounds: int = ROUNDS
) -> dict[str, Any]:
    """Seconds for each question at each size, and by which factor they grow from the first size to the last."""
    seconds: dict[int, dict[str, float]] = {}
    governed: dict[int, dict[str, Any]] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="takeback-bench-journal-") as directory:
            place = Path(directory) / "journal.db"
            first = make_history(place, size, progress)
            seconds[size] = {"bytes": place.stat().st_size, **asked(place, first, rounds)}
            opening = partial(open_memory, journal=place, verifier=_unverified)
            governed[size] = measure_governed(opening, _change_once, Path(directory))
    few, many = sizes[0], sizes[-1]
    return {
        "entries": list(sizes),
        "seconds": {size: {name: round(value, 5) for name, value in rows.items()} for size, rows in seconds.items()},
        "growth": {name: round(seconds[many][name] / seconds[few][name], 2) for name in FLAT},
        "growth_of_restore_and_doctor": {
            name: round(seconds[many][name] / seconds[few][name], 2) for name in ("restore", "doctor")
        },
        "times_as_many_entries": round(many / few, 2),
        "chain_check_us_per_entry": round(seconds[many]["chain"] / many * 1e6, 2),
        "apply_ms": round(seconds[many]["apply"] * 1e3, 3),
        "bytes_per_entry": round(seconds[many]["bytes"] / many),
        "governed": governed,
        "growth_of_governed": round(governed[many]["governed_ms"] / governed[few]["governed_ms"], 2),
    }


def make_history(place: Path, entries: int, progress: Callable[[int], None] = lambda _: None) -> str:
    """Write a history of that many entries, the beginning not counted; returns the first one's id."""
    rng = random.Random(entries)
    with closing(open_memory(State.read({"config": {"keep": 1}}), journal=place, verifier=_unverified)) as harness:
        made = harness.apply(_change({"op_type": "set_config", "target": "first", "value": 1}), force=True)
        if not isinstance(made, Applied):
            raise TypeError(f"the first change was answered {made}")
        steps = _steps(rng, entries - 1)
        store = harness.journal
        while part := list(islice(steps, BATCH)):
            if not isinstance(store, SqlStore):
                raise TypeError("a history is made in a stored journal")
            with store.transaction():
                _make(harness, part)
            progress(harness.ledger.last)
    return made.entry.id


def _steps(rng: random.Random, count: int) -> Iterator[dict[str, Any] | None]:
    """Changes to make; None for taking the last one back."""
    for at in range(count):
        yield None if at % UNDO_EVERY == UNDO_EVERY - 1 else _operation(rng, at)


def _operation(rng: random.Random, at: int) -> dict[str, Any]:
    key = rng.randrange(KEYS)
    choices: tuple[dict[str, Any], ...] = (
        {"op_type": "set_config", "target": f"section.k{key}", "value": {"n": at}},
        {"op_type": "set_config", "target": f"k{key}", "value": at},
        {"op_type": "set_prompt", "target": f"p{key}", "value": f"prompt {at}\n"},
        {"op_type": "set_routing", "target": f"r{key}", "value": f"model-{at}"},
        {"op_type": "register_tool", "target": f"t{key}", "value": {"id": f"t{at}"}},
        {"op_type": "write_file", "target": f"d{key % 10}/f{key}", "value": {"content": f"file {at}\n"}},
    )
    return rng.choice(choices)


def _make(harness: Harness, steps: list[dict[str, Any] | None]) -> None:
    for step in steps:
        if step is None:
            done: Any = harness.undo("HEAD")
        else:
            done = harness.apply(_change(step), force=True)
        if not isinstance(done, Applied | Undone):
            raise TypeError(f"{step} was answered {done}")


def _change(operation: dict[str, Any]) -> Candidate:
    found = invert_mutation(read_program([operation], Stage.FORWARD, "mutation"))
    if not isinstance(found, Candidate):
        raise TypeError(f"{operation} has no inverse")
    return found


def asked(place: Path, first: str, rounds: int) -> dict[str, float]:
    """Seconds for each question."""
    opening = partial(open_memory, journal=place, verifier=_unverified)
    seconds = {"open": _median(lambda: opening().close(), rounds)}
    with closing(opening()) as harness:
        seconds["status"] = _median(harness.status, rounds)
        seconds["log"] = _median(lambda: list(islice(iter_entries(harness), SHOWN)), rounds)
    seconds["undo"] = _undo(opening, first, rounds)
    seconds["apply"] = _apply(opening)
    seconds["restore"] = _median(lambda: _restore(opening, first), 1)
    seconds["chain"] = _median(lambda: _chain(place), rounds)
    seconds["doctor"] = _median(lambda: _doctor(opening), 1)
    return seconds


def _median(question: Callable[[], object], rounds: int) -> float:
    found: list[float] = []
    for _ in range(rounds):
        start = perf_counter()
        question()
        found.append(perf_counter() - start)
    return median(found)


def _undo(opening: Callable[[], Harness], first: str, rounds: int) -> float:
    """Undo of the first entry by a process that has just opened the journal."""
    found: list[float] = []
    for _ in range(rounds):
        with closing(opening()) as harness:
            start = perf_counter()
            done = harness.undo(first)
            found.append(perf_counter() - start)
            if not isinstance(done, Undone):
                raise TypeError(f"the undo of the first entry was answered {done}")
            harness.redo(first)
    return median(found)


def _apply(opening: Callable[[], Harness]) -> float:
    with closing(opening()) as harness:
        changes = [_change({"op_type": "set_config", "target": "k1", "value": n}) for n in range(30)]
        left = iter(changes)
        return _median(lambda: harness.apply(next(left), force=True), len(changes))


def _change_once(harness: Harness, number: int) -> object:
    return harness.apply(_change({"op_type": "set_config", "target": "k1", "value": number}), force=True)


def _restore(opening: Callable[[], Harness], first: str) -> None:
    with closing(opening()) as harness:
        plan = harness.plan(partial(build_restore_request, name=first))
        if not isinstance(plan, Plan):
            raise TypeError(f"the plan of a restore was answered {plan}")


def _chain(place: Path) -> None:
    with closing(open_journal(place)) as store:
        if not isinstance(store, SqlStore) or not store.check_chain().report().whole:
            raise TypeError("the chain is broken")


def _doctor(opening: Callable[[], Harness]) -> None:
    with closing(opening()) as harness:
        if not harness.journal.check().whole:
            raise TypeError("the journal is damaged")
        for finding in examine_harness(harness):
            if not finding.good:
                raise TypeError(finding.detail)


def _unverified(candidate: Candidate) -> Verdict:
    """Every change is forced: what is measured here is the journal, not admission."""
    return reject_candidate([Reason(Code.TIMEOUT, "not verified")], "proof", Level.L2, candidate)
