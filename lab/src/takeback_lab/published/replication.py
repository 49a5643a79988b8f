"""Checks of the replication on a second model: its contrasts, and the first model's cells on the same tasks.

Discordant counts are not printed. C2's follow from a cell of zero, C3's are solved from p and the difference,
C1's are one of four: what holds for all four is derived, what does not is not derivable.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from takeback_lab.published.check import Agreement, Check, holds, not_derivable, rounds_to, same
from takeback_lab.published.contrasts import CONTRASTS, difference_scores
from takeback_lab.published.intervals import ambiguous_interval, interval_check
from takeback_lab.published.paper import Paper, Printed
from takeback_lab.statistics import holm, mcnemar


def replication(paper: Paper) -> Iterator[Check]:
    """C1, C2, C3 on Qwen3.8-27B, and the subset's historical reference."""
    cells = {
        contrast: tuple(paper.k(f"replication.qwen.{cell}.{stratum}") for cell in (new, old))
        for contrast, (new, old, stratum) in CONTRASTS.items()
    }
    tasks = {c: paper.n(f"replication.qwen.{new}.{stratum}") for c, (new, _, stratum) in CONTRASTS.items()}
    for contrast, (new, old) in cells.items():
        printed = paper.figure(f"replication.{contrast}.difference")
        yield same(
            f"replication.{contrast}: difference in points",
            printed,
            Fraction(100 * (new - old), tasks[contrast]),
        )
    yield from _replication_tests(paper, cells, tasks)
    for name in [name for name in paper.shares() if name.startswith("replication.")]:
        yield same(f"{name}: half of the subset", paper.figure("replication.tasks", "count"), 2 * paper.n(name))
    for cell in ("D0L0", "D1L0", "D0L1", "D1L1"):
        printed = paper.figure(f"replication.gpt-oss.{cell}.S0", "k")
        note = "The replication holds all 48 tasks of S0, so the reference must be the primary cell."
        yield same(f"replication.reference {cell} on S0", printed, paper.k(f"factorial.{cell}.S0"), note)
        yield _subset(paper, cell)


def _subset(paper: Paper, cell: str) -> Check:
    """The reference on 48 of the 143 tasks of S1 can neither succeed nor fail more often than the whole."""
    reference, whole = f"replication.gpt-oss.{cell}.S1", f"factorial.{cell}.S1"
    failed = paper.n(reference) - paper.k(reference)
    possible = paper.k(reference) <= paper.k(whole) and failed <= paper.n(whole) - paper.k(whole)
    low = max(0, paper.k(whole) - (paper.n(whole) - paper.n(reference)))
    high = min(paper.k(whole), paper.n(reference))
    return Check(
        f"replication.reference {cell} on S1",
        paper.where(reference),
        str(paper.k(reference)),
        paper.k(reference),
        [low, high],
        Agreement.EQUAL if possible else Agreement.DIFFERS,
        "A range: which 48 tasks of S1 were taken is not printed.",
    )


def _solve(difference: int, old: int, printed: Printed) -> list[tuple[int, int]]:
    """All discordant counts (new only, old only) with this difference whose exact p is the printed one."""
    pairs = [(difference + lost, lost) for lost in range(old + 1)]
    return [pair for pair in pairs if min(pair) >= 0 and rounds_to(mcnemar(*pair).p_value, printed)]


def _replication_tests(paper: Paper, cells: dict[str, tuple[int, ...]], tasks: dict[str, int]) -> Iterator[Check]:
    (new1, old1), (new2, old2), (new3, old3) = cells["C1"], cells["C2"], cells["C3"]
    p3_printed = paper.figure("replication.C3.holm")
    solved = _solve(new3 - old3, old3, p3_printed)
    yield holds(
        "replication.C3: discordant counts",
        p3_printed.where,
        f"p = {p3_printed.text}",
        [list(pair) for pair in solved],
        true=len(solved) == 1,
        note="Not printed. Solved from the difference and p (the largest of the three, which Holm leaves as "
        "it is): exactly one pair (Qwen D1L1 only, D0L1 only) gives this p.",
    )
    for pair in solved[:1]:
        interval = paper.figures("replication.C3.interval", "interval")
        yield interval_check("replication.C3: 95 % interval", interval, difference_scores(*pair, tasks["C3"]))
    lost_range = range(min(old1, tasks["C1"] - new1) + 1)
    possible = [(new1 - old1 + lost, lost) for lost in lost_range]
    largest = max(mcnemar(*pair).p_value for pair in possible)
    adjusted = holm([largest, mcnemar(new2, old2).p_value, float(p3_printed.value)]).adjusted
    for contrast, value in zip(("C1", "C2"), adjusted, strict=False):
        printed = paper.figure(f"replication.{contrast}.holm")
        yield holds(
            f"replication.{contrast}: Holm p",
            printed.where,
            f"p < {printed.text}",
            value,
            true=value < printed.value,
            note="The largest value over all discordant counts that the printed cells allow.",
        )
    interval2 = paper.figures("replication.C2.interval", "interval")
    yield interval_check("replication.C2: 95 % interval", interval2, difference_scores(new2, old2, tasks["C2"]))
    options = [difference_scores(*pair, tasks["C1"]) for pair in possible]
    yield ambiguous_interval(
        "replication.C1: 95 % interval",
        paper.figures("replication.C1.interval", "interval"),
        options,
        f"Needs how many of the {old1} tasks solved by Qwen D0L0 were lost under D1L0; it is not printed.",
    )
    note = "How many calls were made or truncated in Qwen's D1L0 cell is not printed."
    yield not_derivable("replication.truncation rate", paper.figure("replication.truncation"), None, note)
