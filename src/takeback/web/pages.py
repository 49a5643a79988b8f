"""From values to pages: escaped templates, answers with and without scripts, and forms.

Whatever a template prints passes `mask_value`: secrets are masked, control and invisible characters become
escapes, then HTML is escaped. A page on which something is masked says so, and how it can be seen or
deleted. A form that changes something is read whole or not at all, and only with the token of a page of
this session.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from takeback import __version__
from takeback.present.diffs import iter_unified_lines
from takeback.present.visible import escape_invisible
from takeback.secret_mask import is_revealing, mask_text_secrets, reveal_secrets

if TYPE_CHECKING:
    from takeback.web.shelf import HarnessShelf, Shown

REVEAL: Final = "reveal"
"""The field of an address that asks for secrets in clear."""
NOTICE: Final = "<!-- secrets -->"
"""Where a page says that something on it is masked."""
MASKED: Final = "[masked by takeback"


def mask_value(value: Any) -> Any:
    """Return a value as templates print it, without secrets; markup made by templates passes unchanged."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return escape_invisible(value if is_revealing() else mask_text_secrets(value), lines=True)


@cache
def load_environment(more: str = "") -> Environment:
    """Return the environment of the templates."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in ("takeback.web", more) if package]),
        autoescape=True,
        finalize=mask_value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["query"] = build_query
    environment.filters["unified"] = iter_unified_lines
    environment.filters["when"] = format_time
    environment.globals["version"] = __version__
    return environment


def build_query(fields: dict[str, Any]) -> str:
    """Return fields as a query string, without empty ones."""
    return urlencode({name: value for name, value in fields.items() if value}, doseq=True)


def format_time(at: str) -> str:
    """Return a time as people read it."""
    return f"{at[:10]} {at[11:19]} UTC"


def render_template(template: str, templates_of: str = "", **values: Any) -> str:
    """Return a template rendered with values."""
    return load_environment(templates_of).get_template(template).render(**values)


def render_page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a whole page, with the values that every page needs."""
    app = request.app.state
    common = {
        "several": not (app.shelf.single or app.shelf.empty),
        "read_only": app.read_only,
        "form_token": escape(app.session.form_token),  # markup: a token that looks like a secret is still a token
        "who": app.session.who,
        "extra": app.extra,
        "path": request.url.path,
        "shown": app.shelf.get(request.path_params.get("number", 0)) if "schema" not in request.path_params else None,
    } | values
    text = render_template(template, app.extra.templates if app.extra else "", **common)
    revealed = is_revealing()
    banner = render_template("secrets.html", revealed=revealed, link=_build_toggle_link(request, revealed=revealed))
    return HTMLResponse(text.replace(NOTICE, banner if revealed or MASKED in text else "", 1), status)


def _build_toggle_link(request: Request, *, revealed: bool) -> str:
    """Return the address of the same page with secrets, or without them again."""
    fields = [(name, value) for name, value in request.query_params.multi_items() if name != REVEAL]
    more = urlencode([*fields, *([] if revealed else [(REVEAL, "1")])])
    return f"{request.url.path}?{more}" if more else request.url.path


def is_part_wanted(request: Request) -> bool:
    """Return whether a script asks for rows to put into a present page."""
    return request.headers.get("hx-request") == "true"


Form = dict[str, list[str]]
LIMIT: Final = 1024 * 1024
FIELDS: Final = 20_000
LONGEST: Final = 200
"""Characters of a name at most."""


def form_endpoint(view: Callable[[Request, Form], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Wrap a view that changes something as an endpoint; every such view goes through here."""

    @wraps(view)
    async def answer(request: Request) -> Response:
        form = await _read_form(request)
        if form is None:
            return render_page(request, "message.html", 413, title="Too large", message="The form is too large.")
        state = request.app.state
        if not state.session.allows(read_first(form, "form_token")):
            message = "The form did not come from a page of this session. Go back, reload the page and try again."
            return render_page(request, "message.html", 403, title="Refused", message=message)
        if state.read_only:
            message = "This server is read-only (--read-only). Nothing was changed."
            return render_page(request, "message.html", 403, title="Refused", message=message)
        if "by" in form:
            state.session.who = read_first(form, "by").strip()[:LONGEST]
        return await run_in_threadpool(view, request, form)

    return answer


def read_first(form: Form, name: str) -> str:
    """Return the first value of a field; empty if there is none."""
    return form.get(name, [""])[0]


async def _read_form(request: Request) -> Form | None:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LIMIT:
            return None
    try:
        return parse_qs(body.decode(), keep_blank_values=True, max_num_fields=FIELDS)
    except ValueError:
        return {}


def find_shown(request: Request) -> Shown:
    """Return the harness that a request is about."""
    shelf: HarnessShelf = request.app.state.shelf
    shown = shelf.get(request.path_params["number"])
    if shown is None:
        raise HTTPException(404)
    return shown


def harness_view(view: Callable[[Request, Shown], Response]) -> Callable[[Request], Response]:
    """Wrap a view that shows a harness, which is held as long as the answer is worked out."""

    @wraps(view)
    def answer(request: Request) -> Response:
        shown = find_shown(request)
        with shown.lock, reveal_secrets(wanted=request.query_params.get(REVEAL) == "1"):
            return view(request, shown)

    return answer


def harness_form(view: Callable[[Request, Shown, Form], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Wrap a view that changes a harness, which is held, as an endpoint."""

    @form_endpoint
    @wraps(view)
    def answer(request: Request, form: Form) -> Response:
        shown = find_shown(request)
        with shown.lock:
            return view(request, shown, form)

    return answer
