"""What a verification may be asked with, checked before anything runs: a wrong option is an error, never ignored."""

from __future__ import annotations

from math import isfinite
from typing import Final

from takeback.errors import InputError
from takeback.language import Candidate, settle_candidate, widest_level
from takeback.state import Level, State
from takeback.verify.rules import RULES, Rule

MAX_SECONDS: Final = 30.0
"""How long a verification may take unless said otherwise."""


def the_level(level: Level | None) -> Level:
    """Return the language to verify in: the widest installed one where none is given."""
    if level is None:
        return widest_level()
    if not isinstance(level, Level):
        raise InputError("level", found=level, expected=f"one of {', '.join(f'Level.{one}' for one in Level)}")
    return level


def the_rule(name: str) -> Rule:
    """Return the sampling rule called `name`."""
    rule = RULES.get(name) if type(name) is str else None
    if rule is None:
        raise InputError("rule", found=name, expected=f"one of {', '.join(RULES)}")
    return rule


def the_candidate(candidate: Candidate, nominal: object = None, locked: object = None) -> Candidate:
    """Return what is verified, and nothing else is: the candidate as its JSON says it, which nobody can change.

    What is given beside it is checked as well.
    """
    check_given(candidate, nominal, locked)
    return settle_candidate(candidate)


def the_nominal(nominal: State | None) -> State | None:
    """Return a state that whoever gave it cannot change while it is used."""
    return None if nominal is None else State(nominal.parts)


def check_given(candidate: object, nominal: object = None, locked: object = None) -> None:
    """Refuse what is no candidate, no state and no digest."""
    if type(candidate) is not Candidate:
        found = type(candidate).__name__
        raise InputError("candidate", found=found, expected="a Candidate", hint="read_candidate reads one from JSON")
    check_nominal(nominal)
    if locked is not None and type(locked) is not str:
        raise InputError("locked", found=locked, expected="the digest of a mutation")


def check_nominal(nominal: object) -> None:
    """Refuse what is no state."""
    if nominal is not None and type(nominal) is not State:
        raise InputError("nominal", found=type(nominal).__name__, expected="a State")


def check_seconds(max_seconds: float) -> None:
    """Refuse a time limit that is none."""
    if not _number(max_seconds) or not isfinite(max_seconds) or max_seconds <= 0:
        raise InputError("max_seconds", found=max_seconds, expected="a number of seconds above 0")


def check_threshold(threshold: float) -> None:
    """Refuse a threshold that every bound reaches, or none."""
    if not _number(threshold) or not 0 < threshold <= 1:
        raise InputError("threshold", found=threshold, expected="a number above 0 and at most 1")


def check_seed(seed: int) -> None:
    """Refuse a seed that is not a whole number."""
    if type(seed) is not int:
        raise InputError("seed", found=seed, expected="a whole number")


def _number(found: object) -> bool:
    return type(found) in {int, float}
