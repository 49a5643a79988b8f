"""Notes that everything in a harness is recorded, where a hook or a command has just looked at all of it.

Hooks then need not look again until something changes, and commands need not read what has not changed.
"""

from __future__ import annotations

from takeback.adapters.files_adapter import FilesAdapter
from takeback.adapters.roots import LOCAL
from takeback.harness.harness import Harness
from takeback.harness.outcomes import Status


def note_calm_look(harness: Harness) -> None:
    """Note what the last look rested on; call it only if the files were as the journal says now."""
    adapter, ledger = harness.adapter, harness.ledger
    open_ends = ledger.pending is not None or ledger.holes or ledger.missing or harness.doubt
    if isinstance(adapter, FilesAdapter) and not open_ends and not adapter.leftovers():
        own = str(adapter.place.root / LOCAL)
        plain = type(harness) is Harness and adapter.project is None and not getattr(ledger.store, "key_place", "")
        adapter.note_look(ledger.last, ledger.head, wait=plain and ledger.store.location == own)


def note_calm_status(harness: Harness, status: Status) -> None:
    """Note the look of a status that shows nothing to record, in a harness of many files without such a note."""
    adapter = harness.adapter
    if harness.ledger.store.readonly or status.drift or status.broken or status.layout:
        return
    if isinstance(adapter, FilesAdapter) and adapter.needs_look_note():
        note_calm_look(harness)
