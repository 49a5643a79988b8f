"""The plots, from the same counts as the tables: one function per plot, drawn without a display.

Each returns a matplotlib figure; `render` saves it as PNG and SVG with nothing in it that changes from run to
run. Ours is filled or solid, the paper's is hollow or dashed. Shares carry 95% Wilson intervals; marks that would lie
on one another stand side by side.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from takeback.lab.report import published
from takeback.lab.report.counting import cells_of, rescue, sensitivity
from takeback.lab.report.families import families_of
from takeback.lab.report.inputs import FactorialData, FreshData, Matrix, MeasureSpread, SnapshotsData
from takeback.lab.report.snapshot_tables import PUBLISHED
from takeback.lab.report.table import Share
from takeback.lab.statistics import wilson

STYLE = {
    "svg.hashsalt": "takeback",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "figure.dpi": 100,
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
CATEGORIES = {
    "admissible": "#00735C",
    "inadequate": "#8C8C8C",
    "S0": "#0072B2",
    "S1": "#C04F00",
    "residual": "#000000",
    "defective, no stratum": "#8A4F7D",
}
NARROW = 0.03
SPREAD = 0.64
"""How much of the room between two ticks the marks of one tick take up."""
GREY = "#777777"
GAP = ("conservatism gap (% of dev rejections)", "#0072B2")
PUBLISHED_COHORT = "published: 197 failures, gpt-oss-120b"
MARK: dict[str, Any] = {"fmt": "o", "ms": 6, "capsize": 3, "lw": 1.2, "clip_on": False, "zorder": 3}
HOLLOW: dict[str, Any] = {
    "ls": "--",
    "lw": 1,
    "marker": "o",
    "mfc": "none",
    "mew": 1.6,
    "ms": 9,
    "zorder": 2,
}
PASSED, FAILED, NOT_RUN = "#DCE9F2", "#B2182B", "#BBBBBB"


def render(figure: Figure) -> dict[str, bytes]:
    """The figure as `png` and `svg` bytes, the same bytes for the same figure."""
    out = {}
    with mpl.rc_context(STYLE):
        for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=150, metadata=metadata, bbox_inches="tight")
            out[kind] = buffer.getvalue()
    return out


def _axes(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, pad=12)
    return figure, axes


def _wilson(share: Share) -> tuple[float, float, float]:
    """A share in percent, and how far its 95% Wilson interval reaches below and above it."""
    value, bound = 100 * share.k / share.n, wilson(share.k, share.n)
    return value, max(0.0, value - 100 * bound.lower), max(0.0, 100 * bound.upper - value)


def _beside(at: float, index: int, count: int, *, theirs: bool = False) -> float:
    """Where the mark of one of several conditions stands, ours and the paper's, so that equal values stay apart."""
    place = at + SPREAD * ((index + 0.5) / count - 0.5)
    return place + SPREAD / (2.5 * count) if theirs else place


def rescue_by_budget(data: FactorialData, title: str, printed: Mapping[str, Mapping[int, float]]) -> Figure:
    """Share of the cases admitted within each budget, one mark per cell side by side; `printed` is the paper's."""
    with mpl.rc_context(STYLE):
        figure, axes = _axes(8.5, 4.4, title)
        budgets = range(1, data.budget + 1)
        cells = cells_of(data)
        keys: list[Line2D] = []
        for index, (cell, colour) in enumerate(zip(cells, COLOURS, strict=False)):
            places = [_beside(budget, index, len(cells)) for budget in budgets]
            found = [_wilson(rescue(data, cell, "all", budget)) for budget in budgets]
            values, below, above = zip(*found, strict=True)
            axes.errorbar(places, values, yerr=(below, above), color=colour, **MARK)
            beside = printed.get(cell, {})
            shown = [_beside(budget, index, len(cells), theirs=True) for budget in beside]
            axes.plot(shown, list(beside.values()), color=colour, clip_on=False, **HOLLOW)
            keys.append(Line2D([], [], color=colour, marker="o", label=cell))
        keys.append(Line2D([], [], color=GREY, marker="o", label="ours, 95% interval"))
        if printed:
            keys.append(Line2D([], [], color=GREY, label=PUBLISHED_COHORT, **HOLLOW))
        axes.set(xlabel="budget B (repair turns)", ylabel="failures rescued (%)", ylim=(-2, 102))
        axes.set_xticks(sorted({*budgets, *(b for points in printed.values() for b in points)}))
        axes.grid(axis="y", color="#E5E5E5")
        axes.legend(handles=keys, loc="center left", bbox_to_anchor=(1.03, 0.5))
    return figure


