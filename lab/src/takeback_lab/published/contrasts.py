"""Checks of the three confirmatory contrasts on the primary model.

Discordant counts follow from a cell of zero (C1, C2) or are printed (C3); differences, exact McNemar p, Holm
p and bootstrap intervals follow from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from takeback_lab.published.check import Check, same
from takeback_lab.published.intervals import interval_check
from takeback_lab.published.paper import Paper
from takeback_lab.statistics import holm, mcnemar

CONTRASTS = {"C1": ("D1L0", "D0L0", "S0"), "C2": ("D0L1", "D0L0", "S1"), "C3": ("D1L1", "D0L1", "S1")}


def difference_scores(only_new: int, only_old: int, tasks: int) -> dict[int, int]:
    """Tasks counted by paired difference."""
    return {1: only_new, -1: only_old, 0: tasks - only_new - only_old}


def discordant_counts(paper: Paper, contrast: str) -> tuple[int, int]:
    """Discordant counts of the primary model: C3's are printed, the others follow from a cell of zero."""
    if contrast == "C3":
        return paper.count("contrast.C3.only_D1L1"), paper.count("contrast.C3.only_D0L1")
    new, old, stratum = CONTRASTS[contrast]
    return paper.k(f"factorial.{new}.{stratum}"), paper.k(f"factorial.{old}.{stratum}")


def primary(paper: Paper) -> Iterator[Check]:
    """C1, C2, C3 on gpt-oss-120b."""
    tests = [mcnemar(*discordant_counts(paper, contrast)) for contrast in CONTRASTS]
    adjusted = holm([test.p_value for test in tests]).adjusted
    for (contrast, (new, old, stratum)), test, p_holm in zip(CONTRASTS.items(), tests, adjusted, strict=True):
        tasks = paper.n(f"factorial.{new}.{stratum}")
        gain = paper.k(f"factorial.{new}.{stratum}") - paper.k(f"factorial.{old}.{stratum}")
        name = f"contrast.{contrast}"
        yield same(f"{name}: difference in points", paper.figure(f"{name}.difference"), Fraction(100 * gain, tasks))
        scores = difference_scores(test.only_new, test.only_old, tasks)
        yield interval_check(f"{name}: 95 % interval", paper.figures(f"{name}.interval", "interval"), scores)
        yield same(f"{name}: exact McNemar p", paper.figure(f"{name}.p"), test.p_value)
        yield same(f"{name}: Holm p", paper.figure(f"{name}.holm"), p_holm)
    yield same("contrast.C3: Holm p in the text", paper.figure("contrast.C3.holm_in_text"), adjusted[2])
    only_new, only_old = discordant_counts(paper, "C3")
    change = paper.k("factorial.D1L1.S1") - paper.k("factorial.D0L1.S1")
    yield same("contrast.C3: discordant tasks", paper.figure("contrast.C3.discordant", "count"), only_new + only_old)
    yield same("contrast.C3: lost tasks", paper.figure("contrast.C3.only_D0L1", "count"), only_new - change)
