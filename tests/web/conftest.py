"""Chromium in front of a real server: a Claude Code project with sixty entries, and one with ten thousand."""

from __future__ import annotations

import shutil
import threading
import time
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.support.changes import candidate, config
from tests.support.trusted import trust

from takeback.adapters import open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.cli.demo import CHANGES, write_harness
from takeback.harness.ledger import Ledger
from takeback.harness.records import draft_change
from takeback.journal import Draft, open_journal
from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import ABSENT, Stage
from takeback.undo import Write
from takeback.verify import verify

CHROMIUM = shutil.which("chromium")
PATIENCE = 90_000
SIXTY, MANY = 60, 10_000
BATCH = 1000
"""Records written at once where a long history is made."""
OPEN = []
"""Tabs to be closed before their server ends."""


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.web)


@contextmanager
def served(*harnesses, shelf=None, **options):
    """A server for some harnesses, or for a shelf, with its link."""
    from takeback.web.server import PageServer
    from takeback.web.shelf import HarnessShelf

    server = PageServer(HarnessShelf(harnesses) if shelf is None else shelf, **options)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server.link
    finally:
        while OPEN:
            OPEN.pop().context.close()
        server.stop()
        thread.join(PATIENCE / 1000)


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed (pip install playwright)"
    )
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def begun(root):
    """A Claude Code project with the demo's six changes, and rules enough for two hunks."""
    root.mkdir()
    write_harness(root)
    rules = root / "CLAUDE.md"
    rules.write_text(rules.read_text() + "".join(f"- {chr(97 + at) * 6} {at}\n" for at in range(20)))
    init_clients(root)
    with open_workspace(root, hold=False) as harness:
        for note, ops in CHANGES:
            change = invert_mutation(read_program(ops, Stage.FORWARD, "change"))
            assert harness.apply(change, note=note, by="claude").entry


def steps(harness, start, end):
    """Small changes by two agents, until there are `end` in all."""
    for number in range(start, end):
        change = candidate(config(f"env.STEP_{number % 9}", str(number)))
        assert harness.apply(change, note=f"step {number}", by=("tuner", "claude")[number % 2]).entry


@pytest.fixture(scope="session")
def sixty_made(tmp_path_factory):
    root = tmp_path_factory.mktemp("sixty") / "parcel-tracker"
    begun(root)
    with open_workspace(root, hold=False) as harness:
        steps(harness, len(CHANGES), SIXTY)
    return root


@pytest.fixture(scope="session")
def many_made(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("many") / "parcel-tracker", MANY)


def filled(root, number):
    """A project with so many entries, without the beginning: as `apply` would record them, many at a time."""
    begun(root)
    with closing(open_journal(root / ".takeback" / "journal.db", create=False)) as journal:
        ledger, known, drafts = Ledger(journal), {}, []
        for at in range(len(CHANGES), number - 1):
            key, value = f"STEP_{at % 500}", str(at)
            change = candidate(config(f"env.{key}", value))
            about = {"candidate": change.to_json(), "evidence": verify(change).to_json(), "forced": False, "ties": []}
            about |= {"note": f"step {at}", "by": ("tuner", "claude")[at % 2], "effect": ["next session"]}
            write = Write(("config", "env", key), known.get(key, ABSENT), value)
            drafts += [draft_change("apply", [write], about), Draft("commit", {"entry": at + 2})]
            known[key] = value
            if len(drafts) >= BATCH or at == number - 2:
                journal.append(drafts)
                drafts.clear()
        ledger.refresh()
        ledger.checkpoint()
    with open_workspace(trust(root), hold=False) as harness:
        assert harness.discard(note="files put in place").entry
        assert harness.status().clean
    return root


def copied(made, tmp_path):
    root = tmp_path / made.name
    shutil.copytree(made, root, symlinks=True)
    return trust(root)


@pytest.fixture(params=["sixty_made", "many_made"], ids=["60", "10000"])
def project(chromium, request, tmp_path):
    """A project with sixty entries, and one with ten thousand; made only where there is a browser to look at it."""
    root = copied(request.getfixturevalue(request.param), tmp_path)
    with open_workspace(root, hold=False) as harness:
        yield root, harness


@pytest.fixture
def sixty(chromium, sixty_made, tmp_path):
    root = copied(sixty_made, tmp_path)
    with open_workspace(root, hold=False) as harness:
        yield root, harness


@pytest.fixture
def many(chromium, many_made, tmp_path):
    root = copied(many_made, tmp_path)
    with open_workspace(root, hold=False) as harness:
        yield root, harness


class Tab:
    """A page of a browser, and everything it complained about."""

    def __init__(self, chromium, **options):
        self.context = chromium.new_context(**options)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.faults = []
        self.page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        self.page.on("console", self._heard)

    def _heard(self, said):
        """Take down what the console says; that an answer was 409, which a stale plan is, is no fault."""
        if said.type == "error" and "409 (Conflict)" not in said.text:
            self.faults.append(said.text)


@pytest.fixture
def tab(chromium):
    """Opens tabs; at the end none of them may have complained."""
    opened = []

    def opening(link, **options):
        opened.append(Tab(chromium, **options))
        OPEN.append(opened[-1])
        opened[-1].page.goto(link)
        return opened[-1].page

    yield opening
    assert [one.faults for one in opened if one.faults] == []


def until(true, seconds=PATIENCE / 1000):
    """Wait for something, not forever."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
