"""The journal: what was done to a harness, append-only and hash-chained, written ahead of each change."""

from takeback.journal.chain import ChainReport, Fault
from takeback.journal.content import Content, Leaf, Ref, Stored, Tree, leaf
from takeback.journal.record import ENTRY_KINDS, ROOT, Draft, Record
from takeback.journal.salvage import examine
from takeback.journal.store import Erased, Store, open_journal, resolve

__all__ = [
    "ENTRY_KINDS",
    "ROOT",
    "ChainReport",
    "Content",
    "Draft",
    "Erased",
    "Fault",
    "Leaf",
    "Record",
    "Ref",
    "Store",
    "Stored",
    "Tree",
    "examine",
    "leaf",
    "open_journal",
    "resolve",
]
