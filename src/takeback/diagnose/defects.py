"""Which kind of mistake a recovery makes, from the candidate's own text and what may be told of its verdict.

The classes are those of the controlled benchmark and a few that real candidates show besides. One defect for
each address at most, in the order a reader should mend them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from takeback.diagnose.visible import Visible
from takeback.errors import FaultKind
from takeback.language import Candidate
from takeback.state import SURFACES, Address, Operation, Stage
from takeback.verify import Residual


class DefectKind(StrEnum):
    """What is wrong, as a label."""

    MISSING_CAPTURE = "MISSING_CAPTURE"
    DUMMY_CAPTURE = "DUMMY_CAPTURE"
    MISSING_RECOVERY = "MISSING_RECOVERY"
    WRONG_RECOVERY_OPERATION = "WRONG_RECOVERY_OPERATION"
    RESOURCE_LEAK = "RESOURCE_LEAK"
    OMITTED_EFFECT = "OMITTED_EFFECT"
    WRONG_ORDER = "WRONG_ORDER"
    COLLATERAL_CHANGE = "COLLATERAL_CHANGE"
    RECOVERY_FAULT = "RECOVERY_FAULT"


MEANING = {
    DefectKind.MISSING_CAPTURE: "nothing captures it before the change",
    DefectKind.DUMMY_CAPTURE: "its capture looks at something else",
    DefectKind.MISSING_RECOVERY: "no recovery operation touches it",
    DefectKind.WRONG_RECOVERY_OPERATION: "its recovery operation does not put back what was captured",
    DefectKind.RESOURCE_LEAK: "the resource stays allocated",
    DefectKind.OMITTED_EFFECT: "the contract leaves it out",
    DefectKind.WRONG_ORDER: "captured and restored, but in an order that does not end where it began",
    DefectKind.COLLATERAL_CHANGE: "the mutation does not touch it, the recovery does",
    DefectKind.RECOVERY_FAULT: "a recovery operation cannot run",
}


_OF_FAULT: Mapping[FaultKind | None, DefectKind] = {
    FaultKind.NO_CAPTURE: DefectKind.MISSING_CAPTURE,
    FaultKind.OTHER_SURFACE: DefectKind.DUMMY_CAPTURE,
}


@dataclass(frozen=True, slots=True)
class Defect:
    """One mistake: its kind, the address (or the message of a fault), and the surface it is on."""

    kind: DefectKind
    place: str
    surface: str


def defects(candidate: Candidate, seen: Visible) -> tuple[Defect, ...]:
    """What is wrong with a candidate that ran and failed."""
    found = [_of_residual(candidate, residual) for residual in seen.residuals]
    found += [
        Defect(_OF_FAULT.get(kind, DefectKind.RECOVERY_FAULT), message, "") for message, kind in seen.faults.items()
    ]
    found += [Defect(DefectKind.OMITTED_EFFECT, str(address), address.surface) for address in seen.uncovered]
    return tuple(dict.fromkeys(found))


def _of_residual(candidate: Candidate, residual: Residual) -> Defect:
    address = residual.address
    return Defect(_kind(candidate, residual), str(address), address.surface)


def _kind(candidate: Candidate, residual: Residual) -> DefectKind:
    address = residual.address
    if not any(_touches(op, address) for op in candidate.mutation):
        return DefectKind.COLLATERAL_CHANGE
    recoveries = [op for op in candidate.recovery if _touches(op, address)]
    if not recoveries:
        leaks = address.surface == "resources" and not residual.expected_there
        return DefectKind.RESOURCE_LEAK if leaks else DefectKind.MISSING_RECOVERY
    keys = {op.witness_key for op in recoveries if op.witness_key is not None}
    if not keys:
        captured = any(_touches(op, address) for op in candidate.witness)
        return DefectKind.WRONG_RECOVERY_OPERATION if captured else DefectKind.MISSING_CAPTURE
    captures = [op for op in candidate.witness if op.witness_key in keys]
    if not captures:
        return DefectKind.MISSING_CAPTURE
    if not any(_touches(op, address) for op in captures):
        return DefectKind.DUMMY_CAPTURE
    return DefectKind.WRONG_ORDER if len(recoveries) > 1 else DefectKind.WRONG_RECOVERY_OPERATION


def _touches(op: Operation, address: Address) -> bool:
    """Tell whether an operation names the address, something above or below it, or its whole surface."""
    if op.kind.surface != address.surface:
        return False
    surface, keys = SURFACES[address.surface], [mine.key for mine in (op.address, *op.also)]
    return op.target == "*" or any(
        surface.covers(mine, address.key) or surface.covers(address.key, mine) for mine in keys
    )


def operations_for(surface: str, stage: Stage) -> tuple[str, ...]:
    """The names of a surface's operations of one stage, for telling what to use."""
    return tuple(kind.name for kind in SURFACES[surface].kind(stage))
