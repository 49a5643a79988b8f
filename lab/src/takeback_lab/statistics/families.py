"""Leave-one-family-out: the paired difference again and again, each time without one family of tasks.

Joint counts by family go in. A family whose absence leaves no task is reported as such, not as zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from takeback_lab.statistics.paired import PairedCounts, mcnemar


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The comparison without `family`: tasks left, difference, exact McNemar p (None where none is left)."""

    family: str
    tasks: int
    difference: float | None
    p_value: float | None


def leave_one_family_out(families: Mapping[str, PairedCounts]) -> tuple[LeftOut, ...]:
    """One result for each family, in the order given."""
    return tuple(_without(family, families) for family in families)


def _without(family: str, families: Mapping[str, PairedCounts]) -> LeftOut:
    rest = [counts for name, counts in families.items() if name != family]
    if not rest:
        return LeftOut(family, 0, None, None)
    total = PairedCounts(
        sum(c.both for c in rest),
        sum(c.only_new for c in rest),
        sum(c.only_old for c in rest),
        sum(c.neither for c in rest),
    )
    test = mcnemar(total.only_new, total.only_old)
    return LeftOut(family, total.pairs, total.difference, test.p_value)
