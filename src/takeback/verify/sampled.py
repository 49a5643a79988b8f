"""Verification on samples: gate, round trips on dev, iid and ood states, an admission rule.

Fails closed: an operation out of the language, a changed mutation, a fault or a timeout is a rejection with its
reason. The smallest breaking state found goes into the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from takeback.language import Candidate, gate
from takeback.state import Level, State
from takeback.state.surfaces.calls import EffectClass, classify_calls
from takeback.verify.evidence import register_verdict
from takeback.verify.opaque_edits import has_recovery_edits
from takeback.verify.rules import RULES, THRESHOLD, Rule, VerifyOptions, check_options, freeze_candidate
from takeback.verify.trip import Trial, Trip, self_check
from takeback.verify.verdict import Code, Counterexample, Grade, Reason, Split, Verdict

if TYPE_CHECKING:
    from takeback.verify.shrink import Fails
    from takeback.verify.suites import Suites


def verify_sampled(candidate: Candidate | Mapping[str, Any], options: VerifyOptions | None = None) -> Verdict:
    """Return the verdict on a candidate by a sampling rule, `split-wald` if no options are given."""
    from takeback.verify.suites import make_nominal_state, make_suites  # noqa: PLC0415 - start-up

    options = check_options(options, *RULES)
    chosen, candidate = RULES[options.rule], freeze_candidate(candidate)
    refused = list_refusals(candidate, options.language, options.locked)
    if refused:
        return reject_candidate(refused, options.rule, options.language, candidate)

    def make(deadline: float) -> Suites:
        return make_suites(
            options.nominal or make_nominal_state(),
            candidate.mutation,
            seed=options.seed or 0,
            dev=options.dev or "Q10",
            iid=chosen.iid if options.iid is None else options.iid,
            ood=chosen.ood if options.ood is None else options.ood,
            deadline=deadline,
        )

    return register_verdict(verify_states(candidate, make, chosen, options), candidate)


def verify_on(candidate: Candidate, made: Suites, options: VerifyOptions | None = None) -> Verdict:
    """Return the verdict on given states, for a candidate that has passed the gate.

    Whoever picks the states picks the answer, so this verdict is no evidence for a harness.
    """
    options = check_options(options, *RULES)
    return verify_states(freeze_candidate(candidate), lambda _: made, RULES[options.rule], options)


def verify_states(
    candidate: Candidate, make: Callable[[float], Suites], rule: Rule, options: VerifyOptions
) -> Verdict:
    """Return the verdict on the states that `make` makes by a deadline; unless it is registered it is no evidence."""
    deadline = monotonic() + options.max_seconds
    try:
        return _verify_states(candidate, make(deadline), rule, options, deadline)
    except TimeoutError:
        late = Reason(Code.TIMEOUT, f"verification took more than {options.max_seconds} seconds")
        return reject_candidate([late], rule.name, options.language, candidate)


def _verify_states(
    candidate: Candidate, made: Suites, rule: Rule, options: VerifyOptions, deadline: float
) -> Verdict:
    threshold = options.threshold or THRESHOLD
    self_check()
    trial = Trial(candidate)
    trips: dict[str, list[Trip]] = {"dev": [], "iid": [], "ood": []}
    broken: tuple[str, State] | None = None
    wanted = has_recovery_edits(candidate)  # a failing state on which the mutation goes through tells more
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
    example = None if broken is None else make_counterexample(candidate, broken[1], broken[0], deadline)
    reasons: list[Reason] = []
    if not decision.admitted:
        if example is not None:
            reasons += list_trip_reasons(example.trip)
        reasons += [Reason(Code.BOUND_TOO_LOW, text) for text in decision.shortfalls]
    return Verdict(
        admitted=decision.admitted,
        grade=Grade.SAMPLED if broken is None else Grade.REFUTED,
        rule=rule.name,
        language=options.language.value,
        reasons=tuple(reasons),
        splits={name: Split(name, tuple(done), decision.bounds.get(name)) for name, done in trips.items()},
        counterexample=example,
        threshold=threshold,
        **identify_candidate(candidate),
    )


def list_refusals(candidate: Candidate, level: Level, locked: str | None) -> list[Reason]:
    """Return what speaks against a candidate before anything runs."""
    reasons = [Reason(Code.OUT_OF_LANGUAGE, str(out)) for out in gate(candidate, level)]
    if locked is not None and candidate.mutation_digest() != locked:
        message = f"the mutation's digest is {candidate.mutation_digest()}, locked is {locked}"
        reasons.append(Reason(Code.MUTATION_CHANGED, message))
    effects, stays = classify_calls(candidate.mutation)
    if effects is EffectClass.IRREVERSIBLE:
        names = ", ".join(dict.fromkeys(item["call"] for item in stays if item["compensation"] == "none"))
        reasons.append(
            Reason(Code.IRREVERSIBLE, f"nothing answers the call {names}: it is never proved, and needs approval")
        )
    return reasons


def identify_candidate(candidate: Candidate) -> dict[str, Any]:
    """Return what a verdict says of the candidate itself: its digests, its class, and what stays."""
    effects, stays = classify_calls(candidate.mutation)
    digests = {"mutation_digest": candidate.mutation_digest(), "candidate_digest": candidate.digest()}
    return {**digests, "effects": effects, "stays": stays} if stays else digests


def reject_candidate(
    reasons: Iterable[Reason], rule: str, level: Level, candidate: Candidate | None = None
) -> Verdict:
    """Return the verdict of a candidate that was turned away before it ran."""
    said = Verdict(False, Grade.DECLARED, rule, level.value, tuple(reasons))
    return said if candidate is None else register_verdict(replace(said, **identify_candidate(candidate)), candidate)


def make_counterexample(candidate: Candidate, state: State, split: str, deadline: float) -> Counterexample:
    """Return the failing state made as small as it gets by the deadline, and how the candidate fails on it.

    Where a recovery edits back, on a state on which the mutation goes through, it still does on the smaller one.
    """
    trial = Trial(candidate)
    through = has_recovery_edits(candidate) and not trial.run(state).forward_failure

    def fails(less: State) -> bool:
        trip = trial.run(less)
        return not trip.passed and not (through and trip.forward_failure)

    small = _make_small(state, candidate, fails, deadline)
    if _has_moves(candidate):
        smaller = next((reread for reread in map(_reread_state, (small, state)) if fails(reread)), None)
        if smaller is not None:
            small = _reread_state(_make_small(smaller, candidate, lambda less: fails(_reread_state(less)), deadline))
    return Counterexample(small, trial.run(small), split, minimal=monotonic() <= deadline, through=through)


def _make_small(state: State, candidate: Candidate, fails: Fails, deadline: float) -> State:
    from takeback.verify.shrink import shrink_state, shrink_texts  # noqa: PLC0415 - start-up

    small = shrink_state(state, fails, deadline=deadline)
    while (less := shrink_texts(small, candidate, fails, deadline=deadline)) is not small:
        small = shrink_state(less, fails, deadline=deadline)
    return small


def _has_moves(candidate: Candidate) -> bool:
    """Tell whether a mutation moves elements of a chain, so that places count beside order."""
    return any(op.spot is not None and op.kind.level is Level.L2 for op in candidate.mutation)


def _reread_state(state: State) -> State:
    """Return a state as its JSON reads: in the same order, with places made from that."""
    return State.read(state.write(), "a counterexample")


def list_trip_reasons(trip: Trip) -> list[Reason]:
    """Return what a failed trip says against the candidate."""
    reasons = [Reason(Code.RECOVERY_FAULT, trip.failure)] if trip.failure else []
    reasons += [Reason(Code.RECOVERY_EQUIVALENCE_FAILED, str(residual)) for residual in trip.residuals]
    if trip.uncovered:
        omitted = ", ".join(map(str, trip.uncovered))
        reasons.append(Reason(Code.CONTRACT_INCOMPLETE, f"the contract omits {omitted}, which the mutation affects"))
    return reasons
