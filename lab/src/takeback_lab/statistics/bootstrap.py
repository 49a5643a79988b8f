"""Paired bootstrap on joint outcome counts, its exact limit, and the 2×2 factorial interaction.

Resampling n tasks with replacement is the same as drawing joint outcome counts from a multinomial, so
100,000 resamples are one vectorised draw. Statistics are sums of a small whole-number score for each task (a
paired difference, or an interaction), hence intervals lie on a grid of 1/n. `exact_interval` gives the
interval that infinitely many resamples would give.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import convolve

from takeback.errors import InputError
from takeback_lab.statistics.paired import PairedCounts

RESAMPLES = 100_000


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A mean score with its percentile interval; `resamples` is 0 where the interval is exact."""

    estimate: float
    lower: float
    upper: float
    tasks: int
    resamples: int
    seed: int


@dataclass(frozen=True, slots=True)
class Interaction:
    """(D1L1 − D0L1) − (D1L0 − D0L0) over the tasks, with a bootstrap interval; `scores` counts each value."""

    estimate: float
    lower: float
    upper: float
    scores: tuple[tuple[int, int], ...]
    resamples: int
    seed: int


def _checked(scores: Mapping[int, int]) -> tuple[list[int], list[int], int]:
    """Score values in order, how many tasks have each, and the number of tasks."""
    values = sorted(value for value, tasks in scores.items() if tasks)
    counts = [scores[value] for value in values]
    if not values or min(counts) < 0:
        raise InputError("scores", found=repr(dict(scores)), expected="tasks counted by score, at least one task")
    return values, counts, sum(counts)


def bootstrap_mean(
    scores: Mapping[int, int], *, resamples: int = RESAMPLES, seed: int = 0, level: float = 0.95
) -> Bootstrap:
    """Percentile bootstrap of the mean score; `scores` maps a score to the number of tasks that have it."""
    values, counts, tasks = _checked(scores)
    draws = np.random.default_rng(seed).multinomial(tasks, np.array(counts) / tasks, size=resamples)
    sums = draws @ np.array(values)
    tail = (1 - level) / 2
    lower, upper = np.quantile(sums, [tail, 1 - tail], method="inverted_cdf")
    estimate = sum(v * c for v, c in zip(values, counts, strict=True)) / tasks
    return Bootstrap(estimate, float(lower) / tasks, float(upper) / tasks, tasks, resamples, seed)


def resampled_sums(scores: Mapping[int, int]) -> tuple[int, list[float]]:
    """Exact distribution of the resampled sum: its smallest value, then the probability of each."""
    values, counts, tasks = _checked(scores)
    one = np.zeros(values[-1] - values[0] + 1)
    for value, count in zip(values, counts, strict=True):
        one[value - values[0]] = count / tasks
    total, power, left = np.ones(1), one, tasks
    while left:
        if left & 1:
            total = convolve(total, power, method="direct")
        power = convolve(power, power, method="direct")
        left >>= 1
    return values[0] * tasks, [float(p) for p in total]


def exact_interval(scores: Mapping[int, int], *, level: float = 0.95) -> Bootstrap:
    """The percentile interval of infinitely many resamples, by convolution instead of drawing."""
    values, counts, tasks = _checked(scores)
    first, probability = resampled_sums(scores)
    reached = np.cumsum(probability)
    tail = (1 - level) / 2
    lower = first + int(np.searchsorted(reached, tail))
    upper = first + int(np.searchsorted(reached, 1 - tail))
    estimate = sum(v * c for v, c in zip(values, counts, strict=True)) / tasks
    return Bootstrap(estimate, lower / tasks, upper / tasks, tasks, 0, 0)


def difference_scores(counts: PairedCounts) -> dict[int, int]:
    """Tasks counted by paired difference: +1 new only, −1 old only, 0 otherwise."""
    return {1: counts.only_new, -1: counts.only_old, 0: counts.both + counts.neither}


def paired_bootstrap(
    counts: PairedCounts, *, resamples: int = RESAMPLES, seed: int = 0, level: float = 0.95
) -> Bootstrap:
    """Percentile bootstrap of the paired risk difference (new minus old)."""
    return bootstrap_mean(difference_scores(counts), resamples=resamples, seed=seed, level=level)


def interaction(
    cells: Mapping[str, Sequence[bool]], *, resamples: int = RESAMPLES, seed: int = 0, level: float = 0.95
) -> Interaction:
    """Factorial interaction from the outcomes of the same tasks in cells `D0L0`, `D1L0`, `D0L1`, `D1L1`."""
    names = ("D1L1", "D0L1", "D1L0", "D0L0")
    if set(cells) != set(names) or len({len(outcomes) for outcomes in cells.values()}) != 1:
        found = {name: len(outcomes) for name, outcomes in cells.items()}
        raise InputError(
            "factorial cells",
            found=repr(found),
            expected="D0L0, D1L0, D0L1 and D1L1, one outcome for each task",
        )
    scores = Counter(
        int(a) - int(b) - int(c) + int(d) for a, b, c, d in zip(*(cells[name] for name in names), strict=True)
    )
    result = bootstrap_mean(scores, resamples=resamples, seed=seed, level=level)
    return Interaction(result.estimate, result.lower, result.upper, tuple(sorted(scores.items())), resamples, seed)
