"""Plots: a picture shows the numbers it was given, hides none of them, and says what was measured on what."""

import itertools

import lab_samples
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.text import Text

from takeback_lab.registry import experiment_named
from takeback_lab.report import measure_plots, plots, published
from takeback_lab.report.counting import CELLS, rescue
from takeback_lab.report.inputs import EXPERIMENTS, read_input
from takeback_lab.report.table import Share
from takeback_lab.statistics import wilson


@pytest.fixture(scope="module")
def data():
    return {name: read_input(name, make(), name) for name, make in lab_samples.ALL.items() if name in EXPERIMENTS}


def heights(axes):
    """The height of each marker with an upright interval, and that interval, ours first."""
    found = []
    for container in sorted(axes.containers, key=lambda one: one.lines[0].get_markerfacecolor() == "white"):
        [points, _, [bars]] = container.lines
        for x, y, bar in zip(points.get_xdata(), points.get_ydata(), bars.get_segments(), strict=True):
            found.append((x, y, bar[0][1], bar[1][1]))
    return found


def hidden_marks(figure):
    """Pairs of marks of a drawn figure that lie on one another."""
    figure.canvas.draw()
    pairs = []
    for axes in figure.axes:
        found = []
        for line in axes.lines:
            if line.get_marker() == "o" or line.get_marker() == "D":
                radius = line.get_markersize() * figure.dpi / 72 / 2
                found += [(*place, radius) for place in axes.transData.transform(line.get_xydata())]
        pairs += [
            (a, b)
            for a, b in itertools.combinations(found, 2)
            if (a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2 < (a[2] + b[2]) ** 2
        ]
    return pairs


def figures_of(name, raw):
    return dict(experiment_named(name).plots(raw))


def words_of(figure):
    """Everything a figure says: titles, labels, keys."""
    return "\n".join(text.get_text() for text in figure.findobj(Text))


def test_the_budget_plot_shows_each_stratum_with_intervals(data):
    figure = figures_of("factorial", lab_samples.factorial())["rescue-by-budget"]
    assert [axes.get_title(loc="left").split(",")[0] for axes in figure.axes] == ["S0", "S1"]
    for axes, stratum in zip(figure.axes, ("S0", "S1"), strict=True):
        shares = [rescue(data["factorial"], cell, stratum, b) for cell in CELLS for b in (1, 2, 3, 4)]
        marks = heights(axes)
        assert [y for _, y, _, _ in marks[:16]] == pytest.approx([100 * share.k / share.n for share in shares])
        assert all(low <= y <= high and low < high for _, y, low, high in marks)
    assert [round(y, 1) for _, y, _, _ in heights(figure.axes[0])[16:]] == [0.0, 50.0, 72.9, 77.1, 79.2, 79.2, 70.8]
    assert published.rescue_by_budget("replication")["S0"]["D1L1"] == {4: Share(43, 48)}
    assert published.rescue_by_budget("conventional") == {}


def test_a_plot_names_the_population_of_the_papers_marks_it_shows():
    assert "197 failures of gpt-oss-120b" in words_of(
        figures_of("factorial", lab_samples.factorial())["rescue-by-budget"]
    )
    replicated = words_of(figures_of("replication", lab_samples.factorial())["rescue-by-budget"])
    assert "96 failures, Qwen3.8-27B" in replicated
    assert "gpt-oss-120b" not in replicated.replace("natural failures, gpt-oss-120b", "")
    assert "published" not in words_of(figures_of("conventional", lab_samples.conventional())["rescue-by-budget"])


NOTHING_RESCUED = dict.fromkeys(("D0L0", "D1L0", "D0L1", "D1L1"))


@pytest.mark.parametrize("name", ["factorial", "conventional", "controlled", "fresh", "snapshots"])
def test_no_mark_of_a_plot_hides_another(name):
    for figure in figures_of(name, lab_samples.ALL[name]()).values():
        assert hidden_marks(figure) == []


def test_marks_stay_visible_if_every_cell_is_equal():
    raw = lab_samples.factorial()
    raw["tasks"] = [{**task, "turns": NOTHING_RESCUED} for task in raw["tasks"]]
    assert hidden_marks(figures_of("factorial", raw)["rescue-by-budget"]) == []


@pytest.mark.parametrize("name", ["natural", "factorial", "conventional", "controlled", "fresh"])
def test_titles_of_a_stopped_run_state_its_progress_and_model(name):
    raw = {**lab_samples.ALL[name](), "locked": 1000, "prompts": "v3-plain"}
    for figure in figures_of(name, raw).values():
        said = words_of(figure)
        assert " of 1000 locked " in said
        assert "gpt-oss-120b, prompts v3-plain" in said
    whole = {**raw, "locked": None}
    assert "locked" not in "".join(words_of(figure) for figure in figures_of(name, whole).values())


def test_the_matrix_plot_shows_each_round_trip_once(data):
    matrix = data["oracle"].matrix
    axes = plots.round_trip_matrix(matrix, "t").axes[0]
    values = axes.images[0].get_array()
    assert values.shape == (len(matrix.rows), 50)
    for mark, code in (("1", 0), ("0", 1), ("-", 2)):
        assert int((values == code).sum()) == sum(row.passes.count(mark) for row in matrix.rows)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["dev", "iid", "ood"]


def test_the_strata_plot_shows_an_interval_below_each_border_between_parts():
    counts = {"tools": {"S0": 45, "S1": 40, "residual": 15}, "listeners": {"S1": 9}}
    figure = plots.stacked_families(counts, "t")
    axes = figure.axes[0]
    found = []
    for container in axes.containers:
        if isinstance(container, ErrorbarContainer):
            [points, _, [bars]] = container.lines
            [segment] = bars.get_segments()
            found.append((points.get_xdata()[0], points.get_ydata()[0], *segment[:, 0]))
    bounds = [wilson(45, 100), wilson(85, 100)]
    assert [(x, low, high) for x, _, low, high in found] == [
        (at, pytest.approx(100 * bound.lower), pytest.approx(100 * bound.upper))
        for at, bound in zip((45, 85), bounds, strict=True)
    ]
    assert len({y for _, y, _, _ in found}) == 2
    assert "95% interval" in words_of(figure)


def test_the_strata_plot_draws_each_count_to_scale():
    counts = {"tools": {"S0": 45, "residual": 2}, "listeners": {"S1": 9}}
    axes = plots.stacked_families(counts, "t").axes[0]
    assert sorted(bar.get_width() for bar in axes.patches if bar.get_width()) == [2, 9, 45]
    assert sorted(text.get_text() for text in axes.texts) == ["2", "45", "9"]


def test_the_precision_plot_separates_both_rates_of_each_suite(data):
    axes = measure_plots.precision_coverage(data["fresh"], "t", "the paper's").axes[0]
    marks = heights(axes)
    assert len(marks) == 20
    assert [y for _, y, *_ in marks[:2]] == pytest.approx([100 * 30 / 179, 100 * 8 / 121])
    assert "179 passed, 121 rejected" in axes.get_xticklabels()[0].get_text()


def test_the_storage_plot_has_a_row_per_method_and_explains_its_bytes(data):
    raw = lab_samples.snapshots()
    raw["methods"][-1]["name"] = "takeback undo"
    raw["methods"][0] |= {"name": "program of a model", "different": [10, 12]}
    figure = figures_of("snapshots", raw)["storage-latency"]
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(names) == len(set(names)) == len(raw["methods"]) + 3
    for axes, field in zip(figure.axes, ("bytes", "latency_us"), strict=True):
        drawn = {names[int(line.get_ydata()[0])]: line.get_xdata()[0] for line, *_ in axes.containers}
        assert drawn["program of a model, n = 12"] == raw["methods"][0][field]["median"]
        assert all(drawn[method["name"]] == method[field]["median"] for method in raw["methods"][1:])
    said = words_of(figure)
    assert "what undo needs" in said
    assert "a whole journal entry on disk, mean 1200 B" in said


def test_pictures_are_the_same_bytes_every_time():
    counts = {"tools": {"S0": 45, "residual": 2}, "listeners": {"S1": 9}}
    first, second = (plots.render(plots.stacked_families(counts, "t")) for _ in range(2))
    assert first == second
    assert first["png"].startswith(b"\x89PNG")
    assert b"<svg" in first["svg"]
