"""Running programs on one state: capture, forward, recover.

A forward program is atomic: if one operation fails, the state is as before and the receipt says so. Recovery
takes the state and the witness. Each operation is handed its own surface's value and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from takeback.errors import FaultKind, OperationFailed, RecoveryFailed
from takeback.state import Address, Captured, Operation, Stage, State, diff
from takeback.state.pmap import fast_tuple

if TYPE_CHECKING:
    from takeback.language import Program

Witness = dict[str, Captured]
SurfaceValues = dict[str, Any]
"""Values by surface, as a state holds them."""
_RECOVERY = Stage.RECOVERY


class TracedWrite(NamedTuple):
    """One write of a forward run: which operation, where, and what it resolved to.

    `resolved` is the place of a chain's element, the name of a socket's handle, or None.
    """

    position: int
    address: Address
    resolved: Any


class Receipt(NamedTuple):
    """What a forward run did: its writes in order, and why it failed if it did.

    A failed run has no effect on the state, but its writes up to the failure are still on record.
    """

    writes: tuple[TracedWrite, ...]
    failed_at: int | None = None
    reason: str = ""

    @property
    def succeeded(self) -> bool:
        """Tell whether every operation ran."""
        return self.failed_at is None


def capture(program: Program, state: State) -> Witness:
    """Run a witness program on the state before the change."""
    parts = state.complete().parts
    return {op.witness_key: op.kind.run(parts[op.kind.surface], op) for op in program}  # type: ignore[misc]


def run_forward(program: Program, state: State) -> tuple[State, Receipt]:
    """Run a mutation; on failure return the state as it was."""
    parts = state.complete().parts.copy()
    writes = []
    at = 0
    try:
        for at, op in enumerate(program):
            kind = op.kind
            surface = kind.surface
            parts[surface], resolved = kind.run(parts[surface], op)
            writes.append(fast_tuple(TracedWrite, (at, op.address, resolved)))
            if op.also:
                writes += [TracedWrite(at, address, resolved) for address in op.also]
    except OperationFailed as fault:
        return state, Receipt(tuple(writes), at, f"mutation[{at}] {program[at].kind.name}: {fault.message}")
    return State.of(parts), fast_tuple(Receipt, (tuple(writes), None, ""))


def advance(program: Program, parts: SurfaceValues) -> None:
    """Run a mutation on the parts of a state, in place; raises `OperationFailed` in the middle of it."""
    for op in program:
        kind = op.kind
        surface = kind.surface
        parts[surface] = kind.run(parts[surface], op)[0]


def recover(program: Program, state: State, witness: Witness) -> State:
    """Run a recovery program; raise `RecoveryFailed` naming the operation that could not run."""
    parts = state.complete().parts.copy()
    retreat(program, parts, witness)
    return State.of(parts)


def retreat(program: Program, parts: SurfaceValues, witness: Witness) -> None:
    """Run a recovery program on the parts of a state, in place."""
    for at, op in enumerate(program):
        kind = op.kind
        surface = kind.surface
        captured = None
        if op.witness_key is not None:
            captured = witness.get(op.witness_key)
            if captured is None:
                why = f"no capture wrote {op.witness_key!r}"
                raise _make_failure(at, op, why, FaultKind.NO_CAPTURE)
            if captured.kind != surface:
                why = f"{op.witness_key!r} holds a capture of {captured.kind}"
                raise _make_failure(at, op, why, FaultKind.OTHER_SURFACE)
        try:
            part = parts[surface]
            parts[surface] = kind.run(part, op, captured) if kind.stage is _RECOVERY else kind.run(part, op)[0]
        except OperationFailed as fault:
            raise _make_failure(at, op, fault.message, FaultKind.CANNOT_RUN) from None


def _make_failure(at: int, op: Operation, why: str, kind: FaultKind) -> RecoveryFailed:
    return RecoveryFailed(f"recovery[{at}] {op.kind.name}: {why}", kind=kind, position=at)


def find_effects(before: State, after: State, receipt: Receipt) -> set[Address]:
    """Return E(m, s): what a diff shows and what the trace recorded."""
    effects = {write.address for write in receipt.writes}
    effects.update(change.address for change in diff(before, after))
    return effects
