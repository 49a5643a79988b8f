"""The timeline: entries with filters and lanes, what was refused, live updates, and entries as a file to be sent.

A page follows the journal by server-sent events, whoever writes to it. Each message holds the new rows and
the rows that changed because of them. The list of harnesses follows all journals, and gets all its rows
anew. Lanes join entries that depend on each other, as the planner of an undo says; a page is drawn with the
numbers of the next one in view, and its address says where lanes lead that leave it. A file is what
`takeback share` and `takeback report` write: masked, whoever asks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic, time
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from takeback.canonical import write_pretty
from takeback.errors import TakebackError
from takeback.harness import Harness
from takeback.harness.attempts import read_attempts
from takeback.harness.dependencies import find_all_dependencies
from takeback.harness.entry_names import resolve_entry
from takeback.harness.ledger import CHANGES
from takeback.present.entries import GRADES, Filter, read_filter
from takeback.present.graph import LaneRow, iter_lanes, reduce_to_direct
from takeback.present.share_page import MOST_ENTRIES, SharePage, make_share_page
from takeback.present.summary import Summary, is_after, summarize_since
from takeback.secret_mask import mask_text_secrets
from takeback.web.pages import build_query, find_shown, harness_view, is_part_wanted, render_page, render_template
from takeback.web.rows import LOOSE, NONE, PAGE, EntryRow
from takeback.web.shelf import HarnessShelf, Shown

FIELDS: Final = ("text", "surface", "by", "grade", "client", "session", "since", "effect_class")
ATTEMPT_FIELDS: Final = ("text", "by", "why", "since")
MINUTE: Final = 60
MOST_LANES: Final = 6
"""So many lanes are drawn side by side; what is beyond them is said in words only."""


def read_request_filter(request: Request) -> tuple[Filter, dict[str, str]]:
    """Return the filter that a request asks for, and its fields."""
    fields = {name: request.query_params.get(name, "") for name in FIELDS}
    return read_filter(**fields, loose=True), fields


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
    rows = [
        {**attempt, "state": None if attempt.get("state") is None else write_pretty(attempt["state"])}
        for attempt in _iter_wanted(everything, fields)
    ]
    facets = {
        name: sorted({str(attempt[name]) for attempt in everything if attempt.get(name)}) for name in ("by", "why")
    }
    shortened, every = rows[:MOST_REFUSED], len(everything)
    return render_page(
        request, "refused.html", shown=shown, found=shortened, fields=fields, facets=facets, every=every
    )


def _iter_wanted(attempts: list[dict[str, Any]], fields: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the refused attempts that have every word, and are of the one and for the reason asked for."""
    since = read_filter(since=fields["since"]).since if fields["since"] else None
    for attempt in attempts:
        text = mask_text_secrets(write_pretty(attempt)).casefold()
        has_words = all(word in text for word in fields["text"].casefold().split())
        same = all(not fields[name] or str(attempt.get(name, "")) == fields[name] for name in ("by", "why"))
        if has_words and same and (since is None or is_after(attempt["at"], since)):
            yield attempt


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
DIGITS: Final = 9
"""A number in an address has fewer."""


async def stream_events(request: Request) -> Response:
    """Follow the journal of one harness from a record on."""
    shown = find_shown(request)
    wanted, _ = read_request_filter(request)
    given = request.headers.get("last-event-id") or request.query_params.get("after", "")
    after = int(given) if given.isdecimal() else await run_in_threadpool(_find_newest, shown)
    lanes, drift = (_read_small(request, name) for name in ("lanes", "drift"))
    following = _follow_journal(request, shown, wanted, after, lanes=lanes, drift=drift)
    return StreamingResponse(following, media_type="text/event-stream")


def _read_small(request: Request, name: str) -> int | None:
    given = request.query_params.get(name, "")
    return int(given) if given.isdecimal() and len(given) < DIGITS else None


def _find_newest(shown: Shown) -> int:
    with shown.lock:
        return shown.rows.newest()


async def _follow_journal(
    request: Request, shown: Shown, wanted: Filter, after: int, *, lanes: int | None = None, drift: int | None = None
) -> AsyncIterator[str]:
    """Yield news for a page that draws so many lanes and says that so much was changed outside, as far as known."""
    look_at = 0.0
    drift = await run_in_threadpool(_count_drift, shown) if drift is None else drift
    async for turn in _wait_turns(request, EVERY):
        if monotonic() >= look_at:
            began, known = monotonic(), drift
            drift = await run_in_threadpool(_count_drift, shown)
            look_at = monotonic() + max(EVERY_LIST, SPARE * (monotonic() - began))
            if drift != known and drift is not None:
                yield _format_message(render_template("drift_news.html", shown=shown, drift=drift))
        try:
            read_only = request.app.state.read_only
            news = await run_in_threadpool(build_news, shown, wanted, after, read_only=read_only, width=lanes)
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
        news: dict[str, Any] = {"found": rows, "touched": touched, "count": len(fresh), "lanes": lanes}
        return fresh[0].entry.seq, render_template("news.html", shown=shown, read_only=read_only, **news)


@dataclass(frozen=True, slots=True)
class RowLanes:
    """The lanes beside one row."""

    cells: tuple[str, ...] = ()
    """What each lane has, as words of a style: up, down, left, right, node."""
    over: tuple[str, ...] = ()
    """The same between this row and the one above it, where a day begins."""
    needs: tuple[int, ...] = ()
    """What the entry depends on: taken back, those would take it along."""


