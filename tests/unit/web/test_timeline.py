"""The timeline: who, when, why, what, on what evidence, what became of it; a page at a time, whatever it holds."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import chain
from urllib.parse import quote

import pytest
from tests.support.changes import candidate, config, prompt, routing
from tests.unit.web.conftest import Browser, harness_with, words

from takeback.web.rows import PAGE
from takeback.web.shelf import Shown


def entries_of(answer):
    return [int(number) for number in re.findall(r'<li id="e(\d+)"', answer.text)]


def test_an_entry_shows_author_time_reason_change_and_evidence(browser, three):
    told = words(browser.get("/1/"))
    assert 'slower: set config["timeout"] to 60' in told
    assert "by ann" in told
    assert "apply by bot proved reversible live" in told
    assert "UTC" in told
    assert "genesis" in told


def test_an_undo_names_its_entry_and_the_entry_is_marked_undone(browser, three):
    three.undo("#3")
    answer = browser.get("/1/")
    assert "took back #3 (cheaper)" in words(answer)
    (row,) = re.findall(r'<li id="e3".*?</li>', answer.text, re.DOTALL)
    assert "is-undone" in row
    assert "checkbox" not in row


def test_forced_and_adopted_entries_are_marked_with_words(tmp_path, three):
    bad = candidate(config("timeout", 5)).to_json() | {"recovery": []}
    assert three.apply(bad, force=True).forced
    told = words(Browser(three).get("/1/"))
    assert "refuted reversible forced live" in told


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("surface=routing", [3]),
        ("by=ann", [4, 2]),
        ("grade=proved", [4, 3, 2]),
        ("grade=forced", []),
        ("text=CHEAP", [3]),
        ("text=cheap&by=ann", []),
        ("", [4, 3, 2, 1]),
    ],
)
def test_entries_are_filtered_by_surface_person_evidence_and_text(browser, query, numbers):
    assert entries_of(browser.get(f"/1/?{query}")) == numbers


def test_an_invalid_filter_is_explained(browser):
    answer = browser.get("/1/?grade=splendid")
    assert answer.status_code == 400
    assert "one of proved, sampled" in words(answer)


@pytest.fixture
def many():
    harness = harness_with(*[(f"step {n}", "bot", routing("main", f"m-{n}")) for n in range(PAGE * 2 + 5)])
    with harness:
        yield harness


def test_a_page_holds_a_limited_number_of_rows_and_links_to_the_rest(many):
    browser = Browser(many)
    answer, seen = browser.get("/1/"), []
    for _ in range(4):
        seen.append(entries_of(answer))
        more = re.search(r'<li class="more"><a href="([^"]+)" hx-get="\1"', answer.text)
        if more is None:
            break
        answer = browser.get(more[1], headers={"hx-request": "true"})
        assert "<html" not in answer.text
    assert [len(page) for page in seen] == [PAGE, PAGE, 6]
    numbers = list(chain(*seen))
    assert numbers == sorted(set(numbers), reverse=True)


def test_the_first_page_reads_no_more_of_the_journal_than_it_shows(many, monkeypatch):
    browser, read = Browser(many), []
    records = many.journal.records

    def counted(*arguments, **more):
        for record in records(*arguments, **more):
            read.append(record.seq)
            yield record

    monkeypatch.setattr(many.journal, "records", counted)
    monkeypatch.setattr(Shown, "follow_index", lambda _: None)  # the index is made beside
    browser.shelf.all[0].rows.__init__(many)
    browser.get("/1/")
    assert 2 * PAGE <= len(read) <= 2 * PAGE + 10


def test_new_entries_appear_on_the_next_request(browser, three):
    browser.get("/1/")
    three.apply(candidate(routing("side", "x")), note="later")
    assert entries_of(browser.get("/1/"))[0] == 5
    assert entries_of(browser.get("/1/?before=5")) == [4, 3, 2, 1]


NASTY = "<script>alert(1)</script>\x1b[31m\u202eevil\"'"


def test_contents_of_entries_are_escaped_on_the_page():
    with harness_with((NASTY, NASTY, prompt("system", NASTY), routing("<b>\"'", "</li><b>"))) as harness:
        browser = Browser(harness)
        harness.undo("#2")
        paths = [
            "/1/",
            f"/1/?by={quote(NASTY)}",
            f"/1/?text={quote(NASTY)}",
            "/1/entry/%232",
            "/1/redo?entry=%232",
            "/1/past",
            "/1/past?path=prompts",
        ]
        for path in paths:
            answer = browser.get(path)
            assert answer.status_code == 200
            assert "<script>alert" not in answer.text
            assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", answer.text)
        assert "\\x1b[31m\\u202eevil" in browser.get("/1/").text


class Landmarks(HTMLParser):
    """Collects what a screen reader goes by."""

    def __init__(self):
        super().__init__()
        self.tags, self.unnamed, self.depth = [], [], 0

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        self.depth += tag == "label"
        field = tag in {"input", "select"} and attributes.get("type") != "hidden"
        if field and not (self.depth or attributes.get("aria-label")):
            self.unnamed.append(attributes)
        assert not [name for name in attributes if name.startswith("on")]

    def handle_endtag(self, tag):
        self.depth -= tag == "label"


@pytest.mark.parametrize("path", ["/1/", "/1/entry/%232", "/1/undo?entry=%233", "/1/drift", "/1/past", "/1/refused"])
def test_every_page_has_landmarks_one_heading_and_names_for_its_fields(browser, path):
    answer, found = browser.get(path), Landmarks()
    found.feed(answer.text)
    assert answer.status_code == 200
    for tag in ("header", "nav", "main", "h1", "title"):
        assert found.tags.count(tag) == 1, tag
    assert found.unnamed == []
    assert '<html lang="en">' in answer.text
    assert 'href="#main"' in answer.text


def test_several_harnesses_are_listed_with_their_status(three):
    with harness_with(("other", "bot", config("timeout", 1))) as other:
        browser = Browser(three, other)
        told = words(browser.get("/"))
        assert "agent-1" in told
        assert 'agent-2 good none none other: set config["timeout"] to 1 bot, ' in told
        assert f"UTC 2 {other.ledger.head[:10]}" in told
        assert entries_of(browser.get("/2/")) == [2, 1]
        assert browser.get("/3/").status_code == 404