def repaired_by_mode(shares: Mapping[str, Share], printed: Mapping[str, Share], title: str) -> Figure:
    """Candidates repaired in each feedback mode with intervals; the paper's beside, hollow."""
    with mpl.rc_context(STYLE):
        figure, axes = _axes(8, 1.6 + 0.45 * len(shares), title)
        for row, (mode, share) in enumerate(shares.items()):
            value, below, above = _wilson(share)
            axes.errorbar([value], [row - 0.12], xerr=([below], [above]), color=COLOURS[0], **MARK)
            if beside := printed.get(mode):
                axes.plot([100 * beside.k / beside.n], [row + 0.18], "o", mfc="none", mec=GREY, mew=1.6, ms=8)
        axes.set_yticks(range(len(shares)), list(shares))
        axes.set(xlabel="candidates repaired (%)", xlim=(-2, 102), ylim=(len(shares) - 0.5, -0.5))
        axes.grid(axis="x", color="#E5E5E5")
        keys = [
            Line2D([], [], color=COLOURS[0], marker="o", label="ours, 95% interval"),
            Line2D([], [], ls="", marker="o", color=GREY, mfc="none", mew=1.6, label="published: 120, gpt-oss-120b"),
        ]
        axes.legend(handles=keys, loc="center left", bbox_to_anchor=(1.03, 0.5))
    return figure


def stacked_families(counts: Mapping[str, Mapping[str, int]], title: str) -> Figure:
    """Horizontal bars, one per family, divided by category; the number stands in each part wide enough."""
    with mpl.rc_context(STYLE):
        families = list(counts)
        figure, axes = _axes(8, 1.4 + 0.5 * len(families), title)
        categories = list(dict.fromkeys(category for parts in counts.values() for category in parts))
        widest = max(sum(parts.values()) for parts in counts.values())
        left = np.zeros(len(families))
        spare = iter(COLOURS)
        for category in categories:
            colour = CATEGORIES.get(category) or next(spare)
            widths = np.array([counts[family].get(category, 0) for family in families])
            axes.barh(families, widths, left=left, color=colour, edgecolor="white", height=0.62, label=category)
            for row, (width, start) in enumerate(zip(widths, left, strict=True)):
                _part_label(axes, start + width / 2, row, int(width), wide=width >= NARROW * widest)
            left += widths
        axes.invert_yaxis()
        axes.set(xlabel="tasks", xlim=(0, widest * 1.02))
        axes.tick_params(axis="y", length=0)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def _part_label(axes: Axes, x: float, row: int, width: int, *, wide: bool) -> None:
    """The number of a bar's part: inside where it fits, above the bar where it does not."""
    if wide:
        axes.text(x, row, str(width), ha="center", va="center", color="white", fontsize=9)
    elif width:
        axes.text(x, row - 0.33, str(width), ha="center", va="bottom", color="black", fontsize=8)


