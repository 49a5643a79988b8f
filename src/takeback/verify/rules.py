"""Admission rules by name, and what a verification is asked for: checked once, before anything runs.

A rule goes from split counts to yes or no, with the bounds it rests on. `split-wald` is the paper's primary
rule, `pooled-wilson` its post-hoc check, `hidden-wilson` the rule of its fresh holdout. All of them require
that every dev state passes. `proof` needs no counts and lives in `takeback.verify.proof`. A wrong option is an error,
never ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite, sqrt
from typing import Any, Final, final

from takeback.errors import InputError, WrongTypeError
from takeback.language import Candidate, find_widest_level, read_candidate, reread_candidate
from takeback.state import Level, State

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


MAX_SECONDS: Final = 30.0
"""How long a verification may take unless said otherwise."""
_SAMPLING: Final = ("seed", "dev", "iid", "ood", "threshold")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """How to verify: by which `rule`, in which language, around which state, and for how long.

    `level` is the widest language installed if left out; `language` is the one that is used. `locked` is the digest
    that the mutation must have. Samples are drawn around `nominal` (a built-in agent's state if left out; a proof
    covers every state). The options from `seed` to `threshold` are for the rules that draw a sample; `iid` and `ood`
    are the rule's own numbers if left out. The rule `exact` runs on `nominal` alone and admits nothing.
    """

    rule: str = PROOF
    level: Level | None = None
    locked: str | None = None
    nominal: State | None = None
    seed: int | None = None
    dev: str | None = None
    iid: int | None = None
    ood: int | None = None
    threshold: float | None = None
    max_seconds: float = MAX_SECONDS
    language: Level = field(init=False)

    def __init_subclass__(cls) -> None:
        raise TypeError("VerifyOptions is final: what was checked must be what is used")

    def __post_init__(self) -> None:
        self._check_rule()
        if self.level is not None and not isinstance(self.level, Level):
            expected = f"one of {', '.join(f'Level.{level}' for level in Level)}"
            raise InputError("level", found=self.level, expected=expected)
        object.__setattr__(self, "language", find_widest_level() if self.level is None else self.level)
        if self.locked is not None and type(self.locked) is not str:
            raise InputError("locked", found=self.locked, expected="the digest of a mutation")
        self._copy_nominal()
        if not _is_number(self.max_seconds) or not isfinite(self.max_seconds) or self.max_seconds <= 0:
            raise InputError("max_seconds", found=self.max_seconds, expected="a number of seconds above 0")
        if self.rule in RULES:
            self._check_sampling()

    def _check_rule(self) -> None:
        """Refuse an unknown rule, and options of a sample where none is drawn."""
        if type(self.rule) is not str or self.rule not in {*RULES, PROOF, EXACT}:
            raise InputError("rule", found=self.rule, expected=f"one of {', '.join((*RULES, PROOF))}")
        idle = next((name for name in _SAMPLING if getattr(self, name) is not None), None)
        if self.rule not in RULES and idle is not None:
            raise InputError(idle, found=f"it with the rule {self.rule}", expected=f"one of {', '.join(RULES)}")

    def _copy_nominal(self) -> None:
        """Keep a copy of the state, which its owner cannot change while it is used."""
        if self.nominal is None:
            if self.rule == EXACT:
                raise InputError("nominal", found="no state", expected="the state to run on")
        elif type(self.nominal) is not State:
            raise WrongTypeError("nominal", self.nominal, expected="a State", hint="State.read reads one from JSON")
        else:
            object.__setattr__(self, "nominal", State(self.nominal.parts))

    def _check_sampling(self) -> None:
        if self.seed is not None and type(self.seed) is not int:
            raise InputError("seed", found=self.seed, expected="a whole number")
        if (self.dev, self.iid, self.ood) != (None, None, None):
            self._check_suites()
        if self.threshold is not None and (not _is_number(self.threshold) or not 0 < self.threshold <= 1):
            raise InputError("threshold", found=self.threshold, expected="a number above 0 and at most 1")

    def _check_suites(self) -> None:
        from takeback.verify.suites import check_count, check_dev_suite  # noqa: PLC0415 - start-up

        if self.dev is not None:
            check_dev_suite(self.dev)
        for split, count in (("iid", self.iid), ("ood", self.ood)):
            if count is not None:
                check_count(split, count)


def _is_number(value: object) -> bool:
    return type(value) in {int, float}


def check_options(options: object, *rules: str) -> VerifyOptions:
    """Return the options of a verification by one of `rules`; the first of them by default where none are given."""
    if options is None:
        return VerifyOptions(rule=rules[0])
    if type(options) is not VerifyOptions:
        raise InputError("options", found=type(options).__name__, expected="VerifyOptions")
    if options.rule not in rules:
        raise InputError("rule", found=options.rule, expected=f"one of {', '.join(rules)}")
    return options
