"""Taking entries back and bringing them back: the plan, and carrying it out on things as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from takeback.errors import UnknownSurfaceError
from takeback.harness.adopting import looked, taking_effect
from takeback.harness.codec import change_draft, toggle_draft
from takeback.harness.drift import Footing, find_footing, refuse_drift
from takeback.harness.engine import Engine
from takeback.harness.filing import annotated, found_by_files, ready
from takeback.harness.ledger import Ledger
from takeback.harness.limits import can_grow, refuse_unreadable
from takeback.harness.missing import not_installed
from takeback.harness.naming import names_of
from takeback.harness.results import (
    Adopted,
    PlanOutcome,
    Refused,
    Stale,
    Unchanged,
    Undone,
    UndoOutcome,
    nothing_kept,
)
from takeback.harness.toggle_requests import ToggleRequest, restore_request
from takeback.harness.two_roads import compare_roads
from takeback.state.slots import put_slots
from takeback.undo import Blocked, Gone, Plan, Write, plan_toggle

ToggleAsk = Callable[[Ledger], ToggleRequest]


def plan_request(
    engine: Engine, off: Collection[int], on: Collection[int], *, cascade: bool, strict: bool
) -> PlanOutcome:
    """Return what taking some entries back and bringing others back would do to the journal's state."""
    ledger = engine.ledger
    try:
        plan: PlanOutcome = plan_toggle(ledger.history, ledger.state, off, on)
    except UnknownSurfaceError as fault:
        return not_installed(fault)
    if isinstance(plan, Blocked) and isinstance(plan.together, Plan):
        plan = replace(plan, together=annotated(engine, plan.together))
    if cascade and isinstance(plan, Blocked) and plan.together is not None:
        plan = plan.together
    elif isinstance(plan, Plan):
        plan = annotated(engine, plan)
    if not isinstance(plan, Plan):
        return plan
    grown = [change.slot for change in plan.changes if can_grow(change)]
    beyond = refuse_unreadable(engine, plan.before, plan.state, grown, back=True) if grown else None
    return beyond or (nothing_kept(plan) if strict else plan)


def footing_of(engine: Engine, plan: Plan) -> Footing:
    """Return what a plan means for things as they are; the lock is held."""
    return find_footing(engine, looked(engine), plan.state, plan.changes, (*plan.off, *plan.on))


def toggle(
    engine: Engine,
    kind: str,
    ask: ToggleAsk,
    token: str | None,
    said: Mapping[str, Any],
    *,
    cascade: bool,
    strict: bool,
) -> UndoOutcome:
    """Take entries back or bring them back, on things as they are; the lock is held."""
    look = looked(engine)
    off, on, entries = ask(engine.ledger)
    plan = plan_request(engine, off, on, cascade=cascade, strict=strict)
    if not isinstance(plan, Plan):
        return plan
    if token is not None and token != plan.token:
        return Stale(token, plan)
    footing = find_footing(engine, look, plan.state, plan.changes, (*plan.off, *plan.on))
    refused = refuse_drift(footing)
    if refused is not None:
        return refused
    if engine.durable:
        compare_roads(engine.ledger, engine.ledger.state, plan)
    changes = ready(engine, footing.before, footing.after, plan.off, plan.on)
    if isinstance(changes, Refused):
        return changes
    writes = [Write(change.slot, change.before, change.after) for change in plan.changes]
    about = {"asked": list(names_of(entries)), **said, **taking_effect(engine, writes)}
    draft = toggle_draft(kind, plan.off, plan.on, plan.changes, about, packer=engine.ledger.packer)
    draft = found_by_files(engine, draft, (*plan.off, *plan.on))
    return Undone(engine.make(draft, writes, footing[:2], changes), plan)


def restore(
    engine: Engine, name: str, token: str | None, said: Mapping[str, Any], *, strict: bool
) -> UndoOutcome | Unchanged:
    """Go to how things were after an entry or at a time; where that is how they are, nothing is recorded."""
    look = looked(engine)
    ask = partial(restore_request, name=name)
    off, on, _ = ask(engine.ledger)
    if off or on:
        return toggle(engine, "restore", ask, token, said, cascade=False, strict=strict)
    plan = plan_request(engine, off, on, cascade=False, strict=strict)
    if isinstance(plan, Plan):
        return Unchanged(look.drift) if token in {None, plan.token} else Stale(token or "", plan)
    return plan


def put_back_rest(engine: Engine, gone: Gone, said: Mapping[str, Any]) -> Adopted | Refused:
    """Put back what is left of an undo whose witness is gone, as a change of its own; the lock is held."""
    left = tuple(Write(change.slot, change.before, change.after) for change in gone.left)
    state = engine.ledger.state
    writes = engine.ledger.history.grounded(left)
    after = put_slots(state, [(write.slot, write.after) for write in writes])
    footing = find_footing(engine, looked(engine), after, writes)
    beyond = refuse_unreadable(engine, state, after, (write.slot for write in writes), back=True)
    changes = beyond or refuse_drift(footing) or ready(engine, footing.before, footing.after)
    if isinstance(changes, Refused):
        return changes
    draft = change_draft("salvage", writes, said, packer=engine.ledger.packer)
    entry = engine.make(draft, writes, footing[:2], changes)
    return Adopted(entry, gone.left, writes=tuple(writes), before=state)
