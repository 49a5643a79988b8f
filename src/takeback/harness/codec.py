"""Entries as journal records, and back.

A change record carries the slots it wrote in `touches` (which the journal indexes) and their contents before
and after as attachments, which can be forgotten. A record that takes entries back or brings them back lists
them in `off` and `on`, and what it does to the state in `slots`, which is not indexed: it is no version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from takeback.journal import Draft, Record, Store
from takeback.journal.encoding import Json
from takeback.state import ABSENT, SURFACES
from takeback.state.slots import Slot, slot_key, slot_of_key
from takeback.undo import GONE, SlotChange, Write

CLAIM = "@"


def change_draft(kind: str, writes: Sequence[Write], about: dict[str, Json]) -> Draft:
    """The record of a change (`apply`, `adopt`)."""
    touches = [slot_key(write.slot) for write in writes]
    claims = (claim_key(write.slot[0], claim) for write in writes if (claim := _claim(write)) is not None)
    strict = [at for at, write in enumerate(writes) if write.strict]
    grounds = {str(at): list(write.on) for at, write in enumerate(writes) if write.on is not None}
    payload = {
        **about,
        "touches": [*touches, *dict.fromkeys(claims)],
        **({"strict": strict} if strict else {}),
        **({"on": grounds} if grounds else {}),
    }
    return Draft(kind, payload, _contents(writes))


def toggle_draft(
    kind: str, off: Iterable[int], on: Iterable[int], changes: Sequence[SlotChange], about: dict[str, Json]
) -> Draft:
    """The record of entries taken back or brought back (`undo`, `redo`, `restore`)."""
    payload = {**about, "off": list(off), "on": list(on), "slots": [slot_key(change.slot) for change in changes]}
    return Draft(kind, payload, _contents(changes))


def writes_of(store: Store, record: Record) -> tuple[Write, ...]:
    """What a record did to each slot, in order; contents that were forgotten are GONE."""
    keys: Any = record.payload.get("slots")
    if keys is None:
        keys = [key for key in _list(record.payload.get("touches")) if not key.startswith(f'["{CLAIM}')]
    slots = [slot_of_key(key) for key in keys]
    strict = set(_list(record.payload.get("strict")))
    before, after = (_read(store, record, name, slots) for name in ("before", "after"))
    grounds: Any = record.payload.get("on") if record.payload.get("slots") is None else None
    found = {int(at): (on[0], on[1]) for at, on in (grounds or {}).items()}
    return tuple(
        Write(slot, one, two, at in strict, found.get(at))
        for at, (slot, one, two) in enumerate(zip(slots, before, after, strict=True))
    )


class StoredIndex:
    """Tells from the journal's index of touched slots which entries wrote what."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def at(self, slot: Slot) -> tuple[int, ...]:
        """Entries that wrote one slot."""
        return self._store.touching(slot_key(slot))

    def below(self, slot: Slot) -> tuple[int, ...]:
        """Entries that wrote a slot beneath one."""
        return self._store.touching(slot_key(slot), below=True)

    def claiming(self, surface: str, claim: str) -> tuple[int, ...]:
        """Entries that claim something exclusive."""
        return self._store.touching(claim_key(surface, claim))

    def entry(self, number: int) -> tuple[Write, ...]:
        """The writes of one entry."""
        return writes_of(self._store, self._store.get(number))


def claim_key(surface: str, claim: str) -> str:
    """The index key of something that only one slot may hold."""
    return slot_key((CLAIM + surface, claim))


def _claim(write: Write) -> str | None:
    return None if write.after is GONE else SURFACES[write.slot[0]].claim(write.after)


def _contents(writes: Sequence[Write | SlotChange]) -> dict[str, Json]:
    return {
        "before": [_plain(write.slot, write.before) for write in writes],
        "after": [_plain(write.slot, write.after) for write in writes],
    }


def _plain(slot: Slot, content: Any) -> list[Any]:
    return [] if content is ABSENT else [SURFACES[slot[0]].slot_to_json(content)]


def _read(store: Store, record: Record, name: str, slots: Sequence[Slot]) -> list[Any]:
    text = store.attachment(record.seq, name)
    if text is None:
        return [GONE] * len(slots)
    items = json.loads(text)
    return [
        SURFACES[slot[0]].slot_from_json(item[0], slot[1:]) if item else ABSENT
        for slot, item in zip(slots, items, strict=True)
    ]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
