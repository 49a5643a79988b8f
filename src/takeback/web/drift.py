"""Drift: what was changed behind Takeback's back, file by file, to adopt as an entry or to discard."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from takeback.harness import Adopted, Refused
from takeback.harness.results import Discarded
from takeback.present.changes import differences
from takeback.present.diffs import Difference
from takeback.web.asking import asked, told
from takeback.web.forms import Form, first
from takeback.web.rendering import page
from takeback.web.shelf import Shown


@dataclass(frozen=True, slots=True)
class Drifted:
    """A file that is not what the journal says; without a path, things that are in no file."""

    path: str
    found: list[Difference]
    broken: str = ""
    """Why it cannot be read."""
    layout: bool = False
    """Whether nothing changed that the state says."""


@asked
def drift(request: Request, shown: Shown) -> Response:
    """What was changed, file by file."""
    return _page(request, shown)


def _page(request: Request, shown: Shown, message: str = "", code: int = 200) -> Response:
    harness = shown.harness
    status = harness.status()
    files = [Drifted(fault.path, [], broken=str(fault)) for fault in status.broken]
    if status.drift:
        files += [
            Drifted(path, list(differences(changes, lambda: harness.state)))
            for path, changes in harness.drift_by_file().items()
        ]
    files += [Drifted(path, [], layout=True) for path in status.layout]
    others = (*status.problems, *status.leftovers)
    return page(request, "drift.html", code, shown=shown, files=files, others=others, message=message)


@told
def adopt(request: Request, shown: Shown, form: Form) -> Response:
    """Record what was changed, in one file or in all, as an entry."""
    paths = [path for path in form.get("path", []) if path]
    return _answered(request, shown, shown.harness.adopt(first(form, "note"), by=first(form, "by"), paths=paths))


@told
def discard(request: Request, shown: Shown, form: Form) -> Response:
    """Put one file back, or all, as the journal knows them."""
    paths = [path for path in form.get("path", []) if path]
    return _answered(request, shown, shown.harness.discard(paths, first(form, "note")))


def _answered(request: Request, shown: Shown, outcome: Adopted | Discarded | Refused | None) -> Response:
    if outcome is None:
        return _page(request, shown, "There was nothing to do: everything is as the journal says.")
    if isinstance(outcome, Refused):
        return _page(request, shown, f"Refused: {outcome.message}", 409)
    if isinstance(outcome, Adopted):
        shown.tell(outcome.entry.id, ["Done: adopted. It can be taken back like any other entry."])
    else:
        put_back = ", ".join(outcome.paths)
        shown.tell(outcome.entry.id, [f"Done: {put_back} put back. Taking this back brings back what was there."])
    return RedirectResponse(f"/{shown.number}/entry/{outcome.entry.id}", 303)
