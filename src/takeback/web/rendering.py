"""From values to pages: templates with everything escaped, and answers to browsers with and without scripts.

Whatever a template prints passes `shown`: control and invisible characters become escapes, then HTML is escaped.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from takeback import __version__
from takeback.present.diffs import unified
from takeback.present.visible import visible


def shown(value: Any) -> Any:
    """A value as templates print it; markup made by templates passes."""
    return visible(value, lines=True) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def environment() -> Environment:
    """The templates."""
    found = Environment(
        loader=PackageLoader("takeback.web"),
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


def render(template: str, **values: Any) -> str:
    """A template with values."""
    return environment().get_template(template).render(**values)


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """A whole page; what every page needs is added."""
    app = request.app.state
    common = {
        "several": not (app.shelf.single or app.shelf.empty),
        "read_only": app.read_only,
        "form_token": app.session.form_token,
        "who": app.session.who,
        "lab": app.lab is not None,
        "path": request.url.path,
    }
    return HTMLResponse(render(template, **common, **values), status)


def wants_part(request: Request) -> bool:
    """Whether a script asks for rows to put into a page that is there."""
    return request.headers.get("hx-request") == "true"
