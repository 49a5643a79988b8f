"""The entry point of verification: by proof unless a sampling rule is requested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from takeback.errors import InputError, LimitError
from takeback.language import Candidate, read_candidate
from takeback.state import Level, State
from takeback.verify.evidence import register_verdict
from takeback.verify.proof import prove_with
from takeback.verify.rules import EXACT, MAX_SECONDS, PROOF, RULES, VerifyOptions, check_options, freeze_candidate
from takeback.verify.sampled import (
    identify_candidate,
    list_refusals,
    list_trip_reasons,
    reject_candidate,
    verify_sampled,
)
from takeback.verify.trip import round_trip, self_check
from takeback.verify.verdict import Code, Counterexample, Grade, Reason, Split, Verdict


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
    drawn around `nominal` (a proof covers it, like every state); the options from `seed` to `threshold` are for rules
    that draw one, and an error with any other. With the rule `exact` only `nominal` is run.
    """
    options = VerifyOptions(
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
    return verify_with(candidate, options)


def verify_with(candidate: Candidate | Mapping[str, Any], options: VerifyOptions) -> Verdict:
    """Return the verdict that `verify` returns, by options that are checked already."""
    options = check_options(options, PROOF, *RULES, EXACT)
    if options.rule == PROOF:
        return prove_with(candidate, options)
    return _verify_exact(candidate, options) if options.rule == EXACT else verify_sampled(candidate, options)


def _verify_exact(candidate: Candidate | Mapping[str, Any], options: VerifyOptions) -> Verdict:
    """Return what happens on one given state; passing there admits nothing."""
    level, nominal, candidate = options.language, options.nominal or State(), freeze_candidate(candidate)
    refused = list_refusals(candidate, level, options.locked)
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
        **identify_candidate(candidate),
    )
    return register_verdict(verdict, candidate)


def verify_json(raw: Any, where: str = "candidate", options: VerifyOptions | None = None) -> Verdict:
    """Return the verdict on a candidate as JSON; one that cannot be read is rejected with the reason."""
    options = check_options(options, PROOF, *RULES, EXACT)
    try:
        candidate = read_candidate(raw, where)
    except InputError as fault:
        code = Code.LIMIT if isinstance(fault, LimitError) else Code.MALFORMED
        return reject_candidate([Reason(code, str(fault))], options.rule, options.language)
    return verify_with(candidate, options)
