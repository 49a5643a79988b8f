"""The plots, from the same counts as the tables: one function a plot, drawn without a display.

Each returns a matplotlib figure; `render` saves it as PNG and SVG with nothing in it that changes from run to
run. Ours is filled or solid, the paper's is hollow or dashed and grey.
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
from takeback.lab.report.cohort_tables import PUBLISHED_METHODS, families_of
from takeback.lab.report.counting import cells_of, rescue, sensitivity
from takeback.lab.report.inputs import Factorial, Fresh, Matrix, Snapshots

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
GREY = "#777777"
HOLLOW: dict[str, Any] = {
    "ls": "--",
    "lw": 1,
    "marker": "o",
    "mfc": "none",
    "mew": 1.6,
    "ms": 11,
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


def rescue_by_budget(data: Factorial, title: str, printed: Mapping[str, Mapping[int, float]]) -> Figure:
    """Share of the cohort admitted within each budget, a line for each cell; `printed` is the paper's."""
    with mpl.rc_context(STYLE):
        figure, axes = _axes(7.5, 4.2, title)
        budgets = range(1, data.budget + 1)
        keys: list[Line2D] = []
        for cell, colour in zip(cells_of(data), COLOURS, strict=False):
            shares = [rescue(data, cell, "all", budget) for budget in budgets]
            values = [100 * share.k / share.n for share in shares]
            axes.plot(budgets, values, color=colour, marker="o", clip_on=False, zorder=3)
            beside = printed.get(cell, {})
            axes.plot(list(beside), list(beside.values()), color=colour, clip_on=False, **HOLLOW)
            keys.append(Line2D([], [], color=colour, marker="o", label=cell))
        keys.append(Line2D([], [], color=GREY, marker="o", label="ours"))
        keys.append(Line2D([], [], color=GREY, label="published", **HOLLOW))
        axes.set(xlabel="budget B (repair turns)", ylabel="tasks rescued (%)", ylim=(0, 102))
        axes.set_xticks(sorted({*budgets, *(b for points in printed.values() for b in points)}))
        axes.grid(axis="y", color="#E5E5E5")
        axes.legend(handles=keys, loc="center left", bbox_to_anchor=(1.03, 0.5))
    return figure


def stacked_families(counts: Mapping[str, Mapping[str, int]], title: str) -> Figure:
    """Horizontal bars, one a family, divided by category; the number stands in each part wide enough."""
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


def precision_coverage(data: Fresh, title: str) -> Figure:
    """False positives against the conservatism gap, a point for each suite; the paper's hollow."""
    with mpl.rc_context(STYLE):
        figure, axes = _axes(7.5, 4.6, title)
        keys: list[Line2D] = []
        for suite, colour in zip(data.suites, COLOURS, strict=False):
            ours = sensitivity(suite.tasks, data.threshold)
            if ours.gap.n and ours.false_positive.n:
                x, y = 100 * ours.gap.k / ours.gap.n, 100 * ours.false_positive.k / ours.false_positive.n
                axes.plot([x], [y], "o", color=colour, ms=9, clip_on=False, zorder=3)
            gap, wrong = (published.share(f"fresh.{suite.name}.{part}") for part in ("gap", "false_positive"))
            if gap and wrong:
                x, y = 100 * gap.k / gap.n, 100 * wrong.k / wrong.n
                axes.plot([x], [y], "o", mfc="none", mec=colour, mew=1.4, ms=16, clip_on=False, zorder=2)
            keys.append(Line2D([], [], ls="", marker="o", color=colour, label=suite.name))
        keys.append(Line2D([], [], ls="", marker="o", color=GREY, label="ours"))
        keys.append(Line2D([], [], ls="", marker="o", color=GREY, mfc="none", ms=10, mew=1.8, label="published"))
        axes.set(
            xlabel="conservatism gap (% of development rejections)",
            ylabel="false positives (% of development passes)",
        )
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.margins(0.08)
        axes.grid(color="#E5E5E5")
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


def storage_latency(data: Snapshots, title: str) -> Figure:
    """Mean bytes against undo latency, both logarithmic; names in a column, a line to each point."""
    with mpl.rc_context(STYLE):
        points = [(m.mean_bytes, m.latency_us, m.name, True) for m in data.methods]
        for key, name in PUBLISHED_METHODS.items():
            mean, _, latency = published.snapshot_cost(key)
            points.append((mean, latency, f"{name} (published)", False))
        points.sort(key=lambda point: point[1])
        figure, axes = _axes(8.5, max(4.2, 0.36 * len(points) + 1.2), title)
        axes.set(xscale="log", yscale="log", xlabel="mean storage (bytes)", ylabel="undo latency (µs)")
        axes.grid(color="#E5E5E5", which="major")
        widths = [point[0] for point in points]
        x_range, y_range = _range(widths), _range([point[1] for point in points])
        axes.set(xlim=x_range, ylim=y_range)
        heights = [_fraction(point[1], y_range) for point in points]
        places = _spread(heights, 0.95 / len(points))
        for (x, y, name, ours), height, place in zip(points, heights, places, strict=True):
            colour = COLOURS[0] if ours else GREY
            line = ([_fraction(x, x_range), 1.04], [height, place])
            axes.plot(*line, transform=axes.transAxes, color="#CCCCCC", lw=0.8, clip_on=False, zorder=1)
            axes.plot([x], [y], "o", color=colour, mfc=colour if ours else "white", ms=7, zorder=3)
            text_colour = "black" if ours else GREY
            axes.text(1.05, place, name, transform=axes.transAxes, va="center", color=text_colour)
    return figure


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
