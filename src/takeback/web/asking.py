"""What views share: the harness that an address names, held for as long as the answer is worked out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from takeback.present.secrets import revealing
from takeback.web.forms import Form
from takeback.web.rendering import REVEAL
from takeback.web.shelf import HarnessShelf, Shown


def shown_in(request: Request) -> Shown:
    """The harness that a request is about."""
    shelf: HarnessShelf = request.app.state.shelf
    shown = shelf.get(request.path_params["number"])
    if shown is None:
        raise HTTPException(404)
    return shown


def asked(view: Callable[[Request, Shown], Response]) -> Callable[[Request], Response]:
    """A view that shows a harness."""

    @wraps(view)
    def answer(request: Request) -> Response:
        shown = shown_in(request)
        with shown.lock, revealing(wanted=request.query_params.get(REVEAL) == "1"):
            return view(request, shown)

    return answer


def told(view: Callable[[Request, Shown, Form], Response]) -> Callable[[Request, Form], Response]:
    """A view that changes a harness."""

    @wraps(view)
    def answer(request: Request, form: Form) -> Response:
        shown = shown_in(request)
        with shown.lock:
            return view(request, shown, form)

    return answer
