"""Timing on noisy machines: the best of several rounds, with the sides taken in turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter


def best_us(sides: Mapping[str, Callable[[], object]], *, rounds: int = 7, seconds: float = 0.1) -> dict[str, float]:
    """Return each side's best time in µs a call; in every round each side runs for about `seconds`."""
    calls = {name: _calibrate(side, seconds) for name, side in sides.items()}
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(rounds):
        for name, side in sides.items():
            count = calls[name]
            start = perf_counter()
            for _ in range(count):
                side()
            best[name] = min(best[name], (perf_counter() - start) / count * 1e6)
    return best


def call(function: Callable[..., object], *args: object) -> Callable[[], object]:
    """Return a call of `function` with `args`, to be timed."""
    return lambda: function(*args)


def _calibrate(side: Callable[[], object], seconds: float) -> int:
    start = perf_counter()
    side()
    side()
    each = max((perf_counter() - start) / 2, 1e-7)
    return max(1, min(100_000, int(seconds / each)))
