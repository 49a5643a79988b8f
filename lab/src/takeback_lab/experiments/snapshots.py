"""Snapshots: which ways of taking one change back keep a later one, what they store, how long they take.

Every method meets the same situations, made from the fresh tasks. Bytes are what a method needs to keep for the
change, as JSON; what an entry of this project's journal takes on disk stands beside it. Latency is the undo alone
(`time.perf_counter`), with what was kept already in memory. A peer that is not installed is named as not run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean, quantiles
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import InputError
from takeback_lab.experiment import Asked, Option
from takeback_lab.experiments.cohort import balanced
from takeback_lab.experiments.recorded import read_run, shipped_recording
from takeback_lab.protocol import digest_sources, parts_of, sources
from takeback_lab.report.table import Table
from takeback_lab.snapshots.method import OWN, UndoMethod, right
from takeback_lab.snapshots.own import disk_bytes, recorded_bytes
from takeback_lab.snapshots.situations import PROTOCOLS, Situation, inserts_middleware, situation
from takeback_lab.tasks import Task, load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "snapshots"
SET: Final = "fresh"
SCOPED: Final = "effect-scoped snapshot"
MODEL: Final = "recovery program (model)"
ENTRY: Final = "journal entry"


@dataclass(frozen=True, slots=True)
class MethodSource:
    """Where a method comes from: its class, and for a peer the module that must be installed and its package."""

    module: str
    name: str
    needs: str = ""
    package: str = ""

    @property
    def there(self) -> bool:
        """Whether it can be run here."""
        return not self.needs or find_spec(self.needs) is not None

    def open(self) -> UndoMethod:
        """The method, ready."""
        method: UndoMethod = getattr(import_module(f"takeback_lab.snapshots.{self.module}"), self.name)()
        return method


METHODS: Final[Mapping[str, MethodSource]] = {
    "full snapshot": MethodSource("plain", "FullSnapshot"),
    SCOPED: MethodSource("plain", "ScopedSnapshot"),
    OWN: MethodSource("own", "HarnessUndo"),
    "recovery program (oracle)": MethodSource("own", "RecoveryProgram"),
    MODEL: MethodSource("own", "ModelRecovery"),
    "inverse by element identity": MethodSource("plain", "ElementInverse"),
    "jsonpatch": MethodSource("document_peers", "JsonPatch", "jsonpatch", "jsonpatch"),
    "deepdiff": MethodSource("document_peers", "DeepDiff", "deepdiff", "deepdiff"),
    "dictdiffer": MethodSource("document_peers", "DictDiffer", "dictdiffer", "dictdiffer"),
    "SQLite session, dense": MethodSource("sqlite", "DenseSession", "apsw", "apsw"),
    "SQLite session, fractional": MethodSource("sqlite", "SqliteSession", "apsw", "apsw"),
    "ZODB, dense": MethodSource("zodb", "DenseZodb", "ZODB", "ZODB"),
    "ZODB, fractional": MethodSource("zodb", "Zodb", "ZODB", "ZODB"),
    "git revert": MethodSource("git", "GitRevert", "pygit2", "pygit2"),
}
"""Slow ones last, so that workers finish together."""


@dataclass(frozen=True, slots=True)
class SnapshotsPlan:
    """Which tasks, and which methods that are there."""

    tasks: tuple[Task, ...]
    methods: tuple[str, ...] = tuple(METHODS)

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes, the peers' versions with it."""
        del who
        there = {
            name: version(source.package) if source.package and source.there else source.there
            for name, source in METHODS.items()
        }
        code = sources(
            "takeback.state", "takeback.undo", "takeback_lab.snapshots", "takeback_lab.experiments.snapshots"
        )
        parts = parts_of(
            tasks=[task.to_json() for task in self.tasks],
            suites={"protocols": list(PROTOCOLS)},
            analysis={"methods": there, "code": code, "recoveries": _recorded()["replies"]},
        )
        return {**parts, **digest_sources("verifier", "tasks")}

    def units(self) -> dict[str, Any]:
        """One unit per method, the slow ones first, so that workers finish together; and what an entry takes."""
        ids = [task.id for task in self.tasks]
        there = [name for name in reversed(self.methods) if METHODS[name].there]
        return {name: {"method": name, "tasks": ids} for name in (*there, ENTRY)}


