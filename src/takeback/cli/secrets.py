"""Secrets on the command line: output is masked, `--reveal` shows them, a notice says what else can be done.

Text for people is masked in every command; JSON in every command that opens a workspace. What a command is
for, a plan's token or the token of a server, stays. Files are never masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import typer

from takeback.errors import InputError
from takeback.secret_mask import Mask, find_secrets, has_placeholder, is_revealing, mask_secrets, reveal_secrets

_MARK: Final = "[masked by takeback"
_OWN: Final = frozenset({"token", "given", "api_key"})
"""Fields at the top of an answer, and of the plans in it, that are Takeback's own."""
MOST: Final = 1_000
"""So many secrets are remembered at most while a command runs."""
_PLANS: Final = frozenset({"now", "together"})


class _Told:
    """What happened in the running command."""

    masked = False
    secrets: ClassVar[dict[str, None]] = {}
    """What is known to be a secret, for the name it stands under in something that was read."""


def begin_masking() -> None:
    """Start a command: nothing was masked yet, no secret is known."""
    _Told.masked = False
    _Told.secrets = {}


def learn_secrets(value: Any) -> None:
    """Take note of the secrets in a JSON value, so that they are hidden also where no name says what they are."""
    for secret in find_secrets(value):
        if len(_Told.secrets) < MOST:
            _Told.secrets[secret] = None


def mask_line(text: str) -> str:
    """Return a text as people see it."""
    if is_revealing():
        return text
    mask = Mask()
    shown = mask.mask_text(mask.hide_known(text, _Told.secrets) if _Told.secrets else text)
    if _MARK in shown:
        _Told.masked = True
    return shown


def mask_value(value: Any) -> Any:
    """Return a JSON value as people see it in a text."""
    learn_secrets(value)
    return value if is_revealing() else mask_secrets(value)


def mask_answer(payload: Mapping[str, Any], *, exact: bool = False) -> dict[str, Any]:
    """Return an answer as JSON shows it; it says so where something was masked, unless its shape is `exact`."""
    if is_revealing():
        return dict(payload)
    learn_secrets(payload)
    mask = Mask()
    shown = _mask_plan(payload, mask)
    if mask.used:
        _Told.masked = True
    return shown if exact or not mask.used else {**shown, "masked": True}


def _mask_plan(payload: Mapping[str, Any], mask: Mask) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for name, value in payload.items():
        if name in _OWN:
            shown[name] = value
        elif name in _PLANS and isinstance(value, Mapping):
            shown[name] = _mask_plan(value, mask)
        else:
            shown[name] = mask.hide_known(mask.mask({name: value})[name], _Told.secrets)
    return shown


def require_no_placeholder(value: Any, where: str) -> None:
    """Refuse what was copied from an answer with secrets masked: a placeholder would take the place of a secret."""
    if has_placeholder(value):
        raise InputError(
            where,
            found="a value that Takeback masked",
            expected="the value itself",
            hint="the command that printed it prints the value with --reveal, such as 'takeback export --reveal'",
        )


def make_notice() -> str:
    """Return what to say at the end of a command; empty where nothing was masked."""
    if not _Told.masked:
        return ""
    return (
        "secrets are masked: --reveal shows them, as in 'takeback show HEAD --reveal'; "
        "'takeback forget --value TEXT' deletes one from the journal"
    )


def _reveal(ctx: typer.Context, wanted: bool) -> bool:
    if wanted:
        ctx.with_resource(reveal_secrets())
    return wanted


RevealFlag = typer.Option(False, "--reveal", callback=_reveal, help="Show values that look like secrets in clear.")
