"""Doubts about a change: what the clients of a project know about it, shown before it is made."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from takeback.cli.output import err, out

if TYPE_CHECKING:
    from takeback.harness import Harness
    from takeback.state import Operation, State


def list_doubts(harness: Harness, mutation: Iterable[Operation], state: State) -> tuple[str, ...]:
    """Return what is doubtful about a mutation, by what the clients of a project know."""
    kinds: Sequence[str] = getattr(harness.adapter, "kinds", ())
    if not kinds:
        return ()
    from takeback.adapters.clients.setting_names import find_doubts  # noqa: PLC0415 - start-up

    return find_doubts(kinds, mutation, state)


def print_doubts(doubts: Sequence[str], *, as_json: bool) -> None:
    """Print what is doubtful, unless the JSON says it."""
    if not as_json:
        for doubt in doubts:
            err.print(f"warning: {doubt}", style="yellow")


def ask_if_wanted(doubts: Sequence[str], *, as_json: bool) -> bool:
    """Ask whether a doubtful change is wanted, where a person can be asked; elsewhere it is."""
    if not doubts or as_json:
        return True
    from takeback.cli.picker import can_ask  # noqa: PLC0415 - start-up

    if not can_ask():
        return True
    out.write("make it anyway? y or n: ")
    out.flush()
    return sys.stdin.readline().strip().casefold() in {"y", "yes"}
