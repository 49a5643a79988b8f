"""The simplest harness: a state in memory. Its journal may be durable all the same, and outlive the process."""

from __future__ import annotations

from os import PathLike

from takeback.harness.binding import MemoryBinding
from takeback.harness.harness import Harness, Verifier
from takeback.journal import open_journal
from takeback.state import State
from takeback.verify import verify


def open_memory(
    state: State | None = None,
    *,
    journal: str | PathLike[str] = ":memory:",
    keys: str | PathLike[str] | None = None,
    verifier: Verifier = verify,
) -> Harness:
    """A harness over `state`, or over what a journal that was begun before says; `keys` is a sealed journal's."""
    store = open_journal(journal, keys=keys)
    return Harness(MemoryBinding(), store, verifier=verifier, start=State() if state is None else state)
