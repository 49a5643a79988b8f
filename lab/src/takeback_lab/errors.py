"""Errors of the lab, beside those of Takeback itself."""

from __future__ import annotations

from takeback.errors import TakebackError


class WeightsError(TakebackError):
    """Model weights are absent, incomplete, or not the file that was promised."""


class WorkerLost(TakebackError):  # noqa: N818  (says what happened)
    """A worker died again and again over one unit: the run stops, and can be resumed."""


class LockChanged(TakebackError):  # noqa: N818  (says what happened)
    """Something a protocol lock froze has changed; `changed` names each part, its old and new digest."""

    def __init__(self, name: str, changed: tuple[tuple[str, str, str], ...]) -> None:
        lines = "; ".join(f"{part}: {old or 'not locked'} → {new or 'gone'}" for part, old, new in changed)
        super().__init__(
            f"the lock {name!r} no longer holds: {lines}",
            hint="Run under the locked inputs, or make a new lock; results of the two are never mixed.",
        )
        self.changed = changed
