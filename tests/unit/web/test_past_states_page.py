"""Any point in time: files as they were, what differs from now, and the way back."""

from __future__ import annotations

import re

import pytest
from tests.support.changes import candidate, config
from tests.unit.web.conftest import Browser, harness_with, words

from takeback.adapters import open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.harness.entry_log import Rewind
from takeback.web import shelf
from takeback.web.shelf import PastStates

VERSIONS = ("# Rules\n\n- one\n", "# Rules\n\n- one\n- two\n", "# Rules\n\n- two\n- <three>\n")


@pytest.fixture
def rules(tmp_path):
    (tmp_path / "CLAUDE.md").write_text(VERSIONS[0])
    (tmp_path / ".claude").mkdir()
    init_clients(tmp_path)
    with open_workspace(tmp_path, hold=False) as harness:
        for text in VERSIONS[1:]:
            (tmp_path / "CLAUDE.md").write_text(text)
            assert harness.adopt("by hand", by="ann").entry
        yield tmp_path / "CLAUDE.md", harness


def file_on(answer):
    return re.search(r'<pre class="file"[^>]*>(.*?)</pre>', answer.text, re.DOTALL)[1]


def test_a_file_is_shown_as_it_was_after_each_entry(rules):
    browser = Browser(rules[1])
    for number, text in enumerate(VERSIONS, 1):
        answer = browser.get(f"/1/past?at={number}&path=CLAUDE.md")
        assert file_on(answer).replace("&lt;", "<").replace("&gt;", ">") == text
    assert "It is the same now." in words(answer)


def test_a_past_file_shows_its_difference_from_now_and_next_actions(rules):
    answer = Browser(rules[1]).get("/1/past?at=2&path=CLAUDE.md")
    assert re.findall(r'<div class="(added|removed)">([^<]*)', answer.text) == [
        ("removed", "-- one"),
        ("added", "+- &lt;three&gt;"),
    ]
    assert "Go back to here" in words(answer)
    assert "Compare with now" in words(answer)


def test_a_file_changed_by_hand_since_is_shown_as_it_was_too(rules):
    rules[0].write_text("# by hand\n")
    answer = Browser(rules[1]).get("/1/past?at=3&path=CLAUDE.md")
    assert "three" in file_on(answer)
    assert "+# by hand" in answer.text
    assert rules[0].read_text() == "# by hand\n"


def test_a_drag_request_gets_only_the_changed_fragment(rules):
    part = Browser(rules[1]).get("/1/past?at=1", headers={"hx-request": "true"}).text
    assert part.lstrip().startswith('<div id="then">')
    assert "<html" not in part


@pytest.mark.parametrize(
    ("query", "code"),
    [("at=99", 400), ("at=", 200), ("at=1&path=../../etc/passwd", 200), ("at=x", 400), ("at=9" + "9" * 5000, 400)],
)
def test_missing_points_and_files_are_reported(rules, query, code):
    answer = Browser(rules[1]).get(f"/1/past?{query}")
    assert answer.status_code == code
    assert "root:" not in answer.text


def test_a_harness_without_files_shows_its_surfaces(browser):
    answer = browser.get("/1/past?at=2&path=config")
    assert "timeout" in file_on(answer)
    assert "60" in file_on(answer)


def test_a_secret_is_masked_unless_it_is_asked_for(rules):
    harness = rules[1]
    harness.apply(candidate(config("env.API_TOKEN", "correct-horse-one")), by="ann")
    address = "/1/past?at=4&path=.claude/settings.json"
    assert "correct-horse-one" not in Browser(harness).get(address).text
    assert "correct-horse-one" in Browser(harness).get(f"{address}&reveal=1").text
    harness.undo("#4")
    assert "correct-horse-one" not in Browser(harness).get(address).text


def test_cached_states_equal_recomputed_ones(monkeypatch):
    monkeypatch.setattr(shelf, "EVERY", 3)
    with harness_with(*[(f"step {n}", "", config(f"key{n % 4}", n)) for n in range(20)]) as harness:
        harness.undo("#9")
        past = PastStates(harness)
        for number in (3, 20, 1, 9, 14, 22, 8, 2):
            record = harness.journal.get(number)
            assert past.after(record) == Rewind(harness).after(record), number


def test_forgotten_values_are_not_shown_from_a_cached_state(monkeypatch):
    monkeypatch.setattr(shelf, "EVERY", 1)
    start = {"config": {"key": "the first value"}}
    with harness_with(("a", "", config("key", "second")), ("b", "", config("key", "third")), start=start) as harness:
        browser = Browser(harness)
        assert "the first value" in browser.get("/1/past?at=1&path=config").text
        harness.forget("#2")
        assert "the first value" not in browser.get("/1/past?at=1&path=config").text
