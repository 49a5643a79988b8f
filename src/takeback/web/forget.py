"""Forgetting what entries captured, or a value wherever it occurs: a preview, a confirmation that is bound to it.

A value never stands in an address or on a page: it comes in a form, and is kept here, by a token, until it is
confirmed. What is forgotten cannot be brought back, so that a confirmation has to say that it is meant.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from takeback.errors import InputError
from takeback.harness.entry_names import resolve_entry
from takeback.harness.forget import Forgetting
from takeback.journal.search import SEARCHED, Forms, ValuePlace
from takeback.state.slots import describe_slot
from takeback.web.pages import Form, harness_form, harness_view, read_first, render_page
from takeback.web.shelf import Shown, WantedGone

BYTES: Final = 18
KEPT: Final = 20
"""So many previews can be confirmed; older ones are asked for again."""
STALE: Final = (
    "The journal changed since the preview you confirmed. Nothing was forgotten. This is what would be deleted now."
)
UNSURE: Final = "Nothing was forgotten: tick the box to confirm."


@dataclass(frozen=True, slots=True)
class ForgetView:
    """What would be forgotten, or was, as the page shows it."""

    done: bool
    contents: int
    goes: list[str]
    stays: list[str]
    kept: list[str]
    live: list[str]
    lingering: str
    limits: list[str]
    """In which forms a value was not looked for."""


@harness_view
def preview_forget(request: Request, shown: Shown) -> Response:
    """Show what forgetting an entry's contents would delete."""
    names = request.query_params.getlist("entry")
    if not names:
        raise InputError("entry", found="none", expected="the entry whose contents should go")
    return _page(request, shown, WantedGone(tuple(names)))


@harness_form
def forget(request: Request, shown: Shown, form: Form) -> Response:
    """Show what forgetting a value would delete; carry out a preview that is confirmed."""
    token = read_first(form, "token")
    if not token:
        value = read_first(form, "value")
        if not value:
            raise InputError("value", found="nothing", expected="the text that should go")
        return _page(request, shown, WantedGone((), value.encode("utf-8", "surrogateescape")))
    kept = shown.gone.pop(token, None)
    if kept is None:
        raise InputError("form", found="a preview that has expired", expected="a new one: go back to the entry")
    wanted, head = kept
    shown.harness.ledger.refresh()
    if head != shown.harness.ledger.head:
        return _page(request, shown, wanted, STALE, 409)
    if read_first(form, "sure") != "yes":
        return _page(request, shown, wanted, UNSURE, 409)
    return render_page(request, "forget.html", shown=shown, told=_do(shown, wanted, dry=False), token="", message="")


def _page(request: Request, shown: Shown, wanted: WantedGone, message: str = "", code: int = 200) -> Response:
    seen = _do(shown, wanted, dry=True)
    token = secrets.token_urlsafe(BYTES)
    shown.gone[token] = (wanted, shown.harness.ledger.head)
    while len(shown.gone) > KEPT:
        del shown.gone[next(iter(shown.gone))]
    return render_page(request, "forget.html", code, shown=shown, told=seen, token=token, message=message)


def _do(shown: Shown, wanted: WantedGone, *, dry: bool) -> ForgetView:
    harness = shown.harness
    harness.ledger.refresh()
    if wanted.value is None:
        names = [resolve_entry(harness.ledger, name).id for name in wanted.entries]
        return _make_forget_view(harness.forget(*names, dry=dry))
    return _make_forget_view(harness.forget_value(wanted.value, dry=dry), Forms(wanted.value))


def _make_forget_view(done: Forgetting, searched: Forms | None = None) -> ForgetView:
    return ForgetView(
        done=done.record is not None,
        contents=done.contents,
        goes=[_describe_value_place(place) for place in done.places if place.ref is not None],
        stays=[_describe_value_place(place) for place in done.stays],
        kept=[describe_slot(slot) for slot in done.kept],
        live=[describe_slot(slot) for slot in done.live],
        lingering=done.lingering,
        limits=[] if searched is None else [f"looked for as {', '.join(SEARCHED)}", *searched.limits],
    )


def _describe_value_place(place: ValuePlace) -> str:
    where = f"entry #{place.number}" if place.number is not None else f"record {place.seq}"
    return f"{place.what} of {where} ({place.kind})"