def precision_coverage(data: FreshData, title: str) -> Figure:
    """False positives and the conservatism gap of each suite with intervals, side by side; the paper's hollow."""
    with mpl.rc_context(STYLE):
        figure, axes = _axes(8.5, 4.6, title)
        parts = {"false_positive": ("false positives (% of dev passes)", COLOURS[1]), "gap": GAP}
        for index, (part, (_, colour)) in enumerate(parts.items()):
            for at, suite in enumerate(data.suites):
                place = _beside(at, index, len(parts))
                ours: Share = getattr(sensitivity(suite.tasks, data.threshold), part)
                if ours.n:
                    value, below, above = _wilson(ours)
                    axes.errorbar([place], [value], yerr=([below], [above]), color=colour, **MARK)
                else:
                    axes.text(place, 1, "n = 0", ha="center", va="bottom", color=colour, fontsize=8)
                if beside := published.share(f"fresh.{suite.name}.{part}"):
                    height = 100 * beside.k / beside.n
                    aside = _beside(at, index, len(parts), theirs=True)
                    axes.plot([aside], [height], "o", mfc="none", mec=colour, mew=1.6, ms=8, clip_on=False)
        axes.set_xticks(range(len(data.suites)), [suite.name for suite in data.suites])
        axes.set(xlabel="development suite", ylabel="%", ylim=(-2, 102))
        axes.grid(axis="y", color="#E5E5E5")
        keys = [
            Line2D([], [], color=colour, marker="o", label=f"{name}, 95% interval") for name, colour in parts.values()
        ]
        keys.append(
            Line2D([], [], ls="", marker="o", color=GREY, mfc="none", mew=1.8, label="published: 300, gpt-oss-120b")
        )
        axes.legend(handles=keys, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def round_trip_matrix(matrix: Matrix, title: str) -> Figure:
    """Tasks down, states across: passed, failed, not run; grouped by family and split."""
    with mpl.rc_context(STYLE):
        order = families_of([row.family for row in matrix.rows])
        rows = sorted(matrix.rows, key=lambda row: (order.index(row.family), -row.passes.count("1"), row.id))
        code = {"1": 0, "0": 1, "-": 2}
        values = np.array([[code[mark] for mark in row.passes] for row in rows])
        height = min(11.0, max(3.2, 1.8 + 0.045 * len(rows)))
        figure, axes = _axes(9, height, title)
        axes.imshow(
            values,
            aspect="auto",
            interpolation="nearest",
            cmap=ListedColormap([PASSED, FAILED, NOT_RUN]),
            vmin=0,
            vmax=2,
        )
        axes.set_yticks(*_groups([row.family for row in rows]))
        axes.set_xticks(*_groups(list(matrix.splits)))
        axes.tick_params(length=0, top=False)
        for names, line in (
            ([row.family for row in rows], axes.axhline),
            (list(matrix.splits), axes.axvline),
        ):
            for edge in _edges(names):
                line(edge - 0.5, color="white", lw=2)
        axes.set(xlabel="counterfactual states, by split", ylabel=f"{len(rows)} tasks, by family")
        keys = [
            Patch(facecolor=c, label=t) for c, t in ((PASSED, "passed"), (FAILED, "failed"), (NOT_RUN, "not run"))
        ]
        shown = keys if (values == code["-"]).any() else keys[:2]
        axes.legend(handles=shown, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def _edges(names: Sequence[str]) -> list[int]:
    """Where a new group begins, the first left out."""
    return [i for i in range(1, len(names)) if names[i] != names[i - 1]]


def _groups(names: Sequence[str]) -> tuple[list[float], list[str]]:
    """The middle and the name of each run of equal names."""
    middles, labels, start = [], [], 0
    for name, run in groupby(names):
        length = len(list(run))
        middles.append(start + (length - 1) / 2)
        labels.append(name)
        start += length
    return middles, labels


def storage_latency(data: SnapshotsData, title: str) -> Figure:
    """Bytes kept against undo latency, both logarithmic: medians with quartiles; names in a column."""
    with mpl.rc_context(STYLE):
        points = [(m.bytes, m.latency_us, m.name, True) for m in data.methods if m.bytes and m.latency_us]
        for key, name in PUBLISHED.items():
            _, median, latency = published.snapshot_cost(key)
            points.append((_flat(median), _flat(latency), f"{name} (published, mean latency)", False))
        points.sort(key=lambda point: point[1].median)
        figure, axes = _axes(9, max(4.2, 0.36 * len(points) + 1.2), title)
        axes.set(xscale="log", yscale="log", xlabel="bytes kept for the change, median and quartiles")
        axes.set_ylabel("undo latency (µs), median and quartiles")
        axes.grid(color="#E5E5E5", which="major")
        x_range = _range([edge for kept, *_ in points for edge in (kept.lower, kept.upper)])
        y_range = _range([edge for _, took, *_ in points for edge in (took.lower, took.upper)])
        axes.set(xlim=x_range, ylim=y_range)
        heights = [_fraction(point[1].median, y_range) for point in points]
        places = _spread(heights, 0.95 / len(points))
        for (stored, took, name, ours), height, place in zip(points, heights, places, strict=True):
            colour = COLOURS[0] if ours else GREY
            line = ([_fraction(stored.median, x_range), 1.04], [height, place])
            axes.plot(*line, transform=axes.transAxes, color="#CCCCCC", lw=0.8, clip_on=False, zorder=1)
            look: dict[str, Any] = {**MARK, "color": colour, "mfc": colour if ours else "white"}
            axes.errorbar([stored.median], [took.median], xerr=_reach(stored), yerr=_reach(took), **look)
            text_colour = "black" if ours else GREY
            axes.text(1.05, place, name, transform=axes.transAxes, va="center", color=text_colour)
    return figure


def _flat(value: float) -> MeasureSpread:
    """A published value, which has no spread."""
    return MeasureSpread(mean=value, median=value, lower=value, upper=value)


def _reach(found: MeasureSpread) -> tuple[list[float], list[float]]:
    return [max(0.0, found.median - found.lower)], [max(0.0, found.upper - found.median)]


def _spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Rising places as near as can be to the wanted ones, at least `gap` apart, within 0 and 1."""
    places: list[float] = []
    for want in wanted:
        places.append(max(want, places[-1] + gap) if places else max(want, gap / 2))
    ceiling = 1 - gap / 2
    for index in range(len(places) - 1, -1, -1):
        places[index] = min(places[index], ceiling)
        ceiling = places[index] - gap
    return places


def _range(values: Sequence[float]) -> tuple[float, float]:
    """The range of a logarithmic axis with some room on both sides."""
    return min(values) / 1.6, max(values) * 1.6


def _fraction(value: float, span: tuple[float, float]) -> float:
    """Where a value lies on a logarithmic axis, from 0 to 1."""
    return math.log(value / span[0]) / math.log(span[1] / span[0])
