"""Timing on noisy machines: several short rounds with the sides taken in turns; the best, or median and quartiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import quantiles
from time import perf_counter, thread_time
from typing import NamedTuple


class Spread(NamedTuple):
    """The middle of some figures, and the quartiles around it."""

    median: float
    lower: float
    upper: float

    def to_json(self) -> dict[str, float]:
        """Return the three, rounded."""
        return {name: round(value, 2) for name, value in self._asdict().items()}

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.lower:.2f}–{self.upper:.2f})"


def spread(values: Sequence[float]) -> Spread:
    """Return median and quartiles."""
    if len(values) == 1:
        return Spread(values[0], values[0], values[0])
    lower, middle, upper = quantiles(values, n=4, method="inclusive")
    return Spread(middle, lower, upper)


def growth(times: Mapping[int, Spread]) -> float:
    """Return how much longer the slowest takes than the first, by their medians."""
    medians = [one.median for one in times.values()]
    return round(max(medians) / medians[0], 2)


def rounds_us(
    sides: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 25,
    seconds: float = 0.003,
    clock: Callable[[], float] = thread_time,
) -> dict[str, list[float]]:
    """Return each side's times in µs per call, one per round; in every round each side runs for about `seconds`.

    By default what is counted is the processor time of this thread: what else the machine does matters less.
    """
    calls = {name: _calibrate(side, seconds) for name, side in sides.items()}
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            count = calls[name]
            side()
            start = clock()
            for _ in range(count):
                side()
            found[name].append((clock() - start) / count * 1e6)
    return found


def best_us(sides: Mapping[str, Callable[[], object]], *, rounds: int = 7, seconds: float = 0.1) -> dict[str, float]:
    """Return each side's best time in µs per call, by the clock on the wall."""
    timed = rounds_us(sides, rounds=rounds, seconds=seconds, clock=perf_counter)
    return {name: min(times) for name, times in timed.items()}


def call(function: Callable[..., object], *args: object) -> Callable[[], object]:
    """Return a call of `function` with `args`, to be timed."""
    return lambda: function(*args)


def _calibrate(side: Callable[[], object], seconds: float) -> int:
    """How many calls take about so many seconds; at least two, so that no round is one cold call."""
    side()
    each = min(_timed(side) for _ in range(3))
    return max(2, min(100_000, int(seconds / max(each, 1e-7))))


def _timed(side: Callable[[], object]) -> float:
    start = perf_counter()
    side()
    return perf_counter() - start
