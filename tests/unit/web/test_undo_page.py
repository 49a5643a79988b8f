"""An entry's page and undo with a preview: nothing happens before it was seen, nothing but what was seen."""

from __future__ import annotations

import re

import pytest
from tests.support.changes import candidate, config, file, prompt, routing
from tests.unit.web.conftest import Browser, harness_with, words

from takeback.adapters import open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.adapters.workspace.adapter import init_workspace
from takeback.state import State


def token_in(answer):
    return re.search(r'name="token" value="([^"]+)"', answer.text)[1]


def state_of(browser):
    return browser.shelf.all[0].harness.state.write()


def test_an_entry_shows_its_lines_its_candidate_and_its_evidence(browser):
    told = words(browser.get("/1/entry/%234"))
    assert "-Be brief." in told
    assert '- config["timeout"] = 60 + config["timeout"] = 90' in told
    assert "proved admitted" in told
    assert "classes of states" in told
    for word in ("mutation", "recovery", "capture_prompt"):
        assert word in told


def test_a_forced_entry_shows_the_state_that_breaks_it_before_after_and_recovered(three):
    bad = candidate(config("timeout", 5)).to_json() | {"recovery": []}
    three.apply(bad, force=True)
    told = words(Browser(three).get("/1/entry/HEAD"))
    assert "not admitted, forced anyway" in told
    drawn = told.partition("smallest state that breaks it")[2].partition("Marked:")[0]
    before, _, rest = drawn.partition(" after ")
    after, _, recovered = rest.partition("after recovery")
    assert before.split() == ["before", "{}"]
    assert '+ "timeout": 5' in after
    assert '+ "timeout": 5' in recovered


def test_an_entry_shows_dependents_dependencies_and_overwriters(browser):
    with harness_with(("note", "", prompt("rules", "a\n"))) as harness:
        harness.apply(
            candidate({"op_type": "edit_prompt", "target": "rules", "value": {"old": "a", "new": "b"}}), note="edit"
        )
        other = Browser(harness)
        assert 'can only be undone together #3 edit: edited prompts["rules"] it edits the' in words(
            other.get("/1/entry/%232")
        )
        assert "It depends on #2 note" in words(other.get("/1/entry/%233"))
    assert "Wrote some of it again later: that stays if this is undone #4 slowest" in words(
        browser.get("/1/entry/%232")
    )


def test_unknown_entries_are_refused_without_a_traceback(browser):
    for path in ("/1/entry/abcdef", "/1/entry/%2399", "/1/undo?entry=zz", "/1/undo", "/1/undo?entry=%231"):
        answer = browser.get(path)
        assert answer.status_code == 400, path
        assert "Traceback" not in answer.text


def test_a_preview_changes_nothing_and_its_confirmation_does_as_shown(browser, three):
    before, head = state_of(browser), three.ledger.head
    preview = browser.get("/1/undo?entry=%233")
    assert "Nothing has been changed yet" in words(preview)
    assert '- routing["main"] = "small-1"' in words(preview)
    assert (state_of(browser), three.ledger.head) == (before, head)
    done = browser.post("/1/undo", {"entry": "#3", "token": token_in(preview)})
    assert done.status_code == 200
    assert "Done: took back #3." in words(done)
    assert "routing" not in state_of(browser)


def test_an_undo_can_be_undone_from_its_result_page(browser):
    before = state_of(browser)
    done = browser.post("/1/undo", {"entry": "#3", "token": token_in(browser.get("/1/undo?entry=%233"))})
    again = re.search(r'href="(/1/undo\?entry=\w+)"', done.text)[1]
    preview = browser.get(again)
    assert "Brought back #3 cheaper" in words(preview)
    name = again.partition("=")[2]
    back = browser.post("/1/undo", {"entry": name, "token": token_in(preview)})
    assert "Done: brought back #3." in words(back)
    assert state_of(browser) == before


def test_an_undone_entry_is_brought_back_from_its_page(browser, three):
    before = state_of(browser)
    three.undo("#3")
    page = browser.get("/1/entry/%233")
    assert "took this back" in words(page)
    preview = browser.get(re.search(r'href="(/1/redo\?entry=\w+)"', page.text)[1])
    assert "Done: brought back #3." in words(browser.post("/1/redo", {"entry": "#3", "token": token_in(preview)}))
    assert state_of(browser) == before


