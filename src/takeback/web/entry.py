"""One entry: what it changed, on what evidence, what hangs together with it, and how to take it back."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from takeback.canonical import write_pretty
from takeback.errors import TakebackError
from takeback.harness.dependencies import find_dependencies, find_dependents, find_later_writers
from takeback.harness.entry_log import (
    EntryView,
    Rewind,
    diff_states,
    load_entry_writes,
    rebuild_state_before,
    view_entry,
)
from takeback.harness.entry_names import resolve_entry
from takeback.harness.images import load_images
from takeback.harness.ledger import CHANGES, TOGGLES
from takeback.harness.records import load_candidate, load_candidate_json, load_evidence, read_slots
from takeback.journal import Record
from takeback.language import Candidate
from takeback.present.changes import find_differences, find_file_differences
from takeback.present.diffs import Difference
from takeback.present.entries import make_entry_namer
from takeback.runtime import capture, recover, run_forward
from takeback.secret_mask import is_revealing, mask_secrets
from takeback.state import State
from takeback.web.pages import harness_view, render_page
from takeback.web.rows import NamedEntry, describe_entry, find_action
from takeback.web.shelf import Shown

TWO = 2
MarkedLines = list[tuple[str, str]]
"""Lines, each with what it is beside another text: `context`, `added` or `removed`."""


@harness_view
def show_entry(request: Request, shown: Shown) -> Response:
    """Show one entry."""
    harness = shown.harness
    harness.ledger.refresh()
    record = resolve_entry(harness.ledger, request.path_params["name"])
    harness.note_read("page", record.id, read_slots(record))
    seen = view_entry(harness, record)
    evidence = load_evidence(harness.journal, record)
    candidate = load_candidate_json(harness.journal, record)
    change = record.kind in CHANGES and seen.status in {"live", "undone"}
    ledger = harness.ledger
    said = shown.told.pop(seen.id, ()) if request.method == "GET" else ()
    return render_page(
        request,
        "entry.html",
        shown=shown,
        entry=seen,
        what=describe_entry(seen, make_entry_namer(harness)),
        said=said,
        rest=shown.count_drifted() if said else 0,
        found=_list_differences(shown, record),
        evidence=evidence,
        candidate={name: _format_json(part) for name, part in (candidate or {}).items() if part},
        broken=_draw_counterexample(load_candidate(harness.journal, record), evidence),
        dependents=_list_related(shown, find_dependents(ledger, seen.seq)) if change else [],
        needs=_list_related(shown, find_dependencies(ledger, seen.seq)) if change else [],
        kept=_list_related(shown, [(number, "") for number in find_later_writers(ledger, seen.seq)])
        if change
        else [],
        undone=_list_related(shown, [(number, "took this back") for number in _find_takers(shown, seen)]),
        action=find_action(seen),
    )


@harness_view
def compare_entries(request: Request, shown: Shown) -> Response:
    """Show what differs between the states right after two entries, the older first."""
    harness = shown.harness
    harness.ledger.refresh()
    chosen = request.query_params.getlist("entry")
    if len(chosen) != TWO:
        message = "Tick two entries on the timeline, then press Compare two."
        return render_page(request, "message.html", 400, title="Choose two", message=message, shown=shown)
    older, newer = sorted((resolve_entry(harness.ledger, name) for name in chosen), key=lambda record: record.seq)
    harness.require("read")
    past = Rewind(harness)
    after, before = past.after(newer), past.after(older)
    changes = diff_states(before, after)
    harness.note_read("page", f"{older.id},{newer.id}", [change.slot for change in changes])
    differences = list(find_differences(changes, lambda: before))
    return render_page(request, "compare.html", shown=shown, older=older, newer=newer, found=differences)


def follow_permalink(request: Request) -> Response:
    """Lead to an entry by number or id, in the first harness that has it."""
    name = request.path_params["name"]
    for shown in request.app.state.shelf.all:
        try:
            with shown.lock:
                shown.harness.ledger.refresh()
                record = resolve_entry(shown.harness.ledger, name)
        except TakebackError:
            continue
        return RedirectResponse(f"/{shown.number}/entry/{record.id}", 303)
    raise HTTPException(404)


def _list_differences(shown: Shown, record: Record) -> list[Difference]:
    harness = shown.harness
    if record.kind == "genesis":
        return []
    if record.kind == "discard":
        return list(find_file_differences(load_images(harness.journal, record) or ()))
    return list(find_differences(load_entry_writes(harness, record), lambda: rebuild_state_before(harness, record)))


def _list_related(shown: Shown, pairs: Iterable[tuple[int, str]]) -> list[NamedEntry]:
    """Return other entries by what they did, each with how it hangs together with the one that is shown."""
    harness, named = shown.harness, make_entry_namer(shown.harness)
    records = ((harness.journal.get(number), why) for number, why in pairs)
    return [
        NamedEntry(record.id, record.entry, describe_entry(view_entry(harness, record), named), why)
        for record, why in records
    ]


def _find_takers(shown: Shown, seen: EntryView) -> list[int]:
    """Return the last entry that took this one back, if it is not live."""
    if seen.status != "undone":
        return []
    for record in shown.harness.ledger.entries():
        if record.entry <= seen.seq:
            break
        if record.kind in TOGGLES and seen.seq in record.off:
            return [record.entry]
    return []


def _draw_counterexample(candidate: Candidate | None, evidence: Any) -> dict[str, MarkedLines]:
    example = (evidence or {}).get("counterexample")
    if candidate is None or example is None:
        return {}
    start = _format_json(example["state"])
    drawn: dict[str, MarkedLines] = {"before": _mark_lines(start, start)}
    try:
        before = State.read(example["state"])
        witness = capture(candidate.witness, before)
        after, receipt = run_forward(candidate.mutation, before)
        changed = _format_json(after.write()) if receipt.succeeded else f"the mutation fails: {receipt.reason}"
        drawn["after"] = _mark_lines(start, changed)
        drawn["after recovery"] = _mark_lines(
            start, _format_json(recover(candidate.recovery, after, witness).write())
        )
    except TakebackError as fault:
        drawn["after recovery"] = [("removed", f"recovery fails: {fault}")]
    return drawn


def _format_json(value: Any) -> str:
    return write_pretty(value if is_revealing() else mask_secrets(value))


def _mark_lines(before: str, after: str) -> MarkedLines:
    """Return the lines of a text, marked where they differ from another, with what is missing from it."""
    marked: MarkedLines = []
    old, new = before.splitlines(), after.splitlines()
    for word, low, high, first, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if word != "equal":
            marked += [("removed", f"- {line}") for line in old[low:high]]
        marked += [("added", f"+ {line}") if word != "equal" else ("context", f"  {line}") for line in new[first:end]]
    return marked
