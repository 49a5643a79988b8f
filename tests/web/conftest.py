"""Chromium in front of a real server: a Claude Code project with sixty entries, and ten thousand in memory."""

from __future__ import annotations

import shutil
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.changes import candidate, config, routing

from takeback.adapters import open_memory, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.cli.demo_harness import CHANGES, write_harness
from takeback.language import read_program
from takeback.state import Stage, State
from takeback.synthesize import invert

CHROMIUM = shutil.which("chromium")
PATIENCE = 30_000
SIXTY, MANY = 60, 10_000
OPEN = []
"""Tabs to be closed before their server ends."""


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.web)


@contextmanager
def served(*harnesses, read_only=False):
    """A server for some harnesses, with its link."""
    from takeback.web.server import PageServer
    from takeback.web.shelf import HarnessShelf

    shelf = HarnessShelf(harnesses)
    server = PageServer(shelf, read_only=read_only)
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


@pytest.fixture
def project(tmp_path):
    """A Claude Code project with sixty entries: the demo's six changes, and small ones by two agents."""
    root = tmp_path / "parcel-tracker"
    root.mkdir()
    write_harness(root)
    init_clients(root)
    with open_workspace(root, hold=False) as harness:
        for note, ops in CHANGES:
            change = invert(read_program(ops, Stage.FORWARD, "change"))
            assert harness.apply(change, note=note, by="claude").entry
        for number in range(SIXTY - len(CHANGES)):
            change = candidate(config(f"env.STEP_{number % 9}", str(number)))
            assert harness.apply(change, note=f"step {number}", by=("tuner", "claude")[number % 2]).entry
        yield root, harness


@pytest.fixture(scope="session")
def many():
    """Ten thousand entries."""
    harness = open_memory(State.read({"config": {"timeout": 30}}))
    for number in range(MANY):
        change = config(f"key-{number % 500}", number) if number % 3 else routing("main", f"model-{number}")
        assert harness.apply(candidate(change), note=f"step {number}", by=f"agent-{number % 7}").entry
    with harness:
        yield harness


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
