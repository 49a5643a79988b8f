"""Subscribers to the outcomes of a harness: subscribers everything, the one who lists refusals what was refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from takeback.errors import WrongTypeError

if TYPE_CHECKING:
    from takeback.harness.outcomes import HarnessOutcome

Subscriber = Callable[["HarnessOutcome"], object]
RefusalListener = Callable[["HarnessOutcome", Mapping[str, Any]], object]
"""Takes what was refused, and who had asked for what."""


class Listeners:
    """Those who listen to one harness; none of them changes what was done."""

    def __init__(self) -> None:
        self.on_refusal: RefusalListener | None = None
        self._subscribers: dict[object, Subscriber] = {}

    def add(self, callback: Subscriber) -> Callable[[], None]:
        """Tell a function every outcome from now on; returns the function that ends that."""
        if not callable(callback):
            raise WrongTypeError("subscribe", callback, expected="a function of one outcome")
        key = object()
        self._subscribers[key] = callback

        def unsubscribe() -> None:
            self._subscribers.pop(key, None)

        return unsubscribe

    def tell(self, outcome: HarnessOutcome, asked: Mapping[str, Any]) -> None:
        """Tell an outcome; `asked` is what a refusal is about."""
        if asked and self.on_refusal is not None and not outcome:
            listener = self.on_refusal
            self._call(lambda outcome: listener(outcome, asked), outcome)
        for callback in tuple(self._subscribers.values()):
            self._call(callback, outcome)

    @staticmethod
    def _call(callback: Subscriber, outcome: HarnessOutcome) -> None:
        try:
            callback(outcome)
        except Exception:  # the change is made, whatever becomes of who listens
            import logging  # noqa: PLC0415 - hardly ever

            logging.getLogger("takeback").exception("a subscriber failed on %s", type(outcome).__name__)
