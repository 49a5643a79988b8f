"""A journal kept in this process only: the reference for the other stores.

Everything in lists and dictionaries, with the same chain, checks and errors; gone with the process.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType

from takeback.errors import JournalBusyError, JournalCorruptError, StaleHeadError, UnknownEntryError
from takeback.journal.chain import ChainReport, attachment_fault, check_rows
from takeback.journal.encoding import sha256
from takeback.journal.failpoint import failpoint
from takeback.journal.record import ROOT, Draft, Record, Row, open_row, seal
from takeback.journal.store import FIND_LIMIT, now, subtree_range


class MemoryLock:
    """Keeps other threads out while it is entered."""

    reentrant = True
    """It may be entered any number of times, also while it is held."""
    __slots__ = ("_acquire", "_release", "timeout")

    def __init__(self, mutex: threading.RLock, timeout: float) -> None:
        self._acquire = mutex.acquire
        self._release = mutex.release
        self.timeout = timeout

    def __enter__(self) -> None:
        if not self._acquire(False) and not self._acquire(timeout=self.timeout):
            raise JournalBusyError(f"another thread held the journal for more than {self.timeout:g} s")

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()


class MemoryStore:
    """Records in lists; safe for threads, gone with the process."""

    location = ":memory:"

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._records: list[Record] = []
        self._by_id: dict[str, Record] = {}
        self._texts: dict[tuple[int, str], str] = {}
        self._forgotten: set[tuple[int, str]] = set()
        self._touching: dict[str, list[int]] = {}
        self._keys: list[str] = []
        self._mutex = threading.RLock()

    def append(self, drafts: Sequence[Draft], *, expect: str | None = None) -> tuple[Record, ...]:
        """Record all drafts, or none."""
        with self._mutex:
            prev = self._rows[-1].digest if self._rows else ROOT
            if expect is not None and expect != prev:
                raise StaleHeadError(f"the journal has moved on: its head is {prev[:12]}, not {expect[:12]}")
            failpoint("journal.append.begin")
            sealed: list[tuple[Row, dict[str, str]]] = []
            for draft in drafts:
                row, texts = seal(draft, seq=len(self._rows) + len(sealed) + 1, created_at=now(), prev=prev)
                sealed.append((row, texts))
                prev = row.digest
            failpoint("journal.append.inserted")
            added = tuple(self._add(row, texts) for row, texts in sealed)
            failpoint("journal.append.done")
            return added

    def _add(self, row: Row, texts: Mapping[str, str]) -> Record:
        record = open_row(row)
        self._rows.append(row)
        self._records.append(record)
        self._by_id[record.digest] = record
        for name, text in texts.items():
            self._texts[row.seq, name] = text
        for key in record.touches:
            if key not in self._touching:
                self._touching[key] = []
                insort(self._keys, key)
            self._touching[key].append(row.seq)
        return record

    def head(self) -> Record | None:
        """The last record."""
        return self._records[-1] if self._records else None

    def get(self, seq: int) -> Record:
        """The record with this number."""
        if not 1 <= seq <= len(self._records):
            raise UnknownEntryError(f"there is no record #{seq}; the journal holds {len(self._records)}")
        return self._records[seq - 1]

    def find(self, prefix: str) -> tuple[Record, ...]:
        """Up to ten records whose id begins so."""
        whole = self._by_id.get(prefix)
        if whole is not None:
            return (whole,)
        found = (record for record in self._records if record.digest.startswith(prefix))
        return tuple(record for record, _ in zip(found, range(FIND_LIMIT), strict=False))

    def records(self, start: int = 1, *, reverse: bool = False) -> Iterator[Record]:
        """Records from number `start` on, or from the last down to it, as they are now; none is copied."""
        low, high = start - 1 if start > 1 else 0, len(self._records)
        if low >= high:
            return iter(())
        numbers = range(high - 1, low - 1, -1) if reverse else range(low, high)
        return map(self._records.__getitem__, numbers)

    def touching(self, key: str, *, below: bool = False) -> tuple[int, ...]:
        """Numbers of records that touch `key`, or a key beneath it."""
        if not below:
            return tuple(self._touching.get(key, ()))
        low, high = subtree_range(key)
        keys = self._keys[bisect_left(self._keys, low) : bisect_left(self._keys, high)]
        return tuple(sorted({seq for found in keys for seq in self._touching[found]}))

    def attachment(self, seq: int, name: str) -> str | None:
        """Text of an attachment, None if it is gone."""
        digest = self.get(seq).attachments.get(name)
        text = self._texts.get((seq, name))
        if digest is None or text is None:
            return None
        if sha256(text) != digest:
            raise JournalCorruptError(f"{name} of record {seq} does not match its digest", seq=seq)
        return text

    def forget(self, names: Mapping[int, Sequence[str]]) -> Record:
        """Delete attachments, with a record that says so."""
        with self._mutex:
            for seq in names:
                self.get(seq)
            (record,) = self.append([Draft("forget", {"forgotten": {str(s): list(n) for s, n in names.items()}})])
            for seq, parts in names.items():
                for name in parts:
                    self._texts.pop((seq, name), None)
                    self._forgotten.add((seq, name))
            return record

    def lock(self, timeout: float = 30.0) -> MemoryLock:
        """Keep other threads out until the block ends."""
        return MemoryLock(self._mutex, timeout)

    def check(self) -> ChainReport:
        """Examine everything stored."""
        report = check_rows(self._rows)
        faults = [
            fault
            for record in self._records
            for name, digest in record.attachments.items()
            if (
                fault := attachment_fault(
                    record.seq,
                    name,
                    digest,
                    self._texts.get((record.seq, name)),
                    forgotten=(record.seq, name) in self._forgotten,
                )
            )
        ]
        return ChainReport(report.records, report.intact, report.head, (*report.faults, *faults))

    def close(self) -> None:
        """Nothing to let go of."""
