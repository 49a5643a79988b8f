"""Plots of measures with intervals: shares with 95% Wilson intervals, bytes and latencies as medians with quartiles.

Ours is filled, the paper's is hollow and stands beside it, only where it was measured on the same kind of population;
the key says on what. Every mark has a place of its own, so that none hides another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from takeback_lab.experiment import FEW
from takeback_lab.report import published
from takeback_lab.report.counting import cells_of, in_part, rescue, sensitivity
from takeback_lab.report.factorial_tables import CELL_NAMES
from takeback_lab.report.inputs import FactorialData, FreshData, MeasureSpread, SnapshotsData
from takeback_lab.report.plots import COLOURS, GREY, STRATA, STYLE, single_axes
from takeback_lab.report.snapshot_tables import PUBLISHED
from takeback_lab.report.table import Share
from takeback_lab.snapshots.method import OWN
from takeback_lab.statistics import wilson

ROOM = 0.84
"""How much of the room between two ticks the marks of one tick take up."""
PANELS = ("S0", "S1")
MARK: dict[str, Any] = {"fmt": "o", "ms": 5, "capsize": 2, "lw": 1.2, "clip_on": False, "zorder": 3}
HOLLOW: dict[str, Any] = {**MARK, "mfc": "white", "lw": 0.8, "zorder": 2}
OURS = "ours, 95% interval"


def rescue_by_budget(
    data: FactorialData, title: str, printed: Mapping[str, Mapping[str, Mapping[int, Share]]], population: str
) -> Figure:
    """Share of the cases admitted within each budget, cell beside cell, one panel per stratum.

    `printed` is the paper's by stratum, cell and budget, `population` what it was measured on. A cohort's strata are
    mixed as it was drawn, so that only the same stratum of two cohorts compares.
    """
    with mpl.rc_context(STYLE):
        strata = [stratum for stratum in PANELS if in_part(data, stratum)]
        figure = Figure(figsize=(1.6 + 5.2 * max(1, len(strata)), 5.2), layout="constrained")
        figure.suptitle(title, x=0.01, ha="left", fontsize=12)
        panels = figure.subplots(1, max(1, len(strata)), sharey=True, squeeze=False)[0]
        for axes, stratum in zip(panels, strata, strict=False):
            _rescue_panel(axes, data, stratum, printed.get(stratum, {}))
        panels[0].set_ylabel("failures rescued (%)")
        keys = [
            Line2D([], [], color=colour, marker="o", label=CELL_NAMES.get(cell, cell))
            for cell, colour in zip(cells_of(data), COLOURS, strict=False)
        ]
        keys += _keys(population if printed else "")
        figure.legend(handles=keys, loc="outside lower left", ncols=3)
    return figure


def _rescue_panel(axes: Axes, data: FactorialData, stratum: str, printed: Mapping[str, Mapping[int, Share]]) -> None:
    cells, budgets = cells_of(data), range(1, data.budget + 1)
    slots = len(cells) * (2 if printed else 1)
    for index, (cell, colour) in enumerate(zip(cells, COLOURS, strict=False)):
        at = index * (2 if printed else 1)
        for budget in budgets:
            _share(axes, _place(budget, at, slots), rescue(data, cell, stratum, budget), colour)
        for budget, share in printed.get(cell, {}).items():
            _share(axes, _place(budget, at + 1, slots), share, colour, theirs=True)
    n = len(in_part(data, stratum))
    few = ", too few for a contrast" if n < FEW else ""
    theirs = next((share.n for points in printed.values() for share in points.values()), None)
    beside = f"; published: {theirs}" if theirs else ""
    axes.set_title(f"{stratum}, {STRATA[stratum]}: {n} failures{few}{beside}", fontsize=10)
    axes.set(xlabel="budget B (repair turns)", ylim=(-2, 102))
    axes.set_xticks(sorted({*budgets, *(b for points in printed.values() for b in points)}))
    axes.grid(axis="y", color="#E5E5E5")


def repaired_by_mode(
    shares: Mapping[str, Share], printed: Mapping[str, Share], title: str, population: str
) -> Figure:
    """Candidates repaired in each feedback mode with intervals; the paper's below each, hollow."""
    with mpl.rc_context(STYLE):
        figure, axes = single_axes(8, 2.4 + 0.45 * len(shares), title)
        for row, (mode, share) in enumerate(shares.items()):
            _share(axes, row - 0.14, share, COLOURS[0], across=True)
            if beside := printed.get(mode):
                _share(axes, row + 0.2, beside, GREY, theirs=True, across=True)
        axes.set_yticks(range(len(shares)), list(shares))
        axes.set(xlabel="candidates repaired (%)", xlim=(-2, 102), ylim=(len(shares) - 0.5, -0.5))
        axes.grid(axis="x", color="#E5E5E5")
        figure.legend(handles=_keys(population if printed else "", COLOURS[0]), loc="outside lower left")
    return figure


