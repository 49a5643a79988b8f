"""Undo and redo with a preview: what would change in each file, what is kept and because of whom, what blocks.

The preview carries the plan's token; what is confirmed is done only if the plan is still that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from takeback.agents.guard import weigh_edits
from takeback.agents.hook_events import FileEdit
from takeback.errors import InputError, TakebackError
from takeback.harness import Harness, Refused, Stale, Undone
from takeback.harness.entry_names import build_redo_request, build_restore_request, build_undo_request, resolve_entry
from takeback.harness.images import FileImage, Image, KeptImage, Unknown, load_images
from takeback.harness.outcomes import Discarded, PlanOutcome, Unchanged, UndoOutcome
from takeback.journal import Record
from takeback.present.changes import find_differences, find_file_differences
from takeback.present.diffs import Difference
from takeback.present.plans import describe_elsewhere, describe_kept, describe_plan_outside, make_headline
from takeback.present.warnings import describe_gone, weigh_plan
from takeback.undo import Blocked, Gone, Plan
from takeback.web.pages import Form, harness_form, harness_view, read_first, render_page
from takeback.web.rows import NamedEntry, name_entries
from takeback.web.shelf import Shown

Toggle = Literal["undo", "redo", "restore"]
TOGGLE_VERBS: Final[tuple[Toggle, ...]] = ("undo", "redo", "restore")
HEAD = "head:"
"""What a confirmation is bound to where there is no plan: the journal's head."""


@dataclass(frozen=True, slots=True)
class Told:
    """An outcome as the page shows it."""

    result: Literal["plan", "blocked", "gone", "refused"]
    token: str = ""
    headline: str = ""
    off: list[NamedEntry] = field(default_factory=list)
    on: list[NamedEntry] = field(default_factory=list)
    files: list[Difference] | None = None
    """What happens to each file; None for a harness without files, or where it cannot be written."""
    slots: list[Difference] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    """What was changed outside Takeback where it does not write; that stays."""
    kept: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    """What there is to say of other systems, and of calls that stay."""
    looser: list[str] = field(default_factory=list)
    """What it would allow or run that is not allowed or run now, and which guards it would remove."""
    unadmitted: list[NamedEntry] = field(default_factory=list)
    effect: tuple[str, ...] = ()
    blocking: list[NamedEntry] = field(default_factory=list)
    message: str = ""
    drift: bool = False
    together: Told | None = None
    """What it would do with what blocks taken along."""


def _read_verb(request: Request) -> Toggle:
    """Return what the last word of the address asks for."""
    word = request.url.path.rpartition("/")[2]
    return next(verb for verb in TOGGLE_VERBS if verb == word)


@harness_view
def preview_toggle(request: Request, shown: Shown) -> Response:
    """Show what taking entries back or bringing them back would do, or going back to right after one or to a time."""
    names = request.query_params.getlist("entry")
    if not names:
        message = "Choose one or several entries on the timeline first."
        return render_page(request, "message.html", 400, title="Nothing chosen", message=message, shown=shown)
    return _render_undo(request, shown, names, cascade=bool(request.query_params.get("cascade")))


def _render_undo(
    request: Request,
    shown: Shown,
    names: list[str],
    *,
    cascade: bool,
    stale: bool = False,
    code: int = 200,
) -> Response:
    verb = _read_verb(request)
    return render_page(
        request,
        "undo.html",
        code,
        shown=shown,
        verb=verb,
        names=names,
        cascade=cascade,
        stale=stale,
        point=_name_point(shown, names[0]),
        told=_describe_toggle(shown, verb, names, cascade=cascade),
    )


def _name_point(shown: Shown, name: str) -> str:
    try:
        return f"#{resolve_entry(shown.harness.ledger, name).entry}"
    except TakebackError:
        return name


def _describe_toggle(shown: Shown, verb: Toggle, names: Sequence[str], *, cascade: bool) -> Told:
    harness = shown.harness
    harness.ledger.refresh()
    discarded = _find_discard(shown, names) if verb == "undo" else None
    if discarded is not None:
        return _preview_put_back(shown, discarded)
    if verb == "restore":
        return _describe_outcome(shown, harness.plan(lambda ledger: build_restore_request(ledger, names[0])))
    request = build_undo_request if verb == "undo" else build_redo_request
    return _describe_outcome(shown, harness.plan(lambda ledger: request(ledger, names), cascade=cascade))


