"""The policy of one harness, `.takeback/policy.toml`: how long captured contents are kept.

A file that cannot be read, or says what is not known here, is refused: a policy that is not understood is not
kept either.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from takeback.adapters.manifest import PRIVATE
from takeback.errors import InputError

POLICY: Final = f"{PRIVATE}/policy.toml"
_AGE: Final = re.compile(r"(\d{1,6})([hdw])")
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}
EXAMPLE: Final = '[retention] captures = "30d"'


@dataclass(frozen=True, slots=True)
class Policy:
    """What a policy says."""

    captures: timedelta | None = None
    """How long what entries captured is kept; None for ever."""


def read_policy(root: Path) -> Policy:
    """Return the policy of a harness; where there is none, everything is kept."""
    place = root / POLICY
    try:
        raw = tomllib.loads(place.read_bytes().decode())
    except FileNotFoundError:
        return Policy()
    except (OSError, ValueError) as fault:
        raise InputError(str(place), found=str(fault), expected=f"TOML such as {EXAMPLE}") from None
    _require_known(place, "", raw, {"retention"})
    retention = raw.get("retention", {})
    _require_known(place, "retention.", retention, {"captures"})
    captures = retention.get("captures")
    return Policy(None if captures is None else _read_age(place, captures))


def _require_known(place: Path, where: str, table: Any, known: set[str]) -> None:
    if not isinstance(table, dict):
        raise InputError(f"{place}: {where.rstrip('.')}", found=repr(table), expected="a table")
    for name in sorted(table.keys() - known):
        raise InputError(f"{place}: {where}{name}", found="a name that is not known", expected=" or ".join(known))


def _read_age(place: Path, text: Any) -> timedelta:
    age = _AGE.fullmatch(text) if isinstance(text, str) else None
    if age is None or not int(age[1]):
        raise InputError(
            f"{place}: retention.captures", found=repr(text), expected="hours, days or weeks: 12h, 30d, 4w"
        )
    return timedelta(**{_UNITS[age[2]]: int(age[1])})
