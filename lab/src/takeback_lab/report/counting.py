"""From task-by-task outcomes to counts: rescue within a budget, contrasts, strata, fresh-holdout rates.

Shared by the tables and the plots, so that both always show the same numbers. The Wilson bound decides the
hidden criterion, as in the paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import quantiles

from takeback.verify import THRESHOLD
from takeback_lab.report.inputs import ControlledData, FactorialData, FactorialTask, FreshData, FreshSuite, FreshTask
from takeback_lab.report.table import Share
from takeback_lab.statistics import (
    Bootstrap,
    Interaction,
    LeftOut,
    PairedCounts,
    holm,
    interaction,
    leave_one_family_out,
    mcnemar,
    pair,
    paired_bootstrap,
    wilson,
)

CELLS = ("D0L0", "D1L0", "D0L1", "D1L1")
CONVENTIONAL = ("genericL0", "rawL0", "typedL0", "prescriptiveL0", "noneL0")
CONTRASTS = {"C1": ("D1L0", "D0L0", "S0"), "C2": ("D0L1", "D0L0", "S1"), "C3": ("D1L1", "D0L1", "S1")}
PARTS = ("all", "S0", "S1")


@dataclass(frozen=True, slots=True)
class Contrast:
    """A paired comparison of two cells on one stratum."""

    name: str
    counts: PairedCounts
    interval: Bootstrap
    p_value: float
    p_holm: float


def admitted(task: FactorialTask, cell: str, budget: int) -> bool:
    """Whether the task was admitted in this cell within the budget."""
    turn = task.turns[cell]
    return turn is not None and turn <= budget


def in_part(data: FactorialData, part: str) -> list[FactorialTask]:
    """The tasks of the full cohort (`all`) or of one stratum."""
    return [task for task in data.tasks if part in ("all", task.stratum)]


def rescue(data: FactorialData, cell: str, part: str, budget: int) -> Share:
    """Rescue@budget of a cell on a part of the cohort."""
    tasks = in_part(data, part)
    return Share(sum(admitted(task, cell, budget) for task in tasks), len(tasks))


def cells_of(data: FactorialData) -> tuple[str, ...]:
    """The cells that were run, the paper's first and in its order."""
    ran = list(data.tasks[0].turns) if data.tasks else []
    known = (*CELLS, *CONVENTIONAL)
    return tuple(cell for cell in known if cell in ran) + tuple(cell for cell in ran if cell not in known)


def contrasts(data: FactorialData) -> tuple[Contrast, ...]:
    """The three confirmatory contrasts, as far as their cells were run and their stratum has tasks."""
    found: list[tuple[str, PairedCounts]] = []
    for name, (new, old, stratum) in CONTRASTS.items():
        tasks = in_part(data, stratum)
        if tasks and {new, old} <= set(cells_of(data)):
            found.append((name, _pair(tasks, new, old, data.budget)))
    p_values = [mcnemar(counts.only_new, counts.only_old).p_value for _, counts in found]
    adjusted = holm(p_values).adjusted
    return tuple(
        Contrast(name, counts, paired_bootstrap(counts), p, p_holm)
        for (name, counts), p, p_holm in zip(found, p_values, adjusted, strict=True)
    )


def _pair(tasks: Sequence[FactorialTask], new: str, old: str, budget: int) -> PairedCounts:
    return pair([admitted(t, new, budget) for t in tasks], [admitted(t, old, budget) for t in tasks])


def factorial_interaction(data: FactorialData) -> Interaction | None:
    """The full-cohort interaction, if all four cells were run."""
    if not set(CELLS) <= set(cells_of(data)):
        return None
    return interaction({cell: [admitted(t, cell, data.budget) for t in data.tasks] for cell in CELLS})


def without_each_family(data: FactorialData, contrast: str) -> tuple[LeftOut, ...]:
    """A contrast again and again, each time without one family."""
    new, old, stratum = CONTRASTS[contrast]
    tasks = in_part(data, stratum)
    families = dict.fromkeys(task.family for task in tasks)
    return leave_one_family_out(
        {f: _pair([t for t in tasks if t.family == f], new, old, data.budget) for f in families}
    )


@lru_cache(maxsize=4096)
def lower_bound(passes: int, states: int) -> float:
    """The Wilson lower bound of a task's hidden passes."""
    return wilson(passes, states).lower


