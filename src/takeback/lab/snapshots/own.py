"""This project's two ways: undo by slots, and running a recovery program.

Undo by slots keeps each slot the change wrote with what it held before, in the format of the other snapshots;
where it stood is part of an element. The engine is given that and nothing else of the change: no state from
before and not what the change wrote. The later change is an entry of its own. A recovery program keeps the
captured witness and the program, as the paper counts it.
"""

from __future__ import annotations

import json
from typing import Any

from takeback.errors import OperationFailed
from takeback.lab.snapshots.method import Attempt, Plain, packed, timed
from takeback.lab.snapshots.situations import Json, Situation
from takeback.runtime import capture, forward, recover
from takeback.state import ABSENT, SURFACES, State, tree
from takeback.state.pmap import EMPTY
from takeback.state.slots import Slot, get_slot, put_slots
from takeback.synthesize import invert
from takeback.undo import GONE, History, Plan, Write, plan_undo
from takeback.undo.recording import Recorded, run_recorded

FIRST, SECOND = 1, 2


class SlotUndo(Plain):
    """The undo engine, fed with what is counted."""

    def attempt(self, trial: Situation) -> Attempt:
        """Run one trial."""
        kept = packed(keep(run_recorded(trial.change, trial.before), trial.before))
        slots, base = rebuild(json.loads(kept))
        history = History(lambda: base)
        history.add(FIRST, tuple(Write(slot, GONE, GONE) for slot in slots))
        history.add(SECOND, run_recorded(trial.later, trial.between).writes)
        outcome, seconds = timed(lambda: plan_undo(history, trial.after, {FIRST}))
        recovered = outcome.state.write() if isinstance(outcome, Plan) else None
        return Attempt(recovered, len(kept), seconds)


def keep(recorded: Recorded, before: State) -> list[Json]:
    """What undo needs of a change: its slots, nothing below another, each with what it held before."""
    written = dict.fromkeys(write.slot for write in recorded.writes)
    rows: list[Json] = []
    for slot in written:
        surface = SURFACES[slot[0]]
        if surface.nested and any(slot[:depth] in written for depth in range(2, len(slot))):
            continue
        content = get_slot(before, slot)
        if content is not ABSENT:
            rows.append([list(slot), [surface.slot_to_json(content)]])
        elif surface.nested and (missing := tree.missing(before.part(slot[0]), slot[1:])):
            rows.append([list(slot), missing])
        else:
            rows.append([list(slot)])
    return rows


def rebuild(rows: list[Any]) -> tuple[list[Slot], State]:
    """The slots, and a state that holds nothing but what was kept of them."""
    slots: list[Slot] = []
    base = State()
    for path, *kept in rows:
        slot = tuple(path)
        slots.append(slot)
        surface = SURFACES[slot[0]]
        if kept and isinstance(kept[0], list):
            base = put_slots(base, [(slot, surface.slot_from_json(kept[0][0], slot[1:]))])
        elif surface.nested:
            above = slot[: len(slot) - 1 - (kept[0] if kept else 0)]
            if len(above) > 1 and get_slot(base, above) is ABSENT:
                base = put_slots(base, [(above, EMPTY)])
    return slots, base


def recorded_bytes(trial: Situation) -> int:
    """What the journal writes down of the change's slots: before, and after as well, for redo and for others."""
    writes = run_recorded(trial.change, trial.before).writes
    return len(packed([[list(w.slot), _shown(w.slot, w.before), _shown(w.slot, w.after)] for w in writes]))


def _shown(slot: Slot, content: Any) -> list[Any]:
    return [] if content is ABSENT else [SURFACES[slot[0]].slot_to_json(content)]


class RecoveryProgram(Plain):
    """The oracle's recovery program, run on the state as it is then."""

    def attempt(self, trial: Situation) -> Attempt:
        """Run one trial."""
        candidate = invert(trial.change, trial.before)
        witness = capture(candidate.witness, trial.before)
        _, receipt = forward(trial.change, trial.before)
        kept = packed(
            {
                "witness": _witness(candidate.witness, trial.before),
                "recovery": [op.to_json() for op in candidate.recovery],
            }
        )

        def undo() -> State | None:
            try:
                return recover(candidate.recovery, trial.after, witness, receipt)
            except OperationFailed:
                return None

        state, seconds = timed(undo)
        return Attempt(None if state is None else state.write(), len(kept), seconds)


def _witness(program: Any, before: State) -> dict[str, Json]:
    """The witness store: each key with what it holds, places included, and whether it existed."""
    found: dict[str, Json] = {}
    for op in program:
        slot = (op.kind.surface, *(op.path if isinstance(op.path, tuple) else (op.path,)))
        slot = (*slot, op.value) if op.kind.surface == "listeners" and op.value is not ABSENT else slot
        content = get_slot(before, slot)
        found[op.witness_key] = None if content is ABSENT else SURFACES[slot[0]].slot_to_json(content)
        found[f"{op.witness_key}_existed"] = content is not ABSENT
    return found