@dataclass(frozen=True, slots=True)
class PageLanes:
    """The lanes of a page of rows."""

    rows: Mapping[int, RowLanes] = field(default_factory=dict)
    width: int = 0
    rest: str = ""
    """Where the lanes lead that leave the page, for the next one."""

    def of(self, number: int) -> RowLanes:
        """Return the lanes of a row; none where nothing is drawn."""
        return self.rows.get(number, NO_LANES)


NO_LANES: Final = RowLanes()


def draw_page_lanes(harness: Harness, rows: Sequence[EntryRow], rest: str = "", *, whole: bool = True) -> PageLanes:
    """Return the lanes beside a page of rows, newest first; `whole` says that no entry between them is left out."""
    numbers = [row.entry.seq for row in rows]
    if not numbers:
        return PageLanes()
    further = _list_further(harness, numbers[-1]) if whole else []
    live = [row.entry.seq for row in rows if row.entry.status == "live"]
    needs = find_all_dependencies(harness.ledger, [*live, *further])
    seen = {*live, *further}
    below = reduce_to_direct({number: needed & seen for number, needed in needs.items()})
    waiting = _read_waiting(rest, numbers[0]) if whole else []
    begun = len(waiting)
    lanes = list(iter_lanes(numbers, below, waiting))
    width = min(MOST_LANES, max(begun, *(1 + max((row.at, *row.passing, *row.opened)) for row in lanes)))
    off = {row.entry.seq for row in rows if row.entry.status in {"undone", "aborted"}}
    drawn = {
        number: RowLanes(_draw_cells(row, width, hollow=number in off), _draw_over(row, width), below.get(number, ()))
        for number, row in zip(numbers, lanes, strict=True)
    }
    if not begun and not any(row.needs for row in drawn.values()):
        return PageLanes()
    return PageLanes(drawn, width, ",".join("" if number is None else str(number) for number in waiting))


def draw_new_lanes(numbers: Iterable[int], width: int) -> PageLanes:
    """Return lanes for rows that are put above a page that is shown: each stands by itself until the next look."""
    cells = ("node", *[""] * (min(width, MOST_LANES) - 1)) if width > 0 else ()
    return PageLanes({number: RowLanes(cells) for number in numbers}, len(cells))


def _list_further(harness: Harness, oldest: int) -> list[int]:
    """Return the live changes among the entries of the next page."""
    numbers = range(max(1, oldest - PAGE), oldest)
    records = harness.journal.many(list(numbers)) if numbers else []
    undone = harness.ledger.history.undone
    changes = (record for record in records if record.kind in CHANGES and not harness.ledger.is_aborted(record))
    return [change.entry for change in changes if change.entry not in undone]


def _read_waiting(rest: str, newest: int) -> list[int | None]:
    """Return where the lanes of the page above lead, as an address says it; lanes to what is not below end."""
    numbers = [
        int(text) if text.isdecimal() and len(text) < len(str(newest)) + 1 else None for text in rest.split(",")
    ]
    led = [number if number is not None and 0 < number <= newest else None for number in numbers[: MOST_LANES * 2]]
    waiting = [lane if lane not in led[:at] else None for at, lane in enumerate(led)]
    return waiting if any(waiting) else []


def _draw_cells(row: LaneRow, width: int, *, hollow: bool) -> tuple[str, ...]:
    corners = {*row.opened, *row.joined}
    first, last = min((row.at, *corners)), max((row.at, *corners))
    cells: list[str] = []
    for lane in range(width):
        words = ["off" if hollow else "node"] if lane == row.at else []
        words += ["up"] if (row.above if lane == row.at else lane in row.passing) else []
        words += ["down"] if (row.below if lane == row.at else lane in row.passing or lane in row.opened) else []
        words += ["left"] if first < lane <= last else []
        words += ["right"] if first <= lane < last else []
        cells.append(" ".join(words))
    return tuple(cells)


def _draw_over(row: LaneRow, width: int) -> tuple[str, ...]:
    passing = row.passing | ({row.at} if row.above else frozenset())
    return tuple("up down" if lane in passing else "" for lane in range(width))


@harness_view
def download_share(request: Request, shown: Shown) -> Response:
    """Answer with one entry as a file."""
    shown.harness.ledger.refresh()
    record = resolve_entry(shown.harness.ledger, request.path_params["name"])
    return _answer_file(make_share_page(shown.harness, [record]), f"takeback-{record.entry}")


@harness_view
def download_report(request: Request, shown: Shown) -> Response:
    """Answer with the ticked entries, or those that pass the filters, newest first, as one file."""
    harness = shown.harness
    harness.ledger.refresh()
    chosen = {resolve_entry(harness.ledger, name).entry for name in request.query_params.getlist("entry")}
    if not chosen:
        wanted, _ = read_request_filter(request)
        chosen = set(shown.rows.index.find(wanted, limit=MOST_ENTRIES + 1))
    records = map(harness.journal.get, sorted(chosen, reverse=True))
    return _answer_file(make_share_page(harness, records, "Report"), "takeback-report")


def _answer_file(page: SharePage, name: str) -> Response:
    named = {"Content-Disposition": f'attachment; filename="{name}.html"'}
    return HTMLResponse(page.text.encode("utf-8", "backslashreplace"), headers=named)
