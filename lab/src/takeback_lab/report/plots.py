"""Plots of counts: families divided by category, round trips state by state; and the look that all plots share.

Each function returns a matplotlib figure, drawn without a display; `render` saves it as PNG and SVG with nothing in
it that changes from run to run. Plots of measures with intervals are in `measure_plots`.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import accumulate, groupby

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from takeback_lab.report.families import families_of
from takeback_lab.report.inputs import Matrix
from takeback_lab.statistics import wilson

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
    "defective, S0": "#0072B2",
    "defective, S1": "#C04F00",
    "defective, residual": "#000000",
    "defective, no stratum": "#8A4F7D",
    "S0": "#0072B2",
    "S1": "#C04F00",
    "residual": "#000000",
}
STRATA = {
    "S0": "recoverable in L0",
    "S1": "recoverable only in L1",
    "S2": "recoverable only in L2",
    "residual": "not recoverable",
}
NARROW = 0.03
GREY = "#777777"
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


def single_axes(width: float, height: float, title: str) -> tuple[Figure, Axes]:
    """A figure with one plot in it, titled."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, pad=12)
    return figure, axes


def stacked_families(counts: Mapping[str, Mapping[str, int]], title: str) -> Figure:
    """Horizontal bars, one per family, divided by category; the number stands in each part wide enough."""
    with mpl.rc_context(STYLE):
        families = list(counts)
        figure, axes = single_axes(8, 1.4 + 0.5 * len(families), title)
        categories = list(dict.fromkeys(category for parts in counts.values() for category in parts))
        widest = max(sum(parts.values()) for parts in counts.values())
        left = np.zeros(len(families))
        spare = iter(COLOURS)
        for category in categories:
            colour = CATEGORIES.get(category) or next(spare)
            widths = np.array([counts[family].get(category, 0) for family in families])
            key = _explained(category)
            axes.barh(families, widths, left=left, color=colour, edgecolor="white", height=0.62, label=key)
            for row, (width, start) in enumerate(zip(widths, left, strict=True)):
                _part_label(axes, start + width / 2, row, int(width), wide=width >= NARROW * widest)
            left += widths
        for row, parts in enumerate(counts.values()):
            _border_intervals(axes, row, [parts.get(category, 0) for category in categories])
        axes.invert_yaxis()
        axes.set(xlabel="tasks", xlim=(0, widest * 1.02))
        axes.tick_params(axis="y", length=0)
        keys, _ = axes.get_legend_handles_labels()
        keys.append(Line2D([], [], color=GREY, marker="|", lw=0.8, label="95% interval\nof a border"))
        axes.legend(handles=keys, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def _explained(category: str) -> str:
    """A category as the key has it: a stratum with what it means."""
    meaning = next((meaning for stratum, meaning in STRATA.items() if category.endswith(stratum)), "")
    return f"{category}:\n{meaning}" if meaning else category


def _border_intervals(axes: Axes, row: int, widths: Sequence[int]) -> None:
    """Below a bar, the 95% Wilson interval of each border between its parts: of the share that lies left of it."""
    whole = sum(widths)
    borders = [border for border in dict.fromkeys(accumulate(widths)) if 0 < border < whole]
    for at, border in enumerate(borders):
        bound = wilson(border, whole)
        reach = ([border - whole * bound.lower], [whole * bound.upper - border])
        axes.errorbar([border], [row + 0.36 + 0.07 * at], xerr=reach, fmt="|", color=GREY, ms=4, lw=0.8)


def _part_label(axes: Axes, x: float, row: int, width: int, *, wide: bool) -> None:
    """The number of a bar's part: inside where it fits, above the bar where it does not."""
    if wide:
        axes.text(x, row, str(width), ha="center", va="center", color="white", fontsize=9)
    elif width:
        axes.text(x, row - 0.33, str(width), ha="center", va="bottom", color="black", fontsize=8)


def round_trip_matrix(matrix: Matrix, title: str, failed: str = "failed") -> Figure:
    """Tasks down, states across: passed, failed, not run; grouped by family and split."""
    with mpl.rc_context(STYLE):
        order = families_of([row.family for row in matrix.rows])
        rows = sorted(matrix.rows, key=lambda row: (order.index(row.family), -row.passes.count("1"), row.id))
        code = {"1": 0, "0": 1, "-": 2}
        values = np.array([[code[mark] for mark in row.passes] for row in rows])
        height = min(11.0, max(3.2, 1.8 + 0.045 * len(rows)))
        figure, axes = single_axes(9, height, title)
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
        across = f"{len(matrix.splits)} counterfactual states per task, by split"
        axes.set(xlabel=across, ylabel=f"{len(rows)} tasks, by family")
        keys = [Patch(facecolor=c, label=t) for c, t in ((PASSED, "passed"), (FAILED, failed), (NOT_RUN, "not run"))]
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
