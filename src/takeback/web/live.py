"""Live: a page follows the journal by server-sent events, whoever writes to it.

Each message holds the rows that are new and the rows that changed because of them, for the page to put in place. The
list of harnesses follows all journals, and gets all its rows anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from takeback.errors import TakebackError
from takeback.present.filters import Filter
from takeback.web.asking import shown_in
from takeback.web.rendering import render
from takeback.web.shelf import HarnessShelf, Shown
from takeback.web.timeline import filter_of

EVERY: Final = 0.5
"""Seconds between two looks at the journal."""
EVERY_LIST: Final = 2.0
"""Seconds between two looks at all journals."""
SILENT: Final = 30
"""After so many looks without news a comment is sent, so that a connection that is gone is noticed."""
KEPT_OPEN: Final = ": nothing new\n\n"


async def events(request: Request) -> Response:
    """Follow the journal of one harness from a record on."""
    shown = shown_in(request)
    wanted, _ = filter_of(request)
    given = request.headers.get("last-event-id") or request.query_params.get("after", "")
    after = int(given) if given.isdecimal() else await run_in_threadpool(_newest, shown)
    return StreamingResponse(_followed(request, shown, wanted, after), media_type="text/event-stream")


def _newest(shown: Shown) -> int:
    with shown.lock:
        return shown.rows.newest()


async def _followed(request: Request, shown: Shown, wanted: Filter, after: int) -> AsyncIterator[str]:
    async for turn in _looks(request, EVERY):
        try:
            told = await run_in_threadpool(news, shown, wanted, after, read_only=request.app.state.read_only)
        except TakebackError as fault:
            yield _message(render("trouble.html", message=fault.message))
            return
        if told is not None:
            after, text = told
            yield _message(text, after)
        elif turn % SILENT == 0:
            yield KEPT_OPEN


async def standings_events(request: Request) -> Response:
    """Follow every journal of the list of harnesses."""
    return StreamingResponse(_all_followed(request), media_type="text/event-stream")


async def _all_followed(request: Request) -> AsyncIterator[str]:
    shelf: HarnessShelf = request.app.state.shelf
    known = await run_in_threadpool(shelf.heads)
    async for turn in _looks(request, EVERY_LIST):
        heads = await run_in_threadpool(shelf.heads)
        if heads != known:
            known = heads
            own, fleets = await run_in_threadpool(shelf.standings)
            yield _message(render("standings.html", own=own, fleets=fleets))
        elif turn % SILENT == 0:
            yield KEPT_OPEN


async def _looks(request: Request, seconds: float) -> AsyncIterator[int]:
    """A turn every so many seconds, counted from 1, as long as anybody listens."""
    turn = 0
    while not (request.app.state.ending() or await request.is_disconnected()):
        turn += 1
        yield turn
        await asyncio.sleep(seconds)


def _message(text: str, number: int | None = None) -> str:
    lines = "".join(f"data: {line}\n" for line in text.splitlines() if line.strip())
    return f"{lines}\n" if number is None else f"id: {number}\n{lines}\n"


def news(shown: Shown, wanted: Filter, after: int, *, read_only: bool = False) -> tuple[int, str] | None:
    """What became of the journal after a record: its last record now and the message; None if there is nothing."""
    with shown.lock:
        shown.rows.refresh()
        fresh, touched = shown.rows.after(after)
        if not fresh:
            return None
        found = [row for row in fresh if wanted.passes(row.entry, row.what)]
        text = render("news.html", shown=shown, found=found, touched=touched, count=len(fresh), read_only=read_only)
        return fresh[0].entry.seq, text
