"""What views share: the harness that an address names, held for as long as the answer is worked out."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from takeback.present.secrets import reveal_secrets
from takeback.web.pages import REVEAL, Form
from takeback.web.shelf import HarnessShelf, Shown


def find_shown(request: Request) -> Shown:
    """Return the harness that a request is about."""
    shelf: HarnessShelf = request.app.state.shelf
    shown = shelf.get(request.path_params["number"])
    if shown is None:
        raise HTTPException(404)
    return shown


def harness_view(view: Callable[[Request, Shown], Response]) -> Callable[[Request], Response]:
    """Wrap a view that shows a harness."""

    @wraps(view)
    def answer(request: Request) -> Response:
        shown = find_shown(request)
        with shown.lock, reveal_secrets(wanted=request.query_params.get(REVEAL) == "1"):
            return view(request, shown)

    return answer


def harness_form(view: Callable[[Request, Shown, Form], Response]) -> Callable[[Request, Form], Response]:
    """Wrap a view that changes a harness."""

    @wraps(view)
    def answer(request: Request, form: Form) -> Response:
        shown = find_shown(request)
        with shown.lock:
            return view(request, shown, form)

    return answer
