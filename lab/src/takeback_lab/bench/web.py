"""The page with ten thousand entries: bytes and time of the first view, scrolling, requests per second, memory.

A real server on a loopback port, asked over one connection. Where Chromium and Playwright are installed, the browser
says when the first row is there and how long frames take while one scrolls; elsewhere these figures are missing, and
why is said. The harness is in memory: what is measured is the page.
"""

from __future__ import annotations

import resource
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from statistics import median
from time import perf_counter, process_time
from typing import Any, Final

from takeback.adapters import open_memory
from takeback.adapters.sockets import LOOPBACK
from takeback.harness import Applied, Harness
from takeback.language import read_program
from takeback.repair import invert_mutation
from takeback.state import Stage, State
from takeback.web.server import PageServer
from takeback.web.shelf import HarnessShelf

ENTRIES: Final = 10_000
REQUESTS: Final = 200
VIEWS: Final = 5
SEARCHES: Final = (
    "text=step",
    "text=key-77",
    "text=%22step+1234%22",
    "text=step+7&by=agent-3",
    "text=x",
    "since=today",
)
"""Searches after the first: for what every entry has, what few have, two words, a person, one letter, a day."""
TIMEOUT: Final = 60.0
FIRST_ROW: Final = "performance.now() + (document.querySelector('li.entry') ? 0 : NaN)"
SCROLLED: Final = 1000
"""So many rows are scrolled to."""
SCROLL: Final = """async most => {
  const gaps = []; let last = performance.now(), going = true;
  const tick = now => { gaps.push(now - last); last = now; if (going) requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
  const rows = () => document.querySelectorAll('li.entry').length;
  for (let turn = 0; turn < 100 && rows() < most; turn++) {
    scrollTo(0, document.body.scrollHeight);
    await new Promise(done => setTimeout(done, 100));
  }
  going = false;
  gaps.sort((one, two) => one - two);
  return [rows(), gaps[Math.floor(gaps.length / 2)], gaps[Math.floor(gaps.length * 0.95)], gaps[gaps.length - 1]];
}"""
"""Scrolls down until so many rows are there; returns how many are, and the time between frames: half, 95%, all."""


def measure(entries: int = ENTRIES, requests: int = REQUESTS) -> dict[str, Any]:
    """Measure the timeline of a harness with so many entries."""
    before = _memory_mb()
    harness = filled(entries)
    held = _memory_mb()
    with harness:
        with _served(harness) as link:
            asked = _asked(link, entries, requests)
        memory = {"start": before, "harness": held, "served": _memory_mb()}
        with _served(harness) as link:
            browser, scroll, reason = _in_the_browser(link)
    return {
        "entries": entries,
        **asked,
        "memory_mb": memory,
        "browser_first_row_ms": browser,
        "browser_scroll": scroll,
        "browser_missing": reason,
    }


def _asked(link: str, entries: int, requests: int) -> dict[str, Any]:
    """What one client gets, and how fast."""
    client = _Client(link)
    first, first_ms, first_cpu_ms = _timed(client, "/1/")
    rate = _rate(client, "/1/", requests)
    _, first_search_ms, first_search_cpu_ms = _timed(client, "/1/?text=there+is+no+such+entry")
    searches = [_timed(client, f"/1/?{query}") for query in SEARCHES]
    searches_ms = [one[1] for one in searches]
    further = _rate(client, f"/1/?before={entries}", requests)
    client.close()
    return {
        "first_view_bytes": len(first),
        "first_view_ms": first_ms,
        "first_view_cpu_ms": first_cpu_ms,
        "requests_per_second": rate,
        "requests_per_second_further_down": further,
        "first_search_ms": first_search_ms,
        "first_search_cpu_ms": first_search_cpu_ms,
        "search_ms_median": median(searches_ms),
        "search_ms_longest": max(searches_ms),
        "search_cpu_ms_longest": max(one[2] for one in searches),
    }


def filled(entries: int) -> Harness:
    """A harness in memory with so many small changes."""
    harness = open_memory(State.read({"config": {"timeout": 30}}))
    for number in range(entries):
        op = {"op_type": "set_config", "target": f"key-{number % 500}", "value": number}
        change = invert_mutation(read_program([op], Stage.FORWARD, "bench"))
        done = harness.apply(change, note=f"step {number}", by=f"agent-{number % 7}")
        if not isinstance(done, Applied):
            raise TypeError(f"a change of the benchmark was not made: {done}")
    return harness


@contextmanager
def _served(harness: Harness) -> Iterator[str]:
    server = PageServer(HarnessShelf([("bench", harness)]), read_only=True)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield server.link
    finally:
        server.stop()
        thread.join(TIMEOUT)


class _Client:
    """One connection with the session's cookie."""

    def __init__(self, link: str) -> None:
        host, _, path = link.removeprefix("http://").partition("/")
        self._connection = HTTPConnection(LOOPBACK, int(host.rpartition(":")[2]), timeout=TIMEOUT)
        self._connection.request("GET", f"/{path}")
        answer = self._connection.getresponse()
        answer.read()
        self._cookie = (answer.getheader("set-cookie") or "").partition(";")[0]

    def get(self, path: str) -> bytes:
        self._connection.request("GET", path, headers={"Cookie": self._cookie})
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != 200:  # noqa: PLR2004 - the status of what was asked for
            raise TypeError(f"{path} answered {answer.status}")
        return body

    def close(self) -> None:
        self._connection.close()


def _timed(client: _Client, path: str) -> tuple[bytes, float, float]:
    """Return an answer, and in how many milliseconds: of the clock, and of the processor on both ends."""
    started, spent = perf_counter(), process_time()
    body = client.get(path)
    return body, round((perf_counter() - started) * 1000, 1), round((process_time() - spent) * 1000, 1)


def _rate(client: _Client, path: str, requests: int) -> float:
    started = perf_counter()
    for _ in range(requests):
        client.get(path)
    return round(requests / (perf_counter() - started), 1)


def _in_the_browser(link: str) -> tuple[float | None, dict[str, float] | None, str | None]:
    """Milliseconds until the first row is there, the median of some views, and scrolling; or why there are none."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415 - an extra of the tests
    except ModuleNotFoundError:
        return None, None, "Playwright is not installed"
    if program is None:
        return None, None, "Chromium is not installed"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(link)
        times: list[float] = []
        for _ in range(VIEWS):
            page.goto(link.partition("open")[0] + "1/", wait_until="commit")
            page.wait_for_selector("li.entry", state="attached")
            times.append(float(page.evaluate(FIRST_ROW)))
        rows, half, most, longest = page.evaluate(SCROLL, SCROLLED)
        browser.close()
    scroll = {"rows": rows, "frame_ms_median": half, "frame_ms_95": most, "frame_ms_longest": longest}
    return round(median(times), 1), {name: round(value, 1) for name, value in scroll.items()}, None


def _memory_mb() -> float:
    """The most memory this process has had so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6, 1)
