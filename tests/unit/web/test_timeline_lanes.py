"""Lanes on the timeline: entries that depend on each other are joined, across the pages that rows come in."""

from __future__ import annotations

import re

import pytest
from tests.support.changes import candidate, config, prompt
from tests.unit.web.conftest import Browser, harness_with, words

from takeback.web.rows import PAGE


def edit(old, new):
    return {"op_type": "edit_prompt", "target": "rules", "value": {"old": old, "new": new}}


@pytest.fixture
def far():
    """A prompt, a page and more of other changes, and an edit of the prompt."""
    between = [(f"step {n}", "", config(f"key{n}", n)) for n in range(PAGE)]
    with harness_with(("whole", "", prompt("rules", "a\n")), *between, ("inside", "", edit("a", "b"))) as harness:
        yield harness


def lanes_of(text, number):
    found = re.search(rf'<span class="lanes" id="l{number}"[^>]*>(.*?)</span>', text, re.DOTALL)
    return re.findall(r'<i(?: class="([^"]*)")?>', found[1])


def test_a_lane_joins_an_entry_to_its_dependency_and_the_text_says_so():
    with harness_with(("whole", "", prompt("rules", "a\n")), ("other", "", config("x", 1))) as harness:
        assert harness.apply(candidate(edit("a", "b")), note="inside").entry
        answer = Browser(harness).get("/1/")
    assert [lanes_of(answer.text, number) for number in (4, 3, 2, 1)] == [
        ["node down", ""],
        ["up down", "node"],
        ["node up", ""],
        ["node", ""],
    ]
    assert "depends on #2" in words(answer)


def test_nothing_is_drawn_where_nothing_depends_on_anything(browser):
    assert not re.search(r"<i[ >]", browser.get("/1/").text)


def test_a_lane_continues_on_the_next_page_of_rows(far):
    browser, newest = Browser(far), PAGE + 3
    first = browser.get("/1/").text
    assert lanes_of(first, newest)[0] == "node down"
    assert lanes_of(first, newest - 1)[0] == "up down"
    more = re.search(r'<li class="more"><a href="([^"]+)"', first)[1].replace("&amp;", "&")
    assert "lanes=2" in more
    rest = browser.get(more, headers={"hx-request": "true"}).text
    assert lanes_of(rest, 3)[0] == "up down"
    assert lanes_of(rest, 2)[0] == "node up"
    assert lanes_of(rest, 1)[0] == "node"


def test_an_undone_entry_is_hollow_and_no_lane_leads_to_it():
    with harness_with(("whole", "", prompt("rules", "a\n"))) as harness:
        for old, new in ("ab", "bc"):
            assert harness.apply(candidate(edit(old, new))).entry
        harness.undo("#4")
        text = Browser(harness).get("/1/").text
    assert [lanes_of(text, number)[0] for number in (5, 4, 3, 2)] == ["node", "off", "node down", "node up"]


@pytest.mark.parametrize("rest", ["x", "999999999999999999999", ",,,,", "0", "-1", "2," * 500])
def test_lanes_invented_in_the_address_are_ignored(far, rest):
    answer = Browser(far).get("/1/", params={"lanes": rest, "before": "20"})
    assert answer.status_code == 200
    assert all("down" not in cell for cell in lanes_of(answer.text, 1))


def test_filtered_rows_are_joined_among_themselves(far):
    text = Browser(far).get("/1/?surface=prompts").text
    assert lanes_of(text, PAGE + 3) == ["node down"]
    assert lanes_of(text, 2) == ["node up"]
