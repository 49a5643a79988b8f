"""One round trip: capture, forward, recover, compare, audit the contract; and the verifier's check of itself.

A trip passes if the recovered state equals the state before and the contract covers every effect. On every
surface, meaning the same inside the contract and being equal in canonical form outside it are one relation
(`Surface.equivalent`), so one diff answers both; a residual says on which side of the contract it lies. Every
verification first runs planted bad recoveries, which must be caught, and a good one, which must pass;
otherwise no verdict of the run can be trusted, and it is aborted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from takeback.errors import FaultKind, OperationFailed, RecoveryFailed, VerifierBroken
from takeback.language import Candidate, read_candidate
from takeback.runtime import SurfaceValues, advance, capture, retreat, run_forward
from takeback.state import ABSENT, SURFACES, Address, Change, State


@dataclass(frozen=True, slots=True)
class Residual:
    """One address that recovery did not bring back; contents are plain JSON, None with the flag if absent."""

    address: Address
    expected: Any
    found: Any
    expected_there: bool
    found_there: bool
    covered: bool

    def __str__(self) -> str:
        def shown(content: Any, there: bool) -> str:
            text = repr(content) if there else "absent"
            return text if len(text) <= 80 else text[:77] + "..."  # noqa: PLR2004  (a line of text)

        expected, actual = shown(self.expected, self.expected_there), shown(self.found, self.found_there)
        side = "" if self.covered else " (outside the contract)"
        return f"{self.address}: expected {expected}, found {actual}{side}"

    def to_json(self) -> dict[str, Any]:
        """Return the residual as JSON; `expected` or `found` is left out where nothing is there."""
        plain: dict[str, Any] = {"address": str(self.address), "covered": self.covered}
        if self.expected_there:
            plain["expected"] = self.expected
        if self.found_there:
            plain["found"] = self.found
        return plain

    def __repr__(self) -> str:
        return f"Residual({self.address})"


@dataclass(frozen=True, slots=True)
class Trip:
    """How one state fared.

    `failure` says why recovery could not run, `fault` of which kind that is and `failed_at` which operation it was
    (None where it was none); `forward_failure` says why the mutation did not run, `stopped_at` at which operation.
    """

    residuals: tuple[Residual, ...] = ()
    uncovered: tuple[Address, ...] = ()
    failure: str = ""
    forward_failure: str = ""
    fault: FaultKind | None = None
    failed_at: int | None = None
    stopped_at: int | None = None

    @property
    def passed(self) -> bool:
        """Tell whether recovery brought the state back and the contract covers all effects."""
        return not (self.residuals or self.uncovered or self.failure)

    def __repr__(self) -> str:
        if self.passed:
            return "Trip(passed)"
        fault = f", {self.fault.value}" if self.fault is not None else ""
        return f"Trip(residuals: {len(self.residuals)}, uncovered: {len(self.uncovered)}{fault})"


PASSED = Trip()
Diffs = tuple[tuple[str, Callable[[Any, Any], Iterator[Change]]], ...]
"""Surfaces by name, each with its diff."""


def round_trip(candidate: Candidate, state: State) -> Trip:
    """Run one round trip; never raises: whatever goes wrong is in the trip."""
    return Trial(candidate).run(state)


class Trial:
    """A candidate ready to be run on many states: what does not depend on the state is worked out once."""

    __slots__ = ("_changed", "_omitted", "_touched", "candidate")

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate
        changed = dict.fromkeys(op.kind.surface for op in candidate.mutation)
        touched = dict.fromkeys((*changed, *(op.kind.surface for op in candidate.recovery)))
        self._changed = tuple((name, SURFACES[name].diff) for name in changed)
        self._touched = tuple((name, SURFACES[name].diff) for name in touched)
        written = (address for op in candidate.mutation for address in (op.address, *op.also))
        self._omitted = tuple(address for address in written if not candidate.contract.covers(address))

    def run(self, state: State) -> Trip:
        """Run one round trip; any fault fails the trip, with its reason."""
        try:
            return self._run(state.complete())
        except Exception as fault:  # noqa: BLE001  (fails closed)
            return Trip(failure=f"fault: {type(fault).__name__}: {fault}", fault=FaultKind.EXCEPTION)

    def _run(self, state: State) -> Trip:
        candidate, before = self.candidate, state.parts
        witness = capture(candidate.witness, state)
        parts = before.copy()
        covers = candidate.contract.covers
        uncovered, why_not, stopped_at = self._omitted, "", None
        try:
            advance(candidate.mutation, parts)
        except OperationFailed:
            unchanged, receipt = run_forward(candidate.mutation, state)
            parts, why_not, stopped_at = unchanged.parts.copy(), receipt.reason, receipt.failed_at
            uncovered = tuple(write.address for write in receipt.writes if not covers(write.address))
        else:
            for change in self._diff(before, parts, self._changed):
                if not covers(change[0]):
                    uncovered += (change[0],)
        try:
            retreat(candidate.recovery, parts, witness)
        except RecoveryFailed as fault:
            omitted = tuple(sorted(set(uncovered)))
            return Trip((), omitted, fault.message, why_not, fault.kind, fault.position, stopped_at)
        left = self._diff(before, parts, self._touched)
        if not left and not uncovered and not why_not:
            return PASSED
        residuals = tuple(_make_residual(change, candidate) for change in left)
        return Trip(residuals, tuple(sorted(set(uncovered))), "", why_not, stopped_at=stopped_at)

    def _diff(self, before: SurfaceValues, after: SurfaceValues, surfaces: Diffs) -> list[Change]:
        """Return what differs on the surfaces that operations name; no operation reaches another one."""
        changes: list[Change] = []
        for name, diff in surfaces:
            if before[name] is not after[name]:
                changes += diff(before[name], after[name])
        return changes


def _make_residual(change: Change, candidate: Candidate) -> Residual:
    surface = SURFACES[change.address.surface]
    there, left = change.before is not ABSENT, change.after is not ABSENT
    return Residual(
        change.address,
        surface.describe(change.before) if there else None,
        surface.describe(change.after) if left else None,
        there,
        left,
        candidate.contract.covers(change.address),
    )


_SET = {"op_type": "set_config", "target": "plant.value", "value": 2}
_CAPTURE = {"op_type": "capture_config", "target": "plant.value", "witness_key": "w"}
_RESTORE = {"op_type": "restore_config", "target": "plant.value", "witness_key": "w"}
_MOVE = [
    {"op_type": "allocate_socket", "target": "a", "value": "tcp://127.0.0.1:9302"},
    {"op_type": "allocate_socket", "target": "b", "value": "tcp://127.0.0.1:9301"},
]
_HELD = [
    {"op_type": "capture_socket", "target": "a", "witness_key": "a"},
    {"op_type": "capture_socket", "target": "b", "witness_key": "b"},
]
_BACK = [
    {"op_type": "release_socket", "target": "b", "witness_key": "b"},
    {"op_type": "release_socket", "target": "a", "witness_key": "a"},
]

PLANTS: dict[str, tuple[bool, dict[str, Any]]] = {
    "do nothing": (False, {"mutation": [_SET], "witness": [_CAPTURE], "recovery": []}),
    "wrong address": (
        False,
        {"mutation": [_SET], "witness": [_CAPTURE], "recovery": [{**_RESTORE, "target": "plant.other"}]},
    ),
    "wrong order": (False, {"mutation": _MOVE, "witness": _HELD, "recovery": _BACK[::-1]}),
    "unconditional delete": (
        False,
        {"mutation": [_SET], "recovery": [{"op_type": "delete_config", "target": "plant.value"}]},
    ),
    "omitted effect": (
        False,
        {"mutation": [_SET], "witness": [_CAPTURE], "recovery": [_RESTORE], "contract": ["prompts"]},
    ),
    "good": (
        True,
        {"mutation": [_SET, *_MOVE], "witness": [_CAPTURE, *_HELD], "recovery": [*_BACK, _RESTORE]},
    ),
}
_STATE = {"config": {"plant": {"value": 1}}, "resources": {"a": {"address": "tcp://127.0.0.1:9301"}}}


@cache
def _build_plants() -> tuple[tuple[str, bool, Candidate], ...]:
    return tuple((name, good, read_candidate(plain, name)) for name, (good, plain) in PLANTS.items())


@cache
def _build_plant_state() -> State:
    return State.read(_STATE, "planted state")


def self_check(trip: Callable[[Candidate, State], Trip] = round_trip) -> None:
    """Run the plants through `trip`; raise `VerifierBroken` if one comes out wrong."""
    state = _build_plant_state()
    for name, good, candidate in _build_plants():
        if trip(candidate, state).passed is not good:
            raise VerifierBroken(
                f"the planted recovery {name!r} was {'rejected' if good else 'let through'}",
                hint="no verdict of this run may be used; run the tests of takeback.verify",
            )
