"""Comparing two conditions: paired outcomes and exact McNemar, Holm–Bonferroni, and the unpaired case.

A pair is one task under two conditions. `PairedCounts` holds the four joint counts; everything about a
paired comparison follows from them. Unpaired comparison is for different tasks, or where pairs are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import binom, fisher_exact
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep

from takeback.errors import InputError
from takeback_lab.statistics.bounds import check_counts

NEGLIGIBLE: Final = 1e-12


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """Joint outcomes of two conditions on the same tasks.

    `both` and `neither` are concordant; `only_new` succeeded under the new condition alone (the paper's b),
    `only_old` under the old one alone (c).
    """

    both: int
    only_new: int
    only_old: int
    neither: int

    def __post_init__(self) -> None:
        if min(self.both, self.only_new, self.only_old, self.neither) < 0 or self.pairs == 0:
            raise InputError("paired counts", found=repr(self), expected="four counts, at least one of them above 0")

    @property
    def pairs(self) -> int:
        """How many tasks were run under both conditions."""
        return self.both + self.only_new + self.only_old + self.neither

    @property
    def difference(self) -> float:
        """Paired risk difference, new minus old."""
        return (self.only_new - self.only_old) / self.pairs


@dataclass(frozen=True, slots=True)
class McNemar:
    """Exact two-sided McNemar test: the discordant counts and the p-value."""

    only_new: int
    only_old: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Holm–Bonferroni: raw and adjusted p-values in the order given, and which fall below `alpha`."""

    raw: tuple[float, ...]
    adjusted: tuple[float, ...]
    rejected: tuple[bool, ...]
    alpha: float


@dataclass(frozen=True, slots=True)
class Unpaired:
    """Two independent shares: their difference (new minus old), its Newcombe interval, Fisher's exact p."""

    difference: float
    lower: float
    upper: float
    p_value: float


def pair(new: Sequence[bool], old: Sequence[bool]) -> PairedCounts:
    """Joint counts of two outcome vectors over the same tasks in the same order."""
    if len(new) != len(old):
        raise InputError(
            "paired outcomes",
            found=f"{len(new)} and {len(old)} outcomes",
            expected="one outcome of each condition for each task",
            hint="A task that one condition did not run must be left out of both, and named.",
        )
    both = sum(n and o for n, o in zip(new, old, strict=True))
    only_new = sum(n and not o for n, o in zip(new, old, strict=True))
    only_old = sum(o and not n for n, o in zip(new, old, strict=True))
    return PairedCounts(both, only_new, only_old, len(new) - both - only_new - only_old)


def mcnemar(only_new: int, only_old: int) -> McNemar:
    """Exact two-sided McNemar test from the two discordant counts; no discordant pair gives p = 1."""
    if min(only_new, only_old) < 0:
        raise InputError("discordant counts", found=f"{only_new}, {only_old}", expected="two counts of 0 or more")
    result = statsmodels_mcnemar([[0, only_new], [only_old, 0]], exact=True)
    return McNemar(only_new, only_old, min(1.0, float(result.pvalue)))


def mcnemar_power(pairs: int, only_new: float, only_old: float, alpha: float = 0.05) -> float:
    """The chance that the exact test is significant on so many pairs, given the shares of discordant ones."""
    total = 0.0
    for new in range(pairs + 1):
        weight = float(binom.pmf(new, pairs, only_new))
        if weight < NEGLIGIBLE:
            continue
        left = pairs - new
        olds = np.arange(left + 1)
        p = np.minimum(1.0, 2 * binom.cdf(np.minimum(olds, new), olds + new, 0.5))
        share = only_old / (1 - only_new) if only_new < 1 else 0.0
        total += weight * float(binom.pmf(olds, left, share)[p <= alpha].sum())
    return total


def holm(p_values: Sequence[float], alpha: float = 0.05) -> Adjusted:
    """Holm–Bonferroni step-down adjustment, jointly over all `p_values`."""
    if not p_values:
        return Adjusted((), (), (), alpha)
    rejected, adjusted, _, _ = multipletests(list(p_values), alpha=alpha, method="holm")
    return Adjusted(tuple(p_values), tuple(map(float, adjusted)), tuple(map(bool, rejected)), alpha)


def unpaired(new: tuple[int, int], old: tuple[int, int], level: float = 0.95) -> Unpaired:
    """Compare (successes, trials) of two independent groups."""
    for successes, trials in (new, old):
        check_counts(successes, trials)
    lower, upper = confint_proportions_2indep(*new, *old, method="newcomb", compare="diff", alpha=1 - level)
    table = [[new[0], new[1] - new[0]], [old[0], old[1] - old[0]]]
    return Unpaired(new[0] / new[1] - old[0] / old[1], float(lower), float(upper), float(fisher_exact(table).pvalue))
