"""Checks of the factorial beyond its contrasts: sums, efficiency, budget, language gate, calls, traces."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from takeback_lab.published.check import Agreement, Check, same, within
from takeback_lab.published.paper import Paper

CELLS = ("D0L0", "D1L0", "D0L1", "D1L1")
BUDGET = 4


def table(paper: Paper) -> Iterator[Check]:
    """Cells of the factorial table; none of the six residual tasks is rescued anywhere."""
    for cell in CELLS:
        strata = sum(paper.k(f"factorial.{cell}.{stratum}") for stratum in ("S0", "S1"))
        note = "The two strata; so no task outside them was rescued."
        yield same(f"factorial.{cell}: full cohort", paper.figure(f"factorial.{cell}.all", "k"), strata, note)
        for part, count in (("all", "defective"), ("S0", "S0"), ("S1", "S1")):
            printed = paper.figure(f"factorial.{cell}.{part}", "n")
            yield same(f"factorial.{cell}: size of {part}", printed, paper.count(f"cohort.{count}"))


def efficiency(paper: Paper) -> Iterator[Check]:
    """Model rescues over tasks the oracle recovers in the same language."""
    for cell in CELLS:
        solvable = paper.k("cohort.oracle_L0" if cell.endswith("L0") else "cohort.oracle_L1")
        rescued = paper.k(f"factorial.{cell}.all")
        yield same(f"efficiency.{cell}", paper.figure(f"efficiency.{cell}"), Fraction(100 * rescued, solvable))


def budget(paper: Paper) -> Iterator[Check]:
    """Rescue by budget, and the calls it implies if a rescued task stops and the others use all four."""
    reached = paper.row("progress.D1L0")
    last = paper.figures("progress.D1L0", "row")[-1]
    yield same("budget.D1L0 at B = 4", last, paper.k("factorial.D1L0.all"))
    steps = [after - before for before, after in zip([0, *reached], reached, strict=False)]
    yield Check(
        "budget.D1L0 rescue never falls",
        paper.where("progress.D1L0"),
        ", ".join(map(str, reached)),
        reached,
        steps,
        Agreement.EQUAL if min(steps) >= 0 else Agreement.DIFFERS,
        "`recomputed` holds the tasks rescued at each turn.",
    )
    yield from _responses(paper, reached, steps)


def _responses(paper: Paper, reached: list[int], steps: list[int]) -> Iterator[Check]:
    on_rescued = sum(turn * tasks for turn, tasks in enumerate(steps, 1))
    why = (
        "A rescued task stops at its turn, any other uses all four; so says the printed rescue by budget ("
        f"{', '.join(map(str, reached))}, all in S0). The printed number of responses cannot come from that "
        "schedule, and the paper does not say what else was counted or left out."
    )
    total = on_rescued + BUDGET * (paper.count("cohort.defective") - reached[-1])
    in_s0 = on_rescued + BUDGET * (paper.count("cohort.S0") - reached[-1])
    in_s1 = BUDGET * paper.count("cohort.S1")
    yield same("responses.D1L0 in all", paper.figure("gate.responses", "count"), total, if_not=why)
    yield same("responses.D1L0 on S0", paper.figure("gate.rejected_S0", "n"), in_s0, if_not=why)
    yield same("responses.D1L0 on S1", paper.figure("gate.rejected_S1", "n"), in_s1, if_not=why)
    left = paper.count("gate.responses") - paper.n("gate.rejected_S0") - paper.n("gate.rejected_S1")
    yield Check(
        "responses.D1L0 on the residual tasks",
        paper.where("gate.responses"),
        str(left),
        left,
        BUDGET * paper.count("cohort.residual"),
        Agreement.EQUAL if left == BUDGET * paper.count("cohort.residual") else Agreement.DIFFERS,
        "What the printed total leaves after both strata, against four for each residual task.",
    )


def gate(paper: Paper) -> Iterator[Check]:
    """Rejections by the language gate add up."""
    strata = paper.k("gate.rejected_S0") + paper.k("gate.rejected_S1")
    total = strata + paper.count("gate.rejected_residual")
    yield same("gate.rejected in all", paper.figure("gate.rejected", "count"), total)


def calls(paper: Paper) -> Iterator[Check]:
    """Calls a task, and whether early stopping allows the printed totals."""
    tasks = paper.count("cohort.defective")
    totals = {"D0L1": "calls.D0L1", "D1L1": "calls.D1L1", "D1L0": "gate.responses"}
    for cell, name in totals.items():
        used = paper.count(name)
        yield same(f"calls.{cell} a task", paper.figure(f"calls_a_task.{cell}"), Fraction(used, tasks))
    for cell in ("D0L1", "D1L1"):
        rescued = paper.k(f"factorial.{cell}.all")
        least = rescued + BUDGET * (tasks - rescued)
        note = "A range: a rescued task uses one to four calls, any other four."
        yield within(f"calls.{cell} possible", paper.figure(totals[cell], "count"), least, BUDGET * tasks, note)


def discordant(paper: Paper) -> Iterator[Check]:
    """The aggregate row of the discordant table is the weighted mean of the rows that D0L1 wins."""
    rows = [name for name in paper.names("discordant") if name not in ("Aggregate", "Ambiguous target")]
    weights = [paper.count(f"discordant.{name}", "tasks") for name in rows]
    won = sum(weights)
    yield same("discordant.tasks D0L1 wins", paper.figure("discordant.Aggregate", "tasks"), won)
    yield same("discordant.tasks D0L1 alone solves", paper.figure("contrast.C3.only_D0L1", "count"), won)
    lost = paper.figure("discordant.Ambiguous target", "tasks")
    yield same("discordant.tasks D1L1 alone solves", lost, paper.count("contrast.C3.only_D1L1"))
    labels = ("operations D1L1", "operations D0L1", "tokens D1L1", "tokens D0L1")
    for column, label in enumerate(labels):
        means = [paper.figures(f"discordant.{name}", "means")[column] for name in rows]
        middle = sum((w * m.value for w, m in zip(weights, means, strict=True)), Fraction(0)) / won
        slack = sum((w * m.half_digit for w, m in zip(weights, means, strict=True)), Fraction(0)) / won
        printed = paper.figures("discordant.Aggregate", "means")[column]
        note = "A range: the rows are themselves rounded means."
        yield within(f"discordant.mean {label}", printed, middle - slack, middle + slack, note)
