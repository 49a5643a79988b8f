"""Undo and redo of entries: the plan, and carrying it out on things as they are.

An undo of some files only is a change of its own, which can be undone as well: the entries stay live, with what they
did to other files. A tracked file is taken back alone; what a client's own files mean is shared between them, and is
taken back with whole entries only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from takeback.errors import InputError, UnknownSurfaceError
from takeback.harness.apply import can_grow, list_open_calls, refuse_open, refuse_unreachable, refuse_unreadable
from takeback.harness.drift import (
    Footing,
    build_effect_payload,
    find_footing,
    read_and_absorb_client_writes,
    refuse_drift,
)
from takeback.harness.engine import Engine
from takeback.harness.entry_names import (
    EntryRef,
    ToggleRequest,
    build_restore_request,
    build_undo_request,
    name_entries,
)
from takeback.harness.file_changes import annotate_plan, index_by_files, plan_file_changes
from takeback.harness.images import paths_of
from takeback.harness.ledger import Ledger
from takeback.harness.outcomes import (
    Adopted,
    PlanOutcome,
    Refused,
    Stale,
    Unchanged,
    Undone,
    UndoOutcome,
    refuse_kept_writes,
    refuse_not_installed,
)
from takeback.harness.records import draft_change, draft_toggle, read_slots
from takeback.journal import Draft, Record
from takeback.lazy_names import load_later
from takeback.state import PMap, State
from takeback.state.file import File
from takeback.state.file_paths import find_current_path, list_files, list_folders_above, name_slot
from takeback.state.slots import Slot, find_containing_slot, get_slot, put_slots
from takeback.state.surfaces.files import PROJECT
from takeback.undo import Blocked, Plan, SlotChange, Write, plan_toggle

if TYPE_CHECKING:
    from takeback.harness import cross_check, external
else:
    cross_check, external = load_later(globals(), "takeback.harness", "cross_check external")

ToggleAsk = Callable[[Ledger], ToggleRequest]


def plan_request(
    engine: Engine, off: Collection[int], on: Collection[int], *, cascade: bool, strict: bool
) -> PlanOutcome:
    """Return what taking some entries back and bringing others back would do to the journal's state."""
    ledger = engine.ledger
    try:
        plan: PlanOutcome = plan_toggle(ledger.history, ledger.state, off, on)
    except UnknownSurfaceError as fault:
        return refuse_not_installed(fault)
    if isinstance(plan, Blocked) and isinstance(plan.together, Plan):
        plan = replace(plan, together=annotate_plan(engine, plan.together))
    if cascade and isinstance(plan, Blocked) and plan.together is not None:
        plan = plan.together
    elif isinstance(plan, Plan):
        plan = annotate_plan(engine, plan)
    if not isinstance(plan, Plan):
        return plan
    grown = [change.slot for change in plan.changes if can_grow(change)]
    beyond = refuse_unreadable(engine, plan.before, plan.state, grown, back=True) if grown else None
    if beyond is not None:
        return beyond
    return refuse_kept_writes(plan) if strict else plan


def look_outside(engine: Engine, off: Collection[int], on: Collection[int]) -> Refused | None:
    """Look at the records of other systems that some entries wrote; return why they cannot be reached, if so."""
    if engine.external is None:
        return None
    return refuse_unreachable(engine, external.list_touched_slots(engine, (*off, *on)))


def choose_entries(
    engine: Engine,
    kind: str,
    off: Collection[int],
    on: Collection[int],
    *,
    over: bool,
) -> Collection[int]:
    """Return which entries to take back: a restore leaves what others wrote elsewhere, `over` takes that back too."""
    if engine.external is None:
        return off
    if over:
        return sorted({*off, *external.find_overwriting(engine, off, on)})
    if kind == "restore":
        return [number for number in off if not external.is_outside(engine.ledger.store.get(number))]
    return off


def plan_asked(
    engine: Engine, asked: ToggleRequest, cascade: bool, strict: bool, over: bool
) -> PlanOutcome | Refused:
    """Return what a request would do, with the records of other systems that it touches looked at."""
    off, on, _ = asked
    outside = look_outside(engine, off, on)
    if outside is not None:
        return outside
    off = choose_entries(engine, "", off, on, over=over)
    return plan_request(engine, off, on, cascade=cascade, strict=strict)


