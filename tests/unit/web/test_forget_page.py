"""Forgetting on the page: a preview first, a confirmation that is meant and bound to it, and the value on no page."""

from __future__ import annotations

import re

import pytest
from tests.support.changes import candidate, config
from tests.unit.web.conftest import Browser, harness_with, words

SECRET = "correct-horse-battery"


@pytest.fixture
def harness():
    return harness_with(
        ("key", "a", config("env.API_KEY", SECRET)),
        ("other", "a", config("env.API_KEY", "another-horse")),
    )


def token_in(answer):
    return re.search(r'name="token" value="([^"]+)"', answer.text)[1]


def test_an_entry_has_a_form_for_forgetting_that_leads_to_a_preview(harness):
    browser = Browser(harness)
    entry = browser.get("/1/entry/%232")
    assert 'action="/1/forget"' in entry.text
    assert "Preview forgetting what #2 captured" in words(entry)
    preview = browser.get("/1/forget?entry=%232")
    assert preview.status_code == 200
    assert "Nothing has been deleted yet." in words(preview)
    assert harness.forget_value(SECRET, dry=True).contents, "a preview deletes nothing"


def test_captured_values_are_forgotten_after_confirmation(harness):
    browser = Browser(harness)
    preview = browser.get("/1/forget?entry=%232")
    unsure = browser.post("/1/forget", {"token": token_in(preview)})
    assert unsure.status_code == 409
    assert "Nothing was forgotten" in words(unsure)
    assert harness.forget("#2", dry=True).contents
    done = browser.post("/1/forget", {"token": token_in(unsure), "sure": "yes"})
    assert "Forgotten permanently" in words(done)
    assert harness.forget("#2", dry=True).contents == 0


def test_a_value_is_forgotten_everywhere_and_shown_on_no_page(harness):
    browser = Browser(harness)
    preview = browser.post("/1/forget", {"value": SECRET})
    assert preview.status_code == 200
    assert "entry #2" in words(preview)
    done = browser.post("/1/forget", {"token": token_in(preview), "sure": "yes"})
    assert "Forgotten permanently" in words(done)
    assert SECRET not in preview.text + done.text
    assert harness.forget_value(SECRET, dry=True).contents == 0
    again = browser.post("/1/forget", {"token": token_in(preview), "sure": "yes"})
    assert again.status_code == 400
    assert "a preview that has expired" in words(again)


def test_a_confirmation_holds_only_for_what_was_shown(harness):
    browser = Browser(harness)
    preview = browser.post("/1/forget", {"value": SECRET})
    harness.apply(candidate(config("env.OTHER_KEY", SECRET)))
    stale = browser.post("/1/forget", {"token": token_in(preview), "sure": "yes"})
    assert stale.status_code == 409
    assert "The journal changed" in words(stale)
    assert "entry #4" in words(stale)
    assert harness.forget_value(SECRET, dry=True).contents


def test_a_read_only_server_has_no_forget_form(harness):
    browser = Browser(harness, read_only=True)
    assert 'action="/1/forget"' not in browser.get("/1/entry/%232").text
    assert browser.post("/1/forget", {"value": SECRET}).status_code == 403
    preview = browser.get("/1/forget?entry=%232")
    assert "<button" not in preview.text.partition("<main")[2]
    token = next(iter(browser.shelf.get(1).gone))
    assert browser.post("/1/forget", {"token": token, "sure": "yes"}).status_code == 403
    assert harness.forget_value(SECRET, dry=True).contents


def test_the_page_says_that_there_is_nothing_to_forget(harness):
    browser = Browser(harness)
    assert "There is nothing to forget" in words(browser.post("/1/forget", {"value": "never-written-anywhere"}))
    assert browser.post("/1/forget", {}).status_code == 400
    assert browser.get("/1/forget").status_code == 400