class Snapshots:
    """Compare full and effect-scoped snapshots, this project's undo and the installed peers on the fresh tasks.

    More than one worker blurs the latencies.

    Example: `takeback lab snapshots --json`
    """

    name = NAME
    asks = False
    options = (
        Option("tasks", "number", "Only this many tasks, the same number from each family.", least=1),
        Option("method", "texts", "Only these methods; all of them if left out."),
    )

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> SnapshotsPlan:
        """All fresh tasks and all methods."""
        del frozen
        methods = tuple(given.get("method", METHODS))
        unknown = [name for name in methods if name not in METHODS]
        if unknown:
            raise InputError("--method", found=unknown[0], expected=f"one of {', '.join(METHODS)}")
        return SnapshotsPlan(tuple(balanced(load(SET), given.get("tasks"))), methods)

    def run(self, unit: Mapping[str, Any], asked: Asked | None) -> dict[str, Any]:
        """Run one method through all situations, or measure what an entry of the journal takes."""
        del asked
        ids = tuple(unit["tasks"])
        if unit["method"] == ENTRY:
            return _entry(ids)
        method = METHODS[unit["method"]].open()
        try:
            return _measured(method, ids)
        finally:
            method.close()

    def data(self, plan: SnapshotsPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """One row per method that was there; the others are named with why they were not run."""
        del who
        methods = [{"name": name, **done[name]} for name in plan.methods if name in done]
        absent = {name: f"{METHODS[name].needs} is not installed" for name in plan.methods if name not in done}
        population = f"{len(plan.tasks)} reference mutations: {SET}, each with a later change"
        data = {"population": population, "methods": methods, "not_run": absent, "entry": done[ENTRY]}
        return {NAME: {**data, "model": _recorded()["model"]} if MODEL in done else data}

    def summary(self, plan: SnapshotsPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """The same by name, and what the bytes are."""
        found = data[NAME]
        return {
            "cohort": found["population"],
            "tasks": len(plan.tasks),
            "methods": {row["name"]: {key: row[key] for key in row if key != "name"} for row in found["methods"]},
            "not_run": found["not_run"],
            "model": found.get("model"),
            "bytes_counted": "what undo needs to keep of the change, as JSON; not what a journal holds besides",
            "entry_bytes": found["entry"]["slots"],
            "entry_disk_bytes": found["entry"]["disk"],
        }

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """Whether this project's undo is right every time and keeps less than the effect-scoped snapshot."""
        own, scoped = summary["methods"].get(OWN), summary["methods"].get(SCOPED)
        if own is None or scoped is None:
            return True
        always = all(own[name][0] == own[name][1] for name in PROTOCOLS)
        return always and bool(own["bytes"]["mean"] < scoped["bytes"]["mean"])

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """Successes, bytes and latencies of each method."""
        yield str(summary["cohort"])
        rows = []
        for name, row in summary["methods"].items():
            shares = ("–" if row[part] is None else f"{row[part][0]}/{row[part][1]}" for part in PROTOCOLS)
            rows.append((name, *shares, _number(row["bytes"], "mean"), *_spread(row["latency_us"])))
        columns = ("method", *PROTOCOLS, "bytes kept", "undo µs, median", "quartiles")
        yield Table(NAME, "", columns, tuple(rows))
        yield from (f"not run: {name}: {why}" for name, why in summary["not_run"].items())
        if summary["model"]:
            yield f"model: {summary['model']}, recorded on the fresh tasks"
        slots, disk = summary["entry_bytes"], summary["entry_disk_bytes"]
        yield f"bytes kept: {summary['bytes_counted']}"
        yield (
            f"a journal entry holds what was written too, for redo ({slots:.0f} B of slots), the candidate and its "
            f"evidence: {disk:.0f} B on disk"
        )

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """Selective undo by method, beside the paper's."""
        from takeback_lab.report.snapshot_tables import snapshot_tables  # noqa: PLC0415 - loads the paper's figures

        return snapshot_tables(data)

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """Storage against latency."""
        from takeback_lab.report.figures import snapshot_plots  # noqa: PLC0415 - loads matplotlib

        return snapshot_plots(data)


def _recorded() -> Mapping[str, Any]:
    """What was run in the recorded fresh holdout, whose recoveries the model's row takes."""
    found = read_run(shipped_recording("fresh"), "fresh")
    if found is None:
        raise InputError("fresh", found="no frozen recording", expected="the one that comes with Takeback")
    return found


@cache
def trials(ids: tuple[str, ...]) -> dict[str, tuple[Situation, ...]]:
    """All situations of some tasks, by protocol."""
    tasks = _named(ids)
    return {name: tuple(situation(task, name, at) for at, task in enumerate(tasks)) for name in PROTOCOLS}


def _named(ids: Sequence[str]) -> list[Task]:
    known = {task.id: task for task in load(SET)}
    return [known[name] for name in ids]


def _entry(ids: tuple[str, ...]) -> dict[str, Any]:
    situations = list(trials(ids)["different"])
    with tempfile.TemporaryDirectory() as folder:
        disk = disk_bytes(situations, Path(folder))
    return {"slots": fmean(recorded_bytes(trial) for trial in situations), "disk": disk}


def _measured(method: UndoMethod, ids: tuple[str, ...]) -> dict[str, Any]:
    made = trials(ids)
    inserting = {task.id for task in _named(ids) if inserts_middleware(task)}
    found: dict[str, Any] = {"wrong": {}}
    stored: list[int] = []
    micros: list[float] = []
    first = next((one for one in made[PROTOCOLS[0]] if method.takes(one)), None)
    if first is not None:
        method.attempt(first)
    for protocol_name, situations in made.items():
        mine = [trial for trial in situations if method.takes(trial)]
        attempts = [method.attempt(trial) for trial in mine]
        good = {trial.id for trial, attempt in zip(mine, attempts, strict=True) if right(attempt, trial)}
        found[protocol_name] = [len(good), len(mine)] if mine else None
        found["wrong"][protocol_name] = [trial.id for trial in mine if trial.id not in good]
        if protocol_name == "front":
            found["front_inserting"] = [len(good & inserting), len(inserting)] if mine else None
        else:
            ran = [attempt for attempt in attempts if attempt.stored]
            micros += [attempt.seconds * 1e6 for attempt in ran]
            stored = [attempt.stored for attempt in ran]
    return {**found, "bytes": _described(stored), "latency_us": _described(micros)}


def _described(values: Sequence[float]) -> dict[str, float] | None:
    """Mean, median and quartiles; None where nothing was measured."""
    if not values:
        return None
    low, middle, high = quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
    return {"mean": fmean(values), "median": middle, "lower": low, "upper": high}


def _number(found: Mapping[str, float] | None, kind: str) -> str:
    return "–" if found is None else f"{found[kind]:.1f}"


def _spread(found: Mapping[str, float] | None) -> tuple[str, str]:
    if found is None:
        return "–", "–"
    return f"{found['median']:.1f}", f"{found['lower']:.1f}–{found['upper']:.1f}"


EXPERIMENT = Snapshots()
