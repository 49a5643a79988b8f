"""What a journal says of itself without its contents: followed record by record, so that a look costs what is new.

The chain is checked as it is followed. Taken in are who is live, what has no admitted recovery, what is under way.
"""

from __future__ import annotations

from collections.abc import Iterable

from takeback.errors import JournalCorruptError
from takeback.harness.ledger import CHANGES, TOGGLES, was_admitted
from takeback.harness.log import EntryView, view_of
from takeback.journal import ENTRY_KINDS, ROOT, Record


class JournalTally:
    """How one journal stands, as far as it was followed."""

    def __init__(self) -> None:
        self.last = 0
        self.head = ROOT
        self.identity = ""
        self.entries = 0
        self.newest: Record | None = None
        """The last entry that was settled."""
        self.pending: Record | None = None
        """An entry that was announced, and is neither made nor given up."""
        self._aborted: set[int] = set()
        self._undone: set[int] = set()
        self._doubtful: set[int] = set()

    @property
    def unadmitted(self) -> int:
        """How many live changes have no admitted recovery: forced, or made outside and adopted."""
        return len(self._doubtful - self._undone - self._aborted)

    def follow(self, records: Iterable[Record]) -> None:
        """Take in what was appended; refuses a record that does not follow the one before."""
        for record in records:
            if record.seq != self.last + 1 or record.prev != self.head:
                raise JournalCorruptError(f"record {record.seq} does not follow record {self.last}", seq=record.seq)
            self.last, self.head = record.seq, record.digest
            if record.kind in ENTRY_KINDS:
                self.pending = record
                self.entries += 1
            elif record.kind in {"commit", "abort"} and self.pending is not None:
                self._settle(self.pending, made=record.kind == "commit")

    def _settle(self, entry: Record, *, made: bool) -> None:
        self.pending, self.newest = None, entry
        if not made:
            self._aborted.add(entry.entry)
        elif entry.kind == "genesis":
            self.identity = str(entry.payload.get("identity", ""))
        elif entry.kind in CHANGES and not was_admitted(entry):
            self._doubtful.add(entry.entry)
        elif entry.kind in TOGGLES:
            self._undone.update(entry.off)
            self._undone.difference_update(entry.on)

    def view(self, record: Record) -> EntryView:
        """An entry of the journal as people look at it, without the operations that its contents hold."""
        return view_of(record, self._status(record))

    def _status(self, record: Record) -> str:
        if record.entry in self._aborted:
            return "aborted"
        if record.seq > self.last or (self.pending is not None and record.seq == self.pending.seq):
            return "pending"
        if record.kind not in CHANGES:
            return "done"
        return "undone" if record.entry in self._undone else "live"
