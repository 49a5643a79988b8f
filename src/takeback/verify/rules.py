"""Admission rules by name, and the options of a verification, checked before anything runs.

A rule goes from split counts to yes or no, with the bounds it rests on. `split-wald` is the paper's primary
rule, `pooled-wilson` its post-hoc check, `hidden-wilson` the rule of its fresh holdout. All of them require
that every dev state passes. `proof` needs no counts and lives in `takeback.verify.proof`. A wrong option is
an error, never ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, Final

from takeback.errors import InputError, WrongTypeError
from takeback.language import Candidate, find_widest_level, read_candidate, reread_candidate
from takeback.state import Level, State

Z: Final = 1.96
THRESHOLD: Final = 0.85
PROOF: Final = "proof"

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


MAX_SECONDS: Final = 30.0
"""How long a verification may take unless said otherwise."""


def choose_level(level: Level | None) -> Level:
    """Return the language to verify in: the widest installed one where none is given."""
    if level is None:
        return find_widest_level()
    if not isinstance(level, Level):
        raise InputError("level", found=level, expected=f"one of {', '.join(f'Level.{one}' for one in Level)}")
    return level


def find_rule(name: str) -> Rule:
    """Return the sampling rule called `name`."""
    rule = RULES.get(name) if type(name) is str else None
    if rule is None:
        raise InputError("rule", found=name, expected=f"one of {', '.join(RULES)}")
    return rule


def freeze_candidate(
    candidate: Candidate | Mapping[str, Any], nominal: object = None, locked: object = None
) -> Candidate:
    """Return the candidate that is verified: as its JSON has it, unchangeable."""
    if isinstance(candidate, Mapping):
        candidate = read_candidate(dict(candidate))
    check_inputs(candidate, nominal, locked)
    return reread_candidate(candidate)


def freeze_nominal(nominal: State | None) -> State | None:
    """Return a copy of the state that its owner cannot change while it is used."""
    return None if nominal is None else State(nominal.parts)


def check_inputs(candidate: object, nominal: object = None, locked: object = None) -> None:
    """Refuse what is no candidate, no state and no digest."""
    if type(candidate) is not Candidate:
        many = isinstance(candidate, list | tuple)
        hint = "oracle(operations) writes the recovery of a list of operations" if many else ""
        raise WrongTypeError("candidate", candidate, expected="a Candidate, or its JSON object", hint=hint)
    check_nominal(nominal)
    if locked is not None and type(locked) is not str:
        raise InputError("locked", found=locked, expected="the digest of a mutation")


def check_nominal(nominal: object) -> None:
    """Refuse what is no state."""
    if nominal is not None and type(nominal) is not State:
        raise WrongTypeError("nominal", nominal, expected="a State", hint="State.read reads one from JSON")


def check_seconds(max_seconds: float) -> None:
    """Refuse a time limit that is none."""
    if not _is_number(max_seconds) or not isfinite(max_seconds) or max_seconds <= 0:
        raise InputError("max_seconds", found=max_seconds, expected="a number of seconds above 0")


def check_threshold(threshold: float) -> None:
    """Refuse a threshold that every bound reaches, or none."""
    if not _is_number(threshold) or not 0 < threshold <= 1:
        raise InputError("threshold", found=threshold, expected="a number above 0 and at most 1")


def check_seed(seed: int) -> None:
    """Refuse a seed that is not a whole number."""
    if type(seed) is not int:
        raise InputError("seed", found=seed, expected="a whole number")


def _is_number(found: object) -> bool:
    return type(found) in {int, float}
