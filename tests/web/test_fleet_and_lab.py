"""Several harnesses at a glance, a fleet from a real PostgreSQL, and the lab's reports, in the browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.changes import candidate, config
from tests.web.conftest import served
from tests.web.test_page import faults_of

from takeback.adapters import open_workspace
from takeback.adapters.workspace.adapter import init_workspace
from takeback.state import State

RESULTS = Path(__file__).parents[2] / "results" / "first"
RUN = "lab/run/controlled-qwen2.5-coder-1.5b-instruct-q4_k_m"


@pytest.fixture
def fleet(chromium, postgres_url, tmp_path):
    for agent in ("billing", "search"):
        init_workspace(tmp_path / agent, journal=f"{postgres_url}#{agent}", start=State.read({"config": {"a": 1}}))
        with open_workspace(tmp_path / agent, hold=False) as harness:
            assert harness.apply(candidate(config("a", 2)), note="more of it", by="ann").entry
    return postgres_url, tmp_path / "search"


def test_a_fleet_is_listed_and_one_directory_of_it_can_be_worked_on(fleet, tab):
    from takeback.web.shelf import HarnessShelf

    url, search = fleet
    secret = "p4ssword-nobody-sees"
    shelf = HarnessShelf.of([url.replace("postgres:@", f"postgres:{secret}@"), search])
    (search / "config.toml").write_text("a = 3\n")
    with served(shelf=shelf) as link:
        page = tab(link)
        assert secret not in page.content() + page.title() + page.url
        row = page.get_by_role("row", name="search")
        row.get_by_role("link", name="1 changed").click()
        page.get_by_role("button", name="Adopt everything").click()
        page.get_by_text("Done: adopted").wait_for()
        page.get_by_role("link", name="all harnesses").click()
        assert "none" in page.get_by_role("row", name="search").inner_text()
        assert faults_of(page) == []
        with open_workspace(search.parent / "billing", hold=False) as harness:
            harness.apply(candidate(config("a", 4)), note="made elsewhere")
        page.get_by_role("row", name="billing").get_by_text("made elsewhere").wait_for()
        page.get_by_role("link", name="billing").click()
        page.get_by_text("contents are sealed").wait_for()
        assert page.locator("li.entry").count() == 3
        assert page.locator("button").count() == 0
        assert secret not in page.content()
    shelf.close()


@pytest.fixture
def lab(chromium):
    from takeback.web.shelf import HarnessShelf
    from takeback_lab.pages import open_pages

    with served(shelf=HarnessShelf([]), extra=open_pages(RESULTS)) as link:
        yield link


def test_a_table_of_the_lab_is_sorted_with_the_keyboard(lab, tab):
    page = tab(lab, java_script_enabled=False)
    page.goto(lab.partition("open")[0] + RUN)
    table = page.locator("table#controlled")
    heading = table.get_by_role("link", name="B = 1")
    for expected in ("ascending", "descending"):
        heading.focus()
        page.keyboard.press("Enter")
        page.wait_for_url("**sort=controlled**")
        assert table.locator("th[aria-sort]").get_attribute("aria-sort") == expected
        shares = [
            float(one.split("(")[1].split("%")[0]) for one in table.locator("tr td:nth-child(2)").all_text_contents()
        ]
        assert shares == sorted(shares, reverse=expected == "descending")


def test_a_plot_mark_shows_its_value_on_hover_and_focus(lab, tab):
    page = tab(lab)
    page.goto(lab.partition("open")[0] + RUN)
    plot = page.locator("figure.plot").first
    mark = plot.locator(".mark").nth(3)
    readout = mark.locator(".readout")
    assert not readout.is_visible()
    mark.locator("circle").hover()
    assert readout.is_visible()
    assert "95% interval" in readout.text_content()
    assert "n = 20" in readout.text_content()
    page.mouse.move(0, 0)
    mark.focus()
    assert readout.is_visible()
    assert plot.locator(".mark.theirs").count()
    shown = plot.locator(".mark:visible").count()
    plot.get_by_role("checkbox", name="B = 1").uncheck()
    assert plot.locator(".mark:visible").count() < shown


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_labs_pages_have_no_serious_fault_of_accessibility_and_fit_a_phone(lab, tab, scheme):
    page = tab(lab, color_scheme=scheme)
    for path in ("lab", RUN, "lab/paper"):
        page.goto(lab.partition("open")[0] + path)
        assert faults_of(page) == []
        page.set_viewport_size({"width": 360, "height": 700})
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 360, path
