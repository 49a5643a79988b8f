"""The pictures in the documentation: same clock, same ids in every run, so that only a changed page changes them."""

from __future__ import annotations

import os
import random
import re
import shlex
import tempfile
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import psycopg
import pytest
from tests.support.changes import candidate, config
from tests.web.conftest import served
from tests.web.test_page import drifted, entry_of, views
from typer.testing import CliRunner

from takeback.adapters import open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.adapters.workspace.adapter import init_workspace
from takeback.cli import app
from takeback.cli.demo import CHANGES, LOOKS_RIGHT, THIRD, write_harness
from takeback.journal import postgres, sql, sqlite
from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import Stage, State

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
TOUR = (ROOT / "docs" / "tour.md").read_text().partition("## In the page")[2]
WRITTEN = bool(os.environ.get("TAKEBACK_PICTURES"))
SCREEN = {"width": 1000, "height": 720}
BEGUN = datetime(2026, 3, 2, 9, 14, 5, tzinfo=UTC)


@pytest.fixture
def fixed(monkeypatch):
    """A clock that goes seven minutes from one record to the next, and ids that are the same in every run."""
    ticks, seeded = count(), random.Random(7)

    def now():
        return (BEGUN + timedelta(minutes=7 * next(ticks))).isoformat(timespec="microseconds")

    for module in (sql, sqlite, postgres):
        monkeypatch.setattr(module, "now", now, raising=False)
    monkeypatch.setattr(os, "urandom", seeded.randbytes)


def picture(page, name, **options):
    """Take a picture; only `make pictures` puts it among the documentation's."""
    taken = page.screenshot(animations="disabled", caret="hide", **options)
    path = IMAGES / f"{name}.png"
    assert len(taken) > 10_000
    assert path.exists() or WRITTEN, f"{path} is missing: 'make pictures' makes it"
    if WRITTEN:
        path.write_bytes(taken)


@pytest.fixture
def story(chromium, fixed, tmp_path):
    """The demo's six changes, the third taken back; a forced change before them, an edit by hand after them."""
    root = tmp_path / "parcel-tracker"
    root.mkdir()
    write_harness(root)
    init_clients(root)
    with open_workspace(root, hold=False) as harness:
        forced = harness.apply(LOOKS_RIGHT, force=True, note="a server, tried in haste", by="claude").entry
        harness.undo(forced, by="ann")
        for note, ops in CHANGES:
            harness.apply(invert_mutation(read_program(ops, Stage.FORWARD, "change")), note=note, by="claude")
        (root / "CLAUDE.md").write_text((root / "CLAUDE.md").read_text() + "- Ask before a deploy.\n")
        harness.adopt("tuned by hand", by="ann")
        third = next(entry for entry in harness.log() if entry.note == CHANGES[THIRD][0])
        harness.undo(third.id, by="ann")
        yield root, harness, forced


def test_the_main_views_are_pictured_for_the_documentation(story, tab):
    root, harness, forced = story
    with served(("parcel-tracker", harness), who="ann") as link:
        page = tab(link, viewport=SCREEN)
        for name, address in views(link, forced.id, "HEAD~2").items():
            if name == "drift":
                drifted(root)
            page.goto(address)
            picture(page, f"web-{name}", full_page=name == "entry")


@pytest.fixture
def fleet(chromium, fixed, postgres_url, tmp_path):
    """Four agents' journals, one of them tampered with, under an address that is the same in every run."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS fleet WITH (FORCE)")
        connection.execute("CREATE DATABASE fleet")
    sockets, place = postgres_url.partition("host=")[2], Path(tempfile.gettempdir()) / "takeback-fleet"
    place.unlink(missing_ok=True)
    place.symlink_to(sockets)
    url = f"postgresql://postgres@/fleet?host={place}"
    bad = candidate(config("retries", 9)).to_json() | {"recovery": []}
    for agent, number in (("billing", 3), ("routing", 2), ("search", 6), ("support", 4)):
        init_workspace(tmp_path / agent, journal=f"{url}#{agent}", start=State.read({"config": {"timeout": 30}}))
        with open_workspace(tmp_path / agent, hold=False) as harness:
            for at in range(number):
                harness.apply(candidate(config("timeout", 30 + at)), note=f"try {30 + at} seconds", by="tuner")
            if agent == "search":
                harness.apply(bad, force=True, note="more retries, in haste", by="ann")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TRIGGER records_guard ON takeback_routing.records")
        connection.execute("UPDATE takeback_routing.records SET payload = '{}' WHERE seq = 4")
    yield url
    place.unlink()


def test_a_fleet_is_pictured(fleet, tab):
    from takeback.web.shelf import HarnessShelf

    shelf = HarnessShelf.of([fleet])
    with served(shelf=shelf) as link:
        page = tab(link, viewport={"width": 1000, "height": 560})
        page.get_by_text("needs attention").wait_for()
        picture(page, "web-fleet")
    shelf.close()


def test_a_report_of_the_lab_is_pictured(tab):
    from takeback.web.shelf import HarnessShelf
    from takeback_lab.pages import open_pages

    with served(shelf=HarnessShelf([]), extra=open_pages(ROOT / "results" / "first")) as link:
        page = tab(link, viewport=SCREEN)
        page.goto(link.partition("open")[0] + "lab/run/factorial-qwen2.5-coder-1.5b-instruct-q4_k_m")
        page.locator("figure.plot").first.locator(".mark").nth(9).focus()
        page.evaluate("document.querySelector('figure.plot').scrollIntoView({block: 'center'})")
        picture(page, "web-lab")


def commands(text):
    """The commands of the first shell block of the tour."""
    block = re.search(r"```sh\n(.*?)```", text, re.DOTALL)[1]
    return [line for line in block.splitlines() if line]


def test_the_third_of_six_changes_is_taken_back_as_the_tour_says(tab, fixed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parcels" / ".claude").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "parcels")
    for line in commands(TOUR):
        words = shlex.split(line)
        if words[0] == "printf":
            Path(words[-1]).write_text(words[1].encode().decode("unicode_escape"))
        elif words[0] == "takeback":
            done = CliRunner().invoke(app, words[1:])
            assert done.exit_code == 0, (line, done.output)
    settings = Path(".claude/settings.json")
    before = settings.read_text()
    with open_workspace(Path(), hold=False) as harness, served(("parcels", harness)) as link:
        page = tab(link, viewport=SCREEN)
        picture(page, "tour-1-timeline")
        entry_of(page, "let it delete files").get_by_role("link", name="Take back").click()
        page.get_by_text("Nothing has been changed yet").wait_for()
        page.get_by_label("Who you are").fill("ann")
        picture(page, "tour-2-preview")
        assert settings.read_text() == before
        page.get_by_role("button", name="Take back now").click()
        page.get_by_text("Done: took back #4").wait_for()
        picture(page, "tour-3-done")
        assert settings.read_text() == before.replace(', "Bash(rm:*)"', "")
        page.get_by_role("link", name="Timeline", exact=True).click()
        picture(page, "tour-4-after")
        assert page.locator("li.entry.is-undone").count() == 1
        assert page.locator("li.entry.is-live").count() == 5
        entry_of(page, "took back #4").get_by_role("link", name="Take back").click()
        page.get_by_role("button", name="Take back now").click()
        page.get_by_text("Done: brought back #4").wait_for()
    assert settings.read_text() == before
