"""Short ways to run plain JSON through the real core."""

from __future__ import annotations

from typing import Any

from takeback.language import read_candidate, read_program
from takeback.runtime import Receipt, Witness, capture, recover, run_forward
from takeback.state import SURFACES, Stage, State
from takeback.verify import Trip, round_trip

Plain = dict[str, Any]


def op(op_type: str, target: str, **fields: Any) -> Plain:
    """One operation."""
    return {"op_type": op_type, "target": target, **fields}


def change(state: Plain, *mutation: Plain) -> Plain:
    """The state after a mutation that goes through."""
    after, receipt = attempt(state, *mutation)
    assert receipt.succeeded, receipt.reason
    return after.write()


def attempt(state: Plain, *mutation: Plain) -> tuple[State, Receipt]:
    """The state after a mutation, and its receipt."""
    return run_forward(read_program(list(mutation), Stage.FORWARD, "mutation"), State.read(state))


def witness(state: Plain, *captures: Plain) -> Witness:
    """What captures take down on a state."""
    return capture(read_program(list(captures), Stage.CAPTURE, "witness"), State.read(state))


def undo(state: Plain, held: Witness, *recovery: Plain) -> Plain:
    """The state after a recovery program."""
    program = read_program(list(recovery), Stage.RECOVERY, "recovery")
    return recover(program, State.read(state), held).write()


def trip(state: Plain, **candidate: Any) -> Trip:
    """One round trip of a candidate given as `mutation=`, `witness=`, `recovery=`, `contract=`."""
    return round_trip(read_candidate(candidate), State.read(state))


def witness_to_json(witness: Witness) -> dict[str, Any]:
    """Return a witness as JSON: the value under its key, existence under `<key>_existed`."""
    plain: dict[str, Any] = {}
    for key, captured in witness.items():
        surface = SURFACES[captured.kind]
        plain[key] = surface.describe(captured.content) if captured.existed else None
        plain[f"{key}_existed"] = captured.existed
    return plain
