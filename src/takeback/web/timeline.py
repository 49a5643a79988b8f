"""Lists of entries: the timeline with its filters, the matrix of entries by slots, and live updates of both.

A page follows the journal by server-sent events, whoever writes to it. Each message holds the new rows and
the rows that changed because of them. The list of harnesses follows all journals, and gets all its rows
anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from takeback.canonical import write_pretty
from takeback.errors import TakebackError
from takeback.harness.attempts import read_attempts
from takeback.harness.dependencies import find_dependents
from takeback.present.entries import GRADES, Filter, read_filter
from takeback.present.summary import summarize_since
from takeback.web.pages import is_part_wanted, render_page, render_template
from takeback.web.rows import EntryRow
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
    found, more = shown.rows.page(wanted, before)
    values: dict[str, Any] = {"shown": shown, "found": found, "more": more, "fields": fields}
    if is_part_wanted(request):
        day = request.query_params.get("day", "")
        return HTMLResponse(render_template("rows.html", read_only=request.app.state.read_only, day=day, **values))
    return render_page(
        request,
        "timeline.html",
        before=before,
        last=shown.rows.newest(),
        drift=shown.drifted(),
        facets=shown.rows.index.count_facets(),
        grades=GRADES,
        summary=summarize_since(shown.harness, shown.rows.index),
        **values,
    )


@harness_view
def show_refused(request: Request, shown: Shown) -> Response:
    """Show what was refused: who wanted what, why not, and the state that breaks it."""
    shown.harness.require("read")
    found = read_attempts(shown.where) if shown.where else []
    told = [{**one, "state": None if one.get("state") is None else write_pretty(one["state"])} for one in found]
    return render_page(request, "refused.html", shown=shown, found=told[:MOST_REFUSED])


MOST_REFUSED: Final = 200
"""Refused attempts on a page."""
SIZE: Final = 40
"""Entries on a page."""


@dataclass(frozen=True, slots=True)
class MatrixLine:
    """One entry: what it is to each address, empty where it did not write there."""

    row: EntryRow
    cells: tuple[str, ...]
    along: tuple[int, ...] = ()
    """Later entries that it could not be taken back without."""


@harness_view
def show_matrix(request: Request, shown: Shown) -> Response:
    """Show a page of the matrix."""
    shown.harness.require("read")
    given = request.query_params.get("before", "")
    rows, more = shown.rows.page(before=int(given) if given.isdecimal() else None, size=SIZE)
    changes = [row for row in rows if row.entry.status in {"live", "undone"}]
    addresses = tuple(dict.fromkeys(address for row in changes for address in row.entry.addresses))
    lines = [replace(line, along=_find_along(shown, line.row)) for line in build_lines(changes, addresses)]
    return render_page(request, "matrix.html", shown=shown, addresses=addresses, lines=lines, more=more)


def _find_along(shown: Shown, row: EntryRow) -> tuple[int, ...]:
    return tuple(number for number, _ in find_dependents(shown.harness.ledger, row.entry.seq))


def build_lines(rows: list[EntryRow], addresses: tuple[str, ...]) -> list[MatrixLine]:
    """Return what each entry is to each address, newest first: the first live one is in force."""
    taken: dict[str, int] = {}
    found: list[MatrixLine] = []
    for row in rows:
        cells: list[str] = []
        for address in addresses:
            if address not in row.entry.addresses:
                cells.append("")
            elif row.entry.status == "undone":
                cells.append("undone")
            elif address in taken:
                cells.append(f"then #{taken[address]}")
            else:
                cells.append("in force")
            if cells[-1] in {"in force", f"then #{taken.get(address)}"}:
                taken[address] = row.entry.seq
        found.append(MatrixLine(row, tuple(cells)))
    return found


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
    return StreamingResponse(_follow_journal(request, shown, wanted, after), media_type="text/event-stream")


def _find_newest(shown: Shown) -> int:
    with shown.lock:
        return shown.rows.newest()


async def _follow_journal(request: Request, shown: Shown, wanted: Filter, after: int) -> AsyncIterator[str]:
    drift, look_at = await run_in_threadpool(_count_drift, shown), 0.0
    async for turn in _wait_turns(request, EVERY):
        if monotonic() >= look_at:
            began, known = monotonic(), drift
            drift = await run_in_threadpool(_count_drift, shown)
            look_at = monotonic() + max(EVERY_LIST, SPARE * (monotonic() - began))
            if drift != known and drift is not None:
                yield _format_message(render_template("drift_news.html", shown=shown, drift=drift))
        try:
            told = await run_in_threadpool(build_news, shown, wanted, after, read_only=request.app.state.read_only)
        except TakebackError as fault:
            yield _format_message(render_template("trouble.html", message=fault.message))
            return
        if told is not None:
            after, text = told
            yield _format_message(text, after)
        elif turn % SILENT == 0:
            yield KEPT_OPEN


def _count_drift(shown: Shown) -> int | None:
    """Return how many things were changed outside Takeback; None where that cannot be told now."""
    try:
        with shown.lock:
            return shown.drifted()
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


def build_news(shown: Shown, wanted: Filter, after: int, *, read_only: bool = False) -> tuple[int, str] | None:
    """Return the last record and the message of news after a record; None if there are none."""
    with shown.lock:
        shown.rows.refresh()
        fresh, touched = shown.rows.after(after)
        if not fresh:
            return None
        found = shown.rows.pick(fresh, wanted)
        text = render_template(
            "news.html", shown=shown, found=found, touched=touched, count=len(fresh), read_only=read_only
        )
        return fresh[0].entry.seq, text
