"""Checks of the admission rule: Wald endpoints at 18, 19 and 20 of 20, and where pooled Wilson differs."""

from __future__ import annotations

from collections.abc import Iterator

from scipy.stats import norm

from takeback_lab.published.check import Check, holds, same
from takeback_lab.published.paper import Paper
from takeback_lab.statistics import wald, wilson


def admission(paper: Paper) -> Iterator[Check]:
    """The executed rule and the post-hoc one."""
    n, z = paper.count("states.iid"), float(paper.figure("admission.z").value)
    threshold = float(paper.figure("admission.threshold").value)
    yield same("admission.z", paper.figure("admission.z"), float(norm.ppf(0.975)))
    for k in (18, 19, 20):
        yield same(f"admission.Wald {k}/{n}", paper.figure(f"admission.wald_{k}"), wald(k, n, z).lower)
    passing = [k for k in range(n + 1) if wald(k, n, z).lower >= threshold]
    printed = paper.figure("admission.smallest_passing", "count")
    yield same(
        "admission.successes needed on a split",
        printed,
        min(passing),
        f"Smallest k of {n} whose Wald endpoint reaches {threshold}.",
    )
    smallest = int(printed.value)
    pooled = wilson(2 * smallest, paper.count("states.hidden"))
    split = wald(smallest, n, z)
    yield holds(
        "admission.(19, 19) under both rules",
        "appendix J.1",
        "passes split Wald, fails pooled Wilson",
        f"split Wald {split.lower:.5f}, pooled Wilson {pooled.lower:.5f}, threshold {threshold}",
        true=split.lower >= threshold > pooled.lower,
    )
