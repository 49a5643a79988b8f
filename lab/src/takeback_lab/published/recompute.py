"""Run all checks of the paper in the order of the paper, and say which are exceptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from takeback_lab.published import admission, cohort, contrasts, factorial, fresh, interaction, replication
from takeback_lab.published.check import Agreement, Check
from takeback_lab.published.paper import Paper, load_paper

GROUPS: tuple[Callable[[Paper], Iterator[Check]], ...] = (
    admission.admission,
    cohort.accounting,
    cohort.families,
    cohort.strata,
    cohort.overlap,
    cohort.snapshots,
    factorial.table,
    contrasts.primary,
    interaction.interaction,
    interaction.leave_one_out,
    factorial.efficiency,
    factorial.budget,
    factorial.gate,
    factorial.calls,
    factorial.discordant,
    replication.replication,
    fresh.sensitivity,
    fresh.thresholds,
    fresh.hidden_sizes,
    fresh.cost,
    fresh.families,
    fresh.illustration,
    cohort.percentages,
)


@dataclass(frozen=True, slots=True)
class Recomputation:
    """All checks; `exceptions` are those that are not equal, each with its explanation."""

    checks: tuple[Check, ...]

    @property
    def exceptions(self) -> tuple[Check, ...]:
        """Checks that differ or are not derivable."""
        return tuple(check for check in self.checks if not check.equal)

    @property
    def all_equal(self) -> bool:
        """Whether every derived figure follows from the printed counts."""
        return not self.exceptions

    @property
    def all_explained(self) -> bool:
        """Whether every exception is a known one with its explanation."""
        return all(check.explained for check in self.exceptions)

    def to_json(self) -> dict[str, Any]:
        """One JSON object for the command line."""
        statuses = [check.status for check in self.checks]
        return {
            "all_equal": self.all_equal,
            "all_explained": self.all_explained,
            "count": len(self.checks),
            **{status.value.replace(" ", "_"): statuses.count(status) for status in Agreement},
            "exceptions": [check.to_json() for check in self.exceptions],
            "checks": [check.to_json() for check in self.checks],
        }


def recompute(paper: Paper | None = None) -> Recomputation:
    """Recompute every derived figure of the paper (or of an altered copy of its counts)."""
    source = paper or load_paper()
    return Recomputation(tuple(check for group in GROUPS for check in group(source)))
