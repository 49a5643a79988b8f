"""Entries as a file that can be sent: one, those that were ticked, or those that pass the timeline's filters.

The file is what `takeback share` and `takeback report` write: masked, whoever asks, and without scripts.
"""

from __future__ import annotations

from typing import Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from takeback.harness.entry_names import resolve_entry
from takeback.present.share_page import MOST_ENTRIES, SharePage, make_share_page
from takeback.web.shelf import Shown
from takeback.web.timeline import read_request_filter
from takeback.web.views import harness_view

TITLE: Final = "Report"


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
    return _answer_file(make_share_page(harness, records, TITLE), "takeback-report")


def _answer_file(page: SharePage, name: str) -> Response:
    named = {"Content-Disposition": f'attachment; filename="{name}.html"'}
    return HTMLResponse(page.text.encode("utf-8", "backslashreplace"), headers=named)
