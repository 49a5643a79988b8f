"""What a plan, a preview or an entry loosens, in sentences: every way to see a change beforehand says it by these."""

from __future__ import annotations

from takeback.adapters.clients.guarding import clients_of, loosened
from takeback.harness import Adopted, Applied, Harness, Preview
from takeback.state import State
from takeback.undo import Plan
from takeback.undo.recording import run_recorded


def weigh_states(harness: Harness, before: State, after: State) -> list[str]:
    """Return what one state of a harness allows or runs that another did not."""
    return loosened(before, after, clients_of(harness.adapter))


def weigh_plan(harness: Harness, plan: Plan) -> list[str]:
    """Return what taking entries back or bringing them back loosens."""
    return weigh_states(harness, plan.before, plan.state)


def weigh_preview(harness: Harness, preview: Preview) -> list[str]:
    """Return what a change loosens that is not yet made."""
    return weigh_states(harness, preview.before, run_recorded(preview.candidate.mutation, preview.before).state)


def weigh_entry(harness: Harness, made: Applied | Adopted) -> list[str]:
    """Return what the newest entry has loosened."""
    return weigh_states(harness, made.before, harness.state)


def read_actual(harness: Harness) -> State:
    """Return how things are now, whatever the journal says; what cannot be read is as the journal has it."""
    return harness.adapter.read(harness.state).state


def weigh_drift(harness: Harness) -> tuple[list[str], list[str]]:
    """Return what adopting loosens that was done behind Takeback's back, and what discarding it would loosen."""
    known, actual = harness.state, read_actual(harness)
    if actual is known:
        return [], []
    return weigh_states(harness, known, actual), weigh_states(harness, actual, known)
