"""What the page answers: who, why and what broke; compare, go back, refused, permalinks, an expired session."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

import pytest
from tests.unit.web.conftest import Browser

from takeback.harness.attempts import append_attempt
from takeback.web.shelf import HarnessShelf


def test_a_row_has_its_first_changed_line_under_its_day(browser, three):
    page = browser.get("/1/").text
    assert re.search(r'<li class="day">.*?<h2>', page, re.DOTALL)
    assert re.search(r'<p class="what"><a [^>]+><span class="number">#4</span> <code class="plus">\+ \S', page)
    assert "Since yesterday: 3 changes" in page


def test_entries_are_found_by_a_word_of_their_value(browser, three):
    assert "No entry matches" in browser.get("/1/?text=wombat").text
    assert three.set("config", "animal", "a grey wombat", by="ann").entry
    page = browser.get("/1/?text=wombat").text
    assert "animal: a grey wombat" in page
    assert page.count('class="entry ') == 1


def test_part_of_an_authors_name_is_enough_and_time_is_a_facet(browser, three):
    assert three.set("config", "animal", "wombat", by="Maria Lopez").entry
    assert browser.get("/1/?by=lopez").text.count('class="entry ') == 1
    assert browser.get("/1/?by=lopez&since=today").text.count('class="entry ') == 1


def test_two_entries_are_compared_and_one_is_not(browser, three):
    page = browser.get("/1/compare?entry=2&entry=4").text
    assert "From #2 to #4" in page
    assert 'class="added"' in page
    assert browser.get("/1/compare?entry=2").status_code == 400


def test_going_back_to_an_entry_is_previewed_and_then_done(browser, three):
    preview = browser.get("/1/restore?entry=2").text
    assert "Go back now" in preview
    token = re.search(r'name="token" value="([^"]+)"', preview)[1]
    before = three.state
    done = browser.post("/1/restore", {"entry": "2", "token": token})
    assert done.status_code == 200
    assert three.state != before
    assert browser.post("/1/restore", {"entry": "2", "token": token}).status_code == 409


def test_a_permalink_by_number_leads_to_the_entry(browser, three):
    answer = browser.get("/entry/3")
    assert answer.url.path.startswith("/1/entry/")
    assert "#3" in answer.text
    assert browser.get("/entry/999").status_code == 404


def test_an_empty_page_of_refusals_explains_itself(browser):
    assert "Nothing was refused" in browser.get("/1/refused").text


def test_closing_a_shelf_closes_its_indexes(three):
    HarnessShelf([("three", three)]).close()


def test_a_browser_without_a_session_gets_instructions(browser):
    answer = browser.stranger.get("/entry/3", headers={"accept": "text/html"})
    assert answer.status_code == 403
    assert "This session has expired" in answer.text
    assert "takeback web" in answer.text


def test_an_entry_is_shared_as_a_masked_file_whoever_asks(browser, three):
    assert three.set("config", "env.API_KEY", "correct-horse-one", by="ann").entry
    assert "/share" in browser.get("/1/entry/5").text
    answer = browser.get("/1/entry/5/share?reveal=1")
    assert answer.headers["content-disposition"] == 'attachment; filename="takeback-5.html"'
    assert "[masked by takeback" in answer.text
    assert "correct-horse-one" not in answer.text
    assert browser.stranger.get("/1/entry/5/share").status_code == 403


def test_the_policy_allows_the_style_of_the_expired_session_page(browser):
    answer = browser.stranger.get("/entry/3", headers={"accept": "text/html"})
    style = re.search(r"<style>(.*?)</style>", answer.text, re.DOTALL)[1]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in answer.headers["content-security-policy"]
    assert "'unsafe-inline'" not in answer.headers["content-security-policy"]


def test_the_result_of_an_undo_is_shown_once(browser, three):
    preview = browser.get("/1/undo?entry=3").text
    token = re.search(r'name="token" value="([^"]+)"', preview)[1]
    done = browser.post("/1/undo", {"entry": "3", "token": token})
    assert "Done: took back #3" in done.text
    assert "Done:" not in browser.get(done.url.path).text


def test_every_link_back_keeps_the_filters(browser):
    browser.get("/1/?by=ann&surface=config")
    for path in ("/1/entry/2", "/1/undo?entry=2", "/1/compare?entry=2&entry=4", "/1/bisect", "/1/entry/99"):
        assert 'href="/1/?surface=config&amp;by=ann">Back to the timeline' in browser.get(path).text, path
    browser.get("/1/")
    assert 'href="/1/">Back to the timeline' in browser.get("/1/entry/2").text


@pytest.mark.parametrize("path", ["entry/99", "there/is/no/page", "compare?entry=2", "undo", "undo?entry=99"])
def test_a_page_that_refuses_keeps_the_navigation(browser, path):
    page = browser.get(f"/1/{path}").text
    assert 'aria-label="Harness agent-1"' in page
    assert "What broke it?" in page


def test_a_form_that_is_refused_keeps_the_navigation(browser):
    answer = browser.post("/1/undo", {"entry": "3", "token": "x"}, token=False)
    assert answer.status_code == 403
    assert "<title>Refused" in answer.text
    assert 'aria-label="Harness agent-1"' in answer.text


def test_refused_attempts_are_filtered_by_word_person_reason_and_time(three, tmp_path):
    (tmp_path / ".takeback").mkdir()
    for by, what, why in (("ann", "apply a", "verdict"), ("bot", "apply b", "verdict"), ("bot", "undo c", "blocked")):
        append_attempt(tmp_path, {"by": by, "what": what, "why": why, "message": "no", "state": None, "breaks": []})
    browser = Browser(three, where=str(tmp_path))

    def told(query):
        return re.findall(r"<h2>(.*?)</h2>", browser.get(f"/1/refused?{query}").text)

    assert told("") == ["undo c", "apply b", "apply a"]
    assert told("by=bot") == ["undo c", "apply b"]
    assert told("by=bot&why=verdict") == ["apply b"]
    assert told("text=APPLY+bot") == ["apply b"]
    assert told("since=today") == told("")
    assert "No refused attempt matches" in browser.get("/1/refused?text=wombat").text


def test_a_report_contains_filtered_or_selected_entries(browser, three):
    answer = browser.get("/1/report?by=ann")
    assert answer.headers["content-disposition"] == 'attachment; filename="takeback-report.html"'
    assert ("slower" in answer.text, "cheaper" in answer.text) == (True, False)
    ticked = browser.get("/1/report?entry=3&entry=3").text
    assert ("slower" in ticked, "cheaper" in ticked) == (False, True)


def test_the_effect_class_is_shown_beside_the_grade_and_filters_rows(browser):
    page = browser.get("/1/").text
    assert re.search(r'grade-proved">proved</span> <span class="badge class-reversible">reversible</span>', page)
    assert '<option value="reversible">reversible (3)</option>' in page
    assert browser.get("/1/?effect_class=reversible").text.count('class="entry ') == 3
    assert browser.get("/1/?effect_class=irreversible").text.count('class="entry ') == 0
