"""The policy of one harness, `.takeback/policy.toml`: how long contents are kept and which, who may, what is noted.

A file that cannot be read, or says what is not known here, is refused: a policy that is not understood is not
kept either.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from takeback.errors import InputError
from takeback.govern.capture import CaptureRules, read_capture
from takeback.govern.roles import Roles, read_roles
from takeback.harness import border
from takeback.journal import Store

POLICY: Final = border.POLICY
_AGE: Final = re.compile(r"(\d{1,6})([hdw])")
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}
EXAMPLE: Final = '[retention] captures = "30d"'
LARGEST: Final = 1 << 20
"""Bytes of a policy; a longer one is not read."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a policy says."""

    captures: timedelta | None = None
    """How long what entries captured is kept; None for ever."""
    roles: Roles | None = None
    """Who may do what; None if everybody may everything."""
    audit: bool = False
    """Whether reads of contents are noted."""
    capture: CaptureRules | None = None
    """What of captured values is not kept at all; None if everything is."""


def read_policy(root: Path) -> Policy:
    """Return the policy of a harness; where there is none, everything is kept."""
    return _read_policy_file(root / POLICY) if os.path.lexists(root / POLICY) else Policy()


def read_policy_bytes(place: Path) -> bytes:
    """Return what a file says, if that is a policy."""
    _read_policy_file(place)
    return _read_plain_file(place)


def _read_policy_file(place: Path) -> Policy:
    try:
        raw = tomllib.loads(_read_plain_file(place).decode())
    except (OSError, ValueError) as fault:
        raise InputError(str(place), found=str(fault), expected=f"TOML such as {EXAMPLE}") from None
    _require_known(place, "", raw, {"retention", "roles", "tokens", "audit", "capture"})
    retention = raw.get("retention", {})
    _require_known(place, "retention.", retention, {"captures"})
    captures = retention.get("captures")
    audit = raw.get("audit", {})
    _require_known(place, "audit.", audit, {"reads"})
    if type(audit.get("reads", False)) is not bool:
        raise InputError(f"{place}: audit.reads", found=repr(audit["reads"]), expected="true or false")
    roles = read_roles(str(place), raw["roles"], raw.get("tokens", {})) if "roles" in raw else None
    if roles is None and "tokens" in raw:
        raise InputError(f"{place}: tokens", found="tokens without roles", expected="[roles.NAME] tables beside them")
    capture = read_capture(f"{place}: capture", raw["capture"]) if "capture" in raw else None
    age = None if captures is None else _read_age(place, captures)
    return Policy(age, roles, audit.get("reads", False), capture)


def attach_capture(root: Path, store: Store) -> None:
    """Have a journal store only what the policy of its harness lets it keep."""
    if store.readonly or not os.path.lexists(root / POLICY):
        return
    capture = read_policy(root).capture
    if capture is not None:
        store.set_capture(capture)


def _read_plain_file(place: Path) -> bytes:
    """Return the bytes of a file that may be a stranger's: no link is followed, no pipe waited for."""
    file = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise ValueError("no plain file")
        data = opened.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise ValueError(f"more than {LARGEST} bytes")
    return data


def _require_known(place: Path, where: str, table: Any, known: set[str]) -> None:
    if not isinstance(table, dict):
        raise InputError(f"{place}: {where.rstrip('.')}", found=repr(table), expected="a table")
    for name in sorted(table.keys() - known):
        raise InputError(
            f"{place}: {where}{name}", found="a name that is not known", expected=" or ".join(sorted(known))
        )


def _read_age(place: Path, text: Any) -> timedelta:
    age = _AGE.fullmatch(text) if isinstance(text, str) else None
    if age is None or not int(age[1]):
        raise InputError(
            f"{place}: retention.captures", found=repr(text), expected="hours, days or weeks: 12h, 30d, 4w"
        )
    return timedelta(**{_UNITS[age[2]]: int(age[1])})
