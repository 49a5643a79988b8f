"""The tables of a stored journal, and the statements that SQLite and PostgreSQL stores share.

`schema_version` says which version of the tables a journal has; any other than the present one is refused. A
subclass of `SqlStore` supplies `run`, `run_many`, `transaction` (which serialises writers) and `snapshot` (in
which all reads see one moment) and translates its driver's errors. Statements are written with `?` for parameters.
"""

from __future__ import annotations

import threading
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import (
    JournalBusyError,
    JournalCorruptError,
    JournalError,
    NotHeldError,
    StaleHeadError,
    UnknownEntryError,
)
from takeback.journal.content import Ref, Stored, guard_against_corruption
from takeback.journal.contents_table import ContentTable
from takeback.journal.failpoint import failpoint
from takeback.journal.key_index import BELOW, KeyIndex, Tables
from takeback.journal.record import (
    COLUMNS,
    ENTRY_KINDS,
    ROOT,
    Draft,
    RecentRecords,
    Record,
    Row,
    chain_draft,
    decode_row,
    open_row,
    read_row,
    read_touches,
    require_known_kind,
    require_unaltered,
)
from takeback.journal.store import (
    FIND_LIMIT,
    CaptureFilter,
    Erased,
    Options,
    Store,
    Voucher,
    draft_drop,
    format_now,
    write_word,
)
from takeback.progress import report_progress

if TYPE_CHECKING:
    from takeback.journal.chain import ChainReport, Examination, Fault
    from takeback.journal.encryption import KeyFile

CURRENT: Final = 3
"""The version of the tables that is written and read; earlier ones were never released."""


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """Column types: a whole number, a text that sorts by code point (index ranges rely on that), bytes."""

    number: str
    text: str
    blob: str
    compact: str = ""
    """What makes a table lie in its primary key, where that is to be said."""


RARE_KINDS: Final = ("checkpoint", "forget")
RARE: Final = "kind IN ('checkpoint', 'forget')"
"""Records that are looked for among many others; a statement must say exactly this to be given their index."""

TABLES: Final = (
    """CREATE TABLE records (
        seq {number} PRIMARY KEY, entry {number} UNIQUE, kind TEXT NOT NULL, created_at TEXT NOT NULL,
        payload TEXT NOT NULL, contents TEXT NOT NULL, touched TEXT NOT NULL, prev TEXT NOT NULL,
        digest {text} NOT NULL UNIQUE)""",
    f"CREATE INDEX rare_records ON records (kind, seq) WHERE {RARE}",
    """CREATE TABLE contents (
        id {text} PRIMARY KEY, tree INTEGER NOT NULL, salt {blob}, lookup {blob}, body {blob}, forgotten {number})""",
    "CREATE INDEX contents_by_lookup ON contents (lookup) WHERE lookup IS NOT NULL",
    "CREATE TABLE pieces (id {text} NOT NULL, at INTEGER NOT NULL, body {blob} NOT NULL, PRIMARY KEY (id, at))",
    """CREATE TABLE touches (
        key {text} NOT NULL, entry {number} NOT NULL, times INTEGER NOT NULL, PRIMARY KEY (key, entry)){compact}""",
    "CREATE TABLE touched_keys (key {text} PRIMARY KEY, bucket INTEGER NOT NULL, digest TEXT NOT NULL)",
    "CREATE INDEX touched_keys_by_bucket ON touched_keys (bucket)",
    "CREATE TABLE touched_buckets (bucket INTEGER PRIMARY KEY, total TEXT NOT NULL)",
    "CREATE TABLE about (name {text} PRIMARY KEY, value TEXT NOT NULL)",
)
VERSIONS: Final = "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, migrated_at TEXT NOT NULL)"

READ_VERSIONS: Final = "SELECT version FROM schema_version"


def create_tables(tables: Tables, dialect: SqlDialect) -> None:
    """Make the tables, without a row."""
    tables.run(VERSIONS)
    for statement in TABLES:
        tables.run(
            statement.format(number=dialect.number, text=dialect.text, blob=dialect.blob, compact=dialect.compact)
        )


def begin_journal(tables: Tables, dialect: SqlDialect, *, seal: bool) -> None:
    """Make the tables, and say what a new journal is."""
    create_tables(tables, dialect)
    tables.run("INSERT INTO schema_version (version, migrated_at) VALUES (?, ?)", (CURRENT, format_now()))
    about = {"journal": uuid.uuid4().hex, "sealed": "1" if seal else "0", "erased": "0"}
    tables.run_many("INSERT INTO about (name, value) VALUES (?, ?)", about.items())


