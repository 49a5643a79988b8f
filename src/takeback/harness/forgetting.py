"""Which contents to forget: what entries captured, or every place where a value stands; and what cannot go.

Names, notes, places and modes stay, so that the history can still be read and planned with. The bytes of whole
files that an entry kept for putting them back exactly go in all entries, because a file holds more than one value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from takeback.errors import InputError
from takeback.harness.holes import same_value
from takeback.harness.images import IMAGES, file_key, image_refs
from takeback.harness.ledger import Ledger
from takeback.journal import Record, Ref, Store
from takeback.journal.search import ValuePlace, places_of
from takeback.state import ABSENT, State
from takeback.state.slots import Slot, get_slot, put_slots


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What was forgotten, or would be."""

    record: Record | None
    """The record that says so; None if nothing was done."""
    contents: int
    """How many contents."""
    places: tuple[ValuePlace, ...]
    """Where the value stands, when one was looked for: what goes, and names and notes, which stay."""
    kept: tuple[Slot, ...]
    """Values in place of which there is no other copy than the journal's: they were not forgotten."""
    live: tuple[Slot, ...]
    """Values that are still in place: the journal keeps no copy, but what is really there has them."""
    lingering: str = ""
    """Where copies may be found for a while, and until when."""

    @property
    def stays(self) -> tuple[ValuePlace, ...]:
        """Names and notes that hold the value, which are not forgotten."""
        return tuple(place for place in self.places if place.ref is None)


def captured(store: Store, entries: Iterable[Record]) -> set[Ref]:
    """Everything entries captured that can be forgotten: values, not the names around them."""
    refs: set[Ref] = set()
    paths: set[str] = set()
    for entry in entries:
        refs.update(entry.all_refs())
        paths.update(file_paths(entry))
        following = next(iter(store.records(entry.seq + 1)), None)
        if following is not None and following.kind == "abort":
            refs.update(following.all_refs())
    return leaves(store, refs) | file_bytes(store, paths)


def leaves(store: Store, refs: Iterable[Ref]) -> set[Ref]:
    """Values among contents and inside them that are not forgotten yet."""
    held = store.contents(refs)
    inside = {part for found in held.values() if found and found.tree for part in found.opened()[0] if part}
    own = {ref for ref, found in held.items() if found and not found.tree}
    return own | {ref for ref, found in store.contents(inside).items() if found is not None}


def file_paths(record: Record) -> list[str]:
    """Files whose bytes a record kept."""
    rows: Any = record.payload.get(IMAGES, ())
    return [str(row[0]) for row in rows]


def file_bytes(store: Store, paths: Iterable[str], since: int = 0) -> set[Ref]:
    """The kept bytes of files, in every record after a place in the chain."""
    wanted = set(paths)
    numbers = sorted({number for path in wanted for number in store.touching(file_key(path))})
    refs = {ref for record in store.many(numbers) if record.seq > since for ref in image_refs(record, wanted)}
    return leaves(store, refs)


def conceal(ledger: Ledger, touched: Callable[[State, State], tuple[str, ...]]) -> None:
    """Forget the bytes that later changes kept of files in which a forgotten value is still in place."""
    hidden = ledger.hidden
    if not hidden or ledger.store.readonly:
        return
    last = ledger.store.latest("forget")
    paths = touched(ledger.state, put_slots(ledger.state, [(slot, ABSENT) for slot in hidden]))
    refs = file_bytes(ledger.store, paths, 0 if last is None else last.seq)
    if refs:
        ledger.store.forget(sorted(refs))
        ledger.refresh()


def with_former_ids(store: Store, refs: set[Ref]) -> set[Ref]:
    """With what is forgotten go the digests of a former layout, by which it could be guessed."""
    layout = store.latest("layout")
    former = set() if layout is None else leaves(store, layout.all_refs())
    return refs | former if refs else refs


def standing(ledger: Ledger, value: str | bytes) -> tuple[tuple[ValuePlace, ...], set[Ref]]:
    """Places where a value stands, and the contents to forget for it."""
    raw = value.encode() if isinstance(value, str) else value
    if not raw:
        raise InputError("value", found="nothing", expected="a text to look for")
    store = ledger.store
    places = tuple(places_of(store, raw))
    refs = {place.ref for place in places if place.ref is not None}
    paths = {path for seq in {place.seq for place in places if place.ref} for path in file_paths(store.record(seq))}
    return places, refs | file_bytes(store, paths)


def forget_contents(
    ledger: Ledger, read: Callable[[State], State], places: tuple[ValuePlace, ...], refs: set[Ref], *, dry: bool
) -> Forgetting:
    """Forget contents, except values in place that `read`, what is really there, does not have as well."""
    if refs and not dry:
        ledger.checkpoint()
    live, state = live_among(ledger, refs), ledger.state
    actual = read(put_slots(state, [(slot, ABSENT) for slot in live])) if live else state
    kept = tuple(slot for slot in live if not same_value(get_slot(actual, slot), get_slot(state, slot)))
    refs = with_former_ids(ledger.store, refs - {ref for slot in kept for ref in live[slot]})
    found = Forgetting(None, len(refs), places, kept, tuple(slot for slot in live if slot not in kept))
    if dry or not refs:
        return found
    erased = ledger.store.forget(sorted(refs))
    ledger.refresh()
    return replace(found, record=erased.record, lingering=erased.lingering)


def live_among(ledger: Ledger, refs: set[Ref]) -> dict[Slot, set[Ref]]:
    """Values to be forgotten that are still in place, by where they stand."""
    found: dict[Slot, set[Ref]] = {}
    for ref, slots in ledger.live_values().items():
        for slot in slots if ref in refs else ():
            found.setdefault(slot, set()).add(ref)
    return found
