"""Live: a page follows the journal by server-sent events, whoever writes to it.

Each message holds the rows that are new and the rows that changed because of them, for the page to put in place.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from takeback.present.filters import Filter
from takeback.web.asking import shown_in
from takeback.web.rendering import render
from takeback.web.shelf import Shown
from takeback.web.timeline import filter_of

EVERY: Final = 0.5
"""Seconds between two looks at the journal."""
SILENT: Final = 30
"""After so many looks without news a comment is sent, so that a connection that is gone is noticed."""


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
    silent = 0
    while not (request.app.state.ending() or await request.is_disconnected()):
        told = await run_in_threadpool(news, shown, wanted, after, read_only=request.app.state.read_only)
        if told is not None:
            after, text = told
            lines = "".join(f"data: {line}\n" for line in text.splitlines() if line.strip())
            yield f"id: {after}\n{lines}\n"
            silent = 0
        elif (silent := silent + 1) % SILENT == 0:
            yield ": nothing new\n\n"
        await asyncio.sleep(EVERY)


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
