"""The page follows the journal."""

from __future__ import annotations

import asyncio
import re
from types import SimpleNamespace

from tests.support.changes import candidate, config, routing
from tests.unit.web.conftest import Browser, harness_with

from takeback.errors import JournalCorruptError
from takeback.present.entries import Filter
from takeback.web import timeline
from takeback.web.timeline import build_news


def numbers(text):
    return [int(number) for number in re.findall(r'<li id="e(\d+)"', text)]


def test_nothing_is_sent_without_news(browser):
    shown = browser.shelf.all[0]
    assert build_news(shown, Filter(), shown.rows.newest()) is None


def test_news_are_the_new_rows_and_the_rows_they_changed(browser, three):
    shown = browser.shelf.all[0]
    browser.get("/1/")
    three.undo("#3")
    after, text = build_news(shown, Filter(), 4)
    assert after == 5
    assert numbers(text) == [5, 3]
    assert 'hx-target="#entries" hx-swap="afterbegin"' in text
    assert 'hx-target="#e3" hx-swap="outerHTML"' in text
    assert "1 new entry just now" in text
    assert build_news(shown, Filter(), after) is None


def test_news_pass_the_filter_of_the_page_they_are_for(browser, three):
    shown = browser.shelf.all[0]
    three.apply(candidate(routing("side", "x")))
    three.apply(candidate(config("timeout", 1)))
    _, text = build_news(shown, Filter(surface="routing"), 4)
    assert numbers(text) == [5]
    assert "2 new entries" in text


def test_the_page_states_the_record_it_follows_from(browser, three):
    assert 'hx-sse:connect="/1/events?by=ann&amp;after=4&amp;drift=0"' in browser.get("/1/?by=ann").text
    assert "hx-sse:connect" not in browser.get("/1/?before=3").text


def test_the_list_of_harnesses_follows_every_journal(three, monkeypatch):
    monkeypatch.setattr(timeline, "EVERY_LIST", 0.0)
    monkeypatch.setattr(timeline, "SILENT", 1)
    with harness_with(("other", "bot", config("timeout", 1))) as other:
        browser = Browser(three, other)
        state = SimpleNamespace(shelf=browser.shelf, ending=lambda: False)
        request = SimpleNamespace(app=SimpleNamespace(state=state), is_disconnected=still_there)

        async def told():
            stream = timeline._follow_all(request)
            quiet = await anext(stream)
            other.apply(candidate(config("timeout", 2)), note="just now")
            news = await anext(stream)
            return quiet, news, await anext(stream)

        quiet, news, after = asyncio.run(told())
    assert quiet == after == timeline.KEPT_OPEN
    assert news.startswith("data: ")
    assert news.endswith("\n\n")
    assert all(line.startswith("data: ") for line in news.splitlines() if line)
    assert "just now" in news
    assert "slowest" in news


def test_the_page_reports_a_journal_it_can_no_longer_follow(browser, three, monkeypatch):
    def broken(*_, **__):
        raise JournalCorruptError("record 5 was altered", seq=5)

    monkeypatch.setattr(timeline, "build_news", broken)
    state = SimpleNamespace(read_only=False, ending=lambda: False)
    request = SimpleNamespace(app=SimpleNamespace(state=state), is_disconnected=still_there)

    async def told():
        return [text async for text in timeline._follow_journal(request, browser.shelf.all[0], Filter(), 4)]

    (text,) = asyncio.run(told())
    assert "no longer follows the journal: record 5 was altered" in text


async def still_there():
    return False