def require_current_schema(rows: Sequence[Sequence[Any]], location: str) -> None:
    """Refuse a journal whose `schema_version` rows name another layout than the one this Takeback writes."""
    versions = [row[0] for row in rows]
    if not versions or not all(type(version) is int and version > 0 for version in versions):
        raise JournalCorruptError(f"the journal {location} does not say which layout it has")
    version = max(versions)
    if version != CURRENT:
        older = (
            "it was never released: 'takeback leave --export DIR' moves the journal away, 'takeback init' begins one"
        )
        raise JournalError(
            f"the journal {location} has layout {version}, and this Takeback reads layout {CURRENT} only; nothing "
            "was changed",
            hint=older if version < CURRENT else "use the newer Takeback that wrote it",
        )


@dataclass(frozen=True, slots=True)
class About:
    """What a journal says of itself."""

    journal: str
    """A random name, which its key file knows."""
    sealed: bool
    erased: int
    """The last `forget` record after which nothing was left lying around."""


def read_about(tables: Tables, location: str) -> About:
    """Return what a journal's tables say about the journal."""
    rows = dict(tables.run("SELECT name, value FROM about"))
    journal, sealed, erased = rows.get("journal"), rows.get("sealed"), rows.get("erased")
    if not isinstance(journal, str) or sealed not in {"0", "1"} or not str(erased).isdecimal():
        raise JournalCorruptError(f"the journal {location} does not say what it is")
    return About(journal, sealed == "1", int(str(erased)))


def note_erased(tables: Tables, seq: int) -> None:
    """Note that nothing is left of what was forgotten up to a record."""
    tables.run("UPDATE about SET value = ? WHERE name = 'erased'", (str(seq),))


PAGE: Final = 500
FIRST_PAGE: Final = 50
LARGE_PAGE: Final = 2000
_INSERT = f"INSERT INTO records ({COLUMNS}) VALUES ({', '.join('?' * 9)})"  # noqa: S608 - a constant

_LAST = "FROM records ORDER BY seq DESC LIMIT 1"
_END = f"SELECT {COLUMNS}, (SELECT MAX(entry) FROM records) {_LAST}"  # noqa: S608 - a constant