def test_several_entries_are_taken_back_as_one(browser):
    preview = browser.get("/1/undo?entry=%232&entry=%233&entry=%234")
    done = browser.post("/1/undo", {"entry": ["#2", "#3", "#4"], "token": token_in(preview)})
    assert "Done: took back #2, #3, #4." in words(done)
    assert state_of(browser)["config"] == {"timeout": 30}


def test_kept_values_and_their_writer_are_shown_before_and_after(browser):
    preview = browser.get("/1/undo?entry=%232")
    assert "nothing visible would change: #4 rewrote this value later" in words(preview)
    assert 'kept: config["timeout"], which #4 rewrote later' in words(preview)
    done = browser.post("/1/undo", {"entry": "#2", "token": token_in(preview)})
    assert 'kept: config["timeout"], which #4 rewrote later' in words(done)


def test_a_stale_token_changes_nothing_and_shows_a_new_preview(browser, three):
    preview = browser.get("/1/undo?entry=%233")
    three.apply(candidate(routing("main", "large-1")), note="meanwhile")
    head = three.ledger.head
    answer = browser.post("/1/undo", {"entry": "#3", "token": token_in(preview)})
    assert answer.status_code == 409
    assert "Stale: the harness changed since" in words(answer)
    assert three.ledger.head == head
    done = browser.post("/1/undo", {"entry": "#3", "token": token_in(answer)})
    assert done.status_code == 200


@pytest.mark.parametrize("fields", [{}, {"entry": "#3"}, {"token": "x"}, {"entry": "#3", "token": ""}])
def test_without_a_token_nothing_is_confirmed(browser, three, fields):
    head = three.ledger.head
    assert browser.post("/1/undo", fields).status_code == 400
    assert three.ledger.head == head


def test_blocking_entries_are_named_and_undone_only_on_request():
    edit = {"op_type": "edit_prompt", "target": "rules", "value": {"old": "a", "new": "b"}}
    with harness_with(("note", "", prompt("rules", "a\n")), ("edit", "", edit)) as harness:
        browser = Browser(harness)
        blocked = browser.get("/1/undo?entry=%232")
        assert "Blocked: nothing was changed. These entries prevent it: #3 edit" in words(blocked)
        assert "Together with these" in words(blocked)
        token = token_in(blocked)
        refused = browser.post("/1/undo", {"entry": "#2", "token": token})
        assert refused.status_code == 409
        assert "rules" in state_of(browser)["prompts"]
        done = browser.post("/1/undo", {"entry": "#2", "token": token, "cascade": "1"})
        assert "Done: took back #2, #3." in words(done)
        assert "rules" not in state_of(browser)["prompts"]


def test_a_read_only_page_previews_without_a_button(three):
    browser = Browser(three, read_only=True)
    preview = browser.get("/1/undo?entry=%233")
    assert '- routing["main"]' in words(preview)
    assert "<button" not in preview.text
    answer = browser.post("/1/undo", {"entry": "#3", "token": three.plan_undo("#3").token})
    assert answer.status_code == 403
    assert "routing" in state_of(browser)


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "agent"
    init_workspace(root, start=State.read({"config": {"timeout": 30}, "prompts": {"system": "one\ntwo\nthree\n"}}))
    with open_workspace(root, hold=False) as harness:
        harness.apply(candidate(prompt("system", "one\n2\nthree\n"), config("timeout", 60)), note="tuned")
        harness.apply(candidate(file("notes.txt", "hello\n")), note="a file")
        yield root, harness


def test_a_preview_shows_what_changes_in_each_file(workspace):
    _, harness = workspace
    told = words(Browser(harness).get("/1/undo?entry=%232"))
    assert "In each file" in told
    assert "config.toml" in told
    assert "-2 +two" in told


def drifted(root):
    config_file = root / "config.toml"
    config_file.write_text(config_file.read_text().replace("60", "61"))
    (notes,) = root.rglob("notes.txt")
    notes.write_text("by hand\n")
    return config_file, notes


def test_drift_is_shown_by_file_and_blocks_an_undo_with_the_way_out(workspace):
    root, harness = workspace
    browser = Browser(harness)
    assert "no file differs from the journal" in words(browser.get("/1/drift"))
    drifted(root)
    told = words(browser.get("/1/drift"))
    assert 'config.toml - config["timeout"] = 60 + config["timeout"] = 61' in told
    assert "notes.txt" in told
    assert "changed outside Takeback" in words(browser.get("/1/"))
    refused = browser.get("/1/undo?entry=%232")
    assert "Refused" in words(refused)
    assert 'href="/1/drift"' in refused.text
    assert "Taken back" in words(refused), "the preview is shown all the same"
    assert 'name="token"' not in refused.text


