"""A person in front of the page: taking back, being refused, by keyboard, on a phone, in the dark, scripts off."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.changes import candidate, config, prompt, routing
from tests.web.conftest import MANY, SIXTY, served, until

from takeback.adapters import open_memory, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.cli.demo_harness import CHANGES, LOOKS_RIGHT, THIRD, write_harness
from takeback.language import read_program
from takeback.state import Stage, State
from takeback.synthesize import invert

IMAGES = Path(__file__).parents[2] / "docs" / "images"
AXE = Path(__file__).parents[2] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = {"serious", "critical"}


def entry_of(page, words):
    return page.locator("#entries li.entry", has_text=words).first


def preview(page, *words):
    for one in words:
        entry_of(page, one).get_by_role("checkbox").check()
    page.get_by_role("button", name="Preview undo").click()


def test_only_the_link_opens_the_page_and_only_once(project, chromium, tab):
    _, harness = project
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        assert page.title() == "Timeline of parcel-tracker · Takeback"
        assert "link=" not in page.url
        stranger = chromium.new_context()
        for address in (page.url, link):
            assert stranger.request.get(address).status == 403
        stranger.close()


def test_the_third_of_many_changes_is_taken_back_and_brought_back(project, tab):
    root, harness = project
    settings = root / ".claude" / "settings.json"
    before = settings.read_text()
    assert "Bash(rm:*)" in before
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        page.locator("li.more a").scroll_into_view_if_needed()
        entry_of(page, "let it delete files").wait_for()
        preview(page, "let it delete files")
        page.get_by_text("Nothing has been changed yet").wait_for()
        assert page.locator(".diff .removed", has_text="Bash(rm:*)").count()
        assert settings.read_text() == before
        page.get_by_role("button", name="Take back now").click()
        page.get_by_text("Done: took back").wait_for()
        assert "Bash(rm:*)" not in settings.read_text()
        page.get_by_role("link", name="Preview taking this back").click()
        page.get_by_role("button", name="Take back now").click()
        page.get_by_text("Done: brought back").wait_for()
    assert settings.read_text() == before


def test_kept_blocked_along_and_stale_are_said(tab):
    edit = {"op_type": "edit_prompt", "target": "rules", "value": {"old": "a", "new": "b"}}
    with open_memory(State.read({"config": {"timeout": 30}})) as harness:
        for note, op in (
            ("rules", prompt("rules", "a\n")),
            ("edit", edit),
            ("one", config("timeout", 1)),
            ("two", config("timeout", 2)),
        ):
            harness.apply(candidate(op), note=note)
        with served(("agent", harness)) as link:
            page = tab(link)
            preview(page, "one: set")
            page.get_by_text("nothing visible would change").wait_for()
            page.get_by_text("which #5 rewrote later").wait_for()
            page.goto(link.partition("open")[0])
            preview(page, "two: set")
            page.get_by_role("button", name="Take back now").wait_for()
            harness.apply(candidate(config("timeout", 3)), note="meanwhile")
            head = harness.ledger.head
            page.get_by_role("button", name="Take back now").click()
            page.get_by_text("Stale: things have changed").wait_for()
            assert harness.ledger.head == head
            page.goto(link.partition("open")[0])
            preview(page, "rules: set")
            page.get_by_text("Blocked: nothing was changed").wait_for()
            page.get_by_role("button", name="Do all of this").click()
            page.get_by_text("Done: took back #2, #3.").wait_for()
            assert "prompts" not in harness.state.write()


def test_the_page_follows_the_journal(project, tab):
    _, harness = project
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        box = entry_of(page, "step 50").get_by_role("checkbox")
        box.check()
        made = harness.apply(candidate(routing("model", "small")), note="made elsewhere").entry
        entry_of(page, "made elsewhere").wait_for()
        assert box.is_checked()
        harness.undo(made)
        page.locator(f"#e{made.entry}.is-undone").wait_for()
        page.get_by_text("1 new entry just now").wait_for()


def test_drift_is_adopted_by_file_and_put_back_by_file(project, tab):
    root, harness = project
    rules, agent = root / "CLAUDE.md", root / ".claude" / "agents" / "reviewer.md"
    known = agent.read_text()
    rules.write_text(rules.read_text() + "- Written by hand.\n")
    agent.write_text(known + "Be kind.\n")
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        page.get_by_role("link", name="Adopt or discard").click()
        page.get_by_role("button", name="Adopt CLAUDE.md", exact=True).click()
        page.get_by_text("Done: adopted").wait_for()
        page.get_by_role("link", name="Drift").click()
        page.get_by_role("button", name="Discard changes of").click()
        page.get_by_text("put back. Taking this back").wait_for()
    assert rules.read_text().endswith("- Written by hand.\n")
    assert agent.read_text() == known
    assert harness.status().clean


def test_one_hunk_is_adopted_and_the_other_put_back(tmp_path, tab):
    rules = tmp_path / "agent" / "CLAUDE.md"
    rules.parent.mkdir()
    lines = [f"- {chr(97 + number) * 6} {number}\n" for number in range(20)]
    rules.write_text("".join(lines))
    init_clients(rules.parent, ("claude-code",))
    with open_workspace(rules.parent, hold=False) as harness, served(("agent", harness)) as link:
        rules.write_text("".join([*lines[:3], "- by hand\n", *lines[3:16], "- and here\n", *lines[17:]]))
        page = tab(link)
        page.get_by_role("link", name="Adopt or discard").click()
        page.get_by_role("checkbox", name="Change 1 of 2").check()
        page.get_by_role("button", name="Adopt chosen changes").click()
        page.get_by_text("Done: adopted").wait_for()
        page.get_by_role("link", name="Drift").click()
        page.get_by_role("button", name="Discard everything").click()
        page.get_by_text("put back. Taking this back").wait_for()
        assert rules.read_text() == "".join([*lines[:3], "- by hand\n", *lines[3:]])
        assert harness.status().clean
        harness.undo()
        assert rules.read_text() == "".join(lines)


def test_everything_works_with_the_keyboard_alone(project, tab):
    _, harness = project
    with served(("parcel-tracker", harness)) as link:
        page = tab(link)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.type") == "checkbox":
                break
        page.keyboard.press("Space")
        chosen = page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert "step 53" in chosen
        for _ in range(40):
            page.keyboard.press("Shift+Tab")
            if page.evaluate("document.activeElement.textContent").startswith("Preview undo"):
                break
        page.keyboard.press("Enter")
        page.get_by_text("Nothing has been changed yet").wait_for()
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == "Take back now":
                break
        page.keyboard.press("Enter")
        page.get_by_text("Done: took back").wait_for()
    assert harness.ledger.history.undone


def views(link, entry="%233", undo="%234"):
    base = link.partition("open")[0] + "1/"
    return {
        "timeline": base,
        "entry": f"{base}entry/{entry}",
        "undo": f"{base}undo?entry={undo}",
        "matrix": f"{base}matrix",
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


def test_in_the_dark_the_page_is_dark(project, tab):
    _, harness = project
    back = "getComputedStyle(document.body).backgroundColor"
    with served(("parcel-tracker", harness)) as link:
        page = tab(link, color_scheme="dark")
        assert page.evaluate(back) == "rgb(20, 23, 26)"
        page.emulate_media(color_scheme="light")
        assert page.evaluate(back) == "rgb(255, 255, 255)"


def test_without_scripts_everything_is_there_to_read_and_to_do(project, tab):
    _, harness = project
    with served(("parcel-tracker", harness)) as link:
        page = tab(link, java_script_enabled=False)
        assert page.locator("li.entry").count() == 50
        page.get_by_role("link", name="Older entries").click()
        assert page.locator("li.entry").count() == SIXTY + 1 - 50
        preview(page, "let it delete files")
        page.get_by_role("button", name="Take back now").click()
        page.get_by_text("Done: took back").wait_for()


def test_ten_thousand_entries_come_a_page_at_a_time(many, tab):
    with served(("many", many)) as link:
        page = tab(link)
        assert page.locator("li.entry").count() == 50
        page.locator("li.more a").scroll_into_view_if_needed()
        until(lambda: page.locator("li.entry").count() >= 100)
        assert page.locator("li.entry").count() < MANY // 10
        page.get_by_role("searchbox", name="Text").fill("step 12:")
        page.get_by_role("button", name="Filter").click()
        page.get_by_role("link", name="Show all").wait_for()
        assert page.locator("li.entry").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_fault_of_accessibility(project, tab, scheme):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: 'make test-web' installs it, where npm is there")
    root, harness = project
    with served(("parcel-tracker", harness)) as link:
        page = tab(link, color_scheme=scheme)
        found = {}
        for name, address in views(link).items():
            if name == "drift":
                drifted(root)
            page.goto(address)
            page.evaluate(AXE.read_text())
            faults = page.evaluate(
                "axe.run().then(found => found.violations.map(one => [one.impact, one.id, one.nodes[0].html]))"
            )
            found[name] = [fault for fault in faults if fault[0] in SERIOUS]
        assert found == {name: [] for name in found}


@pytest.fixture
def story(tmp_path):
    """The demo's six changes, the third taken back; a forced change before them, an edit by hand after them."""
    root = tmp_path / "parcel-tracker"
    root.mkdir()
    write_harness(root)
    init_clients(root)
    with open_workspace(root, hold=False) as harness:
        forced = harness.apply(LOOKS_RIGHT, force=True, note="a server, tried in haste", by="claude").entry
        harness.undo(forced)
        for note, ops in CHANGES:
            harness.apply(invert(read_program(ops, Stage.FORWARD, "change")), note=note, by="claude")
        (root / "CLAUDE.md").write_text((root / "CLAUDE.md").read_text() + "- Ask before a deploy.\n")
        harness.adopt("tuned by hand", by="ann")
        third = next(entry for entry in harness.log() if entry.note == CHANGES[THIRD][0])
        harness.undo(third.id)
        yield root, harness, forced


def test_the_main_views_are_pictured_for_the_documentation(story, tab):
    root, harness, forced = story
    IMAGES.mkdir(exist_ok=True)
    with served(("parcel-tracker", harness)) as link:
        page = tab(link, viewport={"width": 1000, "height": 720})
        for name, address in views(link, forced.id, "HEAD~2").items():
            if name == "drift":
                drifted(root)
            page.goto(address)
            page.screenshot(path=IMAGES / f"web-{name}.png", full_page=name == "entry")
            assert (IMAGES / f"web-{name}.png").stat().st_size > 10_000
