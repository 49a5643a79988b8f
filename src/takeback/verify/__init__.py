"""Verification: round trips, contract audit, verdicts, admission rules, self-check, proof."""

from typing import TYPE_CHECKING

from takeback.lazy_names import load_on_demand

if TYPE_CHECKING:
    from takeback.verify.decision import verify, verify_json, verify_with
    from takeback.verify.evidence import Admitted, why_not_evidence
    from takeback.verify.proof import prove
    from takeback.verify.rules import (
        RULE_NAMES,
        RULES,
        THRESHOLD,
        VerifyOptions,
        compute_wald_lower,
        compute_wilson_lower,
    )
    from takeback.verify.sampled import verify_on, verify_sampled
    from takeback.verify.shrink import shrink_state
    from takeback.verify.trip import Residual, Trial, Trip, round_trip, self_check
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
    "VerifyOptions",
    "compute_wald_lower",
    "compute_wilson_lower",
    "prove",
    "round_trip",
    "self_check",
    "shrink_state",
    "verify",
    "verify_json",
    "verify_on",
    "verify_sampled",
    "verify_with",
    "why_not_evidence",
]

__getattr__ = load_on_demand(
    __name__,
    {
        "takeback.verify.decision": "verify verify_json verify_with",
        "takeback.verify.evidence": "Admitted why_not_evidence",
        "takeback.verify.proof": "prove",
        "takeback.verify.rules": "RULE_NAMES RULES THRESHOLD VerifyOptions compute_wald_lower compute_wilson_lower",
        "takeback.verify.sampled": "verify_on verify_sampled",
        "takeback.verify.shrink": "shrink_state",
        "takeback.verify.trip": "Residual Trial Trip round_trip self_check",
        "takeback.verify.verdict": "Code Counterexample Grade Reason Split Verdict",
    },
)
