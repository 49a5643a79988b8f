"""Verification: round trips, contract audit, verdicts, admission rules, self-check, proof."""

from takeback.verify.minimal import smallest
from takeback.verify.rules import RULES, THRESHOLD, wald_lower, wilson_lower
from takeback.verify.sampled import verify_on, verify_sampled
from takeback.verify.selfcheck import self_check
from takeback.verify.trip import Residual, Trip, round_trip
from takeback.verify.verdict import Code, Counterexample, Grade, Reason, Split, Verdict

__all__ = [
    "RULES",
    "THRESHOLD",
    "Code",
    "Counterexample",
    "Grade",
    "Reason",
    "Residual",
    "Split",
    "Trip",
    "Verdict",
    "round_trip",
    "self_check",
    "smallest",
    "verify_on",
    "verify_sampled",
    "wald_lower",
    "wilson_lower",
]
