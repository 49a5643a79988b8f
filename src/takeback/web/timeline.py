"""The timeline: entries with filters and lanes, what was refused, and live updates.

A page follows the journal by server-sent events, whoever writes to it. Each message holds the new rows and
the rows that changed because of them. The list of harnesses follows all journals, and gets all its rows
anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from time import monotonic, time
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from takeback.canonical import write_pretty
from takeback.errors import TakebackError
from takeback.harness.attempts import read_attempts
from takeback.present.entries import GRADES, Filter, read_filter
from takeback.present.secrets import mask_text_secrets
from takeback.present.summary import Summary, is_after, summarize_since
from takeback.web.lanes import draw_new_lanes, draw_page_lanes
from takeback.web.pages import build_query, is_part_wanted, render_page, render_template
from takeback.web.rows import LOOSE, NONE
from takeback.web.shelf import HarnessShelf, Shown
from takeback.web.views import find_shown, harness_view

FIELDS = ("text", "surface", "by", "grade", "client", "session", "since", "effect_class")


def read_request_filter(request: Request) -> tuple[Filter, dict[str, str]]:
    """Return the filter that a request asks for, and its fields."""
    fields = {name: request.query_params.get(name, "") for name in FIELDS}
    wanted = read_filter(
        fields["text"],
        surface=fields["surface"],
        by=fields["by"],
        grade=fields["grade"],
        since=fields["since"],
        session=fields["session"],
        client=fields["client"],
        effect_class=fields["effect_class"],
        loose=True,
    )
    return wanted, fields


@harness_view
def show_timeline(request: Request, shown: Shown) -> Response:
    """Show a page of entries; for a script that scrolls, only the rows."""
    shown.harness.require("read")
    wanted, fields = read_request_filter(request)
    given = request.query_params.get("before", "")
    before = int(given) if given.isdecimal() else None
    shown.follow_index()
    rows, more = shown.rows.page(wanted, before)
    rest = request.query_params.get("lanes", "")
    lanes = draw_page_lanes(shown.harness, rows, rest, whole=wanted in (NONE, LOOSE))
    values: dict[str, Any] = {"shown": shown, "found": rows, "more": more, "fields": fields, "lanes": lanes}
    if is_part_wanted(request):
        day = request.query_params.get("day", "")
        return HTMLResponse(render_template("rows.html", read_only=request.app.state.read_only, day=day, **values))
    shown.view = build_query(fields)
    return render_page(
        request,
        "timeline.html",
        before=before,
        last=shown.rows.newest(),
        drift=shown.count_drifted(),
        facets=shown.rows.index.count_facets(),
        grades=GRADES,
        summary=_load_summary(shown),
        **values,
    )


def _load_summary(shown: Shown) -> Summary:
    """Return what happened since yesterday, worked out anew after what was recorded or refused, and each minute."""
    refused = len(read_attempts(shown.where)) if shown.where else 0
    state = (shown.harness.ledger.last, refused, int(time() // MINUTE))
    if shown.card is None or shown.card[0] != state:
        shown.card = (state, summarize_since(shown.harness, shown.rows.index))
    return shown.card[1]


@harness_view
def show_refused(request: Request, shown: Shown) -> Response:
    """Show what was refused: who wanted what, why not, and the state that breaks it."""
    shown.harness.require("read")
    everything = read_attempts(shown.where) if shown.where else []
    fields = {name: request.query_params.get(name, "") for name in ATTEMPT_FIELDS}
    attempts = list(_iter_wanted(everything, fields))
    rows = [
        {**attempt, "state": None if attempt.get("state") is None else write_pretty(attempt["state"])}
        for attempt in attempts
    ]
    facets = {
        name: sorted({str(attempt[name]) for attempt in everything if attempt.get(name)}) for name in ("by", "why")
    }
    values: dict[str, Any] = {
        "found": rows[:MOST_REFUSED],
        "fields": fields,
        "facets": facets,
        "every": len(everything),
    }
    return render_page(request, "refused.html", shown=shown, **values)


def _iter_wanted(attempts: list[dict[str, Any]], fields: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the refused attempts that have every word, and are of the one and for the reason asked for."""
    since = read_filter(since=fields["since"]).since if fields["since"] else None
    for attempt in attempts:
        text = mask_text_secrets(write_pretty(attempt)).casefold()
        has_words = all(word in text for word in fields["text"].casefold().split())
        same = all(not fields[name] or str(attempt.get(name, "")) == fields[name] for name in ("by", "why"))
        if has_words and same and (since is None or is_after(attempt["at"], since)):
            yield attempt


ATTEMPT_FIELDS: Final = ("text", "by", "why", "since")


