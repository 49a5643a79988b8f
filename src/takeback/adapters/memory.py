"""The simplest harness: a state in memory. Its journal may be durable all the same, and outlive the process."""

from __future__ import annotations

from os import PathLike

from takeback.harness.harness import Harness, Verifier
from takeback.journal import open_journal
from takeback.state import State
from takeback.verify import verify


class MemoryAdapter:
    """A state in memory: what the journal says, unless someone has edited it."""

    durable = False

    def __init__(self) -> None:
        self._edited: State | None = None

    def edit(self, state: State) -> None:
        """Change the state behind the harness's back."""
        self._edited = state

    def read(self, known: State) -> State:
        """The state as it is."""
        return known if self._edited is None else self._edited

    def prepare(self, before: State, after: State) -> str | None:
        """Nothing can stand in the way."""
        del before, after
        return None

    def write(self, before: State, after: State) -> None:
        """Forget edits: the harness has taken them into account."""
        del before, after
        self._edited = None

    def leftovers(self) -> tuple[str, ...]:
        """Memory leaves nothing behind."""
        return ()

    def sweep(self) -> tuple[str, ...]:
        """Memory leaves nothing behind."""
        return ()

    def problems(self) -> tuple[str, ...]:
        """Memory has everything it needs."""
        return ()

    def note(self, seq: int, digest: str) -> None:
        """Nothing outlives the process that could tell."""

    def noted(self) -> tuple[int, str] | None:
        """Nothing outlives the process that could tell."""
        return None

    def close(self) -> None:
        """Nothing to let go of."""


def open_memory(
    state: State | None = None, *, journal: str | PathLike[str] = ":memory:", verifier: Verifier = verify
) -> Harness:
    """A harness over `state`, or over what a journal that was begun before says."""
    store = open_journal(journal)
    return Harness(MemoryAdapter(), store, verifier=verifier, start=State() if state is None else state)