def test_drift_elsewhere_is_a_note_on_the_preview_and_the_undo_is_done(workspace):
    root, harness = workspace
    browser = Browser(harness)
    (notes,) = root.rglob("notes.txt")
    notes.write_text("by hand\n")
    preview = browser.get("/1/undo?entry=%232")
    assert "was changed outside Takeback and stays so" in words(preview)
    fields = {"entry": "#2", "token": token_in(preview)}
    assert "Done" in words(browser.post("/1/undo", fields))
    assert notes.read_text() == "by hand\n"
    assert len(harness.status().drift) == 1


def test_one_file_is_adopted_and_another_discarded(workspace):
    root, harness = workspace
    browser = Browser(harness)
    config_file, notes = drifted(root)
    name = notes.relative_to(root).as_posix()
    adopted = browser.post("/1/adopt", {"path": "config.toml"})
    assert "Done: adopted." in words(adopted)
    assert harness.state.write()["config"] == {"timeout": 61}
    assert (notes.read_text(), len(harness.status().drift)) == ("by hand\n", 1)
    put_back = browser.post("/1/discard", {"path": name})
    assert f"Done: {name} put back." in words(put_back)
    assert (notes.read_text(), harness.status().clean) == ("hello\n", True)
    assert "61" in config_file.read_text()


def test_a_discard_is_taken_back_after_a_preview(workspace):
    root, harness = workspace
    browser = Browser(harness)
    _, notes = drifted(root)
    done = browser.post("/1/discard", {"path": ""})
    assert notes.read_text() == "hello\n"
    entry = re.search(r'href="(/1/undo\?entry=\w+)"', done.text)[1]
    preview = browser.get(entry)
    assert "by hand" in words(preview)
    fields = {"entry": entry.partition("=")[2], "token": token_in(preview)}
    assert browser.post("/1/undo", {**fields, "token": "head:0"}).status_code == 409
    assert notes.read_text() == "hello\n"
    assert "Done" in words(browser.post("/1/undo", fields))
    assert notes.read_text() == "by hand\n"


def test_everything_is_adopted_with_a_note_and_nothing_twice(workspace):
    root, harness = workspace
    browser = Browser(harness)
    drifted(root)
    told = words(browser.post("/1/adopt", {"note": "tuned by hand", "by": "ann"}))
    assert "tuned by hand" in told
    assert "by ann" in told
    assert harness.status().clean
    assert "nothing to do" in words(browser.post("/1/adopt", {}))


def test_an_unreadable_file_is_reported_and_can_be_discarded(workspace):
    root, harness = workspace
    browser = Browser(harness)
    (root / "config.toml").write_text("= broken")
    assert re.search(r"It cannot be read: \S*config.toml", words(browser.get("/1/drift")))
    assert browser.post("/1/adopt", {}).status_code == 409
    browser.post("/1/discard", {"path": "config.toml"})
    assert harness.status().clean


LINES = [f"{chr(97 + number % 26) * 8} {number}\n" for number in range(30)]


@pytest.fixture
def hunks(tmp_path):
    """A prompt edited by hand in three places, far apart: a line rewritten, one added, two removed."""
    root = tmp_path / "agent"
    init_workspace(root, start=State.read({"config": {"timeout": 30}, "prompts": {"system": "".join(LINES)}}))
    (place,) = [path for path in root.rglob("*") if path.is_file() and "system" in path.name]
    with open_workspace(root, hold=False) as harness:
        place.write_text("".join(["line zero\n", *LINES[1:15], "added\n", *LINES[15:26], *LINES[28:]]))
        yield place, harness


def chosen(page, *numbers):
    return {"hunks": "1", "token": token_in(page), "choice": [str(number) for number in numbers]}


def test_a_hunk_is_adopted_by_itself_and_the_rest_stays_drift(hunks):
    place, harness = hunks
    browser = Browser(harness)
    by_hand = place.read_text()
    page = browser.get("/1/drift")
    assert page.text.count("Change ") == 3
    assert "Done: adopted." in words(browser.post("/1/adopt", chosen(page, 1)))
    assert harness.state.write()["prompts"]["system"] == "".join([*LINES[:15], "added\n", *LINES[15:]])
    assert place.read_text() == by_hand
    rest = browser.get("/1/drift")
    assert rest.text.count("Change ") == 2
    assert "added" not in words(rest).replace("+added", "")
    browser.post("/1/discard", {"path": ""})
    assert place.read_text() == "".join([*LINES[:15], "added\n", *LINES[15:]])
    harness.undo()
    assert place.read_text() == "".join(LINES)


