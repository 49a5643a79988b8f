"""Checks of the factorial interaction and of the statements about leaving one family out.

Both rest on outcomes of which the paper prints only totals: what every possible joint outcome shares is
derived, the rest is reported as a range and as not derivable.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from takeback_lab.published.check import Agreement, Check, holds, not_derivable, same
from takeback_lab.published.contrasts import discordant_counts
from takeback_lab.published.intervals import ambiguous_interval
from takeback_lab.published.paper import Paper


def interaction_scores(tasks: int, d1l1: int, d0l1: int, d1l0: int) -> list[tuple[int, int, int, int]]:
    """All ways to count tasks by D1L1 − D0L1 − D1L0 = +1, 0, −1, −2 with these totals (D0L0 empty)."""
    found = []
    for plus in range(d1l1 + 1):
        for minus_two in range(min(d0l1, d1l0) + 1):
            minus = d0l1 + d1l0 - d1l1 + plus - 2 * minus_two
            zero = tasks - plus - minus_two - minus
            if (
                minus >= 0
                and zero >= 0
                and _has_joint(zero, minus, (d1l1 - plus, d0l1 - minus_two, d1l0 - minus_two))
            ):
                found.append((plus, zero, minus, minus_two))
    return found


def _has_joint(zero: int, minus: int, left: tuple[int, int, int]) -> bool:
    """Whether tasks scoring 0 (none, D1L1 and one other) and −1 (one other, all three) fit what is left."""
    both, coarse, grounded = left
    for with_coarse in range(zero + 1):
        for with_grounded in range(zero - with_coarse + 1):
            all_three = both - with_coarse - with_grounded
            alone = (coarse - with_coarse - all_three, grounded - with_grounded - all_three)
            if min(all_three, *alone) >= 0 and all_three + sum(alone) == minus:
                return True
    return False


def interaction(paper: Paper) -> Iterator[Check]:
    """The full-cohort interaction and its interval."""
    cell = {c: paper.k(f"factorial.{c}.all") for c in ("D0L0", "D1L0", "D0L1", "D1L1")}
    tasks = paper.n("factorial.D0L0.all")
    value = Fraction(100 * (cell["D1L1"] - cell["D0L1"] - cell["D1L0"] + cell["D0L0"]), tasks)
    yield same("interaction: estimate in points", paper.figure("interaction.estimate"), value)
    interval = paper.figures("interaction.interval", "interval")
    gained, lost = discordant_counts(paper, "C3")
    s0 = {c: paper.k(f"factorial.{c}.S0") for c in cell}
    zero_elsewhere = tasks - paper.n("factorial.D0L0.S0") - gained - lost
    options = [
        {1: plus + gained, 0: zero + zero_elsewhere, -1: minus + lost, -2: minus_two}
        for plus, zero, minus, minus_two in interaction_scores(
            paper.n("factorial.D0L0.S0"), s0["D1L1"], s0["D0L1"], s0["D1L0"]
        )
    ]
    if cell["D0L0"] or s0["D0L0"] or not options:
        yield not_derivable("interaction: 95 % interval", interval[0], None, "Needs an empty D0L0 cell.")
        return
    need = "Needs the joint outcome of the other three cells on S0, of which only totals are printed."
    yield ambiguous_interval("interaction: 95 % interval", interval, options, need)


def leave_one_out(paper: Paper) -> Iterator[Check]:
    """What the statements about leaving out a family rest on."""
    new, tasks = paper.k("factorial.D0L1.S1"), paper.n("factorial.D0L1.S1")
    failed = tasks - new + paper.k("factorial.D0L0.S1")
    sizes = {name: paper.row(f"families.{name}")[4] for name in paper.names("families") if name != "Total"}
    worst = min(Fraction(100 * (tasks - size - failed), tasks - size) for size in sizes.values())
    yield holds(
        "leave one family out.C2",
        "appendix K.1",
        "strongly positive",
        f"at least {float(worst):+.2f} points whichever family is left out",
        true=worst > 50,  # noqa: PLR2004  ("strongly": more than half of the tasks)
        note="A lower bound: every failure is counted against the families that stay.",
    )
    yield _undetermined(paper, "C1", "strongly positive", "Tools", 3)
    yield _undetermined(paper, "C3", "negative", "Middleware", 4)


def _undetermined(paper: Paper, contrast: str, claim: str, family: str, column: int) -> Check:
    """The range of a contrast without its largest family, given totals only."""
    gained, lost = discordant_counts(paper, contrast)
    size, total = paper.row(f"families.{family}")[column], paper.row("families.Total")[column]
    left = total - size
    low = max(0, gained - size) - min(lost, left)
    high = min(gained, left) - max(0, lost - size)
    return Check(
        f"leave one family out.{contrast}",
        "appendix K.1",
        claim,
        claim,
        [100 * low / left, 100 * high / left],
        Agreement.NOT_DERIVABLE,
        f"Outcomes by family are not printed. Without {family} the printed totals allow any difference in "
        "this range (points).",
        explained=True,
    )
