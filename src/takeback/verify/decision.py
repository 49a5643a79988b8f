"""The entry point of verification: by proof unless a sampling rule is requested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from takeback.errors import InputError, LimitError
from takeback.language import Candidate, read_candidate
from takeback.state import Level, State
from takeback.verify.evidence import register_verdict
from takeback.verify.proof import prove
from takeback.verify.rules import (
    MAX_SECONDS,
    PROOF,
    RULES,
    THRESHOLD,
    check_nominal,
    check_seconds,
    choose_level,
    freeze_candidate,
)
from takeback.verify.sampled import list_refusals, list_trip_reasons, reject_candidate, verify_sampled
from takeback.verify.trip import round_trip, self_check
from takeback.verify.verdict import Code, Counterexample, Grade, Reason, Split, Verdict

EXACT: Final = "exact"
"""Not a rule of admission: run on one given state only, to replay a counterexample."""


def verify(
    candidate: Candidate | Mapping[str, Any],
    *,
    rule: str = PROOF,
    level: Level | None = None,
    locked: str | None = None,
    nominal: State | None = None,
    seed: int | None = None,
    dev: str | None = None,
    iid: int | None = None,
    ood: int | None = None,
    threshold: float | None = None,
    max_seconds: float = MAX_SECONDS,
) -> Verdict:
    """Return the verdict on a candidate, or on its JSON object, by `proof` or by a sampling rule (`split-wald`, …).

    `level` is the widest language installed if left out, `locked` the digest its mutation must have. Samples are
    drawn around `nominal` (a proof covers it, like every state); the options from `seed` to `threshold` are those of
    `verify_sampled`, and an error with a rule that draws no sample. With the rule `exact` only `nominal` is run.
    """
    _check_options(rule, seed=seed, dev=dev, iid=iid, ood=ood, threshold=threshold)
    if rule in RULES:
        return verify_sampled(
            candidate,
            nominal=nominal,
            level=level,
            rule=rule,
            seed=0 if seed is None else seed,
            dev="Q10" if dev is None else dev,
            iid=iid,
            ood=ood,
            locked=locked,
            threshold=THRESHOLD if threshold is None else threshold,
            max_seconds=max_seconds,
        )
    if rule == PROOF:
        check_nominal(nominal)
        return prove(candidate, level=level, locked=locked, max_seconds=max_seconds)
    check_seconds(max_seconds)
    return verify_exact(candidate, nominal=nominal, level=level, locked=locked)


def _check_options(rule: str, **sampling: object) -> None:
    """Refuse an unknown rule, and sampling options where no sample is drawn."""
    if type(rule) is not str or rule not in {*RULES, PROOF, EXACT}:
        raise InputError("rule", found=rule, expected=f"one of {', '.join((*RULES, PROOF))}")
    idle = [name for name, given in sampling.items() if given is not None]
    if rule not in RULES and idle:
        raise InputError(idle[0], found=f"it with the rule {rule}", expected=f"one of {', '.join(RULES)}")


def verify_exact(
    candidate: Candidate | Mapping[str, Any],
    *,
    nominal: State | None,
    level: Level | None = None,
    locked: str | None = None,
) -> Verdict:
    """Return what happens on one given state; passing there admits nothing."""
    level = choose_level(level)
    candidate = freeze_candidate(candidate, nominal, locked)
    if nominal is None:
        raise InputError("nominal", found="no state", expected="the state to run on")
    nominal = State(nominal.parts)
    refused = list_refusals(candidate, level, locked)
    if refused:
        return reject_candidate(refused, EXACT, level, candidate)
    self_check()
    trip = round_trip(candidate, nominal)
    example = None if trip.passed else Counterexample(nominal, trip, "given", minimal=False)
    verdict = Verdict(
        admitted=False,
        grade=Grade.SAMPLED if trip.passed else Grade.REFUTED,
        rule=EXACT,
        language=level.value,
        reasons=tuple(list_trip_reasons(trip)),
        splits={"given": Split("given", (trip,))},
        counterexample=example,
        mutation_digest=candidate.mutation_digest(),
        candidate_digest=candidate.digest(),
    )
    return register_verdict(verdict, candidate)


def verify_json(
    raw: Any,
    where: str = "candidate",
    *,
    rule: str = PROOF,
    level: Level | None = None,
    locked: str | None = None,
    nominal: State | None = None,
    seed: int | None = None,
    dev: str | None = None,
    iid: int | None = None,
    ood: int | None = None,
    threshold: float | None = None,
    max_seconds: float = MAX_SECONDS,
) -> Verdict:
    """Return the verdict on a candidate as JSON; one that cannot be read is rejected with the reason."""
    try:
        candidate = read_candidate(raw, where)
    except InputError as fault:
        _check_options(rule, seed=seed, dev=dev, iid=iid, ood=ood, threshold=threshold)
        check_seconds(max_seconds)
        code = Code.LIMIT if isinstance(fault, LimitError) else Code.MALFORMED
        return reject_candidate([Reason(code, str(fault))], rule, choose_level(level))
    return verify(
        candidate,
        rule=rule,
        level=level,
        locked=locked,
        nominal=nominal,
        seed=seed,
        dev=dev,
        iid=iid,
        ood=ood,
        threshold=threshold,
        max_seconds=max_seconds,
    )
