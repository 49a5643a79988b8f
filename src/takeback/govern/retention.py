"""Retention and compaction: what entries captured longer ago than the policy keeps it goes, or gives back its room.

What is in use stays, what a held or a younger entry needs as well. An entry without its captures stays in the log,
and can no longer be taken back by itself.

Compaction also removes the candidates, evidence and file images of those entries; states written down on the way,
but for the last; and what is left of contents that were forgotten before. Every record stays, so that the chain,
signed heads and the numbers of entries are as they were, and so does what an undo of a kept entry needs. One record
says what went.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from takeback.harness import Harness
from takeback.harness.forget import collect_leaf_refs
from takeback.harness.labels import iter_owned_records, list_held
from takeback.journal import Record, Ref, Store

WHOLE: Final = frozenset({"candidate", "evidence", "call", "reason", "said", "standing"})
"""What of an old entry goes whole; elsewhere names and places stay, so that undo can still plan with them."""


@dataclass(frozen=True, slots=True)
class Retained:
    """What retention or compaction did, or would do."""

    record: Record | None
    """The record that says what went; None if nothing did."""
    entries: tuple[int, ...]
    """Entries whose captures are no longer kept, and that are not held."""
    held: tuple[int, ...]
    """Entries that are as old and held."""
    contents: int
    """How many contents went, or would go."""
    lingering: str = ""
    """Where copies may be found for a while, and until when."""


def expires_at(record: Record, keep: timedelta) -> datetime:
    """Return when what a record captured is no longer kept."""
    return datetime.fromisoformat(record.created_at) + keep


def make_expiry(store: Store, keep: timedelta | None) -> Callable[[int, str], str]:
    """Return what tells, of an entry's number and time, from when on its captures go; empty if they stay."""
    held = set() if keep is None else list_held(store)

    def tell(number: int, at: str) -> str:
        if keep is None or number in held:
            return ""
        return (datetime.fromisoformat(at) + keep).isoformat(timespec="minutes")

    return tell


def retain(harness: Harness, keep: timedelta, now: datetime, *, dry: bool = False) -> Retained:
    """Forget what entries captured longer ago than `keep`; with `dry`, only say what would go."""
    store, ledger = harness.journal, harness.ledger
    with harness.session():
        held = list_held(store)
        old = [r.number for r in store.records() if r.number is not None and expires_at(r, keep) <= now]
        entries = tuple(number for number in old if number not in held)
        if entries and not dry:
            ledger.checkpoint()  # what is in use is told from its newest copy
        refs = _find_expired_refs(store, held, keep, now) - set(ledger.live_values())
        retained = Retained(None, entries, tuple(number for number in old if number in held), len(refs))
        if dry or not refs:
            return retained
        erased = store.forget(sorted(refs))
        ledger.refresh()
    harness.recover()
    return replace(retained, record=erased.record, lingering=erased.lingering)


def _find_expired_refs(store: Store, held: set[int], keep: timedelta, now: datetime) -> set[Ref]:
    last = store.latest("checkpoint")
    old: set[Ref] = set()
    kept: set[Ref] = set()
    for record, owner in iter_owned_records(store):
        stays = owner in held or (last is not None and record.seq == last.seq) or expires_at(record, keep) > now
        (kept if stays else old).update(record.all_refs())
    return collect_leaf_refs(store, old) - collect_leaf_refs(store, kept)


def compact(harness: Harness, keep: timedelta | None, now: datetime, *, dry: bool = False) -> Retained:
    """Give back the room of what is not kept; captures stay for `keep`, for ever if None. With `dry`, only count."""

    def is_kept(record: Record) -> bool:
        return keep is None or expires_at(record, keep) > now

    store, ledger = harness.journal, harness.ledger
    with harness.session():
        division = _Division(store, is_kept)
        going, _ = division.list_going(set(ledger.live_values()))
        retained = Retained(None, tuple(division.entries), tuple(division.held), len(going))
        if dry or not going:
            return retained
        ledger.checkpoint()  # what is in use is told from its newest copy
        going, named = _Division(store, is_kept).list_going(set(ledger.live_values()))
        erased = store.drop(sorted(going), named)
        ledger.refresh()
    harness.recover()
    return replace(retained, record=erased.record, contents=len(going), lingering=erased.lingering)


class _Division:
    """Which contents are removed and which stay, record by record."""

    def __init__(self, store: Store, is_kept: Callable[[Record], bool]) -> None:
        self._store = store
        self.entries: list[int] = []
        self.held: list[int] = []
        self._direct: set[Ref] = set()
        self._whole: set[Ref] = set()
        self._inner: set[Ref] = set()
        self._kept: set[Ref] = set()
        held = list_held(store)
        last = store.latest("checkpoint")
        for record, owner in iter_owned_records(store):
            self._direct.update(record.all_refs())
            if record.kind == "checkpoint":
                (self._kept if last is not None and record.seq == last.seq else self._whole).update(record.all_refs())
            elif is_kept(record):
                self._kept.update(record.all_refs())
            elif owner in held:
                self._kept.update(record.all_refs())
                self.held += [] if record.number is None else [record.number]
            else:
                self._take(record)

    def _take(self, record: Record) -> None:
        self.entries += [] if record.number is None else [record.number]
        for name in record.contents:
            (self._whole if name in WHOLE else self._inner).update(ref for ref in record.refs(name) if ref)

    def list_going(self, live: set[Ref]) -> tuple[set[Ref], set[Ref]]:
        """Return what goes, and which of that records and stored trees still name."""
        kept = self._kept | collect_leaf_refs(self._store, self._kept) | live
        whole = self._store.contents(self._whole - kept)
        trees = {ref for ref, stored in whole.items() if stored is not None and stored.tree}
        going = (trees | collect_leaf_refs(self._store, self._whole | self._inner)) - kept
        staying = self._store.contents(self._direct - going).values()
        named = {part for stored in staying if stored is not None and stored.tree for part in stored.open_tree()[0]}
        return going, going & (self._direct | named)
