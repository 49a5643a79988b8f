"""The journal: what was done to a harness, append-only and hash-chained, written ahead of each change."""

from takeback.journal.chain import ChainReport, Fault
from takeback.journal.record import ENTRY_KINDS, ROOT, Draft, Record
from takeback.journal.salvage import examine
from takeback.journal.store import Store, open_journal, resolve

__all__ = [
    "ENTRY_KINDS",
    "ROOT",
    "ChainReport",
    "Draft",
    "Fault",
    "Record",
    "Store",
    "examine",
    "open_journal",
    "resolve",
]
