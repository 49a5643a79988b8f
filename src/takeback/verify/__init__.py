"""Verification: round trips, contract audit, verdicts, admission rules, self-check, proof."""

from takeback.verify.decide import verify, verify_json
from takeback.verify.evidence import Admitted, objection
from takeback.verify.minimal import smallest
from takeback.verify.proof import prove
from takeback.verify.rules import RULE_NAMES, RULES, THRESHOLD, wald_lower, wilson_lower
from takeback.verify.sampled import verify_on, verify_sampled
from takeback.verify.selfcheck import self_check
from takeback.verify.trip import Residual, Trial, Trip, round_trip
from takeback.verify.verdict import Code, Counterexample, Grade, Reason, Split, Verdict

__all__ = [
    "RULES",
    "RULE_NAMES",
    "THRESHOLD",
    "Admitted",
    "Code",
    "Counterexample",
    "Grade",
    "Reason",
    "Residual",
    "Split",
    "Trial",
    "Trip",
    "Verdict",
    "objection",
    "prove",
    "round_trip",
    "self_check",
    "smallest",
    "verify",
    "verify_json",
    "verify_on",
    "verify_sampled",
    "wald_lower",
    "wilson_lower",
]
