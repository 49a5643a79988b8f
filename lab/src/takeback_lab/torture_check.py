"""What torture compares with: the journal read as plain data, replayed without the undo engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from takeback.adapters.directory import TEMPORARY
from takeback.harness import Harness
from takeback.harness.records import load_candidate_json, load_record_writes
from takeback.journal import ENTRY_KINDS, Record
from takeback.journal.content import encode
from takeback.state import ABSENT, SURFACES
from takeback.state.slots import dump_state
from takeback_lab.naive import NaiveEntry, Plain, Step, begin, finish, replay


def naive_state(harness: Harness) -> Plain:
    """Plain data of the first state in the journal."""
    raw = dump_state(harness.ledger.first_state())
    places: dict[tuple[str, ...], Any] = {}
    for name, item in raw.get("middleware", {}).items():
        places["middleware", name] = _place(item)
    for event, callbacks in raw.get("listeners", {}).items():
        places.update({("listeners", event, name): _place(item) for name, item in callbacks.items()})
    chain = sorted(raw.get("middleware", {}).values(), key=_place)
    state = {
        **{name: raw.get(name, {}) for name in ("config", "prompts", "routing", "tools", "resources")},
        "middleware": [item["record"] for item in chain],
        "listeners": {
            event: [item["record"] for item in sorted(callbacks.values(), key=_place)]
            for event, callbacks in raw.get("listeners", {}).items()
        },
        "files": _flat(raw.get("files", {"directory": {}})["directory"]),
    }
    return begin(state, places)


def naive_history(harness: Harness) -> tuple[set[str], list[NaiveEntry]]:
    """Ids of all committed records, and the entries that are live, from the records alone."""
    committed: list[Record] = []
    pending: Record | None = None
    for record in harness.journal.records():
        if record.kind == "commit" and pending is not None:
            committed.append(pending)
        if record.kind in ENTRY_KINDS:
            pending = record
    undone: set[int] = set()
    for record in committed:
        undone.update(record.off)
        undone.difference_update(record.on)
    live = [_entry(harness, r) for r in committed if r.kind == "apply" and r.entry not in undone]
    return {record.id for record in committed}, live


def snapshot(data: Plain) -> str:
    """One text for plain data or for a state's JSON."""
    return encode(finish(data) if isinstance(data.get("middleware"), dict) else data)


def leftovers(directory: Path) -> list[str]:
    """Temporary files anywhere in the workspace."""
    return [str(path) for path in directory.rglob("*") if TEMPORARY.fullmatch(path.name)]


def _entry(harness: Harness, record: Record) -> NaiveEntry:
    candidate = load_candidate_json(harness.journal, record) or {}
    steps: list[Step] = []
    for op, write in zip(candidate["mutation"], load_record_writes(harness.journal, record), strict=True):
        content = None if write.after is ABSENT else SURFACES[write.slot[0]].slot_to_json(write.after)
        item = content if isinstance(content, dict) else {}
        place = _place(item) if op["op_type"] in {"add_middleware", "add_listener"} else None
        steps.append(Step(op, place, item.get("mode")))
    return NaiveEntry(record.entry, tuple(steps))


def _place(item: Any) -> tuple[tuple[int, str], ...]:
    return tuple((number, name) for number, name in item["place"])


def _flat(node: Plain, above: str = "") -> Plain:
    flat: Plain = {}
    for name, item in node.items():
        path = f"{above}{name}"
        if "directory" not in item:
            flat[path] = item
        elif item["directory"]:
            flat.update(_flat(item["directory"], f"{path}/"))
        else:
            flat[path] = {"directory": True}
    return flat


def aborted(harness: Harness) -> int:
    """How many changes were announced and given up."""
    return sum(record.kind == "abort" for record in harness.journal.records())


def wrongs(harness: Harness, directory: Path, acknowledged: set[str]) -> list[str]:
    """Everything about an opened workspace that should not be."""
    found = [fault.problem for fault in harness.journal.check().faults]
    status = harness.status()
    found += [f"drift at {change.slot}" for change in status.drift]
    found += [f"broken: {fault}" for fault in status.broken]
    if status.pending is not None:
        found.append("something is still pending")
    found += [f"leftover {path}" for path in (*status.leftovers, *leftovers(directory))]
    committed, live = naive_history(harness)
    lost = acknowledged - committed
    if lost:
        found.append(f"{len(lost)} acknowledged entries are lost")
    data, failed = replay(naive_state(harness), live)
    if failed or snapshot(data) != snapshot(harness.state.write()):
        found.append(f"the state is not the replay of what is committed ({failed})")
    if harness.ledger.replay_state() != harness.state:
        found.append("the state is not what the records add up to")
    before = (harness.ledger.head, harness.state.digest(), _files(directory))
    harness.recover()
    harness.recover()
    if before != (harness.ledger.head, harness.state.digest(), _files(directory)):
        found.append("recovering again changed something")
    return found


def _files(directory: Path) -> dict[str, bytes]:
    private = directory / ".takeback"
    return {
        str(path): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and private not in path.parents
    }
