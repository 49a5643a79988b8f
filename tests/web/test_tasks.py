"""Fourteen things that people come to the page for, each done in a real browser, with every click counted."""

from __future__ import annotations

import shutil

import pytest
from tests.support.trusted import trust
from tests.web.conftest import served, until
from tests.web.stories import SECRET, drift, guess, tell_story
from tests.web.test_page import faults_of

from takeback.adapters import open_workspace


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The story, told once for the module."""
    root = tmp_path_factory.mktemp("story") / "parcel-tracker"
    return root, tell_story(root)


class Person:
    """Somebody in front of the page, whose clicks are counted; typing and dragging are none."""

    def __init__(self, page, root, harness, made):
        self.page, self.root, self.harness, self.made = page, root, harness, made
        self.clicks = 0

    def click(self, role, name, within=None, **more):
        (within or self.page).get_by_role(role, name=name, **more).first.click()
        self.clicks += 1

    def row(self, entry):
        return self.page.locator(f"#e{entry.entry}")

    def tick(self, entry):
        self.row(entry).get_by_role("checkbox").check()
        self.clicks += 1

    def choose(self, label, value):
        """Choose from a list: one click to open it, one on what is wanted."""
        self.page.get_by_role("combobox", name=label).first.select_option(value)
        self.clicks += 2

    def reads(self, text):
        self.page.get_by_text(text).first.wait_for()

    def entries(self):
        return [int(one.removeprefix("#")) for one in self.page.locator("li.entry .number").all_text_contents()]

    def file(self, path):
        return (self.root / path).read_text()


@pytest.fixture
def person(chromium, told, tmp_path, tab):
    """A person who has just opened the link."""
    from takeback.web.shelf import HarnessShelf

    made, root = told[1], tmp_path / told[0].name
    shutil.copytree(told[0], root, symlinks=True)
    trust(root)
    shelf = HarnessShelf.of([root])
    with served(shelf=shelf, who="ann") as link:
        yield Person(tab(link), root, shelf.all[0].harness, made)
    shelf.close()


def test_find_what_broke_it_and_take_it_back(person):
    person.click("link", "What broke it?")
    person.page.get_by_label("Check command").fill("! grep -q rm: .claude/settings.json")
    person.click("button", "Find what broke it")
    number = person.made["dangerous"].entry
    person.reads("Found after")
    assert faults_of(person.page, "moderate") == []
    person.click("link", f"Preview taking back #{number}")
    person.click("button", "Take back now")
    person.reads(f"Done: took back #{number}")
    assert "Bash(rm:*)" not in person.file(".claude/settings.json")
    assert person.clicks == 4


def test_preview_and_go_back_to_a_point_in_time(person):
    before = person.file("CLAUDE.md")
    assert "Retry twice" in before
    assert person.page.get_by_role("link", name="Go back to this day").count() == 1
    person.click("link", "Go back to here", person.row(person.made["dangerous"]))
    person.reads("Nothing has been changed yet")
    assert person.file("CLAUDE.md") == before
    person.click("button", "Go back now")
    person.reads("Done: took back")
    assert "Retry twice" not in person.file("CLAUDE.md")
    assert "Bash(rm:*)" in person.file(".claude/settings.json")
    assert person.clicks == 2


def test_compare_two_points(person):
    person.tick(person.made["dangerous"])
    person.tick(person.made["inside"])
    person.click("button", "Compare two")
    person.reads(f"From #{person.made['dangerous'].entry} to #{person.made['inside'].entry}")
    assert person.page.locator(".diff .added", has_text="Retry twice").count() == 1
    assert person.page.locator(".diff .added", has_text="Bash(rm:*)").count() == 0
    assert person.clicks == 3


def test_find_words_in_changes_and_in_prompts(person):
    for word, entry in (("you push", "inside"), ("how we release", "skill"), ("REGION", "region")):
        person.page.get_by_role("searchbox").fill(f'"{word}"')
        person.page.keyboard.press("Enter")
        person.page.get_by_role("link", name="Show all").first.wait_for()
        assert person.entries() == [person.made[entry].entry], word
    assert person.clicks == 0


def test_see_only_one_persons_changes_of_this_week(person):
    person.page.get_by_label("By", exact=True).fill("ann")
    person.choose("When", "week")
    person.click("button", "Filter")
    person.page.get_by_role("link", name="Show all").wait_for()
    mine = [entry.seq for entry in person.harness.log() if entry.by == "ann"]
    assert len(mine) > 1
    assert person.entries() == mine
    assert person.clicks == 3


def test_send_a_change_to_somebody(person, tmp_path):
    entry = person.made["inside"]
    person.click("link", f"#{entry.entry} ", person.row(entry))
    with person.page.expect_download() as got:
        person.click("link", "Share as a file")
    got.value.save_as(tmp_path / "shared.html")
    sent = (tmp_path / "shared.html").read_text()
    assert "Ask before you push." in sent
    assert "and never push without asking me" in sent
    assert f"takeback undo {entry.entry}" in sent or entry.id[:16] in sent
    assert person.clicks == 2


def test_report_todays_changes(person, tmp_path):
    person.choose("When", "today")
    person.click("button", "Filter")
    with person.page.expect_download() as got:
        person.click("link", "Report as a file")
    got.value.save_as(tmp_path / "report.html")
    sent = (tmp_path / "report.html").read_text()
    assert "let it delete files" in sent
    assert SECRET not in sent
    assert person.clicks == 4


def test_see_why_something_was_refused(person):
    blocked = person.made["skill"]
    person.click("link", "Take back", person.row(blocked))
    person.reads("Blocked: nothing was changed")
    assert person.page.title().startswith("Blocked")
    guess(person.harness)
    person.click("link", "Refused")
    person.reads("a guess: apply register_tool mcp:notes")
    person.reads("The smallest state that breaks it")
    person.choose("By", "tuner")
    person.click("button", "Filter")
    person.page.get_by_role("link", name="Show all").wait_for()
    assert person.page.get_by_role("region", name="The state that breaks").count() == 1
    assert person.clicks == 5


def test_check_the_agents_status_and_undo_a_loosened_permission(person):
    card = person.page.get_by_label("Since yesterday")
    told = card.inner_text()
    assert "changes, 3 authors, " in told
    assert "loosened permission" in told
    person.click("link", "Take back #", card)
    person.reads("Nothing has been changed yet")
    assert person.clicks == 1


def test_take_several_changes_back_together(person):
    person.tick(person.made["dangerous"])
    person.tick(person.made["region"])
    person.click("button", "Preview undo of chosen entries")
    person.click("button", "Take back now")
    person.reads("Done: took back")
    settings = person.file(".claude/settings.json")
    assert "rm:" not in settings
    assert "eu-1" not in settings
    assert person.clicks == 4


def test_take_back_a_change_with_its_dependents(person):
    first, second = person.made["skill"], person.made["inside"]
    assert person.row(second).get_by_text(f"depends on #{first.entry}").count() == 1
    assert person.row(second).locator(".lanes .down").count() == 1
    person.click("link", "Take back", person.row(first))
    person.click("button", "Do all of this")
    person.reads(f"Done: took back #{first.entry}, #{second.entry}.")
    assert not (person.root / ".claude/skills/release/SKILL.md").exists()
    assert person.clicks == 2


def test_adopt_one_hand_edited_file_and_continue_with_the_rest(person):
    drift(person.root)
    person.click("link", "Adopt or discard")
    person.reads("2 things changed outside Takeback")
    person.reads("allows more: Bash(curl:*)")
    person.click("button", "Adopt CLAUDE.md")
    person.reads("1 thing is still changed outside Takeback")
    person.click("link", "Adopt or discard the rest")
    person.click("button", "Discard everything")
    person.reads("put back. Undoing this")
    assert "Retry three times" in person.file("CLAUDE.md")
    assert "curl" not in person.file(".claude/settings.json")
    assert person.clicks == 4


def test_drag_through_the_history_and_see_a_file_as_it_was(person):
    person.click("link", "Over time")
    person.choose("File", "CLAUDE.md")
    slider = person.page.get_by_role("slider")
    box = slider.bounding_box()
    person.page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
    person.page.mouse.down()
    person.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=8)
    person.page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2, steps=8)
    person.page.mouse.up()
    person.page.locator("#when", has_text="#1 ").wait_for()
    shown = person.page.locator("pre.file")
    until(lambda: "Retry twice" not in shown.inner_text() and "Parcel tracker" in shown.inner_text())
    assert person.page.locator(".diff .added", has_text="Retry twice").count() == 1
    person.click("link", "Go back to here")
    person.reads("Nothing has been changed yet")
    assert person.clicks == 4


def test_see_a_secret_and_delete_it_from_the_journal(person):
    entry = person.made["secret"]
    person.click("link", f"#{entry.entry} ", person.row(entry))
    assert SECRET not in person.page.content()
    person.click("link", "Show the secrets on this page")
    person.reads(SECRET)
    person.click("link", "Mask them again")
    person.page.get_by_label("A text to forget wherever it occurs").fill(SECRET)
    person.click("button", "Preview forgetting it")
    assert SECRET not in person.page.content()
    person.page.get_by_role("checkbox").check()
    person.click("button", "Forget now")
    person.reads("Forgotten permanently")
    assert person.clicks == 5
    with open_workspace(person.root, hold=False) as harness:
        assert SECRET not in str(harness.journal.get(entry.entry))
