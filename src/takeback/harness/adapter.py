"""What a live harness is bound to: real things that can be read and changed.

An adapter knows nothing of journals or undo. `write` may be called again with what is already there: it only
touches what differs.
"""

from __future__ import annotations

from typing import Protocol

from takeback.state import State


class Adapter(Protocol):
    """The real things behind a harness."""

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
