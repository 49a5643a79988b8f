"""The table of selective undo: every method's successes, what it keeps, how long it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from takeback_lab.report import published, wording
from takeback_lab.report.inputs import MeasureSpread, SnapshotMethod, SnapshotsData, read_input
from takeback_lab.report.table import Cell, Figure, Share, Table

PUBLISHED: Final = {"full": "Full snapshot", "scoped": "Effect-scoped snapshot", "evoundo": "EvoUndo"}
PROTOCOLS: Final = ("different", "same", "front")


def snapshot_tables(raw: Mapping[str, Any]) -> Iterator[Table]:
    """Selective undo by method; the paper's three methods below ours."""
    data = read_snapshots(raw)
    rows: list[tuple[Cell, ...]] = [_row(method) for method in data.methods]
    rule = len(rows)
    for key, name in PUBLISHED.items():
        mean, median, latency = published.snapshot_cost(key)
        shares = [published.share(f"snapshots.{key}.{protocol}") for protocol in ("different", "same")]
        mean_latency = f"mean {latency:.1f}"
        rows.append((f"{name}, published", *shares, None, Figure(mean, 1), Figure(median, 1), mean_latency, None))
    columns = (
        "Method",
        "Different surface",
        "Same surface",
        "Front insertion",
        "Bytes kept, mean",
        "Bytes kept, median",
        "Undo (µs), median",
        "Quartiles (µs)",
    )
    title = f"Selective undo by method: {data.population}"
    yield Table("snapshots", title, columns, tuple(rows), _note(data), frozenset({rule}))


def read_snapshots(raw: Mapping[str, Any]) -> SnapshotsData:
    """The data of a snapshots run, checked."""
    data = read_input("snapshots", raw, "snapshots")
    assert isinstance(data, SnapshotsData)  # noqa: S101  (the name decides the model)
    return data


def _row(method: SnapshotMethod) -> tuple[Cell, ...]:
    trials = (getattr(method, name) for name in PROTOCOLS)
    kept, took = method.bytes, method.latency_us
    return (
        method.name,
        *(Share(*found) if found else None for found in trials),
        _figure(kept, "mean"),
        _figure(kept, "median"),
        _figure(took, "median"),
        f"{took.lower:.1f}–{took.upper:.1f}" if took else None,
    )


def _figure(found: MeasureSpread | None, kind: str) -> Cell:
    return None if found is None else Figure(getattr(found, kind), 1)


def _note(data: SnapshotsData) -> str:
    parts = ["Bytes kept: what undo needs of the change, as JSON."]
    if data.entry is not None:
        slots, disk = data.entry.slots, data.entry.disk
        parts.append(
            f"An entry of this project's journal holds more (what was written, for redo: {slots:.0f} B of slots; the "
            f"candidate and its evidence): {disk:.0f} B on disk."
        )
    if data.model:
        parts.append(f"Model: {data.model}, recorded on the fresh tasks.")
    parts += [f"Not run: {name} ({why})." for name, why in data.not_run.items()]
    parts.append("Published latencies are means on the authors' machine; compare ratios, not absolute times.")
    trials = [method.different[1] for method in data.methods if method.different]
    parts.append(wording.few(min(trials, default=0), "trials of a method"))
    return wording.note(*parts)
