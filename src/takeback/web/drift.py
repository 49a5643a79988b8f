"""Drift: what was changed outside Takeback, by file and by hunk, to adopt as an entry or to discard."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, count
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from takeback.harness import Adopted, Refused
from takeback.harness.adapter import FileAdapter
from takeback.harness.drift import group_by_file
from takeback.harness.outcomes import Discarded
from takeback.present.changes import Choice, digest_choices, list_choices
from takeback.present.warnings import list_unheeded, weigh_drift
from takeback.state.slots import Slot
from takeback.undo import SlotChange
from takeback.web.pages import Form, harness_form, harness_view, read_first, render_page
from takeback.web.shelf import Shown

STALE: Final = "Nothing was chosen, or the files have changed since this page was shown. Nothing was changed."


@dataclass(frozen=True, slots=True)
class Drifted:
    """A file that is not what the journal says; without a path, things that are in no file."""

    path: str
    choices: list[tuple[int, Choice]] = field(default_factory=list)
    """What can be adopted or discarded by itself, by number."""
    broken: str = ""
    """Why it cannot be read."""
    layout: bool = False
    """Whether nothing changed that the state says."""


@harness_view
def show_drift(request: Request, shown: Shown) -> Response:
    """Show what was changed, file by file."""
    return _render_drift(request, shown)


def _render_drift(request: Request, shown: Shown, message: str = "", code: int = 200) -> Response:
    status = shown.harness.status()
    shown.harness.note_read("page", "", [change.slot for change in status.drift])
    choices = _list_choices(shown, status.drift)
    numbers = count()
    files = [Drifted(fault.path, broken=str(fault)) for fault in status.broken]
    files += [Drifted(path, [(next(numbers), name) for name in own]) for path, own in choices.items()]
    files += [Drifted(path, layout=True) for path in status.layout]
    token = digest_choices(chain(*choices.values()))
    others = (*status.problems, *status.leftovers)
    adopting, discarding = weigh_drift(shown.harness)
    return render_page(
        request,
        "drift.html",
        code,
        shown=shown,
        files=files,
        drift=len(status.drift) + len(status.broken),
        others=others,
        notes=status.notes,
        message=message,
        token=token,
        adopting=adopting,
        discarding=discarding,
    )


def _list_choices(shown: Shown, changes: tuple[SlotChange, ...]) -> dict[str, tuple[Choice, ...]]:
    """Return what was changed, by file and by hunk; under "" where there are no files."""
    harness = shown.harness
    adapter, state = harness.adapter, harness.state
    files = (
        group_by_file(adapter, state, changes)
        if isinstance(adapter, FileAdapter)
        else {"": changes}
        if changes
        else {}
    )
    return {path: list_choices(own, state) for path, own in files.items()}


@harness_form
def adopt_drift(request: Request, shown: Shown, form: Form) -> Response:
    """Record what was changed, all of it, in one file or some hunks, as an entry."""
    paths, slots = _read_chosen(shown, form)
    if slots is None:
        return _render_drift(request, shown, STALE, 409)
    note, by = read_first(form, "note"), request.app.state.session.who
    return _answer_outcome(request, shown, shown.harness.adopt(note, by=by, paths=paths, slots=slots))


@harness_form
def discard_drift(request: Request, shown: Shown, form: Form) -> Response:
    """Put back what was changed, all of it, in one file or some hunks."""
    paths, slots = _read_chosen(shown, form)
    if slots is None:
        return _render_drift(request, shown, STALE, 409)
    return _answer_outcome(
        request,
        shown,
        shown.harness.discard(paths, read_first(form, "note"), slots=slots, by=request.app.state.session.who),
    )


def _read_chosen(shown: Shown, form: Form) -> tuple[list[str], set[Slot] | None]:
    """Return the files or slots that a form names; no slots if the hunks are no longer the same."""
    numbers = {int(number) for number in form.get("choice", []) if number.isdecimal()}
    if "hunks" not in form:
        return [path for path in form.get("path", []) if path], set()
    choices = tuple(chain(*_list_choices(shown, shown.harness.status().drift).values()))
    if not numbers or max(numbers) >= len(choices) or read_first(form, "token") != digest_choices(choices):
        return [], None
    return [], {slot for number in numbers for slot in choices[number].slots}


def _answer_outcome(request: Request, shown: Shown, outcome: Adopted | Discarded | Refused | None) -> Response:
    if outcome is None:
        return _render_drift(request, shown, "There was nothing to do: no file differs from the journal.")
    if isinstance(outcome, Refused):
        return _render_drift(request, shown, f"Refused: {outcome.message}", 409)
    if isinstance(outcome, Adopted):
        unheeded = [f"But {reason}." for reason in list_unheeded(outcome, shown.harness)]
        shown.tell(outcome.entry.id, ["Done: adopted. You can undo it like any other entry.", *unheeded])
    else:
        put_back = ", ".join(outcome.paths)
        shown.tell(outcome.entry.id, [f"Done: {put_back} put back. Undoing this brings the discarded contents back."])
    return RedirectResponse(f"/{shown.number}/entry/{outcome.entry.id}", 303)
