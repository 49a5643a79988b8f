"""Verdicts: what a verification found, as data.

A verdict says whether the candidate is admitted, by which rule, on what evidence, and why not if not. Evidence
grades are never blurred: proved, sampled, refuted, declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, final

from takeback.state import State
from takeback.state.surfaces.calls import EffectClass
from takeback.verify.trip import Trip

if TYPE_CHECKING:
    from takeback.verify.proof import Certificate


class Grade(StrEnum):
    """How good the evidence is."""

    PROVED = "proved"
    """It holds for every state of the model."""
    SAMPLED = "sampled"
    """It held on every state that was tried; the bound says what that is worth."""
    REFUTED = "refuted"
    """A concrete state breaks it."""
    DECLARED = "declared"
    """Nothing was checked."""


class Code(StrEnum):
    """Why a candidate is not admitted."""

    MALFORMED = "MALFORMED"
    LIMIT = "LIMIT"
    OUT_OF_LANGUAGE = "OUT_OF_LANGUAGE"
    MUTATION_CHANGED = "MUTATION_CHANGED"
    RECOVERY_EQUIVALENCE_FAILED = "RECOVERY_EQUIVALENCE_FAILED"
    RECOVERY_FAULT = "RECOVERY_FAULT"
    CONTRACT_INCOMPLETE = "CONTRACT_INCOMPLETE"
    BOUND_TOO_LOW = "BOUND_TOO_LOW"
    TIMEOUT = "TIMEOUT"
    UNDECIDED = "UNDECIDED"
    IRREVERSIBLE = "IRREVERSIBLE"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason against admission: a code to act on and a sentence to read."""

    code: Code
    message: str

    def to_json(self) -> dict[str, str]:
        """Return the reason as JSON."""
        return {"code": self.code.value, "message": self.message}


@dataclass(frozen=True, slots=True)
class Split:
    """How one split fared: trips in the order of its states, and the lower bound its rule computes."""

    name: str
    trips: tuple[Trip, ...]
    bound: float | None = None

    @property
    def passed(self) -> int:
        """Return how many states passed."""
        return sum(trip.passed for trip in self.trips)

    @property
    def of(self) -> int:
        """Return how many states there were."""
        return len(self.trips)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        return {"passed": self.passed, "of": self.of, "bound": self.bound}

    def __repr__(self) -> str:
        return f"Split({self.name}, {self.passed} of {self.of})"


@dataclass(frozen=True, slots=True)
class Counterexample:
    """The smallest state found on which the candidate fails, and how.

    `minimal` is False where time ran out before every single entry had been tried. `through`: it is the smallest one
    on which the mutation goes through; where it does not, a recovery that edits back fails on less.
    """

    state: State
    trip: Trip
    split: str
    minimal: bool = True
    through: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the counterexample as JSON; `state` can be given back to `takeback verify --state`."""
        return {
            "state": self.state.write(),
            "split": self.split,
            "minimal": self.minimal,
            "residuals": [residual.to_json() for residual in self.trip.residuals],
            "uncovered": [str(address) for address in self.trip.uncovered],
            "failure": self.trip.failure or None,
            "forward_failure": self.trip.forward_failure or None,
        }

    def __repr__(self) -> str:
        return f"Counterexample({self.state!r}, residuals: {len(self.trip.residuals)})"


@final
@dataclass(frozen=True, slots=True, weakref_slot=True)
class Verdict:
    """What was decided about a candidate.

    `splits` is empty where nothing was sampled, `classes` is the number of classes of states a proof looked
    at, `mutation_digest` identifies the locked mutation, `candidate_digest` the whole candidate (both None where it
    could not be read), `threshold` is what lower bounds were held to, `certificate` what a proof rests on.
    Anybody can make one; which verdicts are evidence is decided in `takeback.verify.evidence`.
    """

    admitted: bool
    grade: Grade
    rule: str
    language: str
    reasons: tuple[Reason, ...] = ()
    splits: Mapping[str, Split] = field(default_factory=dict)
    counterexample: Counterexample | None = None
    classes: int | None = None
    mutation_digest: str | None = None
    candidate_digest: str | None = None
    threshold: float | None = None
    certificate: Certificate | None = field(default=None, compare=False, repr=False)
    effects: EffectClass = EffectClass.REVERSIBLE
    """What becomes of its effects when it is taken back: it stands beside the grade, never in its place."""
    stays: tuple[Mapping[str, str], ...] = ()
    """Calls that stay made, each with what answers it."""

    def __init_subclass__(cls) -> None:
        raise TypeError("Verdict is final: what it says must not depend on who asks")

    @property
    def lacks_only_approval(self) -> bool:
        """Whether nothing speaks against it but a call that nothing answers."""
        return bool(self.reasons) and all(reason.code is Code.IRREVERSIBLE for reason in self.reasons)

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as JSON."""
        return {
            "admitted": self.admitted,
            "grade": self.grade.value,
            "rule": self.rule,
            "language": self.language,
            "splits": {name: split.to_json() for name, split in self.splits.items()},
            "classes": self.classes,
            "reasons": [reason.to_json() for reason in self.reasons],
            "counterexample": self.counterexample.to_json() if self.counterexample else None,
            "mutation_digest": self.mutation_digest,
            "candidate_digest": self.candidate_digest,
            "threshold": self.threshold,
            "class": self.effects.value,
            "stays": [dict(item) for item in self.stays],
        }

    def __repr__(self) -> str:
        return f"Verdict({'admitted' if self.admitted else 'not admitted'}, {self.grade.value}, rule {self.rule})"
