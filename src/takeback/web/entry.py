"""One entry: what it changed, on what evidence, what hangs together with it, and how to take it back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from takeback.canonical import pretty
from takeback.errors import TakebackError
from takeback.harness.codec import candidate_of, evidence_of, stored_candidate
from takeback.harness.depends import dependents, kept_by, needs
from takeback.harness.images import images_of
from takeback.harness.ledger import CHANGES, TOGGLES
from takeback.harness.log import EntryView, changes_of, state_before, view
from takeback.harness.toggle_requests import named_entry
from takeback.journal import Record
from takeback.language import Candidate
from takeback.present.changes import differences
from takeback.present.diffs import Difference
from takeback.present.files import file_differences
from takeback.present.filters import names_in
from takeback.present.secrets import is_revealing, masked
from takeback.runtime import capture, forward, recover
from takeback.state import State
from takeback.web.asking import asked
from takeback.web.rendering import page
from takeback.web.rows import action, line_of
from takeback.web.shelf import Shown

MarkedLines = list[tuple[str, str]]
"""Lines, each with what it is beside another text: `context`, `added` or `removed`."""


@dataclass(frozen=True, slots=True)
class Related:
    """Another entry, and how it hangs together with the one that is shown."""

    id: str
    number: int
    what: str
    why: str = ""


@asked
def entry(request: Request, shown: Shown) -> Response:
    """The page of one entry."""
    harness = shown.harness
    harness.ledger.refresh()
    record = named_entry(harness.ledger, request.path_params["name"])
    seen = view(harness, record)
    evidence = evidence_of(harness.journal, record)
    candidate = candidate_of(harness.journal, record)
    change = record.kind in CHANGES and seen.status in {"live", "undone"}
    ledger = harness.ledger
    return page(
        request,
        "entry.html",
        shown=shown,
        entry=seen,
        what=line_of(seen, names_in(harness)),
        said=shown.told.get(seen.id, ()),
        found=_differences(shown, record),
        evidence=evidence,
        candidate={name: _written(part) for name, part in (candidate or {}).items() if part},
        broken=_drawn(stored_candidate(harness.journal, record), evidence),
        dependents=_related(shown, dependents(ledger, seen.seq)) if change else [],
        needs=_related(shown, needs(ledger, seen.seq)) if change else [],
        kept=_related(shown, [(number, "") for number in kept_by(ledger, seen.seq)]) if change else [],
        undone=_related(shown, [(number, "took this back") for number in _takers(shown, seen)]),
        action=action(seen),
    )


def _differences(shown: Shown, record: Record) -> list[Difference]:
    harness = shown.harness
    if record.kind == "genesis":
        return []
    if record.kind == "discard":
        return list(file_differences(images_of(harness.journal, record) or ()))
    return list(differences(changes_of(harness, record), lambda: state_before(harness, record)))


def _related(shown: Shown, found: Iterable[tuple[int, str]]) -> list[Related]:
    harness, named = shown.harness, names_in(shown.harness)
    told: list[Related] = []
    for number, why in found:
        record = harness.journal.get(number)
        what = line_of(view(harness, record), named)
        told.append(Related(record.id, number, what, why))
    return told


def _takers(shown: Shown, seen: EntryView) -> list[int]:
    """The last entry that took this one back, if it is taken back."""
    if seen.status != "undone":
        return []
    for record in shown.harness.ledger.entries():
        if record.entry <= seen.seq:
            break
        if record.kind in TOGGLES and seen.seq in record.off:
            return [record.entry]
    return []


def _drawn(candidate: Candidate | None, evidence: Any) -> dict[str, MarkedLines]:
    """The smallest state that breaks a candidate: before, after the change, after its recovery."""
    example = (evidence or {}).get("counterexample")
    if candidate is None or example is None:
        return {}
    start = _written(example["state"])
    told: dict[str, MarkedLines] = {"before": _marked(start, start)}
    try:
        before = State.read(example["state"])
        witness = capture(candidate.witness, before)
        after, receipt = forward(candidate.mutation, before)
        changed = _written(after.write()) if receipt.succeeded else f"the mutation fails: {receipt.reason}"
        told["after"] = _marked(start, changed)
        told["after recovery"] = _marked(start, _written(recover(candidate.recovery, after, witness).write()))
    except TakebackError as fault:
        told["after recovery"] = [("removed", f"recovery fails: {fault}")]
    return told


def _written(value: Any) -> str:
    """Return a JSON value as lines, without its secrets."""
    return pretty(value if is_revealing() else masked(value))


def _marked(before: str, after: str) -> MarkedLines:
    """The lines of a text, marked where they are not those of another; what is missing from it is told."""
    found: MarkedLines = []
    one, two = before.splitlines(), after.splitlines()
    for word, low, high, first, end in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if word != "equal":
            found += [("removed", f"- {line}") for line in one[low:high]]
        found += [("added", f"+ {line}") if word != "equal" else ("context", f"  {line}") for line in two[first:end]]
    return found
