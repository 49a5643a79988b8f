"""The server: a loopback port, the routes behind the guard, and an end that waits for nobody."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from takeback.adapters.sockets import LOOPBACK, listen_on_loopback
from takeback.errors import TakebackError
from takeback.plugins import ExtraPages
from takeback.web.bisect import show_bisect, start_bisect, stop_bisect
from takeback.web.drift import adopt_drift, discard_drift, show_drift
from takeback.web.entry import compare_entries, follow_permalink, show_entry
from takeback.web.fleet import show_journal
from takeback.web.forget import forget, preview_forget
from takeback.web.pages import render_page
from takeback.web.past import show_past
from takeback.web.security import LINK, Guard, Session
from takeback.web.shelf import HarnessShelf
from takeback.web.timeline import (
    download_report,
    download_share,
    show_refused,
    show_timeline,
    stream_events,
    stream_standings,
)
from takeback.web.undo import TOGGLE_VERBS, confirm_toggle, preview_toggle

SHORT: Final = 9
"""The number of a harness has fewer digits."""
STATIC: Final = Path(__file__).parent / "static"
ROUTES: Final = (
    Route("/events", stream_standings),
    Route("/fleet/{number:int}/{schema}", show_journal),
    Route("/{number:int}/", show_timeline),
    Route("/{number:int}/events", stream_events),
    Route("/{number:int}/entry/{name}", show_entry),
    Route("/{number:int}/entry/{name}/share", download_share),
    Route("/entry/{name}", follow_permalink),
    Route("/{number:int}/past", show_past),
    Route("/{number:int}/refused", show_refused),
    Route("/{number:int}/compare", compare_entries),
    Route("/{number:int}/report", download_report),
    *(Route(f"/{{number:int}}/{verb}", preview_toggle) for verb in TOGGLE_VERBS),
    *(Route(f"/{{number:int}}/{verb}", confirm_toggle, methods=["POST"]) for verb in TOGGLE_VERBS),
    Route("/{number:int}/forget", preview_forget),
    Route("/{number:int}/forget", forget, methods=["POST"]),
    Route("/{number:int}/bisect", show_bisect),
    Route("/{number:int}/bisect", start_bisect, methods=["POST"]),
    Route("/{number:int}/bisect/stop", stop_bisect, methods=["POST"]),
    Route("/{number:int}/drift", show_drift),
    Route("/{number:int}/adopt", adopt_drift, methods=["POST"]),
    Route("/{number:int}/discard", discard_drift, methods=["POST"]),
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
    """Build the page for some harnesses on these hosts (each with its port); `ending` says when to stop."""
    app = Starlette(
        routes=[
            Route("/", show_start),
            *(extra.routes if extra else ()),
            *ROUTES,
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        exception_handlers={TakebackError: _explain_fault, HTTPException: _answer_missing},
    )
    app.state.shelf, app.state.session, app.state.read_only = shelf, session, read_only
    app.state.ending, app.state.extra = ending, extra
    return Guard(app, session, hosts)


def show_start(request: Request) -> Response:
    """Show the list of harnesses; if there is only one, its timeline."""
    shelf: HarnessShelf = request.app.state.shelf
    if shelf.single:
        return RedirectResponse("/1/", 303)
    if shelf.empty and request.app.state.extra is not None:
        return RedirectResponse(request.app.state.extra.path, 303)
    own, fleets = shelf.standings()
    return render_page(request, "shelf.html", own=own, fleets=fleets)


def _explain_fault(request: Request, fault: Exception) -> Response:
    return render_page(request, "message.html", 400, title="That did not work", message=str(fault))


def _answer_missing(request: Request, fault: Exception) -> Response:
    code = fault.status_code if isinstance(fault, HTTPException) else 500
    title = "Not found" if code == 404 else "Refused"  # noqa: PLR2004
    number = request.url.path.split("/")[1]
    shown = request.app.state.shelf.get(int(number)) if number.isdecimal() and len(number) < SHORT else None
    message = f"{request.url.path} is not here."
    return render_page(request, "message.html", code, title=title, message=message, shown=shown)


GRACE: Final = 1
"""Seconds that open connections, such as pages that follow a journal, get at the end."""


class PageServer:
    """Harnesses served on a port of this machine."""

    def __init__(
        self,
        shelf: HarnessShelf,
        *,
        port: int = 0,
        read_only: bool = False,
        extra: ExtraPages | None = None,
        who: str = "",
    ) -> None:
        self._socket = listen_on_loopback(port)
        self.port: int = self._socket.getsockname()[1]
        session = Session(who)
        self.link = f"http://{LOOPBACK}:{self.port}{LINK}?link={session.link}"
        """Opens the page, once."""
        hosts = (f"{LOOPBACK}:{self.port}", f"localhost:{self.port}")
        config = uvicorn.Config(
            make_app(
                shelf, session, hosts, read_only=read_only, extra=extra, ending=lambda: self._server.should_exit
            ),
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=GRACE,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until interrupted, or until `stop`."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.should_exit = True
