"""Warnings about a change: what of it the client ignores, and which permissions it loosens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from takeback.errors import KEYS_HINT
from takeback.harness import Adopted, Applied, Harness, Preview
from takeback.harness.adapter import Heeding
from takeback.state import State
from takeback.state.slots import describe_slot

if TYPE_CHECKING:
    from takeback.undo import Gone, Plan


def list_unheeded(outcome: Any, harness: Harness) -> list[str]:
    """Return why the client ignores some of a change that was or would be made, one sentence each."""
    adapter = harness.adapter
    if not isinstance(adapter, Heeding) or not isinstance(outcome, Applied | Adopted | Preview):
        return []
    changes = outcome.writes if isinstance(outcome, Applied) else outcome.changes
    known = outcome.entry.unheeded if isinstance(outcome, Adopted) else ()
    warnings = [*known, *(adapter.why_unknown(change.slot) for change in changes)]
    return list(dict.fromkeys(reason for reason in warnings if reason))


def weigh_states(harness: Harness, before: State, after: State) -> list[str]:
    """Return what one state of a harness allows or runs that another did not."""
    from takeback.adapters.clients.permissions import clients_of, find_loosened_permissions  # noqa: PLC0415 - start-up

    return find_loosened_permissions(before, after, clients_of(harness.adapter))


def weigh_plan(harness: Harness, plan: Plan) -> list[str]:
    """Return what taking entries back or bringing them back loosens."""
    return weigh_states(harness, plan.before, plan.state)


def weigh_preview(harness: Harness, preview: Preview) -> list[str]:
    """Return what a change loosens that is not yet made."""
    from takeback.undo.record import run_and_record  # noqa: PLC0415 - start-up

    return weigh_states(harness, preview.before, run_and_record(preview.candidate.mutation, preview.before).state)


def weigh_entry(harness: Harness, made: Applied | Adopted) -> list[str]:
    """Return what the newest entry has loosened."""
    return weigh_states(harness, made.before, harness.state)


def read_actual(harness: Harness) -> State:
    """Return how things are now, whatever the journal says; what cannot be read is as the journal has it."""
    return harness.adapter.read(harness.state).state


def weigh_drift(harness: Harness) -> tuple[list[str], list[str]]:
    """Return what adopting loosens that was done outside Takeback, and what discarding it would loosen."""
    known, actual = harness.state, read_actual(harness)
    if actual is known:
        return [], []
    return weigh_states(harness, known, actual), weigh_states(harness, actual, known)


def describe_gone(gone: Gone) -> list[str]:
    """Return a sentence for each content that cannot be had, and what to do about those that are only sealed."""
    sealed = dict(gone.sealed)
    lines = [
        f"what {describe_slot(slot)} should get is sealed: {sealed[slot]}"
        if slot in sealed
        else f"what {describe_slot(slot)} should get was forgotten"
        for slot in gone.slots
    ]
    return [*lines, KEYS_HINT] if sealed else lines
