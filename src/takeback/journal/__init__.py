"""The journal: what was done to a harness, append-only and hash-chained, written ahead of each change."""

from takeback.journal.chain import ChainReport, Fault
from takeback.journal.content import Content, Leaf, Ref, Stored, Tree, make_leaf
from takeback.journal.record import ENTRY_KINDS, ROOT, Draft, Record
from takeback.journal.salvage import examine_journal
from takeback.journal.store import Erased, Store, open_journal, resolve_record

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
    "examine_journal",
    "make_leaf",
    "open_journal",
    "resolve_record",
]
