"""Checks of a whole journal, row by row: every fault is named, with its record and what differs.

Takes raw rows, so that a damaged journal can be examined as far as it can be read. It cannot detect a chain
that someone rewrote completely, digests and all; compare the head's id with one noted elsewhere for that.
SQLite's own check covers pages, tables and indexes, which the hash chain does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from sys import intern
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import JournalCorruptError, JournalError
from takeback.journal.content import Ref, is_redacted, sum_refs
from takeback.journal.record import ENTRY_KINDS, KINDS, ROOT, Record, Row, digest_columns, open_row, read_row

if TYPE_CHECKING:
    from takeback.journal.key_index import Tables

PROGRESS_EVERY = 1000


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with the journal."""

    seq: int | None
    """The record concerned; None where the file as a whole is damaged."""
    problem: str


@dataclass(frozen=True, slots=True)
class ChainReport:
    """What an examination found."""

    records: int
    """Rows that could be read."""
    intact: int
    """How many records from the first on form a whole chain: these can be trusted."""
    head: str | None
    """Digest of the last of those."""
    faults: tuple[Fault, ...]

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults

    def with_faults(self, more: Iterable[Fault]) -> ChainReport:
        """Return the same report with faults found elsewhere."""
        return ChainReport(self.records, self.intact, self.head, tuple(dict.fromkeys((*self.faults, *more))))


