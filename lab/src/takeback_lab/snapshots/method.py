"""What a way to take a change back must do to take part, and how an attempt is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final, Protocol, TypeVar

from takeback.canonical import encode
from takeback_lab.snapshots.situations import AnyJson, Situation

SomeFound = TypeVar("SomeFound")
OWN: Final = "takeback undo"
"""What this project's own undo is called among the methods."""


@dataclass(frozen=True, slots=True)
class UndoAttempt:
    """How one trial went: the state as plain JSON (None: it gave up), bytes kept for the change, seconds to undo."""

    recovered: AnyJson | None
    stored: int
    seconds: float


class UndoMethod(Protocol):
    """A way to take a change back. `attempt` sees the states in their order, as they would come."""

    def takes(self, trial: Situation) -> bool:
        """Whether it can be tried on this at all; a trial it does not take is not counted for or against it."""

    def attempt(self, trial: Situation) -> UndoAttempt:
        """Keep what is needed when the change is made, let the later change happen, take the first back."""

    def close(self) -> None:
        """Give up what was opened."""


class PlainMethod:
    """Base of methods that open nothing and take every trial."""

    def takes(self, trial: Situation) -> bool:
        """Every trial."""
        del trial
        return True

    def close(self) -> None:
        """Nothing was opened."""


def right(attempt: UndoAttempt, trial: Situation) -> bool:
    """Whether the state is, by type and value, what the later change alone would have made."""
    return attempt.recovered is not None and encode(tidy(attempt.recovered)) == encode(trial.expected)


def tidy(state: AnyJson) -> AnyJson:
    """The state without empty surfaces, which mean the same as none."""
    return {name: part for name, part in state.items() if part}


def packed(value: Any) -> bytes:
    """What is kept, as UTF-8 JSON: compact, as it is counted for every method that keeps JSON."""
    return encode(value).encode()


def timed(undo: Callable[[], SomeFound]) -> tuple[SomeFound, float]:
    """What an undo gives, and the seconds it took."""
    begin = perf_counter()
    found = undo()
    return found, perf_counter() - begin
