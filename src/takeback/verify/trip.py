"""One round trip: capture, forward, recover, compare, audit the contract.

A trip passes if the recovered state equals the state before and the contract covers every effect. On every
surface, meaning the same inside the contract and being equal in canonical form outside it are one relation
(`Surface.equivalent`), so one diff answers both; a residual says on which side of the contract it lies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from takeback.errors import OperationFailed
from takeback.language import Candidate
from takeback.runtime import capture, forward, recover
from takeback.state import ABSENT, SURFACES, Address, State, diff


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

        expected, found = shown(self.expected, self.expected_there), shown(self.found, self.found_there)
        side = "" if self.covered else " (outside the contract)"
        return f"{self.address}: expected {expected}, found {found}{side}"

    def to_json(self) -> dict[str, Any]:
        """Return the residual as JSON; `expected` or `found` is left out where nothing is there."""
        plain: dict[str, Any] = {"address": str(self.address), "covered": self.covered}
        if self.expected_there:
            plain["expected"] = self.expected
        if self.found_there:
            plain["found"] = self.found
        return plain


@dataclass(frozen=True, slots=True)
class Trip:
    """How one state fared. `failure` is why recovery could not run, `forward_failure` why the mutation did not."""

    residuals: tuple[Residual, ...] = ()
    uncovered: tuple[Address, ...] = ()
    failure: str = ""
    forward_failure: str = ""

    @property
    def passed(self) -> bool:
        """Tell whether recovery brought the state back and the contract covers all effects."""
        return not (self.residuals or self.uncovered or self.failure)


PASSED = Trip()


def round_trip(candidate: Candidate, state: State) -> Trip:
    """Run one round trip; never raises: whatever goes wrong is in the trip."""
    try:
        return _round_trip(candidate, state)
    except Exception as fault:  # noqa: BLE001  (fails closed: any fault is a failed trip, with its reason)
        return Trip(failure=f"fault: {type(fault).__name__}: {fault}")


def _round_trip(candidate: Candidate, state: State) -> Trip:
    witness = capture(candidate.witness, state)
    changed, receipt = forward(candidate.mutation, state)
    covers = candidate.contract.covers
    uncovered: set[Address] = set()
    for write in receipt.writes:
        if not covers(write.address):
            uncovered.add(write.address)
    if changed is not state:
        for change in diff(state, changed):
            if not covers(change.address):
                uncovered.add(change.address)
    try:
        recovered = recover(candidate.recovery, changed, witness, receipt)
    except OperationFailed as fault:
        return Trip((), tuple(sorted(uncovered)), fault.message, receipt.reason)
    residuals = tuple(_residuals(candidate, state, recovered))
    if not residuals and not uncovered and receipt.failed_at is None:
        return PASSED
    return Trip(residuals, tuple(sorted(uncovered)), "", receipt.reason)


def _residuals(candidate: Candidate, before: State, after: State) -> Iterator[Residual]:
    for change in diff(before, after):
        surface = SURFACES[change.address.surface]
        there, left = change.before is not ABSENT, change.after is not ABSENT
        yield Residual(
            change.address,
            surface.describe(change.before) if there else None,
            surface.describe(change.after) if left else None,
            there,
            left,
            candidate.contract.covers(change.address),
        )
