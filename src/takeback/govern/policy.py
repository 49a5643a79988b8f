"""The policy of one harness, `.takeback/policy.toml`: how long contents are kept and which, who may, what is noted.

A file that cannot be read, or says what is not known here, is refused: a policy that is not understood is not kept
either. Of `[capture]`, `redact` keeps a salted digest in place of what matches, `never` and `only` keep nothing of
what is named, or of all else. It is decided for every content that is about to be stored, whoever stores it. The
bytes of files are the exception: a change that is under way needs them, and they are forgotten when it has ended.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Literal

from takeback.canonical import parse_strict
from takeback.errors import InputError
from takeback.govern.roles import Roles, read_roles
from takeback.harness import attempts
from takeback.harness.labels import Labels, require_pattern
from takeback.journal import Store
from takeback.journal.content import FORGOTTEN, Leaf, Ref, make_redacted_ref
from takeback.journal.store import CaptureFilter
from takeback.secret_mask import Mask, find_setting
from takeback.state.slots import describe_slot, find_containing_slot, is_slot_key, parse_slot_key
from takeback.state.surface import find_kind

_AGE: Final = re.compile(r"(\d{1,6})([hdw])")
_UNITS: Final = {"h": "hours", "d": "days", "w": "weeks"}
POLICY: Final = attempts.POLICY
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


SECRETS: Final = "secrets"
"""The word in `redact` for whatever is masked in what people and agents are shown."""
NAMES: Final = {"redact", "only", "never", "irreversible"}
SHORTEST: Final = 4
"""Something that is not kept is looked for in what stands beside it from so many bytes on."""
_BESIDE: Final = frozenset({"evidence", "call", "reason"})
_IMAGES: Final = ("file ", "link ")


@dataclass(frozen=True, slots=True)
class CaptureRules(CaptureFilter):
    """What a policy says of capturing."""

    secrets: bool = False
    redact: Labels | None = None
    only: Labels | None = None
    never: Labels | None = None
    irreversible: Literal["ask", "yes"] = "ask"
    """Whether a change of something that is not kept needs an approval."""

    def withhold(self, leaves: Sequence[Leaf]) -> None:
        gone: list[bytes] = []
        for leaf in leaves:
            leaf.ref = self.find_ref(leaf)
            if leaf.ref is not None and len(leaf.data.strip(b'"')) >= SHORTEST:
                gone.append(leaf.data.strip(b'"'))
        for leaf in leaves:
            if leaf.scope in _BESIDE and any(data in leaf.data for data in gone):
                leaf.ref = FORGOTTEN

    def find_ref(self, leaf: Leaf) -> Ref | None:
        if leaf.scope == "standing" or leaf.scope.startswith(_IMAGES):
            return None
        address = _find_address(leaf.scope)
        if address:
            if self.never is not None and self.never.has_address(address):
                return FORGOTTEN
            if self.only is not None and not self.only.contains_address(address):
                return FORGOTTEN
            if self.redact is not None and self.redact.has_address(address):
                return make_redacted_ref(leaf.data)
        hidden = self.secrets and _holds_secret(leaf.data, find_setting(address))
        return make_redacted_ref(leaf.data) if hidden else None

    def is_line_apart(self, line: bytes) -> bool:
        return self.secrets and _holds_secret(line, "")

    def has_match_in(self, data: bytes) -> bool:
        return self.secrets and _holds_secret(data, "")


def read_capture(where: str, raw: Any) -> CaptureRules | None:
    """Return what `[capture]` of a policy says; None if it says nothing. What is not understood is refused."""
    if not isinstance(raw, dict):
        raise InputError(where, found=repr(raw), expected="a table")
    for name in sorted(raw.keys() - NAMES):
        raise InputError(f"{where}.{name}", found="a name that is not known", expected=", ".join(sorted(NAMES)))
    redact = raw.get("redact", [])
    redact = [SECRETS] if redact is True else [] if redact is False else redact
    lists = {"redact": redact, "only": raw.get("only"), "never": raw.get("never")}
    secrets = isinstance(redact, list) and SECRETS in redact
    if secrets:
        lists["redact"] = [name for name in redact if name != SECRETS]
    patterns = {name: _read_patterns(f"{where}.{name}", value) for name, value in lists.items()}
    answer = raw.get("irreversible", "ask")
    if answer not in {"ask", "yes"}:
        raise InputError(f"{where}.irreversible", found=repr(answer), expected='"ask" or "yes"')
    rules = CaptureRules(secrets, patterns["redact"] or None, patterns["only"], patterns["never"] or None, answer)
    return None if rules == CaptureRules(irreversible=answer) else rules


def _read_patterns(where: str, raw: Any) -> Labels | None:
    if raw is None:
        return None
    if not isinstance(raw, list) or not all(isinstance(pattern, str) for pattern in raw):
        expected = 'a list of addresses in which * stands for anything: ["config[\\"env.*\\"]"]'
        raise InputError(where, found=repr(raw)[:80], expected=expected)
    labels = Labels()
    for pattern in raw:
        require_pattern(pattern, where)
        labels.add_pattern(pattern)
    return labels


def _find_address(scope: str) -> str:
    """Return where a content stands: in its own slot, or in that of the operation whose value it is."""
    if scope.startswith("["):
        return describe_slot(find_containing_slot(parse_slot_key(scope))) if is_slot_key(scope) else ""
    word, _, rest = scope.partition(" ")
    kind = find_kind(word)
    if kind is None:
        return ""
    target = rest.rpartition(" ")[0]
    return kind.surface if target == "*" else f'{kind.surface}["{target}"]'


def _holds_secret(data: bytes, name: str) -> bool:
    """Tell whether a content holds what is masked where it is shown."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    try:
        value: Any = parse_strict(text)
    except (ValueError, RecursionError, InputError):
        value = text
    mask = Mask()
    mask.mask(value, name)
    return mask.used
