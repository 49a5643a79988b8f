"""What a verification is asked for, checked once, before anything runs. A wrong option is an error, never ignored."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import Final, final

from takeback.errors import InputError, WrongTypeError
from takeback.language import find_widest_level
from takeback.state import Level, State
from takeback.verify.rules import EXACT, PROOF, RULES

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
