"""What a live harness is bound to: real things that can be read and changed.

A binding knows nothing of journals or undo. `write` may be called again with what is already there: it only
touches what differs. The memory binding is a state in this process and nothing more.
"""

from __future__ import annotations

from typing import Protocol

from takeback.state import State


class Binding(Protocol):
    """Real things behind a harness."""

    durable: bool
    """Whether the things outlive the process, so that a change of several needs a record written ahead."""

    def read(self, known: State) -> State:
        """What is really there. Elements of chains that `known` has keep their places."""

    def prepare(self, before: State, after: State) -> str | None:
        """Why the change cannot be made for real (a port is taken), before anything is written; None if it can."""

    def write(self, before: State, after: State) -> None:
        """Make what is there, `before`, into `after`, each file whole or not at all."""

    def leftovers(self) -> tuple[str, ...]:
        """What a killed process left behind."""

    def sweep(self) -> tuple[str, ...]:
        """Remove leftovers; called while no other process is writing."""

    def problems(self) -> tuple[str, ...]:
        """Real things that could not be had."""

    def note(self, seq: int, digest: str) -> None:
        """Remember, apart from the journal, how far the journal has come."""

    def noted(self) -> tuple[int, str] | None:
        """How far the journal had come when that was last noted."""

    def close(self) -> None:
        """Let go."""


class MemoryBinding:
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
