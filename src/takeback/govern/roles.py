"""Who may: roles and their verbs, principals and their roles, and the one decision. It reads and writes nothing.

A principal is verified, by a token, the Unix user or the role of a database, or only says who it is; then it is an
agent. What no role of a principal names is denied.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from takeback.errors import DeniedError, InputError

AGENT: Final = "agent"
"""The role of whoever only says who it is."""
ALL: Final = "*"
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_NAME: Final = re.compile(r"[A-Za-z0-9_.@-]{1,64}")
_PRINCIPAL: Final = re.compile(r"(user|token|database):[^\s:]{1,128}")


class Verb(StrEnum):
    """What a role may do."""

    PROPOSE = "propose"
    """Have a change judged and shown, without making it."""
    APPLY = "apply"
    """Make an admitted change, take back and bring back one's own entries."""
    FORCE = "force"
    """Make a change that is not admitted."""
    OVER = "over"
    """Write over what others wrote outside Takeback."""
    UNDO_OTHERS = "undo-others"
    """Take back or bring back entries that others made."""
    FORGET = "forget"
    """Delete captures, permanently; hold them, and release them."""
    READ = "read"
    """Read contents: entries, differences, states, plans."""
    APPROVE = "approve"
    """Admit calls whose effects stay."""
    RESOLVE = "resolve"
    """Say whether a call in doubt was made."""
    SIGN = "sign"
    """Sign a head of the journal."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks."""

    kind: str
    """user, token or database where that was verified; agent where it was only said."""
    name: str

    @property
    def verified(self) -> bool:
        """Whether somebody else than the principal vouches for the name."""
        return self.kind != AGENT

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of a policy."""

    may: Mapping[str, frozenset[Verb]]
    """What each role may."""
    who: Mapping[str, tuple[str, ...]]
    """The roles of each verified principal."""
    tokens: Mapping[str, str]
    """The digest of each token, by its name."""

    def list_roles(self, principal: Principal) -> tuple[str, ...]:
        """Return the roles that a principal has."""
        if not principal.verified:
            return (AGENT,) if AGENT in self.may else ()
        return self.who.get(str(principal), ())

    def allows(self, principal: Principal, verb: Verb) -> bool:
        """Whether a role of a principal names a verb."""
        return any(verb in self.may[role] for role in self.list_roles(principal))

    def require(self, principal: Principal, verb: Verb) -> None:
        """Raise `DeniedError` unless a role of a principal names a verb."""
        if self.allows(principal, verb):
            return
        roles = self.list_roles(principal)
        said = "" if principal.verified else " (who only says so: an agent)"
        has = f"role {', '.join(roles)}" if roles else "no role"
        able = sorted(role for role, verbs in self.may.items() if verb in verbs)
        raise DeniedError(
            f"{principal}{said} may not {verb}: the policy gives it {has}, "
            f"and {'those that may are ' + ', '.join(able) if able else 'no role may'}; nothing was changed",
            hint=f"ask somebody with role {' or '.join(able)}, or the policy's owner to change .takeback/policy.toml"
            if able
            else "the policy's owner can name the verb in a role in .takeback/policy.toml",
        )

    def find_token(self, token: str) -> Principal:
        """Return whose token it is; a token that nobody has is refused."""
        digest = f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"
        names = [name for name, known in self.tokens.items() if hmac.compare_digest(known, digest)]
        if not names:
            raise DeniedError(
                "the token that was given is not in the policy; nothing was changed",
                hint="unset TAKEBACK_TOKEN to be known as your Unix user, or give the token that [tokens] has",
            )
        return Principal("token", names[0])


def read_roles(where: str, roles: Any, tokens: Any) -> Roles:
    """Return the roles that a policy declares; refuse whatever is not understood."""
    may: dict[str, frozenset[Verb]] = {}
    who: dict[str, tuple[str, ...]] = {}
    for name, table in _require_table(f"{where}: roles", roles).items():
        at = f"{where}: roles.{name}"
        _require_name(at, name)
        for key in sorted(_require_table(at, table).keys() - {"may", "who"}):
            raise InputError(f"{at}.{key}", found="a name that is not known", expected="may or who")
        may[name] = frozenset(_read_verbs(f"{at}.may", table.get("may", [])))
        for principal in _require_texts(f"{at}.who", table.get("who", [])):
            if not _PRINCIPAL.fullmatch(principal):
                raise InputError(
                    f"{at}.who", found=repr(principal), expected="user:NAME, token:NAME or database:ROLE"
                )
            who[principal] = (*who.get(principal, ()), name)
    if not may:
        raise InputError(f"{where}: roles", found="no role", expected="at least one: [roles.NAME] with may and who")
    known = _require_table(f"{where}: tokens", tokens)
    for name, digest in known.items():
        _require_name(f"{where}: tokens.{name}", name)
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise InputError(
                f"{where}: tokens.{name}",
                found="no digest",
                expected="sha256: and 64 hexadecimal digits, never the token itself",
                hint='printf %s "$TAKEBACK_TOKEN" | sha256sum',
            )
    for principal in who:
        kind, _, name = principal.partition(":")
        if kind == "token" and name not in known:
            raise InputError(
                f"{where}: tokens", found=f"no {name}", expected=f"the digest of the token of {principal}"
            )
    return Roles(may, who, dict(known))


def _read_verbs(where: str, raw: Any) -> list[Verb]:
    if raw == ALL:
        return list(Verb)
    known = {verb.value for verb in Verb}
    for verb in _require_texts(where, raw):
        if verb not in known:
            raise InputError(where, found=repr(verb), expected=f'some of {", ".join(known)}, or "*"')
    return [Verb(verb) for verb in raw]


def _require_name(where: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(where, found=repr(name), expected="letters, digits and _ . @ -")


def _require_table(where: str, raw: Any) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise InputError(where, found=repr(raw), expected="a table")
    return raw


def _require_texts(where: str, raw: Any) -> list[str]:
    if not isinstance(raw, list) or not all(isinstance(text, str) for text in raw):
        raise InputError(where, found=repr(raw), expected="a list of texts")
    return raw
