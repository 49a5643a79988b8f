"""This project's ways: undo through a harness, and running a recovery program, the oracle's or a model's.

Undo by slots needs each slot the change wrote with what it held before, in the format of the other snapshots; where
it stood is part of an element. A journal entry holds more (candidate, evidence, what was written, hashes), which
`disk_bytes` measures. A recovery program keeps the captured witness and the program, as the paper counts it.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, Final

from takeback.adapters import open_memory
from takeback.canonical import decode
from takeback.errors import OperationFailed
from takeback.harness import Applied, Undone
from takeback.language import Candidate, read_candidate
from takeback.repair import invert_mutation
from takeback.repair.models import ReplayModel
from takeback.repair.synthesizer import Spec, make_method
from takeback.runtime import capture, recover
from takeback.state import ABSENT, SURFACES, State, tree
from takeback.state.pmap import EMPTY
from takeback.state.slots import Slot, get_slot, put_slots
from takeback.undo import FORGOTTEN_VALUE, History, Plan, Write, plan_undo
from takeback.undo.record import Recorded, run_and_record
from takeback_lab.experiment import Asked
from takeback_lab.experiments.recorded import read_run, shipped_recording
from takeback_lab.registry import experiment_named
from takeback_lab.snapshots.method import PlainMethod, UndoAttempt, packed, timed
from takeback_lab.snapshots.situations import AnyJson, Situation

FIRST, SECOND = 1, 2
SUITE: Final = "Q10"


class HarnessUndo(PlainMethod):
    """Undo as users have it, through a harness in memory; planning, the new state and the journal are timed.

    What is counted as kept is what the engine needs: given that and nothing else, it must end in the same state.
    """

    def attempt(self, trial: Situation) -> UndoAttempt:
        """Run one trial."""
        kept = packed(keep(run_and_record(trial.change, trial.before), trial.before))
        with closing(open_memory(trial.before)) as harness:
            first = harness.apply(invert_mutation(trial.change, trial.before))
            second = harness.apply(invert_mutation(trial.later, trial.between))
            if not isinstance(first, Applied) or not isinstance(second, Applied):
                return UndoAttempt(None, len(kept), 0.0)
            outcome, seconds = timed(lambda: harness.undo(first.entry.id))
            recovered = harness.state.write() if isinstance(outcome, Undone) else None
        enough = recovered is not None and _from_kept(trial, kept) == recovered
        return UndoAttempt(recovered if enough else None, len(kept), seconds)


def _from_kept(trial: Situation, kept: bytes) -> AnyJson | None:
    """The state the engine ends in when it is given what was kept and nothing else of the change."""
    slots, base = rebuild(decode(kept))
    history = History(lambda: base)
    history.add(FIRST, tuple(Write(slot, FORGOTTEN_VALUE, FORGOTTEN_VALUE) for slot in slots))
    history.add(SECOND, run_and_record(trial.later, trial.between).writes)
    outcome = plan_undo(history, trial.after, {FIRST})
    return outcome.state.write() if isinstance(outcome, Plan) else None


def keep(recorded: Recorded, before: State) -> list[AnyJson]:
    """What undo needs of a change: its slots, nothing below another, each with what it held before."""
    written = dict.fromkeys(write.slot for write in recorded.writes)
    rows: list[AnyJson] = []
    for slot in written:
        surface = SURFACES[slot[0]]
        if surface.nested and any(slot[:depth] in written for depth in range(2, len(slot))):
            continue
        content = get_slot(before, slot)
        if content is not ABSENT:
            rows.append([list(slot), [surface.slot_to_json(content)]])
        elif surface.nested and (missing := tree.count_missing(before.part(slot[0]), slot[1:])):
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
    writes = run_and_record(trial.change, trial.before).writes
    return len(packed([[list(w.slot), _shown(w.slot, w.before), _shown(w.slot, w.after)] for w in writes]))


def _shown(slot: Slot, content: Any) -> list[Any]:
    return [] if content is ABSENT else [SURFACES[slot[0]].slot_to_json(content)]


class RecoveryProgram(PlainMethod):
    """The oracle's recovery program, run on the state as it is then."""

    def attempt(self, trial: Situation) -> UndoAttempt:
        """Run one trial."""
        return _recovered(invert_mutation(trial.change, trial.before), trial)


class ModelRecovery(PlainMethod):
    """A recovery program that a model wrote for the task, as the recorded fresh holdout has it under Q10.

    Takes the tasks that the model was asked about, on which it may have written nothing that passed.
    """

    def __init__(self) -> None:
        self._written = model_recoveries()

    def takes(self, trial: Situation) -> bool:
        """Tasks of the recording, under the protocols that leave the mutation as it was asked."""
        return trial.protocol != "front" and trial.id in self._written

    def attempt(self, trial: Situation) -> UndoAttempt:
        """Run one trial."""
        candidate = self._written[trial.id]
        return UndoAttempt(None, 0, 0.0) if candidate is None else _recovered(candidate, trial)


def model_recoveries() -> dict[str, Candidate | None]:
    """The model's admitted recovery for each task of the recorded fresh holdout; None where none passed."""
    experiment = experiment_named("fresh")
    folder = shipped_recording("fresh")
    plan = experiment.plan({}, read_run(folder, "fresh"))
    model = ReplayModel(folder)
    asked = Asked(model, make_method(Spec("replay"), model), model.name)
    found: dict[str, Candidate | None] = {}
    for unit in plan.units().values():
        if unit["suite"] == SUITE:
            done = experiment.run(unit, asked)
            found[unit["task"]] = read_candidate(done["candidate"]) if done["dev"] else None
    return found


def _recovered(candidate: Candidate, trial: Situation) -> UndoAttempt:
    witness = capture(candidate.witness, trial.before)
    kept = packed(
        {
            "witness": _witness(candidate.witness, trial.before),
            "recovery": [op.to_json() for op in candidate.recovery],
        }
    )

    def undo() -> State | None:
        try:
            return recover(candidate.recovery, trial.after, witness)
        except OperationFailed:
            return None

    state, seconds = timed(undo)
    return UndoAttempt(None if state is None else state.write(), len(kept), seconds)


def _witness(program: Any, before: State) -> dict[str, AnyJson]:
    """The witness store: each key with what it holds, places included, and whether it existed."""
    found: dict[str, AnyJson] = {}
    for op in program:
        slot = (op.kind.surface, *(op.path if isinstance(op.path, tuple) else (op.path,)))
        slot = (*slot, op.value) if op.kind.surface == "listeners" and op.value is not ABSENT else slot
        content = get_slot(before, slot)
        found[op.witness_key] = None if content is ABSENT else SURFACES[slot[0]].slot_to_json(content)
        found[f"{op.witness_key}_existed"] = content is not ABSENT
    return found


def disk_bytes(trials: list[Situation], folder: Path) -> float:
    """What one entry takes in a SQLite journal, all of it, on average over the changes of these trials."""
    path = folder / "journal.db"
    sizes = []
    made = 0
    for changes in ([], trials):
        with closing(open_memory(State(), journal=str(path))) as harness:
            made = sum(isinstance(harness.apply(invert_mutation(one.change, one.before)), Applied) for one in changes)
        sizes.append(sum(file.stat().st_size for file in folder.glob(f"{path.name}*")))
    return (sizes[1] - sizes[0]) / made
