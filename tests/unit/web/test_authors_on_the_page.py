"""Who sits in front of the page is recorded with everything done there, and asked for only once."""

from __future__ import annotations

import re

import pytest
from tests.support.changes import candidate, config
from tests.unit.web.conftest import Browser, words

from takeback.adapters import open_workspace
from takeback.adapters.clients.init import init_clients


def token_in(answer):
    return re.search(r'name="token" value="([^"]+)"', answer.text)[1]


def newest(harness):
    return next(harness.log())


def test_an_undo_and_a_redo_say_who_asked_for_them(browser, three):
    token = token_in(browser.get("/1/undo?entry=%233"))
    browser.post("/1/undo", {"entry": "#3", "token": token, "by": " ann "})
    assert (newest(three).kind, newest(three).by) == ("undo", "ann")
    answer = browser.get("/1/redo?entry=%233")
    assert 'name="by" value="ann"' in answer.text
    browser.post("/1/redo", {"entry": "#3", "token": token_in(answer)})
    assert (newest(three).kind, newest(three).by) == ("redo", "ann")


def test_an_empty_name_is_recorded_as_nobody(browser, three):
    browser.session.who = "ann"
    token = token_in(browser.get("/1/undo?entry=%233"))
    browser.post("/1/undo", {"entry": "#3", "token": token, "by": ""})
    assert newest(three).by == ""


def test_a_name_is_recorded_only_with_a_form_of_this_session(browser):
    browser.post("/1/undo", {"by": "mallory"}, token=False)
    assert browser.session.who == ""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("# Rules\n\n- one\n")
    init_clients(tmp_path, ("claude-code",))
    with open_workspace(tmp_path, hold=False) as harness:
        yield tmp_path / "CLAUDE.md", harness


def test_adoptions_discards_and_their_undos_record_the_author(project):
    rules, harness = project
    browser = Browser(harness)
    rules.write_text("# Rules\n\n- one\n- two\n")
    browser.post("/1/adopt", {"path": "CLAUDE.md", "by": "ann", "note": "why not"})
    assert (newest(harness).kind, newest(harness).by, newest(harness).note) == ("adopt", "ann", "why not")
    rules.write_text("# Rules\n")
    browser.post("/1/discard", {"path": "CLAUDE.md", "by": "bob"})
    assert (newest(harness).kind, newest(harness).by) == ("discard", "bob")
    token = token_in(browser.get("/1/undo?entry=HEAD"))
    browser.post("/1/undo", {"entry": "HEAD", "token": token, "by": "eve"})
    assert (newest(harness).kind, newest(harness).by) == ("discard", "eve")
    assert rules.read_text() == "# Rules\n"


def test_pressing_enter_in_a_field_of_the_drift_page_adopts_nothing(project):
    rules, harness = project
    rules.write_text("# Rules\n")
    text = Browser(harness).get("/1/drift").text
    assert re.search(r"<button[^>]*>", text)[0] == "<button disabled hidden>"


def test_an_entry_names_the_prompt_it_came_from(project):
    rules, harness = project
    rules.write_text("# Rules\n\n- one\n- two\n")
    harness.adopt("by an edit", by="claude", origin={"client": "claude-code", "prompt": "p-17", "tool": "Edit"})
    browser = Browser(harness)
    assert "prompt p-17" in words(browser.get("/1/"))
    assert "client claude-code prompt p-17 tool Edit" in words(browser.get("/1/entry/HEAD"))


def test_an_entry_names_each_file_it_changed_once(project):
    _, harness = project
    for name in "abc":
        harness.apply(candidate(config(f"env.{name}", name)), note=name)
    harness.undo("#3")
    changed = {entry.seq: entry.files for entry in harness.log() if entry.seq > 2}
    assert changed == dict.fromkeys((5, 4, 3), (".claude/settings.json",))
