"""Runs a mutation and takes down what it wrote, slot by slot.

What an operation resolved when it ran (a place in a chain, the mode of a file it kept) is part of the content
taken down, so later plans need not run it again.
"""

from __future__ import annotations

from dataclasses import dataclass

from takeback.language import Program
from takeback.runtime import forward
from takeback.runtime.interpreter import Receipt
from takeback.runtime.interpreter import TracedWrite as Traced
from takeback.state import SURFACES, State
from takeback.state.parts import is_part
from takeback.state.slots import differing_slots, get_slot, slots_written
from takeback.undo.index import Write


@dataclass(frozen=True, slots=True)
class Recorded:
    """A mutation that was run: the state after it, its receipt, and its writes (none if it failed)."""

    state: State
    receipt: Receipt
    writes: tuple[Write, ...]


def run_recorded(mutation: Program, state: State) -> Recorded:
    """Run a mutation on a state; on failure the state is as before."""
    writes: list[Write] = []
    traced: list[Traced] = []
    now = state
    for at, op in enumerate(mutation):
        then, (now, receipt) = now, forward((op,), now)
        if not receipt.succeeded:
            return Recorded(state, forward(mutation, state)[1], ())
        traced += [write._replace(position=at) for write in receipt.writes]
        surface = op.kind.surface
        strict = SURFACES[surface].strict
        for path in slots_written(op, then.part(surface), now.part(surface)):
            slot = (surface, *path)
            content = get_slot(now, slot)
            writes.append(Write(slot, get_slot(then, slot), content, strict and not is_part(slot[-1])))
    return Recorded(now, Receipt(tuple(traced)), tuple(writes))


def writes_between(before: State, after: State) -> tuple[Write, ...]:
    """What turns one state into another, as writes: for changes made by someone else."""
    return tuple(
        Write(slot, get_slot(before, slot), get_slot(after, slot)) for slot in sorted(differing_slots(before, after))
    )
