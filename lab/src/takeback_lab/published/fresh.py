"""Checks of the fresh holdout: sensitivity, thresholds, hidden sizes, cost, families, the illustration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from takeback_lab.published.check import Agreement, Check, not_derivable, rounds_to, same, within
from takeback_lab.published.paper import Paper
from takeback_lab.statistics import mcnemar, unpaired, wilson

SUITES = ("Q2", "Q5", "Q10", "Q20", "Q10-narrow")
SIZES = (10, 20, 30, 50, 100)
BUDGET = 4


def sensitivity(paper: Paper) -> Iterator[Check]:
    """Rescue, hidden criterion and denominators of each suite follow from one another."""
    tasks = paper.count("cohort.fresh_tasks")
    for suite in SUITES:
        name = f"fresh.{suite}"
        k, figure = (
            {p: paper.k(f"{name}.{p}") for p in ("dev", "false_positive", "rescue", "gap")},
            paper.figure,
        )
        yield same(f"{name}: rescue", figure(f"{name}.rescue", "k"), k["dev"] - k["false_positive"])
        yield same(f"{name}: hidden criterion", figure(f"{name}.hidden", "k"), k["rescue"] + k["gap"])
        yield same(f"{name}: false positives of", figure(f"{name}.false_positive", "n"), k["dev"])
        yield same(f"{name}: gap of", figure(f"{name}.gap", "n"), tasks - k["dev"])
        for part in ("dev", "rescue", "hidden"):
            yield same(f"{name}: {part} of all", figure(f"{name}.{part}", "n"), tasks)
    change = paper.k("fresh.Q20.rescue") - paper.k("fresh.Q2.rescue")
    yield same("fresh.Q20 against Q2: change in points", paper.figure("fresh.change"), Fraction(100 * change, tasks))
    yield _change_p(paper, -change, tasks)


def _change_p(paper: Paper, lost: int, tasks: int) -> Check:
    """The printed p of Q2 against Q20 needs discordant counts that are not printed."""
    printed = paper.figure("fresh.change_p")
    most = paper.k("fresh.Q20.rescue")
    exact = [(lost + both, both, mcnemar(lost + both, both).p_value) for both in range(most + 1)]
    hits = [f"{b}/{c}" for b, c, p in exact if rounds_to(p, printed)]
    doubled = [f"{b}/{c}" for b, c, p in exact if rounds_to(2 * p, printed)]
    near = sorted(exact, key=lambda e: abs(math.log(e[2] / float(printed.value))))[:2]
    apart = unpaired((paper.k("fresh.Q20.rescue"), tasks), (paper.k("fresh.Q2.rescue"), tasks)).p_value
    note = (
        f"Discordant counts are not printed; they differ by {lost}. An exact two-sided McNemar test gives "
        f"the printed p for {', '.join(hits) or 'none of them'} (nearest: "
        + ", ".join(f"{b}/{c} gives {p:.2e}" for b, c, p in near)
        + f"); doubled, as Holm does to the smaller of two, for {', '.join(doubled) or 'none'}. Taken as "
        f"unpaired the two give Fisher p = {apart:.2e}."
    )
    return not_derivable("fresh.Q20 against Q2: p", printed, sorted(p for _, _, p in near), note)


def thresholds(paper: Paper) -> Iterator[Check]:
    """The sweep over thresholds: the primary column, order, and development passes as a ceiling."""
    for suite in SUITES:
        name = f"thresholds.{suite}"
        row, printed = paper.row(name), paper.figures(name, "row")
        yield same(f"{name}: at 0.85", printed[2], paper.k(f"fresh.{suite}.rescue"))
        ceiling = paper.k(f"fresh.{suite}.dev")
        ordered = all(a >= b for a, b in pairwise([ceiling, *row]))
        yield Check(
            f"{name}: never rises, never above development passes",
            paper.where(name),
            ", ".join(map(str, row)),
            row,
            ceiling,
            Agreement.EQUAL if ordered else Agreement.DIFFERS,
            "`recomputed` is the number of development passes.",
        )


def hidden_sizes(paper: Paper) -> Iterator[Check]:
    """Mean Wilson bounds lie where mean rates allow."""
    note = (
        "A range: rates of single tasks are not printed. Wilson's lower bound is convex in k of n, so its "
        "mean lies between the polygon through the bounds of whole k and the chord from 0 to n/(n + z²)."
    )
    for suite in SUITES:
        name = f"hidden_size.{suite}"
        rates, bounds = paper.figures(name, "rates"), paper.figures(name, "bounds")
        for size, rate, bound in zip(SIZES, rates, bounds, strict=True):
            low = 100 * _least_mean_bound((rate.value - rate.half_digit) / 100, size)
            high = float(rate.value + rate.half_digit) * wilson(size, size).lower
            yield within(f"{name}: mean bound at {size}", bound, low, high, note)


def _least_mean_bound(rate: Fraction, size: int) -> float:
    """The smallest mean Wilson bound of tasks with this mean rate: all at the two whole k next to it."""
    below = min(int(rate * size), size - 1)
    part = float(rate * size - below)
    return (1 - part) * wilson(below, size).lower + part * wilson(below + 1, size).lower


def cost(paper: Paper) -> Iterator[Check]:
    """Tokens and calls a success from the figures a task; the ranges quoted in the text."""
    tasks = paper.count("cohort.fresh_tasks")
    for suite in SUITES:
        name = f"cost.{suite}"
        rescues = paper.count(name, "rescues")
        yield same(f"{name}: rescues", paper.figure(name, "rescues"), paper.k(f"fresh.{suite}.rescue"))
        for what in ("tokens", "calls"):
            each, printed = paper.figure(name, what), paper.figure(name, f"{what}_a_success")
            middle, slack = each.value * tasks / rescues, each.half_digit * tasks / rescues
            note = f"A range: {what} a task are printed to the digit of {each.text}."
            yield within(f"{name}: {what} a success", printed, middle - slack, middle + slack, note)
        passed = paper.k(f"fresh.{suite}.dev")
        least = Fraction(passed + BUDGET * (tasks - passed), tasks)
        note = "A range: a task that passes development uses one to four calls, any other four."
        yield within(f"{name}: calls per task possible", paper.figure(name, "calls"), least, BUDGET, note)
    for what, unit in (("calls", 1), ("tokens", 1000)):
        values = [paper.figure(f"cost.{suite}", what).value / unit for suite in SUITES]
        for printed, value in zip(
            paper.figures(f"cost.{what}_range", "interval"), (min(values), max(values)), strict=True
        ):
            yield same(f"cost.{what} a task: {'least' if value == min(values) else 'most'}", printed, value)


def families(paper: Paper) -> Iterator[Check]:
    """The family table under Q20 and its total row."""
    names = paper.names("fresh_families")
    for part in ("dev", "hidden", "rescue", "gap"):
        for field in ("k", "n"):
            total = sum(paper.count(f"fresh_families.{name}.{part}", field) for name in names)
            yield same(f"fresh families.total {part} {field}", paper.figure(f"fresh.Q20.{part}", field), total)
    for name in names:
        entry = f"fresh_families.{name}"
        dev, rescue, gap = (paper.k(f"{entry}.{part}") for part in ("dev", "rescue", "gap"))
        size = paper.count("cohort.fresh_a_family")
        for part in ("dev", "hidden", "rescue"):
            yield same(f"{entry}: {part} of", paper.figure(f"{entry}.{part}", "n"), size)
        yield same(f"{entry}: gap of", paper.figure(f"{entry}.gap", "n"), size - dev)
        yield same(f"{entry}: hidden", paper.figure(f"{entry}.hidden", "k"), rescue + gap)
        note = "No false positives under Q20, so every development pass is a rescue."
        yield same(f"{entry}: rescue", paper.figure(f"{entry}.rescue", "k"), dev, note)


def illustration(paper: Paper) -> Iterator[Check]:
    """Chance that a candidate of reliability p fails a perfect gate of n states: 1 − pⁿ."""
    reliability = paper.figure("illustration.reliability").value
    for name, states in (("Q20", 20), ("Q2", 2)):
        value = 100 * (1 - reliability**states)
        yield same(f"illustration.{name} rejects", paper.figure(f"illustration.{name}"), value)
