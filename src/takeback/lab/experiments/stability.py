"""Stability: does a task stay in its stratum when the counterfactual states are drawn again?

The oracle audit under ten seeds. A migration is a task whose stratum under some seed is not that under the
first; Jaccard compares the tasks of a stratum under a seed with those under the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from takeback.lab.experiments import oracle
from takeback.lab.experiments.cohort import Case
from takeback.lab.pool import Tick, no_tick, run_units
from takeback.lab.progress import Progress
from takeback.lab.protocol import sources

SEEDS: Final = tuple(range(1000, 10_001, 1000))
STRATA: Final = ("S0", "S1", "residual")

Strata = Mapping[str, tuple[str, ...]]
"""The stratum of each task under each seed, in the order of the seeds."""


def protocol(
    *,
    sets: Iterable[str] = oracle.SETS,
    bank: Path | None = None,
    tasks: int | None = None,
    seeds: Sequence[int] = SEEDS,
) -> dict[str, Any]:
    """What a lock of this experiment freezes."""
    parts = oracle.protocol(sets=sets, bank=bank, tasks=tasks, seeds=seeds)
    parts["analysis"]["code"] |= sources("takeback.lab.experiments.stability")
    return parts


def run(
    cases: Sequence[Case],
    seeds: Sequence[int] = SEEDS,
    *,
    workers: int = 1,
    finished: Progress | None = None,
    tick: Tick = no_tick,
) -> dict[str, tuple[str, ...]]:
    """Stratify the cohort under each seed."""
    units = {f"{seed}/{part[0].id}": (part, oracle.SAMPLED, seed) for seed in seeds for part in oracle.chunks(cases)}
    done = run_units(strata_chunk, units, workers=workers, finished=finished, tick=tick)
    found: dict[str, list[str]] = {case.id: [] for case in cases}
    for rows in done.values():
        for task, stratum in rows.items():
            found[task].append(stratum)
    return {task: tuple(strata) for task, strata in found.items()}


def strata_chunk(unit: tuple[tuple[Case, ...], str, int]) -> dict[str, str]:
    """The stratum of several cases under one seed: the work of one worker process at a time."""
    cases, rule, seed = unit
    return {case.id: oracle.audit(case, rule, seed).stratum for case in cases}


def report_data(strata: Strata, seeds: Sequence[int], label: str) -> dict[str, Any]:
    """The result as the report reads it."""
    tasks = [{"id": task, "strata": list(found)} for task, found in strata.items()]
    return {"label": label, "seeds": list(seeds), "tasks": tasks}


def summary(strata: Strata, seeds: Sequence[int]) -> dict[str, Any]:
    """Migrations, the smallest Jaccard of S0 and of S1 over the seeds, and the strata under each seed."""
    moved = {task: found for task, found in strata.items() if any(one != found[0] for one in found)}
    return {
        "tasks": len(strata),
        "seeds": list(seeds),
        "evaluations": len(strata) * len(seeds),
        "migrations": sum(one != found[0] for found in moved.values() for one in found),
        "migrated": sorted(moved),
        "jaccard": {name: _jaccard(strata, seeds, name) for name in ("S0", "S1")},
        "strata": {str(seed): _strata(strata, at) for at, seed in enumerate(seeds)},
    }


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
