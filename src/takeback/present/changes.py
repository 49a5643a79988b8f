"""Changes of slots as differences, address by address.

A whole directory is told file by file; changed lines and items are told within the text or list they are part of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from takeback.errors import TakebackError
from takeback.harness.codec import gone_word
from takeback.harness.log import content_json, moved
from takeback.journal.packing import is_gone
from takeback.present.contents import Sheet, items_sheet, sheet_of, text_sheet
from takeback.present.diffs import Difference, difference
from takeback.present.secrets import find_secrets
from takeback.state import ABSENT, SURFACES, State
from takeback.state.chain import Chain
from takeback.state.items import Items
from takeback.state.parts import is_part
from takeback.state.slots import Slot, get_slot, put_slots, slot_title, whole_of
from takeback.undo import SlotChange, Write


def differences(
    changes: Iterable[SlotChange | Write], before: Callable[[], State] | None = None
) -> Iterator[Difference]:
    """What changes did. `before` works out the state ahead of them, asked for only where parts changed or moved."""
    changes = list(changes)
    for change in _whole(changes, before):
        itemised = any(isinstance(side, Items) for side in (change.before, change.after))
        notes = (_move(change.slot, changes, before),) if moved(change) else ()
        old, new = (_shown(change.slot, side, itemised=itemised) for side in (change.before, change.after))
        for slot in sorted(old.keys() | new.keys()):
            yield difference(slot_title(slot), old.get(slot), new.get(slot), *notes)


def _whole(changes: list[SlotChange | Write], before: Callable[[], State] | None) -> Iterator[SlotChange | Write]:
    """Changes with those of parts put together; as they are where the whole can no longer be worked out."""
    parts = [change for change in changes if is_part(change.slot[-1])]
    if not parts or before is None or any(is_gone(change.before) or is_gone(change.after) for change in parts):
        yield from changes
        return
    try:
        old = before()
        new = put_slots(old, [(change.slot, change.after) for change in changes])
    except TakebackError:
        yield from changes
        return
    told: set[Slot] = set()
    for change in changes:
        slot = whole_of(change.slot)
        if slot not in told:
            told.add(slot)
            yield SlotChange(slot, get_slot(old, slot), get_slot(new, slot)) if slot != change.slot else change


def _move(slot: Slot, changes: list[SlotChange | Write], before: Callable[[], State] | None) -> str:
    """From which place to which an element moved; only that it did where the chain can no longer be worked out."""
    said = "moved within its chain"
    if before is None or any(is_gone(change.before) or is_gone(change.after) for change in changes):
        return said
    try:
        old = before()
        new = put_slots(old, [(change.slot, change.after) for change in changes])
    except TakebackError:
        return said
    places = [_place(slot, state) for state in (old, new)]
    return said if None in places or places[0] == places[1] else "moved from place {} to place {}".format(*places)


def _place(slot: Slot, state: State) -> int | None:
    """Where an element stands in its chain, counted from 1."""
    chain: Any = state.part(slot[0])
    for name in slot[1:-1]:
        chain = chain.get(name)
    return chain.index(slot[-1]) + 1 or None if isinstance(chain, Chain) else None


def _shown(slot: Slot, content: Any, *, itemised: bool) -> dict[Slot, Sheet]:
    if content is ABSENT:
        return {}
    if is_gone(content):
        word = gone_word(slot, content)
        return {slot: Sheet((f"{word}\n",), inline=word)}
    if itemised:
        plain = content_json(slot, content)
        return {slot: _guard(slot, plain, items_sheet(plain) if isinstance(plain, list) else sheet_of(plain))}
    parts = SURFACES[slot[0]].parts_shown(slot[1:], content)
    return {(slot[0], *path): _sheet((slot[0], *path), inner) for path, inner in parts}


def _sheet(slot: Slot, content: Any) -> Sheet:
    text = SURFACES[slot[0]].text(content)
    if text is not None:
        return text_sheet(*text)
    plain = content_json(slot, content)
    return _guard(slot, plain, sheet_of(plain))


def _guard(slot: Slot, content: Any, sheet: Sheet) -> Sheet:
    """Return the sheet of a value with the secrets that its names tell of."""
    name = ".".join(map(str, slot[1:])) if slot[0] == "config" else ""
    return replace(sheet, secrets=find_secrets(content, name))
