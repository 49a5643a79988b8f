"""Whether a mutation would leave everything as it is: then there is nothing to record, and no entry is made."""

from __future__ import annotations

from takeback.language import Program
from takeback.runtime import forward
from takeback.state import State


def is_idle(mutation: Program, state: State) -> bool:
    """Tell whether a mutation runs on a state and leaves it as it is."""
    after, receipt = forward(mutation, state)
    return bool(receipt.succeeded) and after == state
