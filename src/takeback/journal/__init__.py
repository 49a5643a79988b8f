"""The journal: what was done to a harness, append-only and hash-chained, written ahead of each change."""

from typing import TYPE_CHECKING

from takeback.lazy_names import load_on_demand

if TYPE_CHECKING:
    from takeback.journal.chain import ChainReport, Fault
    from takeback.journal.content import Content, Leaf, Ref, Stored, Tree, make_leaf
    from takeback.journal.record import ENTRY_KINDS, ROOT, Draft, Record
    from takeback.journal.sqlite_copy import examine_journal
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

__getattr__ = load_on_demand(
    __name__,
    {
        "takeback.journal.chain": "ChainReport Fault",
        "takeback.journal.content": "Content Leaf Ref Stored Tree make_leaf",
        "takeback.journal.record": "ENTRY_KINDS ROOT Draft Record",
        "takeback.journal.sqlite_copy": "examine_journal",
        "takeback.journal.store": "Erased Store open_journal resolve_record",
    },
)
