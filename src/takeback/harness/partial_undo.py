"""An undo of some files only: what it would do to them is made a change of its own, which can be undone as well.

The entries that changed these files stay live, with what they did to other files. A tracked file is taken back
alone; what a client's own files mean is shared between them, and is taken back with whole entries only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from takeback.errors import InputError
from takeback.harness.drift import read_and_absorb_client_writes
from takeback.harness.engine import Engine
from takeback.harness.entry_names import EntryRef, build_undo_request, name_entries
from takeback.harness.images import paths_of
from takeback.harness.outcomes import Adopted, Refused, Stale, UndoOutcome, refuse_kept_writes
from takeback.harness.records import read_slots
from takeback.harness.toggle import plan_request, restore_remaining
from takeback.journal import Record
from takeback.state import PMap, State
from takeback.state.file import File
from takeback.state.file_paths import find_current_path, list_files, list_folders_above, name_slot
from takeback.state.slots import Slot, find_containing_slot, get_slot, put_slots
from takeback.state.surfaces.project import PROJECT
from takeback.undo import Plan

PathMatcher = Callable[[str], bool]
"""Tells whether a path is meant."""
WHOLE = "leave --only out to take whole entries back, or name a pattern that all their files match"


def undo_files(
    engine: Engine,
    entries: tuple[EntryRef, ...],
    matches: PathMatcher,
    token: str | None,
    said: Mapping[str, Any],
    *,
    planning: bool,
    strict: bool,
) -> Plan | Adopted | UndoOutcome:
    """Put back only the files that match, of all that an undo would put back; the lock is held.

    With `planning` nothing is done, and the plan is returned.
    """
    read_and_absorb_client_writes(engine)
    names = name_entries(entries)
    off, on, _ = build_undo_request(engine.ledger, entries, names)
    plan = plan_request(engine, off, on, cascade=False, strict=False)
    if not isinstance(plan, Plan):
        return plan
    narrow = narrow_plan(plan, matches, [engine.journal.get(number) for number in (*plan.off, *plan.on)])
    refused = refuse_kept_writes(narrow) if strict else None
    if isinstance(refused, Refused):
        return refused
    if planning:
        return narrow
    if token is not None and token != narrow.token:
        return Stale(token, narrow)
    paths = sorted({path for change in narrow.changes for path in _list_paths(narrow, change.slot)})
    about = {"note": f"some files of undoing {', '.join(names)}", **said, "paths": paths}
    return restore_remaining(engine, narrow.changes, about)


def narrow_plan(plan: Plan, matches: PathMatcher, records: list[Record]) -> Plan:
    """Return a plan with what it does to files that match; raise where that cannot be told from the rest."""
    for record in records:
        others = list_others(record, matches)
        if others and any(slot[0] != PROJECT for slot in read_slots(record)):
            raise InputError(
                "--only",
                found=f"#{record.entry}, which changed {others[0]} together with files that match",
                expected="entries that changed tracked files, or only files that match",
                hint=WHOLE,
            )
    is_meant = partial(_is_meant, plan, matches)
    changes = tuple(change for change in plan.changes if is_meant(change.slot))
    if not changes:
        raise InputError("--only", found="no file that matches and would change", expected="at least one", hint=WHOLE)
    after = put_slots(plan.before, [(change.slot, change.after) for change in changes])
    clash = _find_clash(after.part(PROJECT), {path for chosen in changes for path in _list_paths(plan, chosen.slot)})
    if clash:
        raise InputError(
            "--only",
            found=f"{clash}, where another file stands that does not match",
            expected="a free path",
            hint=WHOLE,
        )
    kept = tuple(overwritten for overwritten in plan.kept if is_meant(overwritten.slot))
    return plan._replace(changes=changes, state=after, kept=kept, layout=())


def list_others(record: Record, matches: PathMatcher) -> list[str]:
    """Return the files that an entry changed and that do not match; a moved one matches from and to where it went."""
    left_out = {path for pair in record.moved if any(map(matches, pair)) for path in pair}
    left_out |= {path for path, _ in record.unkept}  # nothing of these is taken back
    return sorted({path for path in (*paths_of(record), *record.paths) if path not in left_out and not matches(path)})


def _is_meant(plan: Plan, matches: PathMatcher, slot: Slot) -> bool:
    return slot[0] != PROJECT or any(map(matches, _list_paths(plan, slot)))


def _list_paths(plan: Plan, slot: Slot) -> Iterator[str]:
    """Yield where a tracked file was first seen, where it stands, and where it would stand."""
    if slot[0] != PROJECT:
        return
    whole = find_containing_slot(slot)
    yield name_slot(whole[1:])
    for state in (plan.before, plan.state):
        yield from _find_path(state, whole)


def _find_path(state: State, whole: Slot) -> Iterator[str]:
    file = get_slot(state, whole)
    if isinstance(file, File):
        yield find_current_path(whole[1:], file)


def _find_clash(files: PMap, changed: set[str]) -> str:
    """Return a path at which two files would stand, or a file and a folder; empty if there is none."""
    counts = Counter(file.path for file in list_files(files))
    for path in sorted(counts):
        above = tuple(list_folders_above(path))
        if path in changed and (counts[path] > 1 or any(folder in counts for folder in above)):
            return path
        if any(folder in changed and folder in counts for folder in above):
            return path
    return ""
