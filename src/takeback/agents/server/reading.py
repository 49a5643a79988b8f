"""What an agent may read of a harness: its things, its history, how it stands. Secrets are masked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import Any, Final

from takeback.agents.server.answers import Entry, HarnessItem, HistoryPage, StateAnswer, StatusAnswer
from takeback.agents.server.desk import Desk
from takeback.agents.server.persons import command
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.codec import candidate_of, evidence_of
from takeback.harness.log import EntryView, change_json, changes_of, view
from takeback.harness.toggle_requests import named_entry
from takeback.present.entries import deeds, summary
from takeback.present.secrets import masked, masked_text
from takeback.state import SURFACES
from takeback.state.slots import slot_title, whole_of

MOST: Final = 500
"""How many things or entries one answer has at most."""


def state_of(desk: Desk, surfaces: Sequence[str], match: str, limit: int, offset: int) -> StateAnswer:
    """The things of a harness, those of some surfaces, or those whose address matches a pattern."""
    for name in surfaces:
        if name not in SURFACES:
            raise InputError("surfaces", found=name, expected=f"some of {', '.join(SURFACES)}")
    with desk.harness() as harness:
        harness.ledger.refresh()
        state, head = harness.state, harness.ledger.head
    found: list[tuple[str, str, Any]] = []
    for name, surface in SURFACES.items():
        if surfaces and name not in surfaces:
            continue
        keys = dict.fromkeys(address.key for address, _ in surface.entries(state.part(name)))
        inner = (
            {key for key in keys if any(other.startswith(f"{key}.") for other in keys)} if surface.nested else set()
        )
        for key in keys:
            if key in inner:
                continue
            address = f'{name}["{key}"]'
            if not match or fnmatchcase(address, match) or fnmatchcase(key, match):
                found.append((address, key, state[name, key]))
    end = offset + min(limit, MOST)
    items = [
        HarnessItem(address=masked_text(at), value=masked(value, key if at.startswith("config[") else ""))
        for at, key, value in found[offset:end]
    ]
    return StateAnswer(items=items, left_out=max(0, len(found) - end), head=head)


def history_of(desk: Desk, who: str, limit: int, before: int | None, text: str) -> HistoryPage:
    """Entries, newest first: those below a number, those with a text in them."""
    with desk.harness() as harness:
        harness.ledger.refresh()
        named = _names(harness)
        told = (_entry(one, who, named) for one in harness.log() if before is None or one.seq < before)
        words = text.casefold()
        fitting = (one for one in told if words in f"{one.id} {one.kind} {one.by} {one.what}".casefold())
        found = list(islice(fitting, min(limit, MOST) + 1))
    return HistoryPage(entries=found[: min(limit, MOST)], more=len(found) > min(limit, MOST))


def entry_of(desk: Desk, name: str, who: str) -> dict[str, Any]:
    """One entry, whole."""
    with desk.harness() as harness:
        harness.ledger.refresh()
        record = named_entry(harness.ledger, name)
        seen = _entry(view(harness, record), who, _names(harness))
        changes = () if record.kind == "genesis" else changes_of(harness, record)
        told = {
            "candidate": masked(candidate_of(harness.journal, record)),
            "evidence": masked(evidence_of(harness.journal, record)),
            "check": masked(record.payload.get("check")),
            "changes": [masked(change_json(change)) for change in changes],
        }
    return {**seen.model_dump(), **told}


def status_of(desk: Desk, who: str) -> StatusAnswer:
    """How a harness stands."""
    with desk.harness() as harness:
        found = harness.status()
    drift = list(dict.fromkeys(slot_title(whole_of(change.slot)) for change in found.drift))
    problems = [*(str(fault) for fault in found.broken), *found.problems, *found.leftovers]
    return StatusAnswer(
        clean=found.clean,
        live=found.entries,
        undone=found.undone,
        head=found.head,
        drift=[masked_text(one) for one in drift],
        problems=[masked_text(one) for one in problems],
        notes=[masked_text(one) for one in found.notes],
        you=who,
        command=None if found.clean else command("adopt" if drift and not problems else "status", desk.directory),
    )


def _entry(seen: EntryView, who: str, named: Callable[[int], str]) -> Entry:
    return Entry(
        number=seen.seq,
        id=seen.id,
        kind=seen.kind,
        at=seen.at,
        status=seen.status,
        grade=seen.grade or None,
        forced=seen.forced,
        by=seen.by or None,
        yours=seen.by == who,
        what=masked_text(summary(seen, named)),
    )


def _names(harness: Harness) -> Callable[[int], str]:
    """What to call an entry that another one names."""

    def named(number: int) -> str:
        record = harness.journal.get(number)
        seen = view(harness, record)
        return seen.note or deeds(seen)

    return named
