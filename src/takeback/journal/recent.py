"""Records that were read lately: one that thousands of files are looked up in is read and checked once.

A record never changes, so what was checked when it was read holds as long as this process does. How much is kept is
bounded by the records' size; the oldest go first.
"""

from __future__ import annotations

import threading
from typing import Final

from takeback.journal.record import Record, Row

MOST: Final = 512
LARGEST: Final = 48 << 20
"""Characters of stored text whose records are kept at most; the last one read is kept whatever its size."""


class RecentRecords:
    """The records of one journal that were read last."""

    def __init__(self) -> None:
        self._by_seq: dict[int, tuple[Record, int]] = {}
        self._seqs: dict[int, int] = {}
        self._size = 0
        self._mutex = threading.Lock()

    def at(self, seq: int) -> Record | None:
        """Return the record at a place in the chain; None if it was not read lately."""
        found = self._by_seq.get(seq)
        return None if found is None else found[0]

    def entry(self, number: int) -> Record | None:
        """Return the entry with a number; None if it was not read lately."""
        seq = self._seqs.get(number)
        return None if seq is None else self.at(seq)

    def keep(self, record: Record, row: Row) -> Record:
        """Keep a record that was read and checked, and return it."""
        size = len(row.payload) + len(row.contents)
        with self._mutex:
            if record.seq not in self._by_seq:
                self._by_seq[record.seq] = (record, size)
                self._size += size
                if record.number is not None:
                    self._seqs[record.number] = record.seq
            while len(self._by_seq) > 1 and (len(self._by_seq) > MOST or self._size > LARGEST):
                oldest = next(iter(self._by_seq))
                gone, its_size = self._by_seq.pop(oldest)
                self._size -= its_size
                if gone.number is not None:
                    self._seqs.pop(gone.number, None)
        return record