MINUTE: Final = 60
MOST_REFUSED: Final = 200
"""Refused attempts on a page."""
EVERY: Final = 0.5
"""Seconds between two looks at the journal."""
EVERY_LIST: Final = 2.0
"""Seconds between two looks at all journals."""
SPARE: Final = 20
"""A look for drift is followed by a pause so many times as long as it took."""
SILENT: Final = 30
"""After so many looks without news a comment is sent, so that a connection that is gone is noticed."""
KEPT_OPEN: Final = ": nothing new\n\n"


async def stream_events(request: Request) -> Response:
    """Follow the journal of one harness from a record on."""
    shown = find_shown(request)
    wanted, _ = read_request_filter(request)
    given = request.headers.get("last-event-id") or request.query_params.get("after", "")
    after = int(given) if given.isdecimal() else await run_in_threadpool(_find_newest, shown)
    page = FollowedPage(*(_read_small(request, name) for name in ("lanes", "drift")))
    return StreamingResponse(_follow_journal(request, shown, wanted, after, page), media_type="text/event-stream")


@dataclass(frozen=True, slots=True)
class FollowedPage:
    """What the page shows that follows a journal."""

    lanes: int | None = None
    """How many lanes it draws beside each other."""
    drift: int | None = None
    """How many things it says were changed outside; None where that is not known."""


def _read_small(request: Request, name: str) -> int | None:
    given = request.query_params.get(name, "")
    return int(given) if given.isdecimal() and len(given) < DIGITS else None


DIGITS: Final = 9
NO_PAGE: Final = FollowedPage()


def _find_newest(shown: Shown) -> int:
    with shown.lock:
        return shown.rows.newest()


async def _follow_journal(
    request: Request, shown: Shown, wanted: Filter, after: int, page: FollowedPage = NO_PAGE
) -> AsyncIterator[str]:
    look_at = 0.0
    drift = await run_in_threadpool(_count_drift, shown) if page.drift is None else page.drift
    async for turn in _wait_turns(request, EVERY):
        if monotonic() >= look_at:
            began, known = monotonic(), drift
            drift = await run_in_threadpool(_count_drift, shown)
            look_at = monotonic() + max(EVERY_LIST, SPARE * (monotonic() - began))
            if drift != known and drift is not None:
                yield _format_message(render_template("drift_news.html", shown=shown, drift=drift))
        try:
            read_only = request.app.state.read_only
            news = await run_in_threadpool(build_news, shown, wanted, after, read_only=read_only, width=page.lanes)
        except TakebackError as fault:
            yield _format_message(render_template("trouble.html", message=fault.message))
            return
        if news is not None:
            after, text = news
            yield _format_message(text, after)
        elif turn % SILENT == 0:
            yield KEPT_OPEN


def _count_drift(shown: Shown) -> int | None:
    """Return how many things were changed outside Takeback; None where that cannot be told now."""
    try:
        with shown.lock:
            return shown.count_drifted()
    except TakebackError:
        return None


async def stream_standings(request: Request) -> Response:
    """Follow every journal of the list of harnesses."""
    return StreamingResponse(_follow_all(request), media_type="text/event-stream")


async def _follow_all(request: Request) -> AsyncIterator[str]:
    shelf: HarnessShelf = request.app.state.shelf
    known = await run_in_threadpool(shelf.heads)
    async for turn in _wait_turns(request, EVERY_LIST):
        heads = await run_in_threadpool(shelf.heads)
        if heads != known:
            known = heads
            own, fleets = await run_in_threadpool(shelf.standings)
            yield _format_message(render_template("standings.html", own=own, fleets=fleets))
        elif turn % SILENT == 0:
            yield KEPT_OPEN


async def _wait_turns(request: Request, seconds: float) -> AsyncIterator[int]:
    """Yield a number every so many seconds, from 1 on, while anybody listens."""
    turn = 0
    while not (request.app.state.ending() or await request.is_disconnected()):
        turn += 1
        yield turn
        await asyncio.sleep(seconds)


def _format_message(text: str, number: int | None = None) -> str:
    lines = "".join(f"data: {line}\n" for line in text.splitlines() if line.strip())
    return f"{lines}\n" if number is None else f"id: {number}\n{lines}\n"


def build_news(
    shown: Shown, wanted: Filter, after: int, *, read_only: bool = False, width: int | None = None
) -> tuple[int, str] | None:
    """Return the last record and the message of news after a record; None if there are none.

    `width` is how many lanes the page draws.
    """
    with shown.lock:
        shown.rows.refresh()
        fresh, touched = shown.rows.after(after)
        if not fresh:
            return None
        rows = shown.rows.pick(fresh, wanted)
        lanes = draw_new_lanes((row.entry.seq for row in rows), width or 0)
        values: dict[str, Any] = {
            "shown": shown,
            "found": rows,
            "touched": touched,
            "count": len(fresh),
            "lanes": lanes,
        }
        text = render_template("news.html", read_only=read_only, **values)
        return fresh[0].entry.seq, text
