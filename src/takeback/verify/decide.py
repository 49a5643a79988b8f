"""One door to verification: by proof unless a sampling rule is asked for."""

from __future__ import annotations

from typing import Any, Final

from takeback.errors import InputError, LimitError
from takeback.language import Candidate, read_candidate
from takeback.state import Level, State
from takeback.verify.proof import RULE, prove
from takeback.verify.rules import RULES
from takeback.verify.sampled import refusals, rejected, trip_reasons, verify_sampled
from takeback.verify.selfcheck import self_check
from takeback.verify.trip import round_trip
from takeback.verify.verdict import Code, Counterexample, Grade, Reason, Split, Verdict

RULE_NAMES: Final = (RULE, *RULES)
EXACT: Final = "exact"
"""Not a rule of admission: run on one given state only, to replay a counterexample."""


def verify(
    candidate: Candidate, *, rule: str = RULE, level: Level = Level.L1, locked: str | None = None, **sampling: Any
) -> Verdict:
    """Return the verdict on a candidate; `sampling` takes what `verify_sampled` takes."""
    if rule == RULE:
        return prove(candidate, level=level, locked=locked)
    if rule == EXACT:
        return verify_exact(candidate, level=level, locked=locked, **sampling)
    return verify_sampled(candidate, rule=rule, level=level, locked=locked, **sampling)


def verify_exact(
    candidate: Candidate, *, nominal: State, level: Level = Level.L1, locked: str | None = None
) -> Verdict:
    """Return what happens on one given state; passing there admits nothing."""
    refused = refusals(candidate, level, locked)
    if refused:
        return rejected(refused, EXACT, level, candidate)
    self_check()
    trip = round_trip(candidate, nominal)
    example = None if trip.passed else Counterexample(nominal, trip, "given")
    return Verdict(
        admitted=False,
        grade=Grade.SAMPLED if trip.passed else Grade.REFUTED,
        rule=EXACT,
        language=level.value,
        reasons=tuple(trip_reasons(trip)),
        splits={"given": Split("given", (trip,))},
        counterexample=example,
        mutation_digest=candidate.mutation_digest(),
    )


def verify_json(
    raw: Any,
    where: str = "candidate",
    *,
    rule: str = RULE,
    level: Level = Level.L1,
    locked: str | None = None,
    **sampling: Any,
) -> Verdict:
    """Return the verdict on a candidate as JSON; one that cannot be read is rejected with the reason."""
    try:
        candidate = read_candidate(raw, where)
    except InputError as fault:
        code = Code.LIMIT if isinstance(fault, LimitError) else Code.MALFORMED
        return rejected([Reason(code, str(fault))], rule, level)
    return verify(candidate, rule=rule, level=level, locked=locked, **sampling)