def precision_coverage(data: FreshData, title: str, population: str) -> Figure:
    """False positives and the conservatism gap of each suite with intervals, side by side; the paper's hollow."""
    with mpl.rc_context(STYLE):
        figure, axes = single_axes(9, 5.4, title)
        parts = {
            "false_positive": ("false positives (% of dev passes)", COLOURS[1]),
            "gap": ("conservatism gap (% of dev rejections)", COLOURS[0]),
        }
        names = []
        for at, suite in enumerate(data.suites):
            found = sensitivity(suite.tasks, data.threshold)
            names.append(f"{suite.name}\n{found.dev.k} passed, {found.dev.n - found.dev.k} rejected")
            for index, (part, (_, colour)) in enumerate(parts.items()):
                place = _place(at, 2 * index, 2 * len(parts))
                ours: Share = getattr(found, part)
                if ours.n:
                    _share(axes, place, ours, colour)
                else:
                    axes.text(place, 1, "n = 0", ha="center", va="bottom", color=colour, fontsize=8)
                if beside := published.share(f"fresh.{suite.name}.{part}"):
                    _share(axes, _place(at, 2 * index + 1, 2 * len(parts)), beside, colour, theirs=True)
        axes.set_xticks(range(len(data.suites)), names, fontsize=9)
        axes.set(xlabel="development suite", ylabel="%", ylim=(-2, 102))
        axes.grid(axis="y", color="#E5E5E5")
        keys = [Line2D([], [], color=colour, marker="o", label=name) for name, colour in parts.values()]
        figure.legend(handles=[*keys, *_keys(population)], loc="outside lower left", ncols=2)
    return figure


def storage_and_latency(data: SnapshotsData, title: str) -> Figure:
    """Bytes kept and undo latency of each method, both logarithmic: medians with quartiles; the paper's below."""
    with mpl.rc_context(STYLE):
        shown = _trials_named(data)
        rows = [(shown[m.name], m.bytes, m.latency_us, True) for m in data.methods if m.bytes and m.latency_us]
        rows.sort(key=lambda row: row[2].median)
        for key, name in PUBLISHED.items():
            _, median, mean_latency = published.snapshot_cost(key)
            rows.append((f"{name}, published", _flat(median), _flat(mean_latency), False))
        figure = Figure(figsize=(10.5, 2.2 + 0.34 * len(rows)), layout="constrained")
        figure.suptitle(title, x=0.01, ha="left", fontsize=12)
        kept, took = figure.subplots(1, 2, sharey=True)
        for at, (_, stored, latency, ours) in enumerate(rows):
            _spread(kept, at, stored, ours=ours)
            _spread(took, at, latency, ours=ours)
        disk = data.entry.disk if data.entry is not None else None
        places = [at for at, (name, *_) in enumerate(rows) if name == shown.get(OWN)]
        if disk is not None and places:
            kept.plot([disk], places, "D", mfc="white", mec=COLOURS[1], ms=6, zorder=3)
        kept.set_yticks(range(len(rows)), [name for name, *_ in rows])
        kept.set(xscale="log", xlabel="bytes kept for the change", ylim=(len(rows) - 0.5, -0.5))
        took.set(xscale="log", xlabel="undo latency (µs)")
        for axes in (kept, took):
            axes.grid(axis="x", color="#E5E5E5")
        figure.legend(handles=_storage_keys(disk), loc="outside lower left", ncols=2)
    return figure


def _trials_named(data: SnapshotsData) -> dict[str, str]:
    """Each method's name, with its number of trials where it took fewer than others."""
    trials = {method.name: method.different[1] if method.different else 0 for method in data.methods}
    most = max(trials.values())
    return {name: name if count == most else f"{name}, n = {count}" for name, count in trials.items()}


def _storage_keys(disk: float | None) -> list[Line2D]:
    keys = [
        Line2D([], [], color=COLOURS[0], marker="o", label="ours: what undo needs; median, quartiles"),
        Line2D(
            [],
            [],
            ls="",
            marker="o",
            color=GREY,
            mfc="white",
            label="published: 300 tasks, median bytes, mean latency",
        ),
    ]
    if disk is not None:
        said = f"{OWN}: a whole journal entry on disk, mean {disk:.0f} B"
        keys.append(Line2D([], [], ls="", marker="D", color=COLOURS[1], mfc="white", label=said))
    return keys


def _share(
    axes: Axes, place: float, share: Share, colour: str, *, theirs: bool = False, across: bool = False
) -> None:
    """One share in percent with its 95% Wilson interval, upright or across."""
    value, bound = 100 * share.k / share.n, wilson(share.k, share.n)
    reach = ([max(0.0, value - 100 * bound.lower)], [max(0.0, 100 * bound.upper - value)])
    look = HOLLOW if theirs else MARK
    if across:
        axes.errorbar([value], [place], xerr=reach, color=colour, **look)
    else:
        axes.errorbar([place], [value], yerr=reach, color=colour, **look)


def _spread(axes: Axes, row: int, found: MeasureSpread, *, ours: bool) -> None:
    reach = ([max(0.0, found.median - found.lower)], [max(0.0, found.upper - found.median)])
    look = MARK if ours else HOLLOW
    axes.errorbar([found.median], [row], xerr=reach, color=COLOURS[0] if ours else GREY, **look)


def _flat(value: float) -> MeasureSpread:
    """A published value, which has no spread."""
    return MeasureSpread(mean=value, median=value, lower=value, upper=value)


def _place(at: float, slot: int, slots: int) -> float:
    """Where the mark of one of several slots around a tick stands."""
    return at + ROOM * ((slot + 0.5) / slots - 0.5)


def _keys(population: str, colour: str = GREY) -> Sequence[Line2D]:
    """What filled and hollow marks mean; no population: nothing published is shown."""
    keys = [Line2D([], [], color=colour, marker="o", label=OURS)]
    if population:
        said = f"published, 95% interval: {population}"
        keys.append(Line2D([], [], color=GREY, marker="o", mfc="white", lw=0.8, label=said))
    return keys
