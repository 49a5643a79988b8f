"""Cases that only one of two cells recovers: in what way the other one's last recovery falls short of it.

The categories are read off the two recoveries, operation by operation, so that nobody has to judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from takeback_lab.report import published, wording
from takeback_lab.report.counting import admitted, cells_of
from takeback_lab.report.inputs import FactorialData, FactorialTask
from takeback_lab.report.table import Cell, Figure, Table

COARSE, GROUNDED = "D0L1", "D1L1"
DiscordantSteps = Sequence[tuple[str, str]]
CATEGORIES: Final = {
    "unreadable": "no recovery that could be read",
    "over-decomposition": "more operations than the one that worked",
    "omission": "fewer operations than the one that worked",
    "sequence inversion": "the same operations in another order",
    "ambiguous target": "the same kinds of operation on other targets",
    "other operation": "as many operations, of other kinds",
    "capture or contract": "the same recovery; capture or contract differ",
}


@dataclass(frozen=True, slots=True)
class Discordant:
    """A case that one cell recovers and the other does not, and how the losing recovery differs."""

    id: str
    stratum: str
    winner: str
    category: str
    operations: dict[str, int | None]
    tokens: dict[str, int]


def discordant(data: FactorialData) -> tuple[Discordant, ...]:
    """The cases that only one of D0L1 and D1L1 recovers."""
    if not {COARSE, GROUNDED} <= set(cells_of(data)):
        return ()
    return tuple(found for task in data.tasks if (found := _compare(task, data.budget)) is not None)


def _compare(task: FactorialTask, budget: int) -> Discordant | None:
    won = [cell for cell in (COARSE, GROUNDED) if admitted(task, cell, budget)]
    if len(won) != 1:
        return None
    [winner] = won
    loser = GROUNDED if winner == COARSE else COARSE
    steps = {cell: task.recovery.get(cell) for cell in (COARSE, GROUNDED)}
    return Discordant(
        task.id,
        task.stratum,
        winner,
        category_of(steps[winner] or (), steps[loser]),
        {cell: None if found is None else len(found) for cell, found in steps.items()},
        {cell: task.tokens.get(cell, 0) for cell in (COARSE, GROUNDED)},
    )


def category_of(good: DiscordantSteps, bad: DiscordantSteps | None) -> str:
    """How a recovery that failed differs from one that worked."""
    if bad is None:
        return "unreadable"
    if len(bad) != len(good):
        return "over-decomposition" if len(bad) > len(good) else "omission"
    if list(good) == list(bad):
        return "capture or contract"
    if sorted(good) == sorted(bad):
        return "sequence inversion"
    kinds = [sorted(op for op, _ in steps) for steps in (good, bad)]
    return "ambiguous target" if kinds[0] == kinds[1] else "other operation"


def discordant_table(data: FactorialData, experiment: str) -> Iterator[Table]:
    """The taxonomy on S1, with mean operations and tokens in each of the two cells; the paper's below."""
    found = [one for one in discordant(data) if one.stratum == "S1"]
    rows: list[tuple[Cell, ...]] = []
    for category in CATEGORIES:
        for winner in (COARSE, GROUNDED):
            mine = [one for one in found if (one.category, one.winner) == (category, winner)]
            if mine:
                rows.append((category, str(len(mine)), winner, *_means(mine)))
    rows += _aggregate([one for one in found if one.winner == COARSE])
    rule = len(rows)
    if experiment == "factorial":
        rows += _published()
    columns = (
        "Category",
        "Cases",
        "Winner",
        f"Operations, {GROUNDED}",
        f"Operations, {COARSE}",
        f"Tokens, {GROUNDED}",
        f"Tokens, {COARSE}",
    )
    title = wording.titled(
        "Discordant cases on S1", len(found), f"cases that only one of {COARSE} and {GROUNDED} recovers", data
    )
    meanings = [f"{name.capitalize()}: {meaning}." for name, meaning in CATEGORIES.items()]
    theirs = f"Published: {wording.COHORT}." if experiment == "factorial" else ""
    unfinished = wording.unfinished(len(data.tasks), data)
    note = wording.note(*meanings, theirs, unfinished, wording.few(len(found), "discordant cases"))
    yield Table(f"{experiment}-discordant", title, columns, tuple(rows), note, frozenset({rule}))


def _aggregate(won: Sequence[Discordant]) -> list[tuple[Cell, ...]]:
    """All cases that coarse diagnosis wins together, as in the paper's last row."""
    return [(f"all that {COARSE} wins", str(len(won)), COARSE, *_means(won))] if won else []


def _means(found: Sequence[Discordant]) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for cell in (GROUNDED, COARSE):
        counts = [count for one in found if (count := one.operations[cell]) is not None]
        cells.append(Figure(fmean(counts)) if counts else None)
    cells += [Figure(fmean(one.tokens[cell] for one in found), 1) for cell in (GROUNDED, COARSE)]
    return tuple(cells)


def _published() -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    for name, winner in (
        ("Over-decomposition", COARSE),
        ("Sequence inversion", COARSE),
        ("Over-capture clobbering", COARSE),
        ("Ambiguous target", GROUNDED),
        ("Aggregate", COARSE),
    ):
        entry = published.paper().entries[f"discordant.{name}"]
        means: list[Cell] = [
            Figure(float(text), 1 if at > 1 else 2) for at, text in enumerate(entry.get("means") or entry["measured"])
        ]
        rows.append((f"{name}, published", str(entry["tasks"]), winner, *(means or [None] * 4)))
    return rows
