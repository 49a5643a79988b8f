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
from types import SimpleNamespace

import psycopg
import pytest
from tests.support.changes import candidate, config
from tests.web.conftest import served
from tests.web.stories import drift, guess, name_pages, tell_story
from tests.web.test_page import entry_of
from typer.testing import CliRunner

from takeback.adapters import open_workspace
from takeback.adapters.workspace.adapter import init_workspace
from takeback.cli import app
from takeback.harness import attempts
from takeback.journal import sql
from takeback.state import State

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
TOUR = (ROOT / "docs" / "tour.md").read_text().partition("## In the page")[2]
WRITTEN = bool(os.environ.get("TAKEBACK_PICTURES"))
SCREEN = {"width": 1000, "height": 720}
TALL = 1500
BEGUN = datetime(2026, 3, 2, 9, 14, 5, tzinfo=UTC)


@pytest.fixture
def fixed(monkeypatch):
    """A clock that goes seven minutes from one record to the next, and ids that are the same in every run."""
    from takeback.web import timeline

    ticks, seeded = count(), random.Random(7)

    def now():
        return (BEGUN + timedelta(minutes=7 * next(ticks))).isoformat(timespec="microseconds")

    today = BEGUN + timedelta(hours=9)
    summarized = timeline.summarize_since
    monkeypatch.setattr(sql, "format_now", now)
    monkeypatch.setattr(timeline, "summarize_since", lambda harness, index: summarized(harness, index, today))
    monkeypatch.setattr(attempts, "datetime", SimpleNamespace(now=lambda _: today))
    monkeypatch.setattr(os, "urandom", seeded.randbytes)


def picture(page, name, **options):
    """Take a picture; only `make pictures` puts it among the documentation's."""
    taken = page.screenshot(animations="disabled", caret="hide", **options)
    path = IMAGES / f"{name}.png"
    assert len(taken) > 10_000
    assert path.exists() or WRITTEN, f"{path} is missing: 'make pictures' makes it"
    if WRITTEN:
        path.write_bytes(taken)


PAGES = {
    "timeline": "timeline",
    "entry": "forced entry",
    "undo": "undo",
    "blocked": "blocked",
    "restore": "go back",
    "compare": "compare",
    "past": "over time",
    "refused": "refused",
    "bisect": "what broke it",
    "forget": "forget",
    "drift": "drift",
}
"""Pictures, each with the page it is of."""


@pytest.fixture
def story(chromium, fixed, tmp_path):
    """The story, on a day that is the same in every run; its harness is served as `takeback web` does."""
    from takeback.web.shelf import HarnessShelf

    root = tmp_path / "parcel-tracker"
    made = tell_story(root)
    shelf = HarnessShelf.of([root])
    guess(shelf.all[0].harness)
    yield root, shelf, made
    shelf.close()


def test_every_page_is_pictured_for_the_documentation(story, tab):
    root, shelf, made = story
    with served(shelf=shelf, who="ann") as link:
        page = tab(link, viewport=SCREEN)
        addresses = name_pages(link.partition("open")[0], made)
        for name, kind in PAGES.items():
            if name == "drift":
                drift(root)
            page.set_viewport_size(SCREEN | {"height": TALL} if name == "timeline" else SCREEN)
            page.goto(addresses[kind])
            if name == "bisect":
                page.get_by_label("Check command").fill("! grep -q rm: .claude/settings.json")
                page.get_by_role("button", name="Find what broke it").click()
                page.get_by_text("Found after").wait_for()
            picture(page, f"web-{name}", full_page=name in {"entry", "restore", "past", "bisect"})


def test_an_expired_session_is_pictured(sixty, chromium):
    _, harness = sixty
    with served(("parcel-tracker", harness)) as link:
        stranger = chromium.new_context(viewport={"width": 1000, "height": 400})
        page = stranger.new_page()
        page.goto(link.partition("open")[0] + "entry/62")
        picture(page, "web-expired")
        stranger.close()


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
