"""What of a verdict may be shown: the only way from the verifier to a prompt.

Dev states may be shown state by state. Of hidden states only the lower bound of each split passes, and not
even that with `isolated`. A counterexample passes if it is a dev state or was made by a proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from takeback.errors import FaultKind
from takeback.state import Address
from takeback.verify import Code, Counterexample, Residual, Trip, Verdict

SHOWN_SPLITS = frozenset({"dev", "given", "proof"})
_STATELESS = frozenset({Code.MALFORMED, Code.LIMIT, Code.OUT_OF_LANGUAGE, Code.MUTATION_CHANGED, Code.TIMEOUT})
"""Codes that say nothing about a state, so that they may be told whatever state was looked at."""


@dataclass(frozen=True, slots=True)
class Visible:
    """What may be told about a verdict.

    `result` is the verdict's first code, `refusals` what was said against the candidate apart from any state, `trips`
    how each dev state fared, `iid_bound` and `ood_bound` the hidden splits' lower bounds (None if withheld or
    not sampled), `example` the smallest breaking state.
    """

    result: str
    refusals: tuple[str, ...] = ()
    trips: tuple[Trip, ...] = ()
    iid_bound: float | None = None
    ood_bound: float | None = None
    example: Counterexample | None = None
    isolated: bool = False

    @property
    def blames_only_contract(self) -> bool:
        """Tell whether every state comes back and the contract alone falls short."""
        return bool(self.uncovered) and not (self.residuals or self.faults or self.refusals)

    @property
    def dev_rate(self) -> float | None:
        """The share of dev states that pass, None where none ran."""
        return sum(trip.passed for trip in self.trips) / len(self.trips) if self.trips else None

    @property
    def residuals(self) -> tuple[Residual, ...]:
        """One residual for each address that any dev state, or the example, was left with."""
        residuals: dict[str, Residual] = {}
        for trip in self._list_trips():
            for residual in trip.residuals:
                residuals.setdefault(str(residual.address), residual)
        return tuple(residuals[address] for address in sorted(residuals))

    @property
    def uncovered(self) -> tuple[Address, ...]:
        """The addresses that the mutation affects and the contract omits."""
        return tuple(sorted({address for trip in self._list_trips() for address in trip.uncovered}, key=str))

    @property
    def faults(self) -> Mapping[str, FaultKind | None]:
        """Why recovery could not run, each reason once, with its kind."""
        return {trip.failure: trip.fault for trip in self._list_trips() if trip.failure}

    def _list_trips(self) -> tuple[Trip, ...]:
        return (*self.trips, self.example.trip) if self.example is not None else self.trips


def select_visible(verdict: Verdict, *, isolated: bool = False) -> Visible:
    """Return what may be shown of `verdict`; `isolated` withholds the hidden splits' bounds as well."""
    dev = verdict.splits.get("dev")
    example = verdict.counterexample
    if example is not None and example.split not in SHOWN_SPLITS:
        example = None
    return Visible(
        result=_choose_result_code(verdict, has_example=example is not None),
        refusals=tuple(reason.message for reason in verdict.reasons if reason.code in _STATELESS),
        trips=dev.trips if dev is not None else (),
        iid_bound=None if isolated else _find_bound(verdict, "iid"),
        ood_bound=None if isolated else _find_bound(verdict, "ood"),
        example=example,
        isolated=isolated,
    )


def _choose_result_code(verdict: Verdict, *, has_example: bool) -> str:
    """Return the first code that does not reveal how a hidden state failed."""
    for reason in verdict.reasons:
        if has_example or reason.code in _STATELESS:
            return reason.code.value
    return Code.RECOVERY_EQUIVALENCE_FAILED.value


def _find_bound(verdict: Verdict, split: str) -> float | None:
    split_verdict = verdict.splits.get(split)
    return None if split_verdict is None else split_verdict.bound
