"""Refused attempts on the terminal: who wanted what, why it was not done, and the state that breaks it."""

from __future__ import annotations

from typing import Any

from takeback.canonical import write_pretty
from takeback.cli.hints import localize_hints
from takeback.cli.output import emit, err, out
from takeback.harness import Harness
from takeback.harness.attempts import read_attempts
from takeback.present.attempts import find_root
from takeback.present.entries import Filter
from takeback.present.summary import is_after

ON_A_TERMINAL = 30


def show_refused(harness: Harness, wanted: Filter, number: int | None, *, as_json: bool) -> None:
    """Print the attempts that were refused, newest first."""
    root = find_root(harness)
    attempts = [attempt for attempt in (read_attempts(root) if root else ()) if _passes(attempt, wanted)]
    shown = attempts[: number or None] if number is not None or not out.is_terminal else attempts[:ON_A_TERMINAL]
    if as_json:
        emit({"refused": shown})
        return
    for attempt in shown:
        who = f" by {attempt['by']}" if attempt.get("by") else ""
        out.print(f"{attempt['at'][:16].replace('T', ' ')}{who}: {attempt.get('what', '')}", style="bold")
        out.print(f"  refused: {attempt.get('message', '')}", style="red")
        if attempt.get("state") is not None:
            out.print("  it breaks on this state:")
            out.print("\n".join(f"    {line}" for line in write_pretty(attempt["state"]).splitlines()))
        for line in attempt.get("breaks", ()):
            out.print(f"  {line}")
        if attempt.get("next"):
            out.print(localize_hints(f"  next: {attempt['next']}"), style="cyan")
    if not shown:
        err.print(localize_hints("no refused change matches; 'takeback log' lists the changes made"), style="yellow")


def _passes(attempt: dict[str, Any], wanted: Filter) -> bool:
    words = " ".join(str(attempt.get(name, "")) for name in ("by", "what", "why", "message")).casefold()
    if wanted.by and wanted.by.casefold() not in str(attempt.get("by", "")).casefold():
        return False
    if wanted.since is not None and not is_after(attempt["at"], wanted.since):
        return False
    return wanted.text.casefold() in words