def _describe_outcome(shown: Shown, outcome: PlanOutcome) -> Told:
    match outcome:
        case Plan():
            return _describe_plan(shown, outcome)
        case Blocked():
            together = _describe_plan(shown, outcome.together) if isinstance(outcome.together, Plan) else None
            return Told("blocked", blocking=name_entries(shown.harness, outcome.reasons), together=together)
        case Gone():
            return Told("gone", message="; ".join(describe_gone(outcome)))
        case Refused():
            return Told("refused", message=outcome.message, drift=bool(outcome.drift or outcome.broken))


def _describe_plan(shown: Shown, plan: Plan) -> Told:
    harness = shown.harness
    with harness.session():
        files, footing = harness.files_of(plan), harness.drift_beside(plan)
    refused = files if isinstance(files, Refused) else None
    return Told(
        "plan" if refused is None else "refused",
        token=plan.token if refused is None else "",
        message="" if refused is None else refused.message,
        drift=refused is not None and bool(refused.drift or refused.broken),
        elsewhere=list(describe_elsewhere(footing.elsewhere, footing.unread)),
        headline=make_headline(plan, done=False) or "",
        off=name_entries(harness, plan.off),
        on=name_entries(harness, plan.on),
        files=None if isinstance(files, Refused) else list(find_file_differences(files)),
        slots=list(find_differences(plan.changes, lambda: plan.before)),
        kept=list(describe_kept(plan, done=False)),
        outside=list(describe_plan_outside(harness, plan)),
        looser=weigh_plan(shown.harness, plan),
        unadmitted=name_entries(harness, plan.unadmitted),
        effect=harness.effect_of(plan),
    )


def _find_discard(shown: Shown, names: Sequence[str]) -> Record | None:
    record = resolve_entry(shown.harness.ledger, names[0]) if len(names) == 1 else None
    return record if record is not None and record.kind == "discard" else None


def _preview_put_back(shown: Shown, record: Record) -> Told:
    """Return what taking back a discard would do: the files get their former contents."""
    images = load_images(shown.harness.journal, record) or ()
    back = [
        KeptImage(image.path, image.after, None if isinstance(image.before, Unknown) else image.before)
        for image in images
    ]
    token = HEAD + shown.harness.ledger.head
    edits = [FileEdit(image.path, _read_bytes(image.before), _read_bytes(image.after)) for image in back]
    return Told(
        "plan",
        token,
        off=name_entries(shown.harness, [record.entry]),
        files=list(find_file_differences(back)),
        looser=weigh_edits(shown.where, edits) if shown.where else [],
    )


def _read_bytes(image: Image | Unknown | None) -> bytes | None:
    return image.content if isinstance(image, FileImage) else None


@harness_form
def confirm_toggle(request: Request, shown: Shown, form: Form) -> Response:
    """Do what a preview showed, as confirmed."""
    verb = _read_verb(request)
    names, token, cascade = form.get("entry", []), read_first(form, "token"), bool(read_first(form, "cascade"))
    if not names or not token:
        raise InputError("form", found="no entries or no token", expected="a confirmed preview")
    harness, who = shown.harness, request.app.state.session.who
    harness.ledger.refresh()
    if token.startswith(HEAD):
        if token != HEAD + harness.ledger.head or _find_discard(shown, names) is None:
            return _render_undo(request, shown, names, cascade=cascade, stale=True, code=409)
        outcome: UndoOutcome = harness.undo(*names, by=who)
    elif verb == "restore":
        gone_back = harness.restore(names[0], token=token, by=who)
        if isinstance(gone_back, Unchanged):
            return _render_undo(request, shown, names, cascade=cascade)
        outcome = gone_back
    else:
        outcome = (harness.undo if verb == "undo" else harness.redo)(*names, token=token, cascade=cascade, by=who)
    match outcome:
        case Undone():
            shown.tell(outcome.entry.id, _list_plan_notes(shown.harness, outcome.plan))
        case Discarded():
            shown.tell(outcome.entry.id, [f"Done: {', '.join(outcome.paths)} is as it was."])
        case Stale() | Blocked() | Gone() | Refused():
            stale = isinstance(outcome, Stale)
            return _render_undo(request, shown, names, cascade=cascade, stale=stale, code=409)
    return RedirectResponse(f"/{shown.number}/entry/{outcome.entry.id}", 303)


def _list_plan_notes(harness: Harness, plan: Plan) -> list[str]:
    verbs = [("took back", plan.off), ("brought back", plan.on)]
    done = ", ".join(f"{verb} {', '.join(f'#{number}' for number in entries)}" for verb, entries in verbs if entries)
    first_line = make_headline(plan, done=True)
    looser = [f"looser: {reason}" for reason in weigh_plan(harness, plan)]
    return [f"Done: {done}.", *([first_line] if first_line else []), *looser, *describe_kept(plan, done=True)]