def find_plan_footing(engine: Engine, plan: Plan) -> Footing:
    """Return what a plan means for things as they are; the lock is held."""
    return find_footing(
        engine, read_and_absorb_client_writes(engine), plan.state, plan.changes, (*plan.off, *plan.on)
    )


def toggle_entries(
    engine: Engine,
    kind: str,
    ask: ToggleAsk,
    token: str | None,
    said: Mapping[str, Any],
    *,
    cascade: bool,
    strict: bool,
    over: bool = False,
) -> UndoOutcome:
    """Take entries back or bring them back, on things as they are; the lock is held."""
    look = read_and_absorb_client_writes(engine)
    off, on, entries = ask(engine.ledger)
    outside = look_outside(engine, off, on)
    if outside is not None:
        return outside
    off = choose_entries(engine, kind, off, on, over=over)
    plan = plan_request(engine, off, on, cascade=cascade, strict=strict)
    if not isinstance(plan, Plan):
        return plan
    if token is not None and token != plan.token:
        return Stale(token, plan)
    footing = find_footing(engine, look, plan.state, plan.changes, (*plan.off, *plan.on))
    refused = refuse_drift(footing)
    refused = refuse_open(engine, plan.changes, (*plan.off, *plan.on)) if refused is None else refused
    if refused is not None:
        return refused
    if engine.durable:
        cross_check.cross_check_recovery(engine.ledger, engine.ledger.state, plan)
    changes = plan_file_changes(engine, footing.before, footing.after, plan.off, plan.on)
    if isinstance(changes, Refused):
        return changes
    writes = [Write(change.slot, change.before, change.after) for change in plan.changes]
    about = {"asked": list(name_entries(entries)), **said, **build_effect_payload(engine, writes)}
    made = engine.make(_draft_plan(engine, kind, plan, about), writes, footing[:2], changes)
    return Undone(made, plan, list_open_calls(engine, made))


def _draft_plan(engine: Engine, kind: str, plan: Plan, about: Mapping[str, Any]) -> Draft:
    """Build the record of a plan that is carried out; only whoever makes it holds it."""
    draft = draft_toggle(kind, plan.off, plan.on, plan.changes, about, packer=engine.ledger.packer)
    return index_by_files(engine, draft, (*plan.off, *plan.on))


def restore(
    engine: Engine, name: str, token: str | None, said: Mapping[str, Any], *, strict: bool
) -> UndoOutcome | Unchanged:
    """Go to how things were after an entry or at a time; where that is how they are, nothing is recorded."""
    look = read_and_absorb_client_writes(engine)
    ask = partial(build_restore_request, name=name)
    off, on, _ = ask(engine.ledger)
    if off or on:
        return toggle_entries(engine, "restore", ask, token, said, cascade=False, strict=strict)
    plan = plan_request(engine, off, on, cascade=False, strict=strict)
    if isinstance(plan, Plan):
        return Unchanged(look.drift) if token in {None, plan.token} else Stale(token or "", plan)
    return plan


def restore_remaining(engine: Engine, left_over: Sequence[SlotChange], said: Mapping[str, Any]) -> Adopted | Refused:
    """Put back a part of what an undo would put back, as a change of its own; the lock is held."""
    left = tuple(Write(change.slot, change.before, change.after) for change in left_over)
    state = engine.ledger.state
    writes = engine.ledger.history.with_parents(left)
    after = put_slots(state, [(write.slot, write.after) for write in writes])
    footing = find_footing(engine, read_and_absorb_client_writes(engine), after, writes)
    refused = refuse_unreadable(engine, state, after, (write.slot for write in writes), back=True)
    if refused is None:
        refused = refuse_drift(footing)
        refused = refuse_open(engine, writes) if refused is None else refused
    changes = plan_file_changes(engine, footing.before, footing.after) if refused is None else refused
    if isinstance(changes, Refused):
        return changes
    draft = draft_change("salvage", writes, said, packer=engine.ledger.packer)
    entry = engine.make(draft, writes, footing[:2], changes)
    return Adopted(entry, tuple(left_over), writes=tuple(writes), before=state)


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
