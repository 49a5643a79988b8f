"""Which plots each experiment's result makes, each titled with what was measured, on how many of what, by whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from matplotlib.figure import Figure

from takeback_lab.report import measure_plots, plots, published, wording
from takeback_lab.report.cohort_tables import read_oracle
from takeback_lab.report.controlled_tables import modes_of, printed, read_controlled, repaired
from takeback_lab.report.factorial_tables import failures
from takeback_lab.report.families import families_of
from takeback_lab.report.fresh_tables import read_fresh, strictest
from takeback_lab.report.inputs import FreshSuite, Matrix, MatrixRow, NaturalTask, OracleTask, read_factorial
from takeback_lab.report.natural_tables import read_natural
from takeback_lab.report.snapshot_tables import read_snapshots

Plots = Iterator[tuple[str, Figure]]


def natural_plots(raw: Mapping[str, Any]) -> Plots:
    """Outcome and stratum by family."""
    data = read_natural(raw)
    found = Counter((task.family, _kind(task)) for task in data.tasks)
    used = [kind for kind in plots.CATEGORIES if any(found[family, kind] for family, _ in found)]
    names = families_of([task.family for task in data.tasks])
    counts = {family: {kind: found[family, kind] for kind in used} for family in names}
    what = f"Outcome and stratum at turn 0, witness and recovery in {data.language}"
    n = len(data.tasks)
    title = wording.plot_title(what, wording.ran(n, data), "natural tasks", data, cases=n)
    yield "strata", plots.stacked_families(counts, title)


def _kind(task: NaturalTask) -> str:
    return task.outcome if task.outcome != "defective" else f"defective, {task.stratum or 'no stratum'}"


def factorial_plots(raw: Mapping[str, Any], experiment: str) -> Plots:
    """Rescue by budget."""
    data = read_factorial(experiment, raw)
    if not data.tasks:
        return
    what = "Conventional repair by budget" if experiment == "conventional" else "Rescue by budget"
    title = wording.plot_title(what, wording.ran(len(data.tasks), data), failures(data), data)
    population = wording.REPLICATED if experiment == "replication" else wording.COHORT
    beside = published.rescue_by_budget(experiment)
    yield "rescue-by-budget", measure_plots.rescue_by_budget(data, title, beside, population)


def controlled_plots(raw: Mapping[str, Any]) -> Plots:
    """Repairs by feedback mode."""
    data = read_controlled(raw)
    shares = {mode: repaired(data.candidates, mode, data.budget) for mode in modes_of(data)}
    beside = {mode: share for mode in shares if (share := printed(mode)) is not None}
    unseen = sum(candidate.nominal_pass for candidate in data.candidates)
    n = len(data.candidates)
    what = f"Controlled defects repaired at B = {data.budget}; {unseen} of {n} pass on the nominal state"
    title = wording.plot_title(what, wording.ran(n, data), "candidates", data, cases=n)
    population = f"the paper's 120 candidates, {wording.PAPER}"
    yield "repaired", measure_plots.repaired_by_mode(shares, beside, title, population)


def fresh_plots(raw: Mapping[str, Any]) -> Plots:
    """False positives against conservatism, and the round trips under the strictest suite."""
    data = read_fresh(raw)
    n = len(data.suites[0].tasks)
    count, what = wording.ran(n, data), "Precision and coverage by development suite"
    title = wording.plot_title(what, count, "fresh tasks", data, cases=n)
    population = f"the paper's 300 fresh tasks, {wording.PAPER}"
    yield "precision-coverage", measure_plots.precision_coverage(data, title, population)
    suite = strictest(data)
    what = f"Hidden round trips of the last candidate under development suite {suite.name}"
    title = wording.plot_title(what, count, "fresh tasks", data, cases=n)
    yield "round-trips", plots.round_trip_matrix(_hidden(suite), title, failed="failed, or no\ncandidate to run")


def _hidden(suite: FreshSuite) -> Matrix:
    rows = tuple(MatrixRow(id=t.id, family=t.family, passes=t.hidden) for t in suite.tasks)
    return Matrix(splits=("hidden",) * len(suite.tasks[0].hidden), rows=rows)


def oracle_plots(raw: Mapping[str, Any]) -> Plots:
    """Strata by family, and the round trips where states were run."""
    data = read_oracle(raw)
    found = Counter((task.family, _stratum(task)) for task in data.tasks)
    names = families_of([task.family for task in data.tasks])
    strata = ("S0", "S1", *(["S2"] if any(task.L2 is not None for task in data.tasks) else []), "residual")
    counts = {family: {kind: found[family, kind] for kind in strata} for family in names}
    yield "strata", plots.stacked_families(counts, f"Oracle strata, rule {data.rule}: {data.population}")
    if data.matrix:
        yield "round-trips", plots.round_trip_matrix(data.matrix, f"Round trips of the oracle: {data.population}")


def _stratum(task: OracleTask) -> str:
    return "S0" if task.L0 else "S1" if task.L1 else "S2" if task.L2 else "residual"


def snapshot_plots(raw: Mapping[str, Any]) -> Plots:
    """Bytes and latency of each method."""
    data = read_snapshots(raw)
    by = f"; model: {data.model}" if data.model else ""
    title = f"Bytes kept and undo latency by method\n{data.population}{by}"
    yield "storage-latency", measure_plots.storage_and_latency(data, title)
