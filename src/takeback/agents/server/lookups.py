"""What agents read: the state, the history, one entry, the status. Secrets are masked, and nothing is changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, Final

from takeback.agents.server.answers import (
    DiffAnswer,
    Entry,
    HarnessItem,
    HistoryPage,
    StateAnswer,
    StatusAnswer,
    build_command,
)
from takeback.agents.server.service import ProposalService
from takeback.agents.text_proposal import list_innermost_keys
from takeback.errors import InputError
from takeback.harness.entry_log import (
    EntryView,
    change_to_json,
    load_entry_writes,
    rebuild_state_before,
    view_entry,
)
from takeback.harness.entry_names import read_time, resolve_entry
from takeback.harness.records import load_candidate_json, load_evidence, read_slots
from takeback.present.changes import find_differences
from takeback.present.diffs import iter_unified_lines
from takeback.present.entries import make_entry_namer, read_filter, summarize_entry
from takeback.secret_mask import mask_secrets, mask_text_secrets
from takeback.state import SURFACES
from takeback.state.slots import describe_slot, find_containing_slot

KIND_WORDS: Final = {"genesis": "start", "apply": "change", "adopt": "change made elsewhere"}
"""What kinds of entries are called in answers, where their own names would say nothing."""
MOST: Final = 500
"""How many things or entries one answer has at most."""


def read_state(
    desk: ProposalService, surfaces: Sequence[str], match: str, limit: int, offset: int, who: str = ""
) -> StateAnswer:
    """Return the values of a harness, of some surfaces, or with addresses that match a pattern."""
    for name in surfaces:
        if name not in SURFACES:
            raise InputError("surfaces", found=name, expected=f"some of {', '.join(SURFACES)}")
    with desk.harness(who) as harness:
        harness.require("read")
        harness.ledger.refresh()
        state = harness.state
    values: list[tuple[str, str, Any]] = []
    for name in SURFACES:
        for key in list_innermost_keys(state, name) if not surfaces or name in surfaces else ():
            address = f'{name}["{key}"]'
            if not match or fnmatchcase(address, match) or fnmatchcase(key, match):
                values.append((address, key, state[name, key]))
    end = offset + min(limit, MOST)
    with desk.harness(who) as harness:
        harness.note_read("server", "", [at for at, _, _ in values[offset:end]])
    items = [
        HarnessItem(address=at, value=mask_secrets(value, key if at.startswith("config[") else ""))
        for at, key, value in values[offset:end]
    ]
    return StateAnswer(items=items, left_out=max(0, len(values) - end))


def read_history(
    desk: ProposalService,
    who: str,
    limit: int,
    before: int | None,
    text: str,
    *,
    by: str = "",
    since: str = "",
    until: str = "",
) -> HistoryPage:
    """Return entries, newest first: those below a number, by an author, of a time, that contain a text."""
    wanted = read_filter(by=by, since=since, loose=True)
    end = read_time(until, datetime.now(UTC), "until") if until else None
    with desk.harness(who) as harness:
        harness.require("read")
        harness.ledger.refresh()
        author = harness.name_author(who)
        named = make_entry_namer(harness)
        passing = (
            view for view in wanted.select_entries(harness.log(), named) if before is None or view.seq < before
        )
        timely = (view for view in passing if end is None or datetime.fromisoformat(view.at) <= end)
        built = (_build_entry(view, author, named) for view in timely)
        words = text.casefold()
        fitting = (entry for entry in built if words in f"{entry.id} {entry.kind} {entry.by} {entry.what}".casefold())
        entries = list(islice(fitting, min(limit, MOST) + 1))
    return HistoryPage(entries=entries[: min(limit, MOST)], more=len(entries) > min(limit, MOST))


LONGEST_DIFF: Final = 20_000


def read_diff(desk: ProposalService, name: str, who: str = "") -> DiffAnswer:
    """Return what one entry changed, as a unified diff, with the prompt and the command it was made under."""
    with desk.harness(who) as harness:
        harness.ledger.refresh()
        record = resolve_entry(harness.ledger, name)
        harness.note_read("server", record.id, read_slots(record))
        seen = view_entry(harness, record)
        changes = () if record.kind == "genesis" else load_entry_writes(harness, record)
        differences = find_differences(changes, lambda: rebuild_state_before(harness, record))
        lines = [line for difference in differences for _, line in iter_unified_lines(difference)]
        what = summarize_entry(seen, make_entry_namer(harness))
    diff = mask_text_secrets("\n".join(lines))
    return DiffAnswer(
        number=seen.seq,
        status=seen.status,
        by=seen.by or None,
        what=what,
        prompt=seen.origin.get("prompt", "") or None,
        run=seen.origin.get("command", "") or None,
        diff=diff[:LONGEST_DIFF],
        left_out=max(0, len(diff) - LONGEST_DIFF),
    )


def read_entry(desk: ProposalService, name: str, who: str) -> dict[str, Any]:
    """Return one entry, whole."""
    with desk.harness(who) as harness:
        harness.ledger.refresh()
        record = resolve_entry(harness.ledger, name)
        harness.note_read("server", record.id, read_slots(record))
        seen = _build_entry(view_entry(harness, record), harness.name_author(who), make_entry_namer(harness))
        changes = () if record.kind == "genesis" else load_entry_writes(harness, record)
        answer = {
            "candidate": mask_secrets(load_candidate_json(harness.journal, record)),
            "evidence": mask_secrets(load_evidence(harness.journal, record)),
            "check": mask_secrets(record.check),
            "changes": [mask_secrets(change_to_json(change)) for change in changes],
        }
    return {**seen.model_dump(), **answer}


def read_status(desk: ProposalService, who: str) -> StatusAnswer:
    """Return the status of a harness."""
    with desk.harness(who) as harness:
        status = harness.status()
    drift = list(dict.fromkeys(describe_slot(find_containing_slot(change.slot)) for change in status.drift))
    problems = [*(str(fault) for fault in status.broken), *status.problems, *status.leftovers]
    return StatusAnswer(
        clean=status.clean,
        live=status.entries,
        undone=status.undone,
        drift=drift,
        problems=problems,
        notes=list(status.notes),
        you=who,
        command=None
        if status.clean
        else build_command("adopt" if drift and not problems else "status", desk.directory),
    )


def _build_entry(seen: EntryView, who: str, named: Callable[[int], str]) -> Entry:
    return Entry(
        number=seen.seq,
        id=seen.id,
        kind=KIND_WORDS.get(seen.kind, seen.kind),
        at=seen.at,
        status=seen.status,
        grade=seen.grade or None,
        effect_class=seen.effects,
        recorded=seen.recorded,
        unproved=seen.unproved or None,
        forced=seen.forced,
        by=seen.by or None,
        yours=seen.by == who,
        what=summarize_entry(seen, named),
    )
