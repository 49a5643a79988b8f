"""A person in front of the page: taking back, being refused, by keyboard, on a phone, in the dark, scripts off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.changes import candidate, config, prompt
from tests.web.conftest import MANY, SIXTY, served, until

from takeback.adapters import open_workspace

AXE = Path(__file__).parents[2] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = {"serious", "critical"}
PAGE = 50


def entry_of(page, words):
    return page.locator("#entries li.entry", has_text=words).first


def sought(page, text):
    """Filter the timeline for a text, as a person would."""
    page.get_by_role("searchbox", name="Search").fill(text)
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name="Show all").wait_for()


def preview(page, *words):
    for one in words:
        entry_of(page, one).get_by_role("checkbox").check()
    page.get_by_role("button", name="Preview undo").click()


def test_only_the_link_opens_the_page_and_only_once(sixty, chromium, tab):
    _, harness = sixty
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        assert page.title() == "Timeline of parcel-tracker · Takeback"
        assert "link=" not in page.url
        stranger = chromium.new_context()
        for address in (page.url, link, page.url + "past"):
            assert stranger.request.get(address).status == 403
        known = page.context.request
        assert known.get(page.url, headers={"origin": "http://evil.example"}).status == 403
        assert known.delete(page.url).status == 405
        assert known.post(page.url + "undo", form={"entry": "#4", "token": "x"}).status == 403
        stranger.close()


def test_a_change_from_the_middle_is_taken_back_and_brought_back_from_the_same_place(project, tab):
    root, harness = project
    settings = root / ".claude" / "settings.json"
    before = settings.read_text()
    assert "Bash(rm:*)" in before
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        sought(page, "let it delete files")
        preview(page, "let it delete files")
        page.get_by_text("Nothing has been changed yet").wait_for()
        assert page.locator(".diff .removed", has_text="Bash(rm:*)").count()
        assert settings.read_text() == before
        page.get_by_label("Who you are").fill("ann")
        page.get_by_role("button", name="Take back now").click()
        page.get_by_text("Done: took back #4").wait_for()
        assert "Bash(rm:*)" not in settings.read_text()
        assert next(harness.log()).by == "ann"
        page.get_by_role("link", name="Preview taking this back").click()
        assert page.get_by_label("Who you are").input_value() == "ann"
        page.get_by_role("button", name="Take back now").click()
        page.get_by_text("Done: brought back #4").wait_for()
    assert settings.read_text() == before


def test_several_entries_are_undone_in_one_plan(project, tab):
    root, harness = project
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        sought(page, "let it")
        preview(page, "let it delete files", "let it run the tests")
        page.get_by_role("heading", name="Take back 2 entries").wait_for()
        page.get_by_role("button", name="Take back now").click()
        page.get_by_text("Done: took back #2, #4.").wait_for()
    settings = (root / ".claude" / "settings.json").read_text()
    assert "rm:" not in settings
    assert "make test" not in settings


def test_the_page_explains_kept_blocked_cascaded_and_stale_undos(project, tab):
    root, harness = project
    edit = {"op_type": "edit_prompt", "target": "CLAUDE.md", "value": {"old": "alpha", "new": "beta"}}
    made = {}
    for note, op in (
        ("whole rules", prompt("CLAUDE.md", "# Rules\n\nalpha\n")),
        ("inside them", edit),
        ("first go", config("env.TIMEOUT", "1")),
        ("second go", config("env.TIMEOUT", "2")),
    ):
        made[note] = harness.apply(candidate(op), note=note).entry.entry
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        preview(page, "first go: set")
        page.get_by_text("nothing visible would change").wait_for()
        page.get_by_text(f"which #{made['second go']} rewrote later").wait_for()
        page.goto(link.partition("open")[0])
        preview(page, "second go: set")
        page.get_by_role("button", name="Take back now").wait_for()
        with open_workspace(root, hold=False) as other:
            other.apply(candidate(config("env.TIMEOUT", "3")), note="meanwhile")
            head = other.ledger.head
        page.get_by_role("button", name="Take back now").click()
        page.get_by_text("Stale: the harness changed").wait_for()
        assert harness.ledger.head == head
        page.goto(link.partition("open")[0])
        preview(page, "whole rules: set")
        page.get_by_text("Blocked: nothing was changed").wait_for()
        page.get_by_role("button", name="Do all of this").click()
        page.get_by_text(f"Done: took back #{made['whole rules']}, #{made['inside them']}.").wait_for()


def test_the_page_shows_changes_made_by_another_process(project, tab):
    root, harness = project
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        third = page.locator("li.entry.is-live").nth(2).get_attribute("id")
        box = page.locator(f"#{third} input")
        box.check()
        command = [sys.executable, "-m", "takeback", "set", "routing", "model", "small", "--dir", str(root)]
        subprocess.run([*command, "--note", "from the command line"], check=True, capture_output=True, timeout=600)
        entry_of(page, "from the command line").wait_for()
        assert box.is_checked()
        page.get_by_text("1 new entry just now").wait_for()
        with open_workspace(root, hold=False) as other:
            made = next(other.log())
            other.undo(made.id)
        page.locator(f"#e{made.seq}.is-undone").wait_for()


def test_drift_is_adopted_by_file_and_put_back_by_file(project, tab):
    root, harness = project
    rules, agent = root / "CLAUDE.md", root / ".claude" / "agents" / "reviewer.md"
    known = agent.read_text()
    rules.write_text(rules.read_text() + "- Written by hand.\n")
    agent.write_text(known + "Be kind.\n")
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        page.get_by_role("link", name="Adopt or discard").click()
        page.get_by_label("Who you are").fill("ann")
        page.get_by_label("Why").fill("tidied up")
        page.get_by_role("button", name="Adopt CLAUDE.md", exact=True).click()
        page.get_by_text("Done: adopted").wait_for()
        adopted = next(harness.log())
        assert (adopted.by, adopted.note) == ("ann", "tidied up")
        page.get_by_role("link", name="Drift").click()
        page.get_by_role("button", name="Discard changes of").click()
        page.get_by_text("put back. Undoing this").wait_for()
        assert next(harness.log()).by == "ann"
    assert rules.read_text().endswith("- Written by hand.\n")
    assert agent.read_text() == known
    assert harness.status().clean


def test_one_hunk_is_adopted_and_the_other_put_back(project, tab):
    root, harness = project
    rules = root / "CLAUDE.md"
    known = rules.read_text()
    changed = known.replace("- aaaaaa 0\n", "- aaaaaa 0\n- by hand\n").replace("- pppppp 15\n", "- and here\n")
    with served(("agent", harness)) as link:
        rules.write_text(changed)
        page = tab(link)
        page.get_by_role("link", name="Adopt or discard").click()
        page.get_by_role("checkbox", name="Change 1 of 2").check()
        page.get_by_role("button", name="Adopt chosen changes").click()
        page.get_by_text("Done: adopted").wait_for()
        page.get_by_role("link", name="Drift").click()
        page.get_by_role("button", name="Discard everything").click()
        page.get_by_text("put back. Undoing this").wait_for()
        assert rules.read_text() == known.replace("- aaaaaa 0\n", "- aaaaaa 0\n- by hand\n")
        assert harness.status().clean
        harness.undo()
        assert rules.read_text() == known


def tabbed_to(page, key, found):
    """Press a key until the element that has the focus is the one that is wanted."""
    for _ in range(90):
        page.keyboard.press(key)
        if page.evaluate(found):
            return
    raise AssertionError(f"{found} was not reached")


def test_everything_works_with_the_keyboard_alone(project, tab):
    _, harness = project
    newest = next(entry for entry in harness.log() if entry.kind == "apply")
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        name = f"Choose #{newest.seq}, "
        tabbed_to(page, "Tab", f"(document.activeElement.ariaLabel || '').startsWith('{name}')")
        page.keyboard.press("Space")
        tabbed_to(page, "Shift+Tab", "document.activeElement.textContent.startsWith('Preview undo')")
        page.keyboard.press("Enter")
        page.get_by_text("Nothing has been changed yet").wait_for()
        tabbed_to(page, "Tab", "document.activeElement.textContent == 'Take back now'")
        page.keyboard.press("Enter")
        page.get_by_text("Done: took back").wait_for()
    assert harness.ledger.history.undone == {newest.seq}


def views(link, entry="%233", undo="%234"):
    base = link.partition("open")[0] + "1/"
    return {
        "timeline": base,
        "entry": f"{base}entry/{entry}",
        "undo": f"{base}undo?entry={undo}",
        "past": f"{base}past",
        "drift": f"{base}drift",
    }


def drifted(root):
    rules = root / "CLAUDE.md"
    rules.write_text(rules.read_text().replace("Retry twice", "Retry three times"))


def test_on_a_phone_nothing_is_wider_than_the_screen(project, tab):
    root, harness = project
    with served(("parcel-tracker", harness)) as link:
        page = tab(link, viewport={"width": 360, "height": 700})
        for name, address in views(link).items():
            if name == "drift":
                drifted(root)
            page.goto(address)
            assert page.evaluate("document.scrollingElement.scrollWidth") <= 360, name


def test_the_page_follows_the_dark_color_scheme(project, tab):
    _, harness = project
    back = "getComputedStyle(document.body).backgroundColor"
    with served(("parcel-tracker", harness)) as link:
        page = tab(link, color_scheme="dark")
        assert page.evaluate(back) == "rgb(20, 23, 26)"
        page.emulate_media(color_scheme="light")
        assert page.evaluate(back) == "rgb(255, 255, 255)"


def test_the_page_works_without_scripts(project, tab):
    _, harness = project
    with served(("parcel-tracker", harness)) as link:
        page = tab(link, java_script_enabled=False)
        assert page.locator("li.entry").count() == PAGE
        page.get_by_role("link", name="Older entries").click()
        assert page.locator("li.entry").count() == min(PAGE, len(list(harness.log())) - PAGE)
        page.get_by_role("link", name="Newest entries").click()
        sought(page, "let it delete files")
        preview(page, "let it delete files")
        page.get_by_role("button", name="Take back now").click()
        page.get_by_text("Done: took back").wait_for()


def test_a_read_only_page_offers_no_actions(sixty, tab):
    root, harness = sixty
    with served(("parcel-tracker", harness), read_only=True) as link:
        page = tab(link)
        for name, address in views(link).items():
            if name == "drift":
                drifted(root)
            page.goto(address)
            assert page.locator("input[type=checkbox]").count() == 0, name
            assert page.locator("form[method=post] button:visible").count() == 0, name


def test_ten_thousand_entries_load_while_scrolling(many, tab):
    _, harness = many
    assert sum(1 for _ in harness.log()) == MANY + 1
    with served(("many", harness)) as link:
        page = tab(link)
        assert page.locator("li.entry").count() == PAGE
        for number in range(2, 9):
            page.locator("li.more a").scroll_into_view_if_needed()
            until(lambda most=number: page.locator("li.entry").count() >= most * PAGE)
        assert page.locator("li.entry").count() < MANY // 10
        shown = page.locator("li.entry .number").all_text_contents()
        assert shown == [f"#{MANY + 1 - at}" for at in range(len(shown))]
        sought(page, '"step 1234"')
        assert page.locator("li.entry").count() == 1


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [("surface", "listeners", 1), ("grade", "forced", 0), ("by", "nobody", 0), ("by", "tuner", (SIXTY - 6) // 2)],
)
def test_the_timeline_is_filtered(sixty, tab, field, value, expected):
    _, harness = sixty
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        box = page.get_by_role("search").locator(f"[name={field}]")
        box.fill(value) if field == "by" else box.select_option(value)
        page.get_by_role("button", name="Filter").click()
        page.get_by_role("link", name="Show all").first.wait_for()
        assert page.locator("li.entry").count() == expected


def faults_of(page, *more):
    """What axe-core finds of serious faults, and of others that are named, on the page that is shown."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: 'make test-web' installs it, where npm is there")
    page.evaluate(AXE.read_text())
    found = page.evaluate(
        "axe.run().then(found => found.violations.map(one => [one.impact, one.id, one.nodes[0].html]))"
    )
    return [fault for fault in found if fault[0] in {*SERIOUS, *more}]
