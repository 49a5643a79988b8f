"""From values to pages: templates with everything escaped, and answers to browsers with and without scripts.

Whatever a template prints passes `shown`: secrets are masked, control and invisible characters become escapes, then
HTML is escaped. A page on which something is masked says so, and how it can be seen or deleted.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final
from urllib.parse import urlencode

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from takeback import __version__
from takeback.present.diffs import unified
from takeback.present.secrets import is_revealing, masked_text
from takeback.present.visible import visible

REVEAL: Final = "reveal"
"""The field of an address that asks for secrets in clear."""
NOTICE: Final = "<!-- secrets -->"
"""Where a page says that something on it is masked."""
MASKED: Final = "[masked by takeback"


def shown(value: Any) -> Any:
    """A value as templates print it, without secrets; markup made by templates passes."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    return visible(value if is_revealing() else masked_text(value), lines=True)


@cache
def environment(more: str = "") -> Environment:
    """Return the templates; `more` is a package with templates of its own."""
    found = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in ("takeback.web", more) if package]),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["query"] = query
    found.filters["unified"] = unified
    found.filters["when"] = when
    found.globals["version"] = __version__
    return found


def query(fields: dict[str, Any]) -> str:
    """Fields as a query string, those that say nothing left out."""
    return urlencode({name: value for name, value in fields.items() if value}, doseq=True)


def when(at: str) -> str:
    """A time as people read it."""
    return f"{at[:10]} {at[11:19]} UTC"


def render(template: str, templates_of: str = "", **values: Any) -> str:
    """Return a template filled with values; `templates_of` is a package with more."""
    return environment(templates_of).get_template(template).render(**values)


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A whole page; what every page needs is added."""
    app = request.app.state
    common = {
        "several": not (app.shelf.single or app.shelf.empty),
        "read_only": app.read_only,
        "form_token": escape(app.session.form_token),  # markup: a token that looks like a secret is still a token
        "who": app.session.who,
        "extra": app.extra,
        "path": request.url.path,
    }
    text = render(template, app.extra.templates if app.extra else "", **common, **values)
    revealed = is_revealing()
    told = render("secrets.html", revealed=revealed, link=_toggle_link(request, revealed=revealed))
    return HTMLResponse(text.replace(NOTICE, told if revealed or MASKED in text else "", 1), status)


def _toggle_link(request: Request, *, revealed: bool) -> str:
    """Return the address of the same page with secrets, or without them again."""
    fields = [(name, value) for name, value in request.query_params.multi_items() if name != REVEAL]
    more = urlencode([*fields, *([] if revealed else [(REVEAL, "1")])])
    return f"{request.url.path}?{more}" if more else request.url.path


def wants_part(request: Request) -> bool:
    """Whether a script asks for rows to put into a page that is there."""
    return request.headers.get("hx-request") == "true"
