"""Examines a workspace from the outside in: manifest, journal, state against journal, leftovers.

Every check is a finding, good or bad, so that a person sees what was looked at. Nothing is repaired here, except
that opening a workspace whose journal is whole finishes what a killed process left.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from takeback.errors import TakebackError
from takeback.harness.harness import Harness
from takeback.harness.manifest import MANIFEST, read_manifest
from takeback.harness.workspace import KEYS, demand_workspace, open_workspace
from takeback.journal import examine
from takeback.state.slots import slot_title


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    check: str
    good: bool
    detail: str


def examine_workspace(
    path: str | PathLike[str], journal: str | None = None, keys: str | PathLike[str] | None = None
) -> tuple[Finding, ...]:
    """Look at everything; what cannot be looked at because something before it is bad is left out."""
    root = Path(path)
    demand_workspace(root)
    try:
        manifest = read_manifest((root / MANIFEST).read_text(errors="replace"), str(root / MANIFEST))
    except (TakebackError, OSError) as fault:
        return (Finding("manifest", good=False, detail=str(fault)),)
    found = [Finding("manifest", good=True, detail=f"workspace {manifest.workspace.id[:12]}")]
    where = journal or manifest.workspace.journal
    try:
        report = examine(where if "://" in where else root / where, keys=keys or root / KEYS)
    except TakebackError as fault:
        return (*found, Finding("chain", good=False, detail=fault.message))
    if not report.whole:
        found += [Finding("chain", good=False, detail=fault.problem) for fault in report.faults]
        readable = f"{report.records} records can be read, the first {report.intact} of them form a whole chain"
        return (*found, Finding("chain", good=False, detail=readable))
    found.append(Finding("chain", good=True, detail=f"{report.records} records, head {(report.head or '')[:12]}"))
    try:
        with closing(open_workspace(root, journal=journal, keys=keys, hold=False)) as harness:
            return (*found, *_opened(harness))
    except TakebackError as fault:
        return (*found, Finding("open", good=False, detail=fault.message))


def _opened(harness: Harness) -> Iterator[Finding]:
    told = harness.recovered
    finished = "nothing was under way" if told.entry is None else f"finished entry {told.entry.id[:12]}"
    yield Finding("recovery", good=True, detail=f"{finished}; {len(told.swept)} temporary files removed")
    replayed = harness.ledger.replayed() == harness.state
    yield Finding(
        "replay",
        good=replayed,
        detail="all records that hold their contents add up to the state"
        if replayed
        else "the records do not add up to the state of the last checkpoint",
    )
    status = harness.status()
    for change in status.drift:
        yield Finding("drift", good=False, detail=f"{slot_title(change.slot)} was changed behind Takeback's back")
    if not status.drift:
        yield Finding("drift", good=True, detail="the files are what the journal says")
    for path in status.leftovers:
        yield Finding("leftovers", good=False, detail=path)
    if not status.leftovers:
        yield Finding("leftovers", good=True, detail="none")
    for problem in status.problems:
        yield Finding("problems", good=False, detail=problem)
