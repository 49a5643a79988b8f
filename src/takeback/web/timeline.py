"""The timeline: entries newest first, a page at a time, filtered by surface, person, evidence and text."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from takeback.present.filters import GRADES, Filter, read_filter
from takeback.state import SURFACES
from takeback.web.asking import asked
from takeback.web.rendering import page, render, wants_part
from takeback.web.shelf import Shown

FIELDS = ("text", "surface", "by", "grade")


def filter_of(request: Request) -> tuple[Filter, dict[str, str]]:
    """The filter that a request asks for, and its fields."""
    fields = {name: request.query_params.get(name, "") for name in FIELDS}
    return read_filter(**fields), fields


@asked
def timeline(request: Request, shown: Shown) -> Response:
    """A page of entries; for a script that scrolls, only the rows."""
    wanted, fields = filter_of(request)
    given = request.query_params.get("before", "")
    before = int(given) if given.isdecimal() else None
    found, more = shown.rows.page(wanted, before)
    values: dict[str, Any] = {"shown": shown, "found": found, "more": more, "fields": fields}
    if wants_part(request):
        return HTMLResponse(render("rows.html", read_only=request.app.state.read_only, **values))
    return page(
        request,
        "timeline.html",
        before=before,
        last=shown.rows.newest(),
        drift=shown.drifted(),
        surfaces=list(SURFACES),
        people=shown.rows.people(),
        grades=GRADES,
        **values,
    )
