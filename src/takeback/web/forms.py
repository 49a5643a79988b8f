"""Forms that change something: read whole or not at all, and only with the token of a page of this session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from takeback.web.rendering import page

Form = dict[str, list[str]]
LIMIT: Final = 1024 * 1024
FIELDS: Final = 20_000
LONGEST: Final = 200
"""Characters of a name at most."""


def changing(view: Callable[[Request, Form], Response]) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint for a view that changes something; everything of that kind goes through here."""

    async def answer(request: Request) -> Response:
        form = await _read(request)
        if form is None:
            return page(request, "message.html", 413, title="Too large", message="The form is too large.")
        state = request.app.state
        if not state.session.allows(first(form, "form_token")):
            message = "The form did not come from a page of this session. Go back, reload the page and try again."
            return page(request, "message.html", 403, title="Refused", message=message)
        if state.read_only:
            message = "This server only shows (--read-only). Nothing was changed."
            return page(request, "message.html", 403, title="Refused", message=message)
        if "by" in form:
            state.session.who = first(form, "by").strip()[:LONGEST]
        return await run_in_threadpool(view, request, form)

    return answer


def first(form: Form, name: str) -> str:
    """The first value of a field, empty if there is none."""
    return form.get(name, [""])[0]


async def _read(request: Request) -> Form | None:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LIMIT:
            return None
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=FIELDS)
    except ValueError:
        return {}
