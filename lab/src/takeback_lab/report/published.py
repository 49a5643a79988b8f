"""The paper's figures as table cells, looked up by our experiments' names; what is not printed is None."""

from __future__ import annotations

from functools import lru_cache

from takeback_lab.published import Paper, load_paper
from takeback_lab.report.table import Figure, Interval, Share

FAMILIES = {
    "config": ("Config", "Configuration"),
    "tools": ("Tools", "Tools"),
    "middleware": ("Middleware", "Middleware"),
    "listeners": ("Listeners", "Listeners"),
    "resources": ("Resources", "Resources"),
    "multi-surface": ("Multi-Surface", "Multi-Surface"),
}
"""Our family → the paper's name in its table of the natural cohort, and in that of the fresh one."""

FAMILY_ALIASES = {"multi": "multi-surface", "multi_surface": "multi-surface", "configuration": "config"}


@lru_cache(maxsize=1)
def paper() -> Paper:
    """The printed counts, read once."""
    return load_paper()


def family(name: str) -> tuple[str, str] | None:
    """The paper's two names of one of our families, if it has it."""
    key = name.lower()
    return FAMILIES.get(FAMILY_ALIASES.get(key, key))


def share(name: str) -> Share | None:
    """A printed fraction."""
    return Share(paper().k(name), paper().n(name)) if name in paper().entries else None


def figure(name: str, *, digits: int = 2, signed: bool = False, power: bool = False) -> Figure | None:
    """A printed figure."""
    if name not in paper().entries:
        return None
    return Figure(float(paper().figure(name).value), digits, signed, power)


def span(name: str) -> Interval | None:
    """A printed interval."""
    if name not in paper().entries:
        return None
    low, high = paper().figures(name, "interval")
    return Interval(float(low.value), float(high.value))


def measured_share(name: str) -> Share:
    """A printed pair of counts from which nothing else in the paper follows."""
    k, n = paper().figures(name, "measured")
    return Share(int(k.value), int(n.value))


def snapshot_cost(method: str) -> tuple[float, float, float]:
    """The paper's mean bytes, median bytes and mean microseconds of a snapshot method."""
    mean, median, milliseconds = paper().figures(f"snapshots.{method}.cost", "measured")
    return float(mean.value), float(median.value), 1000 * float(milliseconds.value)


def rescue_by_budget(experiment: str) -> dict[str, dict[str, dict[int, Share]]]:
    """The paper's rescue by stratum, cell and budget, as far as it is printed."""
    prefix = {"factorial": "factorial", "replication": "replication.qwen"}.get(experiment)
    if prefix is None:
        return {}
    last = 4
    cells = ("D0L0", "D1L0", "D0L1", "D1L1")
    names = {stratum: {cell: f"{prefix}.{cell}.{stratum}" for cell in cells} for stratum in ("S0", "S1")}
    found = {
        stratum: {cell: {last: Share(paper().k(name), paper().n(name))} for cell, name in mine.items()}
        for stratum, mine in names.items()
    }
    if experiment == "factorial":  # all that D1L0 rescues is in S0, so its steps are too
        steps = enumerate(paper().row("progress.D1L0"), 1)
        found["S0"]["D1L0"] = {budget: Share(k, paper().count("cohort.S0")) for budget, k in steps}
    return found
