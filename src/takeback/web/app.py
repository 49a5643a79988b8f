"""The application: which address is answered by what, behind the guard."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from takeback.errors import TakebackError
from takeback.plugins import ExtraPages
from takeback.web.drift import adopt, discard, drift
from takeback.web.entry import entry
from takeback.web.fleet import journal
from takeback.web.forget import forget, preview_forget
from takeback.web.forms import changing
from takeback.web.guard import Guard
from takeback.web.live import events, standings_events
from takeback.web.matrix import matrix
from takeback.web.rendering import page
from takeback.web.session import Session
from takeback.web.shelf import HarnessShelf
from takeback.web.timeline import timeline
from takeback.web.undo import preview_redo, preview_undo, redo, undo

STATIC: Final = Path(__file__).parent / "static"
ROUTES: Final = (
    Route("/events", standings_events),
    Route("/fleet/{number:int}/{schema}", journal),
    Route("/{number:int}/", timeline),
    Route("/{number:int}/events", events),
    Route("/{number:int}/entry/{name}", entry),
    Route("/{number:int}/undo", preview_undo),
    Route("/{number:int}/redo", preview_redo),
    Route("/{number:int}/undo", changing(undo), methods=["POST"]),
    Route("/{number:int}/redo", changing(redo), methods=["POST"]),
    Route("/{number:int}/forget", preview_forget),
    Route("/{number:int}/forget", changing(forget), methods=["POST"]),
    Route("/{number:int}/matrix", matrix),
    Route("/{number:int}/drift", drift),
    Route("/{number:int}/adopt", changing(adopt), methods=["POST"]),
    Route("/{number:int}/discard", changing(discard), methods=["POST"]),
)


def make_app(
    shelf: HarnessShelf,
    session: Session,
    hosts: Collection[str],
    *,
    read_only: bool = False,
    extra: ExtraPages | None = None,
    ending: Callable[[], bool] = lambda: False,
) -> ASGIApp:
    """The page for some harnesses, served under some hosts (each with its port); `ending` tells when to let go."""
    app = Starlette(
        routes=[
            Route("/", beginning),
            *(extra.routes if extra else ()),
            *ROUTES,
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        exception_handlers={TakebackError: _explained, HTTPException: _missing},
    )
    app.state.shelf, app.state.session, app.state.read_only = shelf, session, read_only
    app.state.ending, app.state.extra = ending, extra
    return Guard(app, session, hosts)


def beginning(request: Request) -> Response:
    """The list of harnesses; where there is one only, its timeline."""
    shelf: HarnessShelf = request.app.state.shelf
    if shelf.single:
        return RedirectResponse("/1/", 303)
    if shelf.empty and request.app.state.extra is not None:
        return RedirectResponse(request.app.state.extra.path, 303)
    own, fleets = shelf.standings()
    return page(request, "shelf.html", own=own, fleets=fleets)


def _explained(request: Request, fault: Exception) -> Response:
    return page(request, "message.html", 400, title="That did not work", message=str(fault))


def _missing(request: Request, fault: Exception) -> Response:
    code = fault.status_code if isinstance(fault, HTTPException) else 500
    title = "Not found" if code == 404 else "Refused"  # noqa: PLR2004
    return page(request, "message.html", code, title=title, message=f"{request.url.path} is not here.")
