"""Verification on samples: gate, round trips on dev, iid and ood states, an admission rule.

Fails closed: an operation out of the language, a changed mutation, a fault or a timeout is a rejection with its
reason. The smallest breaking state found goes into the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic
from typing import Final

from takeback.counterfactual import Suites, nominal_state, suites
from takeback.errors import InputError
from takeback.language import Candidate, gate
from takeback.state import Level, State
from takeback.verify.minimal import smallest
from takeback.verify.rules import RULES, THRESHOLD
from takeback.verify.selfcheck import self_check
from takeback.verify.trip import Trial, Trip
from takeback.verify.verdict import Code, Counterexample, Grade, Reason, Split, Verdict

MAX_SECONDS: Final = 30.0


def verify_sampled(
    candidate: Candidate,
    *,
    nominal: State | None = None,
    level: Level = Level.L1,
    rule: str = "split-wald",
    seed: int = 0,
    dev: str = "Q10",
    iid: int | None = None,
    ood: int | None = None,
    locked: str | None = None,
    threshold: float = THRESHOLD,
    max_seconds: float = MAX_SECONDS,
) -> Verdict:
    """Return the verdict on a candidate; `locked` is the digest its mutation must have."""
    if rule not in RULES:
        raise InputError("rule", found=rule, expected=f"one of {', '.join(RULES)}")
    refused = refusals(candidate, level, locked)
    if refused:
        return rejected(refused, rule, level, candidate)
    chosen = RULES[rule]
    made = suites(
        nominal or nominal_state(),
        candidate.mutation,
        seed=seed,
        dev=dev,
        iid=chosen.iid if iid is None else iid,
        ood=chosen.ood if ood is None else ood,
    )
    return verify_on(candidate, made, level=level, rule=rule, threshold=threshold, max_seconds=max_seconds)


def verify_on(
    candidate: Candidate,
    made: Suites,
    *,
    level: Level,
    rule: str = "split-wald",
    threshold: float = THRESHOLD,
    max_seconds: float = MAX_SECONDS,
) -> Verdict:
    """Return the verdict on given states, for a candidate that has passed the gate."""
    self_check()
    trial = Trial(candidate)
    deadline = monotonic() + max_seconds
    trips: dict[str, list[Trip]] = {"dev": [], "iid": [], "ood": []}
    broken: tuple[str, State] | None = None
    for name, states in made.splits():
        for state in states:
            if monotonic() > deadline:
                late = Reason(Code.TIMEOUT, f"verification took more than {max_seconds} seconds")
                return rejected([late], rule, level, candidate)
            trip = trial.run(state)
            trips[name].append(trip)
            if broken is None and not trip.passed:
                broken = name, state
    counts = {name: (sum(trip.passed for trip in done), len(done)) for name, done in trips.items()}
    decision = RULES[rule].decide(counts, threshold)
    example = None if broken is None else counterexample(candidate, broken[1], broken[0])
    reasons: list[Reason] = []
    if not decision.admitted:
        if example is not None:
            reasons += trip_reasons(example.trip)
        reasons += [Reason(Code.BOUND_TOO_LOW, text) for text in decision.shortfalls]
    return Verdict(
        admitted=decision.admitted,
        grade=Grade.SAMPLED if broken is None else Grade.REFUTED,
        rule=rule,
        language=level.value,
        reasons=tuple(reasons),
        splits={name: Split(name, tuple(done), decision.bounds.get(name)) for name, done in trips.items()},
        counterexample=example,
        mutation_digest=candidate.mutation_digest(),
    )


def refusals(candidate: Candidate, level: Level, locked: str | None) -> list[Reason]:
    """Return what speaks against a candidate before anything runs."""
    found = [Reason(Code.OUT_OF_LANGUAGE, str(out)) for out in gate(candidate, level)]
    if locked is not None and candidate.mutation_digest() != locked:
        message = f"the mutation's digest is {candidate.mutation_digest()}, locked is {locked}"
        found.append(Reason(Code.MUTATION_CHANGED, message))
    return found


def rejected(reasons: Iterable[Reason], rule: str, level: Level, candidate: Candidate | None = None) -> Verdict:
    """Return the verdict of a candidate that was turned away before it ran."""
    digest = None if candidate is None else candidate.mutation_digest()
    return Verdict(False, Grade.DECLARED, rule, level.value, tuple(reasons), mutation_digest=digest)


def counterexample(candidate: Candidate, state: State, split: str) -> Counterexample:
    """Return the failing state made as small as it gets, and how the candidate fails on it."""
    trial = Trial(candidate)
    small = smallest(state, lambda less: not trial.run(less).passed)
    return Counterexample(small, trial.run(small), split)


def trip_reasons(trip: Trip) -> list[Reason]:
    """Return what a failed trip says against the candidate."""
    reasons = [Reason(Code.RECOVERY_FAULT, trip.failure)] if trip.failure else []
    reasons += [Reason(Code.RECOVERY_EQUIVALENCE_FAILED, str(residual)) for residual in trip.residuals]
    if trip.uncovered:
        omitted = ", ".join(map(str, trip.uncovered))
        reasons.append(Reason(Code.CONTRACT_INCOMPLETE, f"the contract omits {omitted}, which the mutation affects"))
    return reasons
