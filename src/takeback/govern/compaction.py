"""Compaction: a journal gives back the room of what its policy does not keep.

What goes: captures that retention no longer keeps, with the candidates, evidence and file images of those entries;
states written down on the way, but for the last; and what is left of contents that were forgotten before. Every
record stays, so that the chain, signed heads and the numbers of entries are as they were, and so does what an undo
of a kept entry needs. One record says what went.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from takeback.govern.retention import expires_at
from takeback.harness import Harness
from takeback.harness.forget import collect_leaf_refs
from takeback.harness.holds import list_held
from takeback.journal import Record, Ref, Store

WHOLE: Final = frozenset({"candidate", "evidence", "call", "reason", "said", "standing"})
"""What of an old entry goes whole; elsewhere names and places stay, so that undo can still plan with them."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What compaction did, or would do."""

    record: Record | None
    """The record that says what went; None if nothing did."""
    entries: tuple[int, ...]
    """Entries whose captures are no longer kept."""
    held: tuple[int, ...]
    """Entries that are as old and held."""
    contents: int
    """How many contents went, or would go."""
    lingering: str = ""
    """Where copies may be found for a while, and until when."""


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
        owner: int | None = None
        for record in store.records():
            owner = record.about if record.kind == "evidence" else record.number or owner
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
        return going, going & (self._direct | self._collect_named(going))

    def _collect_named(self, going: set[Ref]) -> set[Ref]:
        """Return the parts of the trees that stay."""
        staying = self._store.contents(self._direct - going).values()
        return {
            part for stored in staying if stored is not None and stored.tree for part in stored.open_tree()[0] if part
        }


def compact(harness: Harness, keep: timedelta | None, now: datetime, *, dry: bool = False) -> Compacted:
    """Give back the room of what is not kept; captures stay for `keep`, for ever if None. With `dry`, only count."""

    def is_kept(record: Record) -> bool:
        return keep is None or expires_at(record, keep) > now

    store, ledger = harness.journal, harness.ledger
    with harness.session():
        division = _Division(store, is_kept)
        going, _ = division.list_going(set(ledger.live_values()))
        compacted = Compacted(None, tuple(division.entries), tuple(division.held), len(going))
        if dry or not going:
            return compacted
        ledger.checkpoint()  # what is in use is told from its newest copy
        going, named = _Division(store, is_kept).list_going(set(ledger.live_values()))
        erased = store.drop(sorted(going), named)
        ledger.refresh()
    harness.recover()
    return Compacted(erased.record, compacted.entries, compacted.held, len(going), erased.lingering)
