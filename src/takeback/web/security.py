"""Who may see the page: the browser that opened the one-time link, until the server ends.

Three secrets, each for one thing: the link, which opens once; the cookie it becomes; the token in every
form. Refused before everything else are other hosts (so that a name that resolves to this machine is of no
use), other origins, other methods, and everybody without the cookie.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import b64encode
from collections.abc import Collection
from hashlib import sha256
from threading import Lock
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BYTES: Final = 32


class Session:
    """The secrets of one run of the server."""

    def __init__(self, who: str = "") -> None:
        self.who = who
        """Who sits in front of the page, as said last: recorded with what is done there."""
        self.link = secrets.token_urlsafe(BYTES)
        self.cookie = secrets.token_urlsafe(BYTES)
        self.form_token = secrets.token_urlsafe(BYTES)
        self._opened = False
        self._lock = Lock()

    def open(self, given: str) -> bool:
        """Return whether this is the link, opened for the first time."""
        with self._lock:
            if self._opened or not _is_same_secret(given, self.link):
                return False
            self._opened = True
            return True

    def knows(self, cookie: str) -> bool:
        """Return whether a cookie is this session's."""
        return _is_same_secret(cookie, self.cookie)

    def allows(self, token: str) -> bool:
        """Return whether a form came from a page of this session."""
        return _is_same_secret(token, self.form_token)


def _is_same_secret(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), secret.encode())


LINK: Final = "/open"
METHODS: Final = ("GET", "HEAD", "POST")
FORM: Final = "application/x-www-form-urlencoded"
EXPIRED_STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{max-width:40rem;margin:12vh auto;padding:0 1.2rem;font:16px/1.5 system-ui,sans-serif}"
    "code{font-family:ui-monospace,monospace;padding:.1rem .3rem;border:1px solid;border-radius:.3rem}"
)
"""The one style that stands in a page: strangers get no style sheet."""
STYLE_DIGEST: Final = b64encode(sha256(EXPIRED_STYLE.encode()).digest()).decode()
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' 'sha256-{STYLE_DIGEST}'",
        "img-src data:",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""With every answer, also refusals. A stricter referrer policy would make browsers hide the origin of forms."""


class Guard:
    """Lets in what belongs to a session, on the hosts it is served under."""

    def __init__(self, app: ASGIApp, session: Session, hosts: Collection[str]) -> None:
        self._app = app
        self._session = session
        self._hosts = frozenset(hosts)
        self._origins = frozenset(f"http://{host}" for host in hosts)
        port = next(iter(hosts)).rpartition(":")[2]
        self._cookie = f"takeback-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        request = Request(scope)
        answer = self._foreign(request) or self._stranger(request)
        await (answer or self._app)(scope, receive, guarded)

    def _foreign(self, request: Request) -> Response | None:
        """Return a refusal of requests from elsewhere; None if a request may pass."""
        headers = request.headers
        if len(headers.getlist("host")) != 1 or headers["host"] not in self._hosts:
            return _refuse(421, "this page is served to this machine only, at the printed address")
        if request.method not in METHODS:
            return _refuse(405, f"{request.method} is not allowed", {"Allow": ", ".join(METHODS)})
        origin, site = headers.getlist("origin"), headers.get("sec-fetch-site")
        if any(header not in self._origins for header in origin) or site not in {None, "none", "same-origin"}:
            return _refuse(403, "another page asked for this")
        if request.method == "POST":
            if not origin and site != "same-origin":
                return _refuse(403, "changes are made from this page only")
            if headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
                return _refuse(415, "only forms of this page are read")
        return None

    def _stranger(self, request: Request) -> Response | None:
        """Return a refusal of whoever has no cookie; exchange the link for one."""
        if request.url.path == LINK:
            return self._exchange(request)
        if self._session.knows(request.cookies.get(self._cookie, "")):
            return None
        return _refuse_stranger(request)

    def _exchange(self, request: Request) -> Response:
        fetched_ahead = "prefetch" in request.headers.get("sec-purpose", request.headers.get("purpose", ""))
        given = request.query_params.get("link", "")
        if request.method != "GET" or fetched_ahead or not self._session.open(given):
            return _refuse(403, "this link was already used, or belongs to another server: run 'takeback web' again")
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._cookie, self._session.cookie, httponly=True, samesite="strict", path="/")
        return answer


def _refuse(code: int, why: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"refused: {why}\n", code, headers)


EXPIRED: Final = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Session expired · Takeback</title>
<style>{EXPIRED_STYLE}</style></head>
<body><main><h1>This session has expired</h1>
<p>refused: open the link that 'takeback web' printed; it works once, in one browser</p>
<p>Run <code>takeback web</code> again in the project, and open the link it prints. Addresses such as
<code>/entry/62</code> work again then.</p></main></body></html>
"""


def _refuse_stranger(request: Request) -> Response:
    """Refuse whoever has no cookie: a browser that shows pages gets one that says what to do."""
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(EXPIRED, 403)
    return _refuse(403, "open the link that 'takeback web' printed; it works once, in one browser")
