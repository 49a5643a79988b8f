"""The lab's reports as pages: every run, its tables sortable, its shares drawn, the paper's figures beside ours."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.unit.web.conftest import BASE, HOST, words

from takeback.errors import InputError
from takeback.web.security import Session
from takeback.web.server import make_app
from takeback.web.shelf import HarnessShelf
from takeback_lab.pages import open_pages
from takeback_lab.pages.lab import sheet
from takeback_lab.pages.plots import drawing
from takeback_lab.registry import experiment_named
from takeback_lab.report.banks import shown_data
from takeback_lab.report.charts import chart_of
from takeback_lab.report.table import Figure, Interval, Share, Table
from takeback_lab.results import find_runs, read_results
from takeback_lab.statistics import wilson

RESULTS = Path(__file__).parents[3] / "results" / "first"
TABLE = Table(
    "t",
    "Shares: 4 things, a model",
    ("What", "B = 1", "B = 2", "published, B = 2", "cost", "span"),
    (
        ("b", Share(1, 4), Share(2, 4), Share(9, 10), Figure(3.5), Interval(-1, 2)),
        ("a", Share(3, 4), None, None, None, Interval(-3, 1)),
        ("c", Share(0, 0), Share(4, 4), None, Figure(-1.0), None),
    ),
    rules=frozenset({2}),
)


def asked(folder):
    session = Session()
    app = make_app(HarnessShelf([]), session, [HOST], extra=None if folder is None else open_pages(folder))
    client = TestClient(app, base_url=BASE)
    client.get(f"/open?link={session.link}")
    return client


@pytest.fixture(scope="module")
def lab():
    return asked(RESULTS)


def test_every_run_is_listed_with_its_model_and_lock(lab):
    answer = lab.get("/")
    assert answer.url.path == "/lab"
    told = words(answer)
    for path in find_runs(RESULTS):
        result = read_results(path)
        assert f"{path.name} {result.experiment} {result.data['model']} {result.lock[:10]}" in told


@pytest.mark.parametrize("path", find_runs(RESULTS), ids=lambda path: path.name[:11])
def test_every_table_of_a_report_is_on_its_page_cell_by_cell(lab, path):
    answer = lab.get(f"/lab/run/{path.name}")
    told = words(answer)
    result = read_results(path)
    tables = list(experiment_named(result.experiment).tables(shown_data(path, result)))
    assert tables
    for table in tables:
        assert " ".join(table.title.split()) in told
        for row in table.rows:
            assert " ".join("–" if cell is None else str(cell) for cell in row) in told
    assert "published" in told


def test_an_altered_run_is_refused_and_the_others_are_shown(tmp_path):
    for name in ("natural", "controlled"):
        shutil.copytree(next(RESULTS.glob(f"{name}-*")), tmp_path / name)
    altered = tmp_path / "natural" / "result.json"
    altered.write_text(altered.read_text().replace("admissible", "inadequate"))
    lab = asked(tmp_path)
    told = words(lab.get("/lab"))
    assert "natural refused" in told
    assert "controlled controlled qwen" in told
    assert "<table" not in lab.get("/lab/run/natural").text


def test_missing_runs_are_not_found(lab):
    for path in ("/lab/run/nothing", "/lab/run/../first", "/lab/run/"):
        assert lab.get(path).status_code == 404
    assert asked(None).get("/lab").status_code == 404
    with pytest.raises(InputError, match="a folder of results"):
        open_pages(RESULTS / "nothing")


def test_the_papers_figures_are_shown_beside_the_recomputed_ones(lab):
    answer = lab.get("/lab/paper")
    told = words(answer)
    count, equal = map(int, re.search(r"(\d+) figures recomputed: (\d+) equal", told).groups())
    assert len(re.findall(r"<tr", answer.text)) == count + 1
    assert told.count(" equal ") >= equal
    assert "differs" in told


@pytest.mark.parametrize(
    ("wanted", "order"),
    [
        ("t:0", "abc"),
        ("t:0:down", "cba"),
        ("t:1", "cba"),
        ("t:1:down", "abc"),
        ("t:2", "bca"),
        ("t:2:down", "cba"),
        ("t:4", "cba"),
        ("t:5", "abc"),
        ("other:0", "bac"),
        ("t:99", "bac"),
        ("t:x", "bac"),
        ("", "bac"),
    ],
)
def test_a_table_is_sorted_by_value_with_empty_cells_last(wanted, order):
    assert "".join(str(row[0]) for row in sheet(TABLE, None, wanted).table.rows) == order


def test_a_heading_shows_its_order_and_links_to_the_reverse(lab):
    path = f"/lab/run/{next(RESULTS.glob('controlled-*')).name}"
    assert "aria-sort" not in lab.get(path).text
    up = lab.get(f"{path}?sort=controlled:1").text
    assert up.count('aria-sort="ascending"') == 1
    assert f'{path}?sort=controlled:1:down#controlled"' in up
    down = lab.get(f"{path}?sort=controlled:1:down").text
    assert down.count('aria-sort="descending"') == 1
    assert f'{path}?sort=controlled:1#controlled"' in down


def test_every_share_is_drawn_with_its_interval_and_the_published_value():
    chart = chart_of(TABLE)
    assert chart.series == ("B = 1", "B = 2")
    assert [(mark.row, mark.series, mark.published) for mark in chart.marks] == [
        (0, 0, False),
        (0, 1, False),
        (0, 1, True),
        (1, 0, False),
        (2, 1, False),
    ]
    first = chart.marks[0]
    bound = wilson(1, 4)
    assert (first.value, first.low, first.high) == (25.0, 100 * bound.lower, 100 * bound.upper)
    assert first.said == "b, B = 1: ours 1 of 4, 25.0%, 95% interval 4.6 to 69.9%, n = 4"
    assert chart.marks[2].said.startswith("b, B = 2: published 9 of 10, 90.0%")


def test_a_table_without_shares_has_no_chart():
    assert chart_of(Table("t", "t", ("a", "b"), (("x", Figure(1.0)), ("y", None)))) is None


def test_marks_are_placed_by_percentage_without_overlap():
    found = drawing(chart_of(TABLE))
    assert all(found.left <= one.low <= one.x <= one.high <= found.right for one in found.marks)
    assert {one.x for one in found.marks if one.mark.value == 100} == {found.right}
    assert len({one.y for one in found.marks}) == len(found.marks)
    assert [one.y for one in found.marks] == sorted(one.y for one in found.marks)


def test_a_plot_can_be_read_without_seeing_it_and_without_scripts(lab):
    text = lab.get(f"/lab/run/{next(RESULTS.glob('factorial-*')).name}").text
    marks = re.findall(r'<g class="mark [^>]*>', text)
    assert marks
    for mark in marks:
        assert 'tabindex="0"' in mark
        assert re.search(r'aria-label="[^"]+ of \d+, [\d.]+%, 95% interval [\d.]+ to [\d.]+%, n = \d+"', mark)
    assert " style=" not in text
    assert "<script src" in text
    assert not re.search(r"<script(?! src=\"/static/)", text)
