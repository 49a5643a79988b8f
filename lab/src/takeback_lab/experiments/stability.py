"""Stability: does a task stay in its stratum when the counterfactual states are drawn again?

The oracle audit under ten seeds. A migration is a task whose stratum under some seed is not that under the
first; Jaccard compares the tasks of a stratum under a seed with those under the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import InputError
from takeback_lab.experiment import Asked, Option
from takeback_lab.experiments import options
from takeback_lab.experiments.oracle import SAMPLED, AuditPlan, audit_unit, read_population
from takeback_lab.protocol import sources
from takeback_lab.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME: Final = "stability"
SEEDS: Final = tuple(range(1000, 10_001, 1000))
STRATA: Final = ("S0", "S1", "residual")

Strata = Mapping[str, Sequence[str]]
"""The stratum of each task under each seed, in the order of the seeds."""


@dataclass(frozen=True, slots=True)
class StabilityPlan(AuditPlan):
    """The audit on samples, under each seed."""

    def parts(self, who: str) -> dict[str, Any]:
        """What a lock of the run freezes."""
        parts = AuditPlan.parts(self, who)
        parts["analysis"]["code"] |= sources("takeback_lab.experiments.stability")
        return parts


class Stability:
    """Stratify a cohort under ten seeds and count the tasks whose stratum changes.

    Example: `takeback lab stability --workers 2 --out results`
    """

    name = NAME
    asks = False
    options = (
        options.SETS,
        Option("bank", "path", "A frozen bank: take its defective candidates instead."),
        Option("seeds", "number", "How many of the seeds 1000, 2000, …; ten if left out.", least=1),
        options.TASKS,
    )

    def plan(self, given: Mapping[str, Any], frozen: Mapping[str, Any] | None = None) -> StabilityPlan:
        """The cohort under all ten seeds."""
        del frozen
        count = given.get("seeds", len(SEEDS))
        if count > len(SEEDS):
            raise InputError("--seeds", found=count, expected=f"a number from 1 to {len(SEEDS)}")
        return StabilityPlan(*read_population(given), (SAMPLED,), SEEDS[:count])

    def run(self, unit: Mapping[str, Any], asked: Asked | None) -> dict[str, str]:
        """The stratum of several cases under one seed."""
        del asked
        return {one.id: one.stratum for one in audit_unit(unit)}

    def data(self, plan: StabilityPlan, done: Mapping[str, Any], who: str) -> dict[str, dict[str, Any]]:
        """The stratum of each task under each seed."""
        del who
        found: dict[str, list[str]] = {case.id: [] for case in plan.cases}
        for rows in done.values():
            for task, stratum in rows.items():
                found[task].append(stratum)
        tasks = [{"id": task, "strata": strata} for task, strata in found.items()]
        return {NAME: {"population": plan.population, "seeds": list(plan.seeds), "tasks": tasks}}

    def summary(self, plan: StabilityPlan, data: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """Migrations, the smallest Jaccard of S0 and of S1 over the seeds, and the strata under each seed."""
        seeds = plan.seeds
        strata: Strata = {row["id"]: row["strata"] for row in data[NAME]["tasks"]}
        moved = {task: found for task, found in strata.items() if any(one != found[0] for one in found)}
        return {
            "cohort": plan.population,
            "tasks": len(strata),
            "seeds": list(seeds),
            "evaluations": len(strata) * len(seeds),
            "migrations": sum(one != found[0] for found in moved.values() for one in found),
            "migrated": sorted(moved),
            "jaccard": {name: _jaccard(strata, seeds, name) for name in ("S0", "S1")},
            "strata": {str(seed): _strata(strata, at) for at, seed in enumerate(seeds)},
        }

    def holds(self, summary: Mapping[str, Any]) -> bool:
        """Whether no task changed its stratum."""
        return not summary["migrations"]

    def lines(self, summary: Mapping[str, Any]) -> Iterator[Table | str]:
        """The strata under each seed."""
        rows = tuple((seed, *(str(found[name]) for name in STRATA)) for seed, found in summary["strata"].items())
        yield Table(NAME, "", ("seed", *STRATA), rows)
        alike = ", ".join(f"{name} {_or_dash(value)}" for name, value in summary["jaccard"].items())
        migrations, evaluations = summary["migrations"], summary["evaluations"]
        yield f"{migrations} migrations in {evaluations:,} evaluations; smallest Jaccard: {alike}"

    def tables(self, data: Mapping[str, Any]) -> Iterator[Table]:
        """Migrations and Jaccard by seed."""
        from takeback_lab.report.cohort_tables import stability_tables  # noqa: PLC0415 - loads the paper's figures

        return stability_tables(data)

    def plots(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Figure]]:
        """None: a table says it."""
        del data
        return iter(())


def _or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _strata(strata: Strata, at: int) -> dict[str, int]:
    found = Counter(one[at] for one in strata.values())
    return {name: found[name] for name in STRATA}


def _jaccard(strata: Strata, seeds: Sequence[int], name: str) -> float | None:
    """The smallest over the seeds; None where no seed puts a task in the stratum."""
    values = []
    for at in range(len(seeds)):
        first = {task for task, found in strata.items() if found[0] == name}
        now = {task for task, found in strata.items() if found[at] == name}
        if first | now:
            values.append(len(first & now) / len(first | now))
    return min(values) if values else None


EXPERIMENT = Stability()
