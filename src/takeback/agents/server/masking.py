"""Secrets in what an agent is shown: masked by the name they stand under, or by what they look like.

`masked` returns a JSON value with a placeholder in place of each secret; `placeholder_in` finds a placeholder in what
an agent sends back, so that it never becomes a value. References such as `${TOKEN}` are no secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

PLACEHOLDER: Final = "[masked by takeback]"
_NAMES: Final = re.compile(
    r"(?i)(secret|passw(or)?d|passphrase|(api|access|private|signing|encryption|account)[-_]?key|credential"
    r"|authorization|bearer|cookie|(?<![a-z])(auth|pat|pwd)(?![a-z])|tokens?$|token[-_])"
)
_COUNTS: Final = re.compile(r"(?i)(max|limit|count|budget|num)[a-z_-]*tokens?|tokens?[-_]?(limit|count|budget|max)")
_REFERENCE: Final = re.compile(r"\$\{[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*|\{(env|file):[^}]*\}|\$env:[A-Za-z_]\w*")
_SHAPES: Final = re.compile(
    r"""
      -----BEGIN[ A-Z]*PRIVATE\ KEY-----.*?(-----END[ A-Z]*PRIVATE\ KEY-----|\Z)
    | \b(sk|pk|rk)-[A-Za-z0-9_-]{16,}
    | \b(sk|rk)_(live|test)_[A-Za-z0-9]{16,}
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,} | \bglpat-[A-Za-z0-9_-]{16,}
    | \bxox[abeprs]-[A-Za-z0-9-]{10,} | \bAKIA[0-9A-Z]{16}\b | \bAIza[0-9A-Za-z_-]{30,} | \bhf_[A-Za-z0-9]{20,}
    | \bnpm_[A-Za-z0-9]{30,} | \bpypi-[A-Za-z0-9_-]{30,}
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+
    | (?<=[Bb]earer\ )[A-Za-z0-9._~+/=-]{8,} | (?<=[Bb]asic\ )[A-Za-z0-9+/=]{8,}
    | (?<=://)[^\s/:@]+:[^\s/@]+(?=@)
    """,
    re.VERBOSE | re.DOTALL,
)
_ASSIGNED: Final = re.compile(
    r"(?i)([\w-]*(?:secret|password|passwd|token|api[-_]?key|access[-_]?key|private[-_]?key)[\w-]*[\"']?\s*[:=]\s*[\"']?)"
    r"(?=[^\s\"',;]*\d)([^\s\"',;$<{\[(]{8,})"
)
_BLANKS: Final = re.compile(r"(?i)[\[(<{«]*(redacted|masked|hidden|secret removed|forgotten)[\])>}»]*|[*•x…]{3,}")
"""Whole values that stand for something left out, here or elsewhere."""
_PLACES: Final = frozenset({"op_type", "target", "address", "part", "witness_key"})
"""Fields of operations and changes that say where something is."""


def masked(value: Any, name: str = "") -> Any:
    """A JSON value without its secrets; `name` is the setting it stands at, if it is one.

    Operations and changes are JSON too: what they say of a setting is hidden as the setting is.
    """
    return _masked(value, hidden=_named(name))


def _masked(value: Any, *, hidden: bool) -> Any:
    if isinstance(value, Mapping):
        told = _named(_about(value))
        return {
            key: _masked(item, hidden=hidden or _named(str(key)) or (told and key not in _PLACES))
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        before = ["", *value]
        return [_masked(item, hidden=hidden or _flag(last)) for last, item in zip(before, value, strict=False)]
    if isinstance(value, str):
        return PLACEHOLDER if hidden and value and not _REFERENCE.fullmatch(value) else masked_text(value)
    return value


def _flag(word: Any) -> bool:
    """Whether a word of a command announces a secret, as `--api-key` does."""
    return isinstance(word, str) and word.startswith("-") and "=" not in word and _named(word.lstrip("-"))


def setting_in(address: str) -> str:
    """The setting that an address is about; empty where it is about something else."""
    surface, _, key = address.partition('["')
    return key.rpartition('"]')[0] if surface == "config" else ""


def _about(value: Mapping[str, Any]) -> str:
    """The setting that an operation, or a change of one address, is about."""
    kind, target, address = value.get("op_type"), value.get("target"), value.get("address")
    if isinstance(kind, str) and isinstance(target, str):
        return target if "config" in kind else ""
    return setting_in(address) if isinstance(address, str) else ""


def masked_text(text: str) -> str:
    """A text without what looks like a secret in it."""
    return _ASSIGNED.sub(lambda found: found[1] + PLACEHOLDER, _SHAPES.sub(PLACEHOLDER, text))


def placeholder_in(value: Any) -> str | None:
    """The first value that stands for something an agent was not shown; None if there is none."""
    if isinstance(value, Mapping):
        found = (placeholder_in(item) for pair in value.items() for item in pair)
    elif isinstance(value, list | tuple):
        found = (placeholder_in(item) for item in value)
    elif isinstance(value, str) and (PLACEHOLDER in value or _BLANKS.fullmatch(value.strip())):
        return value
    else:
        return None
    return next((one for one in found if one is not None), None)


def _named(name: str) -> bool:
    """Whether a setting's name, or that of something around it, says that it is a secret."""
    spaced = [re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", step) for step in name.split(".")]
    return any(_NAMES.search(step) and not _COUNTS.search(step) for step in spaced)
