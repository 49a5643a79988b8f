"""Printed bootstrap intervals against ours, within resampling error.

With n tasks an endpoint is a multiple of 1/n, so two honest runs agree exactly or differ by a whole step.
An endpoint agrees if it is a quantile of the exact resampling distribution at a level that 100,000 draws
could have reached: the nominal level give or take four standard errors of an empirical quantile's level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from itertools import accumulate

from takeback_lab.published.check import Agreement, Check, plain, rounds_to
from takeback_lab.published.paper import Printed
from takeback_lab.statistics import RESAMPLES, bootstrap_mean, exact_interval
from takeback_lab.statistics.bootstrap import resampled_sums

STANDARD_ERRORS = 4
SEED = 20260815
TOLERANCE = (
    "Endpoints lie on a grid of 1/n; accepted if the printed grid point is the 2.5 % or 97.5 % quantile of "
    "the exact resampling distribution at a level within 4 standard errors of 100,000 draws (0.2 %)."
)
NEIGHBOUR = (
    "One endpoint of ours is the neighbouring grid point: the exact distribution crosses the level so close "
    "to it that a run of 100,000 draws can land on either."
)


@lru_cache(maxsize=4096)
def _reachable(scores: tuple[tuple[int, int], ...], tail: float) -> tuple[int, ...]:
    """Sums that the `tail` quantile of 100,000 resamples can be, given sampling error."""
    first, probability = resampled_sums(dict(scores))
    slack = STANDARD_ERRORS * math.sqrt(tail * (1 - tail) / RESAMPLES)
    reached = list(accumulate(probability))
    below = [0.0, *reached[:-1]]
    return tuple(
        first + i
        for i, (before, after) in enumerate(zip(below, reached, strict=True))
        if before < tail + slack and after >= tail - slack
    )


def agrees(scores: Mapping[int, int], interval: list[Printed]) -> bool:
    """Whether a printed interval (in percentage points) is within resampling error of these scores."""
    tasks = sum(scores.values())
    key = tuple(sorted((value, count) for value, count in scores.items() if count))
    return all(
        any(rounds_to(100 * total / tasks, printed) for total in _reachable(key, tail))
        for printed, tail in zip(interval, (0.025, 0.975), strict=True)
    )


@lru_cache(maxsize=1024)
def _drawn(scores: tuple[tuple[int, int], ...]) -> tuple[float, float]:
    result = bootstrap_mean(dict(scores), seed=SEED)
    return 100 * result.lower, 100 * result.upper


def our_interval(scores: Mapping[int, int]) -> list[float]:
    """Our own bootstrap interval in percentage points: 100,000 resamples, fixed seed."""
    return list(_drawn(tuple(sorted((value, count) for value, count in scores.items() if count))))


def interval_check(name: str, interval: list[Printed], scores: Mapping[int, int]) -> Check:
    """Compare a printed 95 % interval with our bootstrap of the same counts."""
    ours = our_interval(scores)
    status = Agreement.EQUAL if agrees(scores, interval) else Agreement.DIFFERS
    exactly = all(rounds_to(value, end) for value, end in zip(ours, interval, strict=True))
    note = TOLERANCE if exactly or status is Agreement.DIFFERS else f"{NEIGHBOUR} {TOLERANCE}"
    return Check(name, interval[0].where, as_text(interval), numbers(interval), ours, status, note)


def ambiguous_interval(name: str, interval: list[Printed], options: list[dict[int, int]], need: str) -> Check:
    """An interval that depends on joint outcomes of which the paper prints only totals."""
    fitting = [scores for scores in options if agrees(scores, interval)]
    exact = [exact_interval(scores) for scores in options]
    ends = [
        [100 * min(result.lower for result in exact), 100 * max(result.lower for result in exact)],
        [100 * min(result.upper for result in exact), 100 * max(result.upper for result in exact)],
    ]
    note = (
        f"{need} Of {len(options)} joint outcomes that the printed counts allow, {len(fitting)} give the "
        f"printed interval; `recomputed` holds the range of each endpoint over all of them. {TOLERANCE}"
    )
    status = Agreement.NOT_DERIVABLE if fitting else Agreement.DIFFERS
    known = bool(fitting)
    return Check(name, interval[0].where, as_text(interval), numbers(interval), ends, status, note, known)


def numbers(interval: list[Printed]) -> list[int | float]:
    """The printed endpoints as numbers."""
    return [plain(end.value) for end in interval]


def as_text(interval: list[Printed]) -> str:
    """An interval as printed."""
    return f"[{interval[0].text}, {interval[1].text}]"
