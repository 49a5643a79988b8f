"""Snapshots: which ways of taking one change back keep a later one, what they store, how long they take.

Every method meets the same situations, made from the fresh tasks. Bytes are what it keeps for the change;
latency is the undo alone (`time.perf_counter`), with what was kept already in memory. A peer that is not
installed is named as not run and has no figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from statistics import fmean, median
from typing import Any, Final

from takeback.errors import InputError
from takeback.lab.experiments.cohort import balanced
from takeback.lab.pool import Tick, no_tick, run_units
from takeback.lab.progress import Progress
from takeback.lab.protocol import parts_of, sources
from takeback.lab.snapshots.method import Method, right
from takeback.lab.snapshots.own import recorded_bytes
from takeback.lab.snapshots.situations import PROTOCOLS, Situation, inserts_middleware, situation
from takeback.lab.tasks import Task, load

SET: Final = "fresh"
OWN: Final = "takeback undo"
SCOPED: Final = "effect-scoped snapshot"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a method comes from: its class, and for a peer the module that must be installed and its package."""

    module: str
    name: str
    needs: str = ""
    package: str = ""

    @property
    def there(self) -> bool:
        """Whether it can be run here."""
        return not self.needs or find_spec(self.needs) is not None

    def open(self) -> Method:
        """The method, ready."""
        method: Method = getattr(import_module(f"takeback.lab.snapshots.{self.module}"), self.name)()
        return method


METHODS: Final[Mapping[str, Source]] = {
    "full snapshot": Source("plain", "FullSnapshot"),
    SCOPED: Source("plain", "ScopedSnapshot"),
    OWN: Source("own", "SlotUndo"),
    "recovery program (oracle)": Source("own", "RecoveryProgram"),
    "inverse by element identity": Source("plain", "ElementInverse"),
    "jsonpatch": Source("documents", "JsonPatch", "jsonpatch", "jsonpatch"),
    "deepdiff": Source("documents", "DeepDiff", "deepdiff", "deepdiff"),
    "dictdiffer": Source("documents", "DictDiffer", "dictdiffer", "dictdiffer"),
    "SQLite session, dense": Source("sqlite", "DenseSession", "apsw", "apsw"),
    "SQLite session, fractional": Source("sqlite", "Session", "apsw", "apsw"),
    "ZODB, dense": Source("zodb", "DenseZodb", "ZODB", "ZODB"),
    "ZODB, fractional": Source("zodb", "Zodb", "ZODB", "ZODB"),
    "git revert": Source("git", "GitRevert", "pygit2", "pygit2"),
}
"""Slow ones last, so that workers finish together."""


def cohort(tasks: int | None = None) -> tuple[Task, ...]:
    """The fresh tasks, or as many of them, families in equal parts."""
    return tuple(balanced(load(SET), tasks))


def protocol(*, tasks: int | None = None) -> dict[str, Any]:
    """What a lock of this experiment freezes, the peers' versions with it."""
    there = {
        name: version(source.package) if source.package and source.there else source.there
        for name, source in METHODS.items()
    }
    code = sources("takeback.state", "takeback.undo", "takeback.lab.snapshots", "takeback.lab.experiments.snapshots")
    return parts_of(
        tasks=[task.to_json() for task in cohort(tasks)],
        suites={"protocols": list(PROTOCOLS)},
        analysis={"methods": there, "code": code},
    )


@cache
def trials(ids: tuple[str, ...]) -> dict[str, tuple[Situation, ...]]:
    """All situations of some tasks, by protocol."""
    tasks = _named(ids)
    return {name: tuple(situation(task, name, at) for at, task in enumerate(tasks)) for name in PROTOCOLS}


def _named(ids: Sequence[str]) -> list[Task]:
    known = {task.id: task for task in load(SET)}
    return [known[name] for name in ids]


def measure(unit: tuple[str, tuple[str, ...]]) -> dict[str, Any]:
    """Run one method through all situations: the work of one worker process at a time."""
    name, ids = unit
    method = METHODS[name].open()
    try:
        return _measured(method, ids)
    finally:
        method.close()


def _measured(method: Method, ids: tuple[str, ...]) -> dict[str, Any]:
    made = trials(ids)
    inserting = {task.id for task in _named(ids) if inserts_middleware(task)}
    method.attempt(made[PROTOCOLS[0]][0])
    found: dict[str, Any] = {"wrong": {}}
    stored: list[int] = []
    micros: list[float] = []
    for protocol_name, situations in made.items():
        attempts = [method.attempt(trial) for trial in situations]
        good = {trial.id for trial, attempt in zip(situations, attempts, strict=True) if right(attempt, trial)}
        found[protocol_name] = [len(good), len(situations)]
        found["wrong"][protocol_name] = [trial.id for trial in situations if trial.id not in good]
        if protocol_name == "front":
            found["front_inserting"] = [len(good & inserting), len(inserting)]
        else:
            micros += [attempt.seconds * 1e6 for attempt in attempts]
            stored = [attempt.stored for attempt in attempts]
    found["bytes"] = {"mean": fmean(stored), "median": float(median(stored))}
    found["latency_us"] = {"mean": fmean(micros), "median": median(micros)}
    return found


def run(
    tasks: Sequence[Task],
    methods: Sequence[str] = tuple(METHODS),
    *,
    workers: int = 1,
    finished: Progress | None = None,
    tick: Tick = no_tick,
) -> dict[str, Any]:
    """Measure the methods that are there; the others are listed with why they were not run."""
    unknown = [name for name in methods if name not in METHODS]
    if unknown:
        raise InputError("method", found=unknown[0], expected=f"one of {', '.join(METHODS)}")
    ids = tuple(task.id for task in tasks)
    units = {name: (name, ids) for name in reversed(methods) if METHODS[name].there}
    done = run_units(measure, units, workers=workers, finished=finished, tick=tick)
    return {
        "tasks": len(ids),
        "methods": {name: done[name] for name in methods if name in done},
        "not_run": {name: f"{METHODS[name].needs} is not installed" for name in methods if name not in done},
        "entry_bytes": fmean(recorded_bytes(trial) for trial in trials(ids)["different"]),
    }


def report_data(result: Mapping[str, Any], label: str) -> dict[str, Any]:
    """The result as the report reads it; what was not run has no row and is named beside the title."""
    methods = [
        {
            "name": name,
            **{protocol_name: found[protocol_name] for protocol_name in PROTOCOLS},
            "mean_bytes": found["bytes"]["mean"],
            "median_bytes": found["bytes"]["median"],
            "latency_us": found["latency_us"]["mean"],
        }
        for name, found in result["methods"].items()
    ]
    absent = "".join(f"; not run: {name} ({why})" for name, why in result["not_run"].items())
    return {"label": label + absent, "methods": methods}


def holds(result: Mapping[str, Any]) -> bool:
    """Whether this project's undo is right every time and keeps less than the effect-scoped snapshot."""
    own, scoped = result["methods"][OWN], result["methods"][SCOPED]
    always = all(own[name][0] == own[name][1] for name in PROTOCOLS)
    return always and bool(own["bytes"]["mean"] < scoped["bytes"]["mean"])
