"""Secrets on the command line: what is printed is masked, `--reveal` shows it, a notice says what else can be done.

Text for people is masked in every command; JSON in every command that opens a workspace. What a command is for, a
plan's token or the token of a server, stays. Files are never masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import typer

from takeback.errors import InputError
from takeback.present.secrets import Mask, has_placeholder, is_revealing, revealing

_MARK: Final = "[masked by takeback"
_OWN: Final = frozenset({"token", "given"})
"""Fields at the top of an answer, and of the plans in it, that are Takeback's own."""
_PLANS: Final = frozenset({"now", "together"})


class _Told:
    """What happened in the running command."""

    masked = False
    guarded = False


def begin_masking() -> None:
    """Start a command: nothing was masked yet, no workspace was opened."""
    _Told.masked = _Told.guarded = False


def guard_answers() -> None:
    """From now on JSON is masked: it holds what is in a workspace."""
    _Told.guarded = True


def mask_line(text: str) -> str:
    """Return a text as people see it."""
    shown = text if is_revealing() else Mask().mask_text(text)
    if _MARK in shown:
        _Told.masked = True
    return shown


def mask_answer(payload: Mapping[str, Any], *, exact: bool = False) -> dict[str, Any]:
    """Return an answer as JSON shows it; it says so where something was masked, unless its shape is `exact`."""
    if not _Told.guarded or is_revealing():
        return dict(payload)
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
            shown[name] = mask.mask({name: value})[name]
    return shown


def demand_no_placeholder(value: Any, where: str) -> None:
    """Refuse what was copied from an answer with secrets masked: a placeholder would take the place of a secret."""
    if has_placeholder(value):
        raise InputError(
            where,
            found="a value that Takeback masked",
            expected="the value itself",
            hint="'takeback show HEAD --json --reveal' and 'takeback export --reveal' print it",
        )


def notice() -> str:
    """Return what to say at the end of a command; empty where nothing was masked."""
    if not _Told.masked:
        return ""
    return (
        "secrets are masked: --reveal shows them, as in 'takeback show HEAD --reveal'; "
        "'takeback forget --value TEXT' deletes one from the journal"
    )


def _reveal(ctx: typer.Context, wanted: bool) -> bool:
    if wanted:
        ctx.with_resource(revealing())
    return wanted


RevealFlag = typer.Option(False, "--reveal", callback=_reveal, help="Show values that look like secrets in clear.")