class Examination:
    """Follows the chain through rows in stored order, and gathers what the records say of contents and index."""

    def __init__(self, progress: Callable[[int], None] = lambda _: None) -> None:
        self._progress = progress
        self._faults: list[Fault] = []
        self._count = self._intact = self._entries = 0
        self._head: str | None = None
        self._last = (0, ROOT)
        self._unsound: set[int] = set()
        self.refs: dict[Ref, tuple[int, str]] = {}
        """Every content referred to directly: the first record that does, and under which name."""
        self._again: dict[Ref, int] = {}
        """The last record that refers to a content, where several do."""
        self._drops: list[tuple[int, int, str]] = []
        """What records say was dropped with its ids: up to which record, how many, and their sum."""
        self.forgotten: set[Ref] = set()
        self.touches: dict[str, list[int]] = {}
        """Entries that touch each key, by the records themselves."""
        self.touched = ROOT
        """Digest of the index in the last record."""
        self.entries: set[int] = set()
        """Numbers of entries that could be read."""
        self.complete = True
        """Whether all records could be read."""

    def take(self, rows: Iterable[Sequence[Any]]) -> None:
        """Look at the next rows. What is as it should be is passed over quickly; faults are looked at closely."""
        for values in rows:
            seq, entry, kind, created_at, payload, contents, touched, prev, digest = values
            last_seq, last_digest = self._last
            turn = self._entries + 1 if kind in ENTRY_KINDS else None
            right = seq == last_seq + 1 and prev == last_digest and entry == turn and kind in KINDS
            if (
                not right
                or type(payload) is not str
                or digest_columns(seq, entry, kind, created_at, payload, contents, touched, prev) != digest
            ):
                self._faults.extend(self._find_row_faults(read_row(values)))
            self._count += 1
            if not self._faults:
                self._intact, self._head = self._count, digest
            if self._count % PROGRESS_EVERY == 0:
                self._progress(self._count)
            self._entries += entry is not None
            self._last = (seq, digest)
            self.touched = touched

    def gather(self, rows: Iterable[Row]) -> None:
        """Take in what records say of contents and of what they touch; altered ones say nothing."""
        for row in rows:
            if row.seq in self._unsound:
                continue
            try:
                self._gather(open_row(row))
            except JournalCorruptError as fault:
                self._faults.append(Fault(row.seq, fault.message))

    def _gather(self, record: Record) -> None:
        for name in record.contents:
            place = (record.seq, intern(name))
            for ref in record.refs(name):
                if ref and not is_redacted(ref) and self.refs.setdefault(intern(ref), place) is not place:
                    self._again[ref] = record.seq
        if record.kind == "forget":
            if "contents" not in record.payload:
                raise JournalCorruptError(f"record {record.seq} does not say what was forgotten", seq=record.seq)
            self.forgotten.update(record.forgotten)
            self._drops += [] if record.dropped is None else [record.dropped]
        if record.number is not None:
            self.entries.add(record.number)
            for key in record.touches:
                self.touches.setdefault(key, []).append(record.number)

    def _find_row_faults(self, row: Row) -> Iterator[Fault]:
        last_seq, expected_prev = self._last
        expected_seq = last_seq + 1
        if row.seq != expected_seq:
            missing = f"{expected_seq}" if row.seq == expected_seq + 1 else f"{expected_seq} to {row.seq - 1}"
            yield Fault(row.seq, f"record {missing} missing before record {row.seq}")
        if row.compute_digest() != row.digest:
            self._unsound.add(row.seq)
            problem = f"content of record {row.seq} ({row.kind}) does not match its digest {row.digest[:12]}"
            yield Fault(row.seq, problem)
        if row.seq == expected_seq and row.prev != expected_prev:
            problem = f"record {row.seq} follows {row.prev[:12]}, but record {last_seq} is {expected_prev[:12]}"
            yield Fault(row.seq, problem)
        if row.kind not in KINDS:
            yield Fault(row.seq, f"record {row.seq} has unknown kind {row.kind!r}")
        elif row.seq == expected_seq and row.seq not in self._unsound:
            turn = self._entries + 1 if row.kind in ENTRY_KINDS else None
            if row.entry != turn:
                yield Fault(row.seq, f"record {row.seq} is numbered {row.entry}, which is not its turn")

    @property
    def sound(self) -> bool:
        """Whether all records could be read and nothing is wrong with them."""
        return self.complete and not self._faults

    def report(self) -> ChainReport:
        """Return what was found in the rows."""
        return ChainReport(self._count, self._intact, self._head, tuple(self._faults))

    def find_content_faults(
        self, stored: Mapping[Ref, Ref | None], trees: Mapping[Ref, Iterable[Ref] | None]
    ) -> Iterator[Fault]:
        """Yield what is wrong with the contents.

        `stored` has the id that each content's bytes give, None if deleted. `trees` has the parts of each tree,
        None where it cannot be opened: another process may be forgetting it.
        """
        places = self.refs
        self._place_parts(trees)
        until = max((drop[0] for drop in self._drops), default=0)
        gone: list[Ref] = []
        for ref, (seq, name) in places.items():
            what = f"content {ref[:12]} ({name} of record {seq})"
            if stored.get(ref) is None:
                if ref not in self.forgotten and max(seq, self._again.get(ref, 0)) <= until:
                    gone.append(ref)
                elif ref not in self.forgotten:
                    yield Fault(seq, f"{what} is gone, and no record says that it was forgotten")
            elif stored[ref] != ref:
                yield Fault(seq, f"{what} does not match its digest")
            elif ref in self.forgotten:
                yield Fault(seq, f"{what} was forgotten, but is there")
        known = self.sound and None not in trees.values()
        if known and self._drops:
            yield from self._compare_dropped(gone)
        for ref in stored.keys() - places.keys() if known else ():
            if ref not in self.forgotten:
                yield Fault(None, f"content {ref[:12]} belongs to no record")

    def _place_parts(self, trees: Mapping[Ref, Iterable[Ref] | None]) -> None:
        places = self.refs
        for ref, parts in trees.items():
            seq, name = places.get(ref, (None, ""))
            for part in parts or ():
                if part and not is_redacted(part) and seq is not None:
                    places.setdefault(part, (seq, name))
                    self._again[part] = max(self._again.get(part, 0), self._again.get(ref, seq))

    def _compare_dropped(self, gone: Sequence[Ref]) -> Iterator[Fault]:
        """Yield a fault where what is gone is not exactly what records say was dropped."""
        said = sum(count for _, count, _ in self._drops)
        total = sum(int(total, 16) for _, _, total in self._drops) % (1 << 256)
        if len(gone) != said or int(sum_refs(gone), 16) != total:
            yield Fault(
                None,
                f"{len(gone)} contents are gone that no record says were forgotten, and {said} were dropped: they "
                "are not the same",
            )


def check_rows(rows: Sequence[Row], progress: Callable[[int], None] = lambda _: None) -> Examination:
    """Follow the chain through `rows` and report every break."""
    examination = Examination(progress)
    examination.take(rows)
    examination.gather(rows)
    return examination


MOST: Final = 20
"""How many problems SQLite names at most."""
GOOD: Final = "ok"


def find_integrity_faults(database: Tables) -> Iterator[Fault]:
    """Yield what SQLite finds wrong with the file itself; a check that cannot be run is a fault too."""
    try:
        rows = database.run(f"PRAGMA integrity_check({MOST})")
    except JournalError as error:
        yield Fault(None, f"SQLite cannot check the file: {error.message}")
        return
    for (problem,) in rows:
        if problem != GOOD:
            yield Fault(None, f"SQLite's integrity_check: {' '.join(str(problem).split())}")
