"""Entries as people look at them: what was done, on what evidence, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from takeback.harness.codec import FORGOTTEN_WORD, writes_of
from takeback.harness.harness import Harness
from takeback.harness.ledger import Fate
from takeback.journal import ENTRY_KINDS, Record
from takeback.journal.packing import is_gone
from takeback.state import ABSENT, SURFACES
from takeback.state.chain import Link
from takeback.state.slots import Slot, slot_of_key, slot_title
from takeback.undo import SlotChange, Write


@dataclass(frozen=True, slots=True)
class EntryView:
    """One entry of the log."""

    seq: int
    """Its number: `#seq` names it."""
    id: str
    kind: str
    at: str
    status: str
    """`live`, `undone`, `done` (for what takes back and brings back), `aborted` or `pending`."""
    grade: str
    """Evidence grade of an applied change: proved, sampled, refuted or declared; empty for other kinds."""
    forced: bool
    """Whether it was made although it was not admitted."""
    addresses: tuple[str, ...]
    note: str
    off: tuple[int, ...]
    on: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON."""
        return {
            "seq": self.seq,
            "id": self.id,
            "kind": self.kind,
            "at": self.at,
            "status": self.status,
            "grade": self.grade or None,
            "forced": self.forced,
            "addresses": list(self.addresses),
            "note": self.note,
            "off": list(self.off),
            "on": list(self.on),
        }


def log(harness: Harness) -> Iterator[EntryView]:
    """Entries, newest first."""
    following: Record | None = None
    for record in harness.journal.records(reverse=True):
        if record.kind in ENTRY_KINDS:
            yield view(harness, record, harness.ledger.fate(record, following))
        following = record


def view(harness: Harness, record: Record, fate: Fate | None = None) -> EntryView:
    """One entry."""
    payload: Any = record.payload
    status = (harness.ledger.fate(record) if fate is None else fate).value
    keys = [key for key in payload.get("slots", payload.get("touches", ())) if not key.startswith('["@')]
    return EntryView(
        seq=-1 if record.number is None else record.number,
        id=record.id,
        kind=record.kind,
        at=record.created_at,
        status=status,
        grade=payload.get("evidence", {}).get("grade", ""),
        forced=bool(payload.get("forced", False)),
        addresses=tuple(dict.fromkeys(slot_title(slot_of_key(key)) for key in keys)),
        note=payload.get("note", ""),
        off=tuple(payload.get("off", ())),
        on=tuple(payload.get("on", ())),
    )


def changes_of(harness: Harness, record: Record) -> tuple[Write, ...]:
    """What an entry did to each slot."""
    return writes_of(harness.journal, record)


def content_json(slot: Slot, content: Any) -> Any:
    """Content for people: its JSON, null for nothing, and a word for what was forgotten."""
    if content is ABSENT:
        return None
    if is_gone(content):
        return FORGOTTEN_WORD
    plain = SURFACES[slot[0]].slot_to_json(content)
    return plain["record"] if _placed(content) else plain


def _placed(content: Any) -> bool:
    return isinstance(content, Link)


def change_json(change: SlotChange | Write) -> dict[str, Any]:
    """A change of one slot as JSON; absence is told apart from null, and a move within a chain is said."""
    moved = _placed(change.before) and _placed(change.after) and change.before.place != change.after.place
    return {
        "address": slot_title(change.slot),
        "before": content_json(change.slot, change.before),
        "after": content_json(change.slot, change.after),
        "existed": change.before is not ABSENT,
        "exists": change.after is not ABSENT,
        **({"moved": True} if moved else {}),
    }
