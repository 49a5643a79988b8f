"""What is doubtful about a change before it is made: a setting that looks misspelled, an item of the wrong type.

On a terminal it is asked about; elsewhere it is said on stderr, or in `warnings` of the JSON, and the change is made.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from takeback.adapters.clients.spelling import find_doubts
from takeback.cli.output import err, out
from takeback.cli.picker import can_ask
from takeback.harness import Harness
from takeback.state import Operation, State


def doubts_of(harness: Harness, mutation: Iterable[Operation], state: State) -> tuple[str, ...]:
    """Return what is doubtful about a mutation, by what the clients of a project know."""
    kinds: Sequence[str] = getattr(harness.adapter, "kinds", ())
    return find_doubts(kinds, mutation, state) if kinds else ()


def tell_doubts(doubts: Sequence[str], *, as_json: bool) -> None:
    """Print what is doubtful, unless the JSON says it."""
    if not as_json:
        for doubt in doubts:
            err.print(f"warning: {doubt}", style="yellow")


def is_wanted(doubts: Sequence[str], *, as_json: bool) -> bool:
    """Ask whether a doubtful change is wanted, where a person can be asked; elsewhere it is."""
    if not doubts or as_json or not can_ask():
        return True
    out.write("make it all the same? y or n: ")
    out.flush()
    return sys.stdin.readline().strip().casefold() in {"y", "yes"}
