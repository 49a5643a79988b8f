"""Retention: forgets what entries captured longer ago than the policy keeps it.

What is in use stays, what a held or a younger entry needs as well. An entry without its captures stays in the
log, and can no longer be taken back by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from takeback.harness import Harness
from takeback.harness.forget import collect_leaf_refs
from takeback.harness.holds import list_held
from takeback.journal import Record, Ref, Store


@dataclass(frozen=True, slots=True)
class Retained:
    """What retention did, or would do."""

    record: Record | None
    """The record that says what was forgotten; None if nothing was."""
    entries: tuple[int, ...]
    """Entries older than the policy keeps that are not held."""
    held: tuple[int, ...]
    """Entries that are older and held."""
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
        entries, protected = _find_expired(store, held, keep, now)
        if entries and not dry:
            ledger.checkpoint()  # what is in use is told from its newest copy
        refs = _find_expired_refs(store, held, keep, now) - set(ledger.live_values())
        retained = Retained(None, entries, protected, len(refs))
        if dry or not refs:
            return retained
        erased = store.forget(sorted(refs))
        ledger.refresh()
    harness.recover()
    return Retained(erased.record, entries, protected, len(refs), erased.lingering)


def _find_expired(
    store: Store, held: set[int], keep: timedelta, now: datetime
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    old = [r.number for r in store.records() if r.number is not None and expires_at(r, keep) <= now]
    return tuple(n for n in old if n not in held), tuple(n for n in old if n in held)


def _find_expired_refs(store: Store, held: set[int], keep: timedelta, now: datetime) -> set[Ref]:
    last = store.latest("checkpoint")
    old: set[Ref] = set()
    kept: set[Ref] = set()
    owner: int | None = None
    for record in store.records():
        owner = record.about if record.kind == "evidence" else record.number or owner
        stays = owner in held or (last is not None and record.seq == last.seq) or expires_at(record, keep) > now
        (kept if stays else old).update(record.all_refs())
    return collect_leaf_refs(store, old) - collect_leaf_refs(store, kept)
