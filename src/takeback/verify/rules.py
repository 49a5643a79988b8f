"""Admission rules by name.

A rule goes from split counts to yes or no, with the bounds it rests on. `split-wald` is the paper's primary
rule, `pooled-wilson` its post-hoc check, `hidden-wilson` the rule of its fresh holdout. All of them require
that every dev state passes. `proof` needs no counts and lives in `takeback.verify.proof`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, Final

from takeback.errors import WrongTypeError
from takeback.language import Candidate, read_candidate, reread_candidate

Z: Final = 1.96
THRESHOLD: Final = 0.85
PROOF: Final = "proof"
EXACT: Final = "exact"
"""Not a rule of admission: run on one given state only, to replay a counterexample."""

Counts = Mapping[str, tuple[int, int]]


def compute_wald_lower(passed: int, of: int) -> float:
    """Return the paper's lower endpoint max(0, p − 1.96·sqrt(p(1 − p)/n)); 0 without states."""
    if of == 0:
        return 0.0
    share = passed / of
    return max(0.0, share - Z * sqrt(share * (1 - share) / of))


def compute_wilson_lower(passed: int, of: int) -> float:
    """Return the lower endpoint of the two-sided 95% Wilson interval; 0 without states."""
    if of == 0:
        return 0.0
    share, square = passed / of, Z * Z
    centre = share + square / (2 * of)
    spread = Z * sqrt(share * (1 - share) / of + square / (4 * of * of))
    return max(0.0, (centre - spread) / (1 + square / of))


@dataclass(frozen=True, slots=True)
class Admission:
    """What a rule says: yes or no, the bound of each split it bounds, and what fell short."""

    admitted: bool
    bounds: Mapping[str, float]
    shortfalls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, the sizes it is meant for, and its decision."""

    name: str
    iid: int
    ood: int
    decide: Callable[[Counts, float], Admission]
    dev: int = 10


def _find_dev_shortfall(counts: Counts) -> list[str]:
    passed, of = counts["dev"]
    return [] if passed == of else [f"dev: {passed} of {of} states pass, all must"]


def _decide_split_wald(counts: Counts, threshold: float) -> Admission:
    short = _find_dev_shortfall(counts)
    bounds = {name: compute_wald_lower(*counts[name]) for name in ("iid", "ood")}
    for name, bound in bounds.items():
        if bound < threshold:
            passed, of = counts[name]
            short.append(f"{name}: {passed} of {of} pass, Wald lower bound {bound:.5f} is below {threshold}")
    return Admission(not short, bounds, tuple(short))


def _decide_pooled(counts: Counts, threshold: float) -> Admission:
    short = _find_dev_shortfall(counts)
    passed = counts["iid"][0] + counts["ood"][0]
    of = counts["iid"][1] + counts["ood"][1]
    bound = compute_wilson_lower(passed, of)
    if bound < threshold:
        short.append(f"hidden: {passed} of {of} pass, Wilson lower bound {bound:.5f} is below {threshold}")
    return Admission(not short, {"iid": bound, "ood": bound}, tuple(short))


def _decide_dev(counts: Counts, _: float) -> Admission:
    return _decide_split_wald(counts, 0.0)


DEV: Final = Rule("dev", 0, 0, _decide_dev)
"""Every dev state passes and nothing hidden is looked at: for experiments, never for admission into a harness."""
RULES: Final[dict[str, Rule]] = {
    rule.name: rule
    for rule in (
        Rule("split-wald", 20, 20, _decide_split_wald),
        Rule("pooled-wilson", 20, 20, _decide_pooled),
        Rule("hidden-wilson", 50, 50, _decide_pooled),
    )
}
RULE_NAMES: Final = (PROOF, *RULES)
"""The rules that admit into a harness."""


def freeze_candidate(candidate: Candidate | Mapping[str, Any]) -> Candidate:
    """Return the candidate that is verified: as its JSON has it, unchangeable."""
    if isinstance(candidate, Mapping):
        candidate = read_candidate(dict(candidate))
    if type(candidate) is not Candidate:
        many = isinstance(candidate, list | tuple)
        hint = "oracle(operations) writes the recovery of a list of operations" if many else ""
        raise WrongTypeError("candidate", candidate, expected="a Candidate, or its JSON object", hint=hint)
    return reread_candidate(candidate)
