"""Two-sided bounds on a share: Wald (the paper's admission rule), Wilson, Clopper–Pearson.

Input is successes and trials, output a frozen `Bound`. No trials is a fault, not a bound of zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from statsmodels.stats.proportion import proportion_confint

from takeback.errors import InputError

WALD_Z = 1.96
"""The paper's critical value: the printed 1.96, not the normal quantile 1.959964."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower and an upper bound on a share.

    `method` is `wald`, `wilson` or `clopper-pearson`; `successes` of `trials` were seen; `lower` and `upper`
    lie in [0, 1].
    """

    method: str
    successes: int
    trials: int
    lower: float
    upper: float

    @property
    def share(self) -> float:
        """The observed share."""
        return self.successes / self.trials


def check_counts(successes: int, trials: int) -> None:
    """Raise `InputError` unless 0 ≤ successes ≤ trials and trials > 0."""
    if trials <= 0 or not 0 <= successes <= trials:
        raise InputError(
            "counts",
            found=f"{successes} of {trials}",
            expected="at least one trial, and successes between none and all of them",
            hint="A run that did not happen is recorded as not_run, never as zero of zero.",
        )


def wald(successes: int, trials: int, z: float = WALD_Z) -> Bound:
    """Normal approximation exactly as the paper writes it: max(0, p − z·sqrt(p(1−p)/n)), with z = 1.96.

    Written out because statsmodels takes a level and not a critical value; the tests hold both together.
    """
    check_counts(successes, trials)
    share = successes / trials
    half = z * math.sqrt(share * (1 - share) / trials)
    return Bound("wald", successes, trials, max(0.0, share - half), min(1.0, share + half))


def wilson(successes: int, trials: int, level: float = 0.95) -> Bound:
    """Wilson score interval at the two-sided `level`."""
    return _from_statsmodels("wilson", "wilson", successes, trials, level)


def clopper_pearson(successes: int, trials: int, level: float = 0.95) -> Bound:
    """Exact (Clopper–Pearson) interval at the two-sided `level`."""
    return _from_statsmodels("clopper-pearson", "beta", successes, trials, level)


def _from_statsmodels(name: str, method: str, successes: int, trials: int, level: float) -> Bound:
    check_counts(successes, trials)
    lower, upper = proportion_confint(successes, trials, alpha=1 - level, method=method)
    return Bound(name, successes, trials, max(0.0, float(lower)), min(1.0, float(upper)))
