"""Keys on the timeline, drift and a lost connection without a reload."""

from __future__ import annotations

import pytest
from tests.web.conftest import Tab, served, until


@pytest.fixture
def quiet_tab(chromium):
    """A tab whose server may end: then the browser complains, as it should."""
    opened = Tab(chromium)
    yield opened.page
    opened.context.close()


def test_entries_are_reached_ticked_and_taken_back_with_keys(sixty, tab):
    _, harness = sixty
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        first, second = page.locator("li.entry").nth(0), page.locator("li.entry").nth(1)
        for key in "jjkj":
            page.keyboard.press(key)
        assert "at" in second.get_attribute("class").split()
        assert "at" not in first.get_attribute("class").split()
        page.keyboard.press("x")
        assert second.get_by_role("checkbox").is_checked()
        page.keyboard.press("?")
        page.get_by_text("preview taking it back").wait_for()
        page.keyboard.press("/")
        page.keyboard.type("juxk")
        assert page.get_by_role("searchbox").input_value() == "juxk"
        assert second.get_by_role("checkbox").is_checked()
        second.get_by_role("checkbox").focus()
        page.keyboard.press("u")
        page.get_by_text("Nothing has been changed yet").wait_for()


def test_drift_appears_and_disappears_without_a_reload(sixty, tab):
    root, harness = sixty
    rules = root / "CLAUDE.md"
    known = rules.read_text()
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        assert page.get_by_text("changed outside Takeback").count() == 0
        page.wait_for_timeout(1000)
        rules.write_text(known + "- Written by hand.\n")
        page.get_by_text("1 thing was changed outside Takeback").wait_for()
        rules.write_text(known)
        until(lambda: page.get_by_text("changed outside Takeback").count() == 0)


def test_a_stopped_server_is_reported_with_the_command_to_restart_it(sixty, quiet_tab):
    _, harness = sixty
    with served(("parcel-tracker", harness)) as link:
        quiet_tab.goto(link)
        assert quiet_tab.locator("#offline").is_hidden()
    quiet_tab.get_by_text("Run takeback web again").wait_for()
