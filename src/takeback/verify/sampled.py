"""Verification on samples: gate, round trips on dev, iid and ood states, an admission rule.

Fails closed: an operation out of the language, a changed mutation, a fault or a timeout is a rejection with its
reason. The smallest breaking state found goes into the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from time import monotonic

from takeback.counterfactual import Suites, nominal_state, suites
from takeback.language import Candidate, gate
from takeback.state import Level, State
from takeback.verify.edits import edits_back
from takeback.verify.evidence import issue
from takeback.verify.minimal import Fails, smallest
from takeback.verify.options import (
    MAX_SECONDS,
    check_seconds,
    check_seed,
    check_threshold,
    the_candidate,
    the_level,
    the_nominal,
    the_rule,
)
from takeback.verify.rules import DEV, THRESHOLD, Rule
from takeback.verify.selfcheck import self_check
from takeback.verify.shrink import shrunk
from takeback.verify.trip import Trial, Trip
from takeback.verify.verdict import Code, Counterexample, Grade, Reason, Split, Verdict


def verify_sampled(
    candidate: Candidate,
    *,
    nominal: State | None = None,
    level: Level | None = None,
    rule: str = "split-wald",
    seed: int = 0,
    dev: str = "Q10",
    iid: int | None = None,
    ood: int | None = None,
    locked: str | None = None,
    threshold: float = THRESHOLD,
    max_seconds: float = MAX_SECONDS,
) -> Verdict:
    """Return the verdict on a candidate, on states made around `nominal` (a built-in agent's if left out).

    `locked` is the digest its mutation must have; `iid` and `ood` are the rule's own numbers if left out, `level` is
    the widest language installed.
    """
    chosen, level = the_rule(rule), the_level(level)
    candidate = the_candidate(candidate, nominal, locked)
    check_seed(seed)
    check_threshold(threshold)
    check_seconds(max_seconds)
    nominal = the_nominal(nominal)
    refused = refusals(candidate, level, locked)
    if refused:
        return rejected(refused, rule, level, candidate)
    deadline = monotonic() + max_seconds
    try:
        made = suites(
            nominal or nominal_state(),
            candidate.mutation,
            seed=seed,
            dev=dev,
            iid=chosen.iid if iid is None else iid,
            ood=chosen.ood if ood is None else ood,
            deadline=deadline,
        )
        return issue(_on_states(candidate, made, chosen, level, threshold, deadline), candidate)
    except TimeoutError:
        return _late(candidate, rule, level, max_seconds)


def verify_dev(candidate: Candidate, suite: str, *, level: Level, nominal: State) -> Verdict:
    """Return the verdict on one dev suite alone, with nothing hidden; it admits nothing into a harness."""
    candidate = the_candidate(candidate)
    refused = refusals(candidate, level, None)
    if refused:
        return rejected(refused, DEV.name, level, candidate)
    made = suites(nominal, candidate.mutation, dev=suite, iid=0, ood=0)
    try:
        return _on_states(candidate, made, DEV, level, THRESHOLD, monotonic() + MAX_SECONDS)
    except TimeoutError:
        return _late(candidate, DEV.name, level, MAX_SECONDS)


def verify_on(
    candidate: Candidate,
    made: Suites,
    *,
    level: Level,
    rule: str = "split-wald",
    threshold: float = THRESHOLD,
    max_seconds: float = MAX_SECONDS,
) -> Verdict:
    """Return the verdict on given states, for a candidate that has passed the gate.

    Whoever picks the states picks the answer, so this verdict is no evidence for a harness.
    """
    check_threshold(threshold)
    check_seconds(max_seconds)
    candidate = the_candidate(candidate)
    try:
        return _on_states(candidate, made, the_rule(rule), level, threshold, monotonic() + max_seconds)
    except TimeoutError:
        return _late(candidate, rule, level, max_seconds)


def _late(candidate: Candidate, rule: str, level: Level, max_seconds: float) -> Verdict:
    reason = Reason(Code.TIMEOUT, f"verification took more than {max_seconds} seconds")
    return rejected([reason], rule, level, candidate)


def _on_states(
    candidate: Candidate, made: Suites, rule: Rule, level: Level, threshold: float, deadline: float
) -> Verdict:
    """Return the verdict on states, or raise `TimeoutError` if they are not all run by the deadline."""
    self_check()
    trial = Trial(candidate)
    trips: dict[str, list[Trip]] = {"dev": [], "iid": [], "ood": []}
    broken: tuple[str, State] | None = None
    wanted = edits_back(candidate)  # a failing state on which the mutation goes through tells more
    for name, states in made.splits():
        for state in states:
            if monotonic() > deadline:
                raise TimeoutError
            trip = trial.run(state)
            trips[name].append(trip)
            if not trip.passed and (broken is None or (wanted and not trip.forward_failure)):
                broken, wanted = (name, state), wanted and bool(trip.forward_failure)
    counts = {name: (sum(trip.passed for trip in done), len(done)) for name, done in trips.items()}
    decision = rule.decide(counts, threshold)
    example = None if broken is None else counterexample(candidate, broken[1], broken[0], deadline)
    reasons: list[Reason] = []
    if not decision.admitted:
        if example is not None:
            reasons += trip_reasons(example.trip)
        reasons += [Reason(Code.BOUND_TOO_LOW, text) for text in decision.shortfalls]
    return Verdict(
        admitted=decision.admitted,
        grade=Grade.SAMPLED if broken is None else Grade.REFUTED,
        rule=rule.name,
        language=level.value,
        reasons=tuple(reasons),
        splits={name: Split(name, tuple(done), decision.bounds.get(name)) for name, done in trips.items()},
        counterexample=example,
        mutation_digest=candidate.mutation_digest(),
        candidate_digest=candidate.digest(),
        threshold=threshold,
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
    said = Verdict(False, Grade.DECLARED, rule, level.value, tuple(reasons))
    if candidate is None:
        return said
    about = replace(said, mutation_digest=candidate.mutation_digest(), candidate_digest=candidate.digest())
    return issue(about, candidate)


def counterexample(candidate: Candidate, state: State, split: str, deadline: float) -> Counterexample:
    """Return the failing state made as small as it gets by the deadline, and how the candidate fails on it.

    Where a recovery edits back, on a state on which the mutation goes through, it still does on the smaller one.
    """
    trial = Trial(candidate)
    through = edits_back(candidate) and not trial.run(state).forward_failure

    def fails(less: State) -> bool:
        trip = trial.run(less)
        return not trip.passed and not (through and trip.forward_failure)

    small = _make_small(state, candidate, fails, deadline)
    if _moves_elements(candidate):
        told = next((told for told in map(_tell, (small, state)) if fails(told)), None)
        if told is not None:
            small = _tell(_make_small(told, candidate, lambda less: fails(_tell(less)), deadline))
    return Counterexample(small, trial.run(small), split, minimal=monotonic() <= deadline, through=through)


def _make_small(state: State, candidate: Candidate, fails: Fails, deadline: float) -> State:
    small = smallest(state, fails, deadline=deadline)
    while (less := shrunk(small, candidate, fails, deadline=deadline)) is not small:
        small = smallest(less, fails, deadline=deadline)
    return small


def _moves_elements(candidate: Candidate) -> bool:
    """Whether a mutation moves elements of a chain: then their places count, not only their order."""
    return any(op.spot is not None and op.kind.level is Level.L2 for op in candidate.mutation)


def _tell(state: State) -> State:
    """Return a state as whoever is shown its JSON reads it: in the same order, at places of its own."""
    return State.read(state.write(), "a counterexample")


def trip_reasons(trip: Trip) -> list[Reason]:
    """Return what a failed trip says against the candidate."""
    reasons = [Reason(Code.RECOVERY_FAULT, trip.failure)] if trip.failure else []
    reasons += [Reason(Code.RECOVERY_EQUIVALENCE_FAILED, str(residual)) for residual in trip.residuals]
    if trip.uncovered:
        omitted = ", ".join(map(str, trip.uncovered))
        reasons.append(Reason(Code.CONTRACT_INCOMPLETE, f"the contract omits {omitted}, which the mutation affects"))
    return reasons