class SqlStore(Store, ABC):
    """A journal in the tables of `journal/sql.py`."""

    location: str = ""
    journal_id: str = ""
    """The random name of the journal, which no other has."""
    readonly: bool = False
    _contents: ContentTable
    _index: KeyIndex
    _keys: KeyFile | None = None
    _options: Options
    _held: tuple[int, str, str] | None = None
    """Head of the journal as it must be while this process holds the lock: place, digest, digest of the index."""
    _locks: int = 0
    _mutex: threading.RLock
    """Keeps other threads out; re-entrant."""
    _recent: RecentRecords
    _voucher: Voucher | None = None
    """What writes the word for the journal's end; None where none is kept."""
    capture: CaptureFilter | None = None
    """What decides which contents are not stored; None if all are."""
    _dropped: bool = False
    """Whether a record was seen that says that contents were dropped with their ids."""
    _depth: int = 0
    """How many transactions and snapshots have been entered."""

    def _use(self, find_keys: Callable[[str], Path], *, untouched: bool = False) -> About:
        """Take up what the journal says of itself; its keys are where the options say, or where they are found."""
        about = read_about(self, self.location)
        self.journal_id = about.journal
        if about.sealed and self._keys is None:
            from takeback.journal.encryption import KeyFile  # noqa: PLC0415 - start-up

            path, seconds = self._options.keys or find_keys(about.journal), self._options.timeout
            fresh = not self.readonly and not self.run(
                "SELECT 1 FROM contents LIMIT 1"
            )  # later it would read nothing
            self._keys = KeyFile(
                path, about.journal, create=fresh, readonly=self.readonly, untouched=untouched, timeout=seconds
            )
        self._contents = ContentTable(
            self, self._keys, self._is_forgotten_by, self._has_dropped_contents, self.location
        )
        self._index = KeyIndex(self, self.location)
        return about

    def set_capture(self, capture: CaptureFilter) -> None:
        self.capture = capture
        self._contents.withhold = capture.withhold

    @property
    def mutex(self) -> threading.RLock:
        """What keeps this process's other threads out; `lock` takes it too."""
        return self._mutex

    @abstractmethod
    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Run one statement, and return its rows."""

    @abstractmethod
    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Enter a write transaction that excludes other processes; durable when the block ends."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Let reads inside the block see one moment."""

    @abstractmethod
    def _commit(self) -> None:
        """End the transaction, durably."""

    @abstractmethod
    def _has_begun(self) -> bool:
        """Return whether there may be a transaction to roll back."""

    @abstractmethod
    def _take_lock(self, timeout: float, deadline: float) -> None:
        """Keep other processes out, and note where the journal ends then."""

    @abstractmethod
    def _release_lock(self) -> None:
        """Let other processes in again."""

    @contextmanager
    def lock(self, timeout: float = 30.0) -> Iterator[None]:
        deadline = time.monotonic() + timeout
        if not self._mutex.acquire(timeout=timeout):
            raise JournalBusyError(f"another thread held the journal {self.location} for more than {timeout:g} s")
        try:
            if self._locks == 0 and not self.readonly:
                self._take_lock(timeout, deadline)
            self._locks += 1
            try:
                yield
            finally:
                self._locks -= 1
                if self._locks == 0 and not self.readonly:
                    self._release_lock()
        finally:
            self._mutex.release()

    @contextmanager
    def _nest_transaction(self, begin: str) -> Iterator[None]:
        with self._mutex:
            if self._depth == 0:
                self.run(begin)
            self._depth += 1
            try:
                yield
                if self._depth == 1:
                    self._commit()
            except BaseException:
                if self._depth == 1 and self._has_begun():
                    with suppress(JournalError):
                        self.run("ROLLBACK")
                raise
            finally:
                self._depth -= 1

    @abstractmethod
    def _erase_traces(self, refs: Sequence[Ref], traces: Sequence[bytes], seq: int, *, shrink: bool = False) -> str:
        """See that nothing is left of deleted rows; where something may linger, if anywhere.

        With `shrink`, their place is given back as well.
        """

    def append(self, drafts: Sequence[Draft], *, expect: str | None = None) -> tuple[Record, ...]:
        if self.readonly:
            raise JournalError(f"the journal {self.location} can only be read here; nothing was changed")
        for draft in drafts:
            require_known_kind(draft)
        added: list[Record] = []
        with self._mutex:
            self._append(drafts, expect, added)
        failpoint("journal.append.done")
        return tuple(added)

    def _append(self, drafts: Sequence[Draft], expect: str | None, added: list[Record]) -> None:
        with self.transaction():
            seq, prev, touched, number = self._end()
            if expect is not None and expect != prev:
                raise StaleHeadError(f"the journal has moved on: its head is {prev[:12]}, not {expect[:12]}")
            failpoint("journal.append.begin")
            self._contents.discard()
            for draft in drafts:
                seq += 1
                entry = number if draft.kind in ENTRY_KINDS else None
                record = self._insert(draft, seq, entry, touched, format_now(), prev)
                number += entry is not None
                touched, prev = record.touched, record.digest
                added.append(record)
            self._contents.flush()
            if added:
                write_word(self, self._voucher, self.journal_id, seq, prev)
            failpoint("journal.append.inserted")
        if self._locks and added:
            self._held = (seq, prev, touched)

    def _end(self) -> tuple[int, str, str, int]:
        """Return where the chain ends: number, digest, digest of the index, and the next entry's number."""
        rows = self.run(_END)
        if not rows:
            return 0, ROOT, ROOT, 1
        *values, number = rows[0]
        row = read_row(values)
        require_unaltered(row)
        with guard_against_corruption(f"the last record of {self.location}"):
            int(row.touched, 16)
            return row.seq, row.digest, row.touched, (number or 0) + 1

    def _insert(self, draft: Draft, seq: int, entry: int | None, touched: str, created_at: str, prev: str) -> Record:
        """Write one record at its place, with its contents and what it touches; inside a transaction."""
        refs = self._contents.put(draft.contents)
        keys = read_touches(draft.payload)
        after = self._index.add(entry, keys, touched) if entry is not None and keys else touched
        row = chain_draft(draft, refs, seq=seq, number=entry, touched=after, created_at=created_at, prev=prev)
        self.run(_INSERT, row)
        return decode_row(row)

    def _select(self, rest: str, parameters: Sequence[Any] = ()) -> list[Row]:
        return [read_row(row) for row in self.run(f"SELECT {COLUMNS} FROM records {rest}", parameters)]  # noqa: S608

    def head(self) -> Record | None:
        rows = self._select("ORDER BY seq DESC LIMIT 1")
        return open_row(rows[0]) if rows else None

    def record(self, seq: int) -> Record:
        known = self._recent.at(seq)
        if known is not None:
            return known
        rows = self._select("WHERE seq = ?", (seq,))
        if not rows:
            raise UnknownEntryError(f"there is no record {seq} in {self.location}")
        return self._record_in(rows[0])

    def get(self, number: int) -> Record:
        known = self._recent.entry(number)
        if known is not None:
            return known
        rows = self._select("WHERE entry = ?", (number,))
        if not rows:
            raise UnknownEntryError(f"there is no entry #{number} in {self.location}")
        return self._record_in(rows[0])

    def _record_in(self, row: Row) -> Record:
        """Return the record in a row, checked; what an open transaction may still take back is not kept."""
        record = open_row(row)
        return record if self._depth else self._recent.keep(record, row)

    def many(self, numbers: Sequence[int]) -> Iterator[Record]:
        for start in range(0, len(numbers), PAGE):
            part = numbers[start : start + PAGE]
            known = {number: self._recent.entry(number) for number in part}
            rest = [number for number, record in known.items() if record is None]
            marks = ",".join("?" * len(rest))
            rows = {row.entry: row for row in self._select(f"WHERE entry IN ({marks})", rest)} if rest else {}
            for number in part:
                record = known[number]
                if record is None and number not in rows:
                    raise UnknownEntryError(f"there is no entry #{number} in {self.location}")
                yield self._record_in(rows[number]) if record is None else record

    def find(self, prefix: str) -> tuple[Record, ...]:
        rows = self._select(
            f"WHERE digest >= ? AND digest < ? ORDER BY digest LIMIT {FIND_LIMIT}", (prefix, prefix + "g")
        )
        return tuple(sorted((open_row(row) for row in rows), key=lambda record: record.seq))

    def records(self, start: int = 1, *, reverse: bool = False) -> Iterator[Record]:
        for row in self._rows(start, reverse=reverse):
            yield open_row(row)

    def _rows(self, start: int, *, reverse: bool = False) -> Iterator[Row]:
        """Yield rows in pages, so that no reader holds a transaction open for long; the first page is short."""
        last: int | None = None
        size = FIRST_PAGE
        while True:
            if reverse:
                bound = "WHERE seq >= ?" + ("" if last is None else f" AND seq < {last}")
                page = self._select(f"{bound} ORDER BY seq DESC LIMIT {size}", (start,))
            else:
                page = self._select(
                    f"WHERE seq >= ? ORDER BY seq LIMIT {size}", (start if last is None else last + 1,)
                )
            yield from page
            if len(page) < size:
                return
            last, size = page[-1].seq, PAGE

    def latest(self, kind: str, before: int | None = None) -> Record | None:
        bound = "" if before is None else f" AND seq < {int(before)}"
        rare = f" AND {RARE}" if kind in RARE_KINDS else ""
        rows = self._select(f"WHERE kind = ?{rare}{bound} ORDER BY seq DESC LIMIT 1", (kind,))
        return open_row(rows[0]) if rows else None

    def touching(self, key: str, *, below: bool = False) -> tuple[int, ...]:
        name = f"{key}{BELOW}" if below else key
        with self._mutex:  # whether the lock is held says nothing to a thread that does not hold it
            if self._locks and self._held is not None:
                return self._index.entries(name, self._held[2])
            with self.snapshot():
                return self._index.entries(name, self._end()[2])

    def contents(self, refs: Iterable[Ref]) -> dict[Ref, Stored | None]:
        with self._mutex:  # a row and its key are read together
            return self._contents.get(refs)

    def contents_near(self, refs: Iterable[Ref], near: Sequence[bytes]) -> dict[Ref, Stored | None]:
        """Several contents at once; large ones that are the same as bytes that someone holds, as those."""
        with self._mutex:
            return self._contents.get(refs, near)

    @property
    def keyless(self) -> Mapping[Ref, str]:
        """What is known of contents that were asked for and whose keys are not here."""
        return self._contents.keyless

    @property
    def key_place(self) -> str:
        """Where the keys of sealed contents are looked for; empty where none are needed."""
        return self._contents.key_place

    def count_keyless(self) -> int:
        """Return how many contents are stored and sealed with keys that are not here."""
        with self._mutex:
            return self._contents.count_keyless()

    def every_content(self) -> Iterator[tuple[Ref, Stored]]:
        return self._contents.every_content()

    def _is_forgotten_by(self, seq: int, ref: Ref) -> bool:
        try:
            record = self.record(seq)
        except UnknownEntryError:
            return False
        return record.kind == "forget" and ref in record.forgotten

    def forget(self, refs: Sequence[Ref]) -> Erased:
        every = sorted(set(refs))
        with self.transaction():
            self._contents.get(every)
            traces = self._contents.traces(every)
            (record,) = self.append([Draft("forget", {"contents": every})])
            self._contents.forget(every, record.seq)
        return Erased(record, self._erase_traces(every, traces, record.seq))

    def _has_dropped_contents(self) -> bool:
        """Tell whether a record says that contents were dropped with their ids."""
        record = None if self._dropped else self.latest("forget")
        while record is not None and record.dropped is None:
            record = self.latest("forget", record.seq)
        self._dropped = self._dropped or record is not None
        return self._dropped

    def drop(self, refs: Sequence[Ref], named: Collection[Ref]) -> Erased:
        every = sorted(set(refs))
        with self.transaction():
            self._contents.get(every)
            (record,) = self.append([draft_drop(self._end()[0], named)])
            self._contents.drop(every)
        return Erased(record, self._erase_traces(every, (), record.seq, shrink=True))

    def _require_same_head(self) -> None:
        """Refuse unless the journal ends where it did when this process last read or wrote it under the lock."""
        if self._held != self._end()[:3]:
            raise NotHeldError(f"another process has written to the journal {self.location}; nothing more was done")

    def _note_head(self) -> None:
        self._held = self._end()[:3]

    def check(self, progress: Callable[[int], None] = lambda _: None) -> ChainReport:
        from takeback.journal.chain import Examination, Fault  # noqa: PLC0415 - start-up

        examination = Examination(progress)
        faults: list[Fault] = []
        try:
            with self.snapshot():
                try:
                    examination = self.check_chain(progress)
                except JournalError as error:
                    faults.append(Fault(error.seq if isinstance(error, JournalCorruptError) else None, error.message))
                    examination = self._salvage_examination(progress)
                for page in self._pages("contents <> '{}' OR kind IN ('forget', 'apply', 'adopt', 'salvage')"):
                    examination.gather(map(read_row, page))
                faults.extend(examination.find_content_faults(*self._contents.compute_digest()))
                known = None if examination.sound else examination.entries
                for entry, problem in self._index.faults(examination.touches, examination.touched, known):
                    faults.append(Fault(self._find_seq(entry), problem))
        except JournalError as error:
            faults.append(Fault(None, error.message))
        return examination.report().with_faults(faults)

    def check_chain(self, progress: Callable[[int], None] = lambda _: None) -> Examination:
        """Follow the hash chain through all records, and nothing else."""
        from takeback.journal.chain import Examination  # noqa: PLC0415 - start-up

        examination = Examination(progress)
        last = self.run("SELECT max(seq) FROM records")[0][0]
        for page in self._pages():
            examination.take(page)
            if page:
                report_progress("records checked", page[-1][0], last)
        return examination

    def _pages(self, which: str = "1 = 1") -> Iterator[list[Any]]:
        last = 0
        while True:
            sql = f"SELECT {COLUMNS} FROM records WHERE seq > ? AND ({which}) ORDER BY seq LIMIT {LARGE_PAGE}"  # noqa: S608
            page = self.run(sql, (last,))
            yield page
            if len(page) < LARGE_PAGE:
                return
            last = page[-1][0]

    def _find_seq(self, entry: int | None) -> int | None:
        rows = [] if entry is None else self.run("SELECT seq FROM records WHERE entry = ?", (entry,))
        return rows[0][0] if rows else None

    def _salvage_examination(self, progress: Callable[[int], None]) -> Examination:
        from takeback.journal.chain import Examination  # noqa: PLC0415 - start-up

        examination = Examination(progress)
        examination.complete = False
        seq = 0
        try:
            while rows := self._select("WHERE seq = ?", (seq := seq + 1,)):
                examination.take(rows)
        except JournalError:
            pass
        return examination
