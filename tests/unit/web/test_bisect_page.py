"""What broke it, on the page: only with the session's form, in a copy, and it ends with an undo."""

from __future__ import annotations

import time

import pytest
from tests.unit.web.conftest import Browser

from takeback.adapters import init_workspace, open_workspace

PATIENCE = 240.0


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "agent"
    init_workspace(root)
    with open_workspace(root, hold=False) as harness:
        for name, text in (("one", "good\n"), ("two", "bad <b>\n"), ("three", "good\n")):
            assert harness.set("prompt", name, text, note=f"add {name}", by="ann").entry
        yield root, harness


def ended(browser):
    end = time.monotonic() + PATIENCE
    while "Searching" in (page := browser.get("/1/bisect")).text:
        assert time.monotonic() < end, "the search did not end"
        time.sleep(0.05)
    return page.text


def test_the_breaking_entry_is_found_with_a_link_to_undo_it(project):
    root, harness = project
    browser = Browser(harness, where=str(root))
    before = harness.ledger.head
    answer = browser.post("/1/bisect", {"test": "! grep -rq bad . --exclude-dir=.takeback", "seconds": "30"})
    assert answer.status_code == 200
    page = ended(browser)
    guilty = next(entry for entry in harness.log() if entry.note == "add two")
    assert f"Preview taking back #{guilty.seq}" in page
    assert f"/1/undo?entry={guilty.id[:16]}" in page
    assert "left out" in page
    assert harness.ledger.head == before
    browser.shelf.close()


def test_only_a_form_of_this_session_starts_a_command(project, tmp_path):
    root, harness = project
    mark = tmp_path / "ran"
    fields = {"test": f"touch {mark}"}
    browser = Browser(harness, where=str(root))
    assert browser.post("/1/bisect", fields, token=False).status_code == 403
    assert browser.post("/1/bisect", fields, origin="http://evil.example").status_code == 403
    assert browser.stranger.post("/1/bisect", data=fields).status_code == 403
    assert browser.get("/1/bisect?test=touch").status_code == 200
    shows_only = Browser(harness, where=str(root), read_only=True)
    assert shows_only.post("/1/bisect", fields).status_code == 403
    assert 'name="test"' not in shows_only.get("/1/bisect").text
    assert browser.shelf.all[0].search is None
    assert shows_only.shelf.all[0].search is None
    assert not mark.exists()


def test_a_search_is_stopped_with_the_command_that_runs(project):
    root, harness = project
    browser = Browser(harness, where=str(root))
    browser.post("/1/bisect", {"test": "sleep 300"})
    assert "Searching" in browser.get("/1/bisect").text
    assert browser.post("/1/bisect", {"test": "true"}).status_code == 409
    began = time.monotonic()
    browser.post("/1/bisect/stop", {})
    assert "you stopped it" in ended(browser)
    assert time.monotonic() - began < PATIENCE
    assert not browser.shelf.all[0].search.thread.is_alive()


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"test": ""}, "Give a command"),
        ({"test": "true", "seconds": "nan"}, "One run may take"),
        ({"test": "true", "seconds": "soon"}, "One run may take"),
    ],
)
def test_an_invalid_search_is_refused_with_what_is_expected(project, fields, told):
    root, harness = project
    answer = Browser(harness, where=str(root)).post("/1/bisect", fields)
    assert answer.status_code == 409
    assert told in answer.text


@pytest.mark.parametrize(
    ("command", "told"), [("true", "it works as it is"), ("no-such-command-at-all", "there is no such command")]
)
def test_a_search_that_finds_nothing_says_why(project, command, told):
    root, harness = project
    browser = Browser(harness, where=str(root))
    browser.post("/1/bisect", {"test": command})
    assert told in ended(browser)


def test_drift_is_reported_and_no_command_is_run(project, tmp_path):
    root, harness = project
    (changed,) = (path for path in root.rglob("one*") if ".takeback" not in path.parts)
    changed.write_text("by hand\n")
    browser = Browser(harness, where=str(root))
    browser.post("/1/bisect", {"test": f"touch {tmp_path / 'ran'}"})
    assert "Nothing found" in (page := ended(browser))
    assert "changed outside" in page
    assert not (tmp_path / "ran").exists()


def test_a_command_is_escaped_and_masked(project):
    root, harness = project
    browser = Browser(harness, where=str(root))
    browser.post("/1/bisect", {"test": "echo '<img src=x>' API_KEY=ghp_abcdefghijklmnopqrst1234; true"})
    page = ended(browser)
    assert "<img" not in page
    assert "ghp_abcdefghijklmnopqrst1234" not in page


def test_a_harness_without_a_directory_cannot_be_searched(browser):
    answer = browser.post("/1/bisect", {"test": "true"})
    assert answer.status_code == 409
    assert "no directory" in answer.text
