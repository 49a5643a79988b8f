"""The door: what is not asked for by the session's own browser, from its own pages, does not get in.

Stands before everything else, also before scripts and style sheets. Refused are other hosts (so that a name that
resolves to this machine is of no use), other origins, other methods, and everybody without the cookie.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from takeback.web.session import Session

LINK: Final = "/open"
METHODS: Final = ("GET", "HEAD", "POST")
FORM: Final = "application/x-www-form-urlencoded"
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
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
        """A refusal of what comes from elsewhere."""
        headers = request.headers
        if len(headers.getlist("host")) != 1 or headers["host"] not in self._hosts:
            return _refusal(421, "this page is served to this machine only, under the address that was printed")
        if request.method not in METHODS:
            return _refusal(405, f"{request.method} is not allowed", {"Allow": ", ".join(METHODS)})
        origin, site = headers.getlist("origin"), headers.get("sec-fetch-site")
        if any(one not in self._origins for one in origin) or site not in {None, "none", "same-origin"}:
            return _refusal(403, "another page asked for this")
        if request.method == "POST":
            if not origin and site != "same-origin":
                return _refusal(403, "changes are made from this page only")
            if headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
                return _refusal(415, "only forms of this page are read")
        return None

    def _stranger(self, request: Request) -> Response | None:
        """A refusal of whoever has no cookie; the link is exchanged for one."""
        if request.url.path == LINK:
            return self._exchange(request)
        if self._session.knows(request.cookies.get(self._cookie, "")):
            return None
        return _refusal(403, "open the link that 'takeback web' printed; it works once, in one browser")

    def _exchange(self, request: Request) -> Response:
        fetched_ahead = "prefetch" in request.headers.get("sec-purpose", request.headers.get("purpose", ""))
        given = request.query_params.get("link", "")
        if request.method != "GET" or fetched_ahead or not self._session.open(given):
            return _refusal(403, "this link was used already, or is another server's: run 'takeback web' again")
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._cookie, self._session.cookie, httponly=True, samesite="strict", path="/")
        return answer


def _refusal(code: int, why: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"refused: {why}\n", code, headers)