def test_moved_lines_cannot_be_adopted_by_hunks(hunks):
    place, harness = hunks
    place.write_text("".join([*LINES[1:15], LINES[0], *LINES[15:28], "added\n", *LINES[28:]]))
    page = Browser(harness).get("/1/drift")
    assert 'name="choice"' not in page.text
    assert "+added" in words(page)


def test_a_hunk_is_discarded_alone_and_that_can_be_undone(hunks):
    place, harness = hunks
    browser = Browser(harness)
    by_hand = place.read_text()
    done = browser.post("/1/discard", chosen(browser.get("/1/drift"), 0, 2))
    assert "put back. Undoing this" in words(done)
    assert place.read_text() == "".join([*LINES[:15], "added\n", *LINES[15:]])
    assert len(harness.status().drift) == 1
    harness.undo("HEAD")
    assert place.read_text() == by_hand


def test_hunks_adopted_one_by_one_are_undone_in_any_order(hunks):
    place, harness = hunks
    browser = Browser(harness)
    by_hand, entries = place.read_text(), []
    for number in (2, 0, 0):
        browser.post("/1/adopt", chosen(browser.get("/1/drift"), number) if number or len(entries) < 2 else {})
        entries.append(next(iter(harness.log())).id)
    assert harness.status().clean
    assert place.read_text() == by_hand
    harness.undo(entries[0])
    assert place.read_text() == "".join(["line zero\n", *LINES[1:15], "added\n", *LINES[15:]])
    harness.undo(entries[2], entries[1])
    assert place.read_text() == "".join(LINES)


def test_hunks_changed_since_the_page_was_shown_are_refused(hunks):
    place, harness = hunks
    browser = Browser(harness)
    page, head = browser.get("/1/drift"), harness.ledger.head
    assert browser.post("/1/adopt", chosen(page)).status_code == 409
    assert browser.post("/1/adopt", chosen(page, 9)).status_code == 409
    place.write_text("new\n" + place.read_text())
    for path in ("/1/adopt", "/1/discard"):
        answer = browser.post(path, chosen(page, 1))
        assert answer.status_code == 409
        assert "changed since" in words(answer)
    assert harness.ledger.head == head


@pytest.fixture
def guarded(tmp_path):
    """A Claude Code project with a deny rule, and a browser that shows it."""
    root = tmp_path / "guarded"
    (root / ".claude").mkdir(parents=True)
    (root / ".claude/settings.json").write_text('{"permissions": {"deny": ["Bash(rm:*)"]}}')
    init_clients(root, ("claude-code",))
    with open_workspace(root) as harness:
        yield root, harness, Browser(harness, where=str(root))


def test_a_preview_says_that_taking_back_a_deny_rule_is_looser(guarded):
    _, harness, browser = guarded
    harness.apply(
        candidate({"op_type": "append_config", "target": "permissions.deny", "value": "Bash(curl:*)"}), note="deny"
    )
    preview = browser.get("/1/undo?entry=HEAD")
    assert 'Looser afterwards: config["permissions.deny"] denies less: Bash(curl:*) is gone' in words(preview)
    done = browser.post("/1/undo", {"entry": "HEAD", "token": token_in(preview)})
    assert "looser: config" in words(done)


def test_drift_says_what_adopting_and_what_discarding_it_loosens(guarded):
    root, harness, browser = guarded
    (root / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash(*)"], "deny": ["Bash(rm:*)"]}}')
    told = words(browser.get("/1/drift"))
    assert 's state: config["permissions.allow"] allows more: Bash(*)' in told
    assert "Discarding it would loosen" not in told
    assert harness.discard() is not None
    preview = browser.get("/1/undo?entry=HEAD")
    assert 'Looser afterwards: config["permissions.allow"] allows more: Bash(*)' in words(preview)
    (root / ".claude/settings.json").write_text('{"permissions": {"deny": ["Bash(rm:*)", "Bash(curl:*)"]}}')
    told = words(browser.get("/1/drift"))
    assert 'Discarding it would loosen the present state: config["permissions.deny"] denies less' in told
