"""Undo and redo of entries: the plan, and carrying it out on things as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from takeback.errors import UnknownSurfaceError
from takeback.harness.apply import can_grow, list_open_calls, refuse_open, refuse_unreachable, refuse_unreadable
from takeback.harness.drift import (
    Footing,
    build_effect_payload,
    find_footing,
    read_and_absorb_client_writes,
    refuse_drift,
)
from takeback.harness.engine import Engine
from takeback.harness.entry_names import ToggleRequest, build_restore_request, name_entries
from takeback.harness.file_changes import annotate_plan, index_by_files, plan_file_changes
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
from takeback.harness.records import draft_change, draft_toggle
from takeback.journal import Draft
from takeback.state.slots import put_slots
from takeback.undo import Blocked, Plan, SlotChange, Write, plan_toggle

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
    from takeback.harness.external import list_touched_slots  # noqa: PLC0415 - start-up

    return refuse_unreachable(engine, list_touched_slots(engine, (*off, *on)))


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
    from takeback.harness.external import find_overwriting, is_outside  # noqa: PLC0415 - start-up

    if over:
        return sorted({*off, *find_overwriting(engine, off, on)})
    if kind == "restore":
        return [number for number in off if not is_outside(engine.ledger.store.get(number))]
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
    from takeback.harness.cross_check import cross_check_recovery  # noqa: PLC0415 - start-up

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
        cross_check_recovery(engine.ledger, engine.ledger.state, plan)
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