def bound_of(task: FreshTask, states: int | None = None) -> float:
    """The Wilson bound of a task on its first hidden states (all of them by default)."""
    passed, ran = hidden_share(task, states)
    return lower_bound(passed, ran) if ran else 0.0


def hidden_share(task: FreshTask, states: int | None = None) -> tuple[int, int]:
    """How many of a task's first hidden states passed, and on how many of them its mutation ran."""
    marks = task.hidden[:states]
    return marks.count("1"), len(marks) - marks.count("-")


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """One suite of the fresh holdout, in the paper's columns."""

    dev: Share
    false_positive: Share
    rescue: Share
    hidden: Share
    gap: Share


def sensitivity(tasks: Sequence[FreshTask], threshold: float) -> Sensitivity:
    """Development passes, false positives, rescue, hidden criterion and conservatism gap of some tasks."""
    good = [bound_of(task) >= threshold for task in tasks]
    passed = [task.dev for task in tasks]
    both = sum(d and g for d, g in zip(passed, good, strict=True))
    dev, hidden, n = sum(passed), sum(good), len(tasks)
    return Sensitivity(
        Share(dev, n), Share(dev - both, dev), Share(both, n), Share(hidden, n), Share(hidden - both, n - dev)
    )


def mean_rate_and_bound(suite: FreshSuite, states: int) -> tuple[float, float]:
    """Mean recovery rate and mean Wilson bound over tasks, in percent, on the first hidden states."""
    shares = [hidden_share(task, states) for task in suite.tasks]
    rates = [passed / ran if ran else 0.0 for passed, ran in shares]
    bounds = [bound_of(task, states) for task in suite.tasks]
    return 100 * sum(rates) / len(rates), 100 * sum(bounds) / len(bounds)


def modes_contrast(data: ControlledData, new: str = "typed", old: str = "D1") -> Contrast | None:
    """Repairs in one feedback mode against another on the same candidates; None unless both were run."""
    if not data.candidates or not {new, old} <= set(data.candidates[0].turns):
        return None

    def through(mode: str) -> list[bool]:
        turns = [candidate.turns[mode] for candidate in data.candidates]
        return [turn is not None and turn <= data.budget for turn in turns]

    counts = pair(through(new), through(old))
    p = mcnemar(counts.only_new, counts.only_old).p_value
    return Contrast(f"{new} − {old}", counts, paired_bootstrap(counts), p, p)


def suites_contrast(data: FreshData, new: str = "Q20", old: str = "Q2") -> Contrast | None:
    """Rescue under one suite against another on the same tasks, paired; None unless both were run."""
    by_name = {suite.name: suite for suite in data.suites}
    if not {new, old} <= set(by_name):
        return None
    counts = pair(*([_rescued(task, data.threshold) for task in by_name[name].tasks] for name in (new, old)))
    p = mcnemar(counts.only_new, counts.only_old).p_value
    return Contrast(f"{new} − {old}", counts, paired_bootstrap(counts), p, p)


def _rescued(task: FreshTask, threshold: float) -> bool:
    return task.dev and bound_of(task) >= threshold


@dataclass(frozen=True, slots=True)
class SuiteCost:
    """What a suite cost per task and per success; latencies as median and quartiles. None: not known."""

    calls: float
    tokens: float | None
    seconds: float | None
    seconds_lower: float | None
    seconds_upper: float | None
    tokens_per_success: float | None
    calls_per_success: float | None


def costs(suite: FreshSuite) -> SuiteCost:
    """The costs of one suite; a success is a rescue at the usual threshold."""
    n = len(suite.tasks)
    wins = sum(_rescued(task, THRESHOLD) for task in suite.tasks)
    calls = sum(task.calls for task in suite.tasks)
    tokens = [task.tokens for task in suite.tasks if task.tokens is not None]
    seconds = [task.latency_s for task in suite.tasks if task.latency_s is not None]
    total = sum(tokens) if len(tokens) == n else None
    low, middle, high = quantiles(seconds, n=4) if len(seconds) == n > 1 else (None, None, None)
    return SuiteCost(
        calls / n,
        None if total is None else total / n,
        middle,
        low,
        high,
        total / wins if total is not None and wins else None,
        calls / wins if wins else None,
    )
