"""Examines a workspace from the outside in: manifest, journal, state against journal, leftovers.

Every check is a finding, good or bad, so that a person sees what was looked at. Nothing is repaired here, except
that opening a workspace whose journal is whole finishes what a killed process left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Final

from takeback.adapters.manifest import KEYS
from takeback.adapters.open_by_manifest import demand_readable, demand_workspace, manifest_of, open_workspace
from takeback.adapters.trust_gate import JournalVoucher, name_way_out, why_untrusted
from takeback.errors import TakebackError
from takeback.harness.doctor import Finding, examine_harness
from takeback.journal import examine
from takeback.journal.url import demand_place

MENDING: Final = (
    "'takeback doctor --mend' builds indexes anew where the records are whole, "
    "'takeback restore-journal FILE' puts a backup in the journal's place"
)


def examine_workspace(
    path: str | PathLike[str],
    journal: str | None = None,
    keys: str | PathLike[str] | None = None,
    *,
    deep: bool = False,
    seen: Callable[[Finding], None] = lambda _: None,
) -> tuple[Finding, ...]:
    """Look at everything; what cannot be looked at because something before it is bad is left out.

    With `deep`, the recovery of every live entry is run on the model and compared with what undo would do. `seen` is
    told of each finding at once.
    """
    found: list[Finding] = []
    for finding in _findings(Path(path), journal, keys, deep=deep):
        found.append(finding)
        seen(finding)
    return tuple(found)


def _findings(root: Path, journal: str | None, keys: str | PathLike[str] | None, *, deep: bool) -> Iterator[Finding]:
    demand_workspace(root)
    try:
        manifest = manifest_of(root)
    except TakebackError as fault:
        yield Finding("manifest", good=False, detail=str(fault))
        return
    kind = manifest.workspace.adapter
    yield Finding("manifest", good=True, detail=f"{kind} {manifest.workspace.id[:12]}")
    untrusted = why_untrusted(root, manifest)
    if untrusted is not None:
        yield Finding("trust", good=False, detail=f"not trusted: {untrusted}; {name_way_out(root)}")
    where = journal or manifest.workspace.journal
    readonly = untrusted is not None
    try:
        demand_readable(root, manifest, journal)
        demand_place(where)
        voucher = None if readonly else JournalVoucher(root, manifest, demanding=False)
        place = where if "://" in where else root / where
        report = examine(place, keys=keys or root / KEYS, readonly=readonly, voucher=voucher)
    except TakebackError as fault:
        yield Finding("chain", good=False, detail=fault.message)
        return
    if not report.whole:
        yield from (Finding("chain", good=False, detail=fault.problem) for fault in report.faults)
        readable = f"{report.records} records can be read, the first {report.intact} of them form a whole chain"
        yield Finding("chain", good=False, detail=readable)
        yield Finding("chain", good=False, detail=MENDING)
        return
    yield Finding("chain", good=True, detail=f"{report.records} records, head {(report.head or '')[:12]}")
    try:
        with closing(open_workspace(root, journal=journal, keys=keys, hold=False, readonly=readonly)) as harness:
            yield from examine_harness(harness, deep=deep)
    except TakebackError as fault:
        yield Finding("open", good=False, detail=fault.message)
