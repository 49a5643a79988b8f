"""What SQLite and PostgreSQL stores share: the statements, and reading rows back with their digests checked.

A subclass supplies `run`, `run_many` and `transaction` (which serialises writers) and turns its driver's
errors into ours. Statements are written with `?` for parameters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from takeback.errors import JournalCorruptError, JournalError, StaleHeadError, UnknownEntryError
from takeback.journal.chain import ChainReport, Fault, attachment_fault, check_rows
from takeback.journal.encoding import decode, sha256
from takeback.journal.failpoint import failpoint
from takeback.journal.record import ROOT, Draft, Record, Row, open_row, seal
from takeback.journal.store import FIND_LIMIT, now, subtree_range

COLUMNS = "seq, kind, created_at, payload, attachments, prev, digest"
PAGE = 500


class SqlStore(ABC):
    """A journal in the tables of `journal/schema.py`."""

    location: str

    @abstractmethod
    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement, and return its rows."""

    @abstractmethod
    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """A write transaction that no other process can enter; durable when the block ends."""

    def append(self, drafts: Sequence[Draft], *, expect: str | None = None) -> tuple[Record, ...]:
        """Record all drafts durably, or none."""
        added: list[Record] = []
        with self.transaction():
            last = self.run("SELECT seq, digest FROM records ORDER BY seq DESC LIMIT 1")
            seq, prev = last[0] if last else (0, ROOT)
            if expect is not None and expect != prev:
                raise StaleHeadError(f"the journal has moved on: its head is {prev[:12]}, not {expect[:12]}")
            failpoint("journal.append.begin")
            for draft in drafts:
                seq += 1
                row, texts = seal(draft, seq=seq, created_at=now(), prev=prev)
                added.append(self._insert(row, texts))
                prev = row.digest
            failpoint("journal.append.inserted")
        failpoint("journal.append.done")
        return tuple(added)

    def _insert(self, row: Row, texts: Mapping[str, str]) -> Record:
        record = open_row(row)
        self.run(
            f"INSERT INTO records ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - a constant
            (row.seq, row.kind, row.created_at, row.payload, row.attachments, row.prev, row.digest),
        )
        self.run_many(
            "INSERT INTO attachments (seq, name, body) VALUES (?, ?, ?)",
            [(row.seq, name, text) for name, text in texts.items()],
        )
        self.run_many("INSERT INTO touches (key, seq) VALUES (?, ?)", [(key, row.seq) for key in record.touches])
        return record

    def _select(self, rest: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return [Row(*row) for row in self.run(f"SELECT {COLUMNS} FROM records {rest}", parameters)]  # noqa: S608

    def head(self) -> Record | None:
        """The last record."""
        rows = self._select("ORDER BY seq DESC LIMIT 1")
        return open_row(rows[0]) if rows else None

    def get(self, seq: int) -> Record:
        """The record with this number."""
        rows = self._select("WHERE seq = ?", (seq,))
        if not rows:
            raise UnknownEntryError(f"there is no record #{seq} in {self.location}")
        return open_row(rows[0])

    def find(self, prefix: str) -> tuple[Record, ...]:
        """Up to ten records whose id begins so."""
        rows = self._select(
            f"WHERE digest >= ? AND digest < ? ORDER BY digest LIMIT {FIND_LIMIT}", (prefix, prefix + "g")
        )
        return tuple(sorted((open_row(row) for row in rows), key=lambda record: record.seq))

    def records(self, start: int = 1, *, reverse: bool = False) -> Iterator[Record]:
        """Records from number `start` on, or from the last down to it."""
        for row in self._rows(start, reverse=reverse):
            yield open_row(row)

    def _rows(self, start: int, *, reverse: bool = False) -> Iterator[Row]:
        """Rows in pages, so that no reader holds a transaction open for long."""
        last: int | None = None
        while True:
            if reverse:
                bound = "WHERE seq >= ?" + ("" if last is None else f" AND seq < {last}")
                page = self._select(f"{bound} ORDER BY seq DESC LIMIT {PAGE}", (start,))
            else:
                page = self._select(
                    f"WHERE seq >= ? ORDER BY seq LIMIT {PAGE}", (start if last is None else last + 1,)
                )
            yield from page
            if len(page) < PAGE:
                return
            last = page[-1].seq

    def touching(self, key: str, *, below: bool = False) -> tuple[int, ...]:
        """Numbers of records that touch `key`, or a key beneath it."""
        if below:
            low, high = subtree_range(key)
            sql = "SELECT DISTINCT seq FROM touches WHERE key >= ? AND key < ? ORDER BY seq"
            return tuple(row[0] for row in self.run(sql, (low, high)))
        return tuple(row[0] for row in self.run("SELECT seq FROM touches WHERE key = ? ORDER BY seq", (key,)))

    def attachment(self, seq: int, name: str) -> str | None:
        """Text of an attachment, None if it is gone."""
        digest = self.get(seq).attachments.get(name)
        rows = self.run("SELECT body FROM attachments WHERE seq = ? AND name = ?", (seq, name))
        if digest is None or not rows:
            return None
        text = str(rows[0][0])
        if sha256(text) != digest:
            raise JournalCorruptError(f"{name} of record {seq} does not match its digest", seq=seq)
        return text

    def forget(self, names: Mapping[int, Sequence[str]]) -> Record:
        """Delete attachments for good, with a record that says so, in one transaction."""
        for seq in names:
            self.get(seq)
        with self.transaction():
            (record,) = self.append([Draft("forget", {"forgotten": {str(s): list(n) for s, n in names.items()}})])
            for seq, parts in names.items():
                for name in parts:
                    self.run("DELETE FROM attachments WHERE seq = ? AND name = ?", (seq, name))
        return record

    def check(self) -> ChainReport:
        """Examine everything that can be read; damage to the file is a fault in the report, not an error."""
        rows: list[Row] = []
        faults: list[Fault] = []
        try:
            rows.extend(self._rows(1))
        except JournalError as error:
            faults.append(Fault(None, str(error)))
            rows = self._salvage()
        report = check_rows(rows)
        try:
            faults.extend(self._attachment_faults(rows))
            faults.extend(self._index_faults(rows))
        except JournalError as error:
            faults.append(Fault(None, str(error)))
        return ChainReport(report.records, report.intact, report.head, (*report.faults, *dict.fromkeys(faults)))

    def _salvage(self) -> list[Row]:
        """Rows up to the first that cannot be read, one by one."""
        rows: list[Row] = []
        try:
            while found := self._select("WHERE seq = ?", (len(rows) + 1,)):
                rows.extend(found)
        except JournalError:
            pass
        return rows

    def _attachment_faults(self, rows: Sequence[Row]) -> Iterator[Fault]:
        forgotten: set[tuple[int, str]] = set()
        for row in rows:
            if row.kind == "forget":
                for seq, names in _mapping(_mapping(decode(row.payload)).get("forgotten")).items():
                    forgotten.update((int(seq), str(name)) for name in names)
        for row in rows:
            for name, digest in _mapping(decode(row.attachments)).items():
                found = self.run("SELECT body FROM attachments WHERE seq = ? AND name = ?", (row.seq, name))
                text = str(found[0][0]) if found else None
                fault = attachment_fault(row.seq, name, str(digest), text, forgotten=(row.seq, name) in forgotten)
                if fault:
                    yield fault

    def _index_faults(self, rows: Sequence[Row]) -> Iterator[Fault]:
        sound = [open_row(row) for row in rows if row.computed() == row.digest]
        numbers = {record.seq for record in sound}
        named = {(key, record.seq) for record in sound for key in record.touches}
        found = self.run("SELECT key, seq FROM touches")
        stored = {(str(key), int(seq)) for key, seq in found if int(seq) in numbers}
        for key, seq in sorted(named ^ stored, key=lambda pair: (pair[1], pair[0])):
            what = "is missing from" if (key, seq) in named else "does not belong in"
            yield Fault(seq, f"key {key} of record {seq} {what} the index")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
