"""A journal kept in this process only: the reference for the other stores.

Everything in lists and dictionaries, with the same chain, checks and errors; gone with the process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import TracebackType

from takeback.errors import JournalBusyError, JournalCorruptError, NotHeldError, StaleHeadError, UnknownEntryError
from takeback.journal.chain import ChainReport, check_rows
from takeback.journal.content import ContentStore, Ref, Stored, Wanted, compute_content_id, is_redacted, make_salt
from takeback.journal.failpoint import failpoint
from takeback.journal.key_index import iter_keys_above
from takeback.journal.record import ENTRY_KINDS, ROOT, Draft, Record, Row, chain_draft, decode_row, require_known_kind
from takeback.journal.store import FIND_LIMIT, CaptureFilter, Erased, Options, Store, draft_drop, format_now


class MemoryContents(ContentStore):
    """Contents in dictionaries."""

    def __init__(self) -> None:
        self.stored: dict[Ref, tuple[bytes, Stored] | None] = {}
        self._lookups: dict[bytes, Ref] = {}
        self._keys: dict[Ref, bytes] = {}

    def find_refs(self, lookups: Sequence[bytes]) -> Mapping[bytes, Ref]:
        return {key: self._lookups[key] for key in lookups if key in self._lookups}

    def take_contents(self, wanted: Sequence[Wanted]) -> Sequence[Ref]:
        refs = []
        for key, data, tree in wanted:
            salt = make_salt()
            ref = compute_content_id(salt, (data,), tree=tree)
            self.stored[ref] = (salt, Stored(data, tree))
            self._lookups[key], self._keys[ref] = ref, key
            refs.append(ref)
        return refs

    def drop(self, ref: Ref) -> None:
        """Forget one."""
        self.stored[ref] = None
        key = self._keys.pop(ref, None)
        if key is not None:
            del self._lookups[key]


class MemoryLock:
    """Keeps other threads out while it is entered."""

    reentrant = True
    """It may be entered any number of times, also while it is held."""
    __slots__ = ("_mutex", "timeout")

    def __init__(self, mutex: threading.RLock, timeout: float) -> None:
        self._mutex = mutex
        self.timeout = timeout

    def __enter__(self) -> None:
        if not self._mutex.acquire(False) and not self._mutex.acquire(timeout=self.timeout):
            raise JournalBusyError(f"another thread held the journal for more than {self.timeout:g} s")

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._mutex.release()


class MemoryStore(Store):
    """Records in lists; safe for threads, gone with the process."""

    location = ":memory:"
    readonly = False
    capture: CaptureFilter | None = None
    """What decides which contents are not stored; None if all are."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._records: list[Record] = []
        self._by_id: dict[str, Record] = {}
        self._entries: list[Record] = []
        self._latest: dict[str, Record] = {}
        self._shelf = MemoryContents()
        self._touching: dict[str, list[int]] = {}
        self._below: dict[str, list[int]] = {}
        self._dropped = False
        self._mutex = threading.RLock()

    def set_capture(self, capture: CaptureFilter) -> None:
        self.capture = capture
        self._shelf.withhold = capture.withhold

    @property
    def mutex(self) -> threading.RLock:
        """What keeps other threads out; `lock` takes it too."""
        return self._mutex

    @classmethod
    def open_at(cls, where: str, options: Options) -> MemoryStore:
        """Return a new store every time."""
        del where, options
        return cls()

    def append(self, drafts: Sequence[Draft], *, expect: str | None = None) -> tuple[Record, ...]:
        with self._mutex:
            prev = self._rows[-1].digest if self._rows else ROOT
            if expect is not None and expect != prev:
                raise StaleHeadError(f"the journal has moved on: its head is {prev[:12]}, not {expect[:12]}")
            failpoint("journal.append.begin")
            rows: list[Row] = []
            number = len(self._entries) + 1
            for draft in drafts:
                require_known_kind(draft)
                entry = number if draft.kind in ENTRY_KINDS else None
                number += entry is not None
                seq = len(self._rows) + len(rows) + 1
                refs = self._shelf.put(draft.contents)
                row = chain_draft(
                    draft, refs, seq=seq, number=entry, touched=ROOT, created_at=format_now(), prev=prev
                )
                rows.append(row)
                prev = row.digest
            failpoint("journal.append.inserted")
            added = tuple(self._add(row) for row in rows)
            failpoint("journal.append.done")
            return added

    def _add(self, row: Row) -> Record:
        record = decode_row(row)
        self._rows.append(row)
        self._records.append(record)
        self._by_id[record.digest] = record
        self._latest[record.kind] = record
        if record.number is not None:
            self._entries.append(record)
            above: dict[str, None] = {}
            for key in record.touches:
                self._touching.setdefault(key, []).append(record.number)
                above.update(dict.fromkeys(iter_keys_above(key)))
            for key in above:
                self._below.setdefault(key, []).append(record.number)
        return record

    def head(self) -> Record | None:
        return self._records[-1] if self._records else None

    def record(self, seq: int) -> Record:
        if not 1 <= seq <= len(self._records):
            raise UnknownEntryError(f"there is no record {seq}; the journal holds {len(self._records)}")
        return self._records[seq - 1]

    def get(self, number: int) -> Record:
        if not 1 <= number <= len(self._entries):
            raise UnknownEntryError(f"there is no entry #{number}; the journal holds {len(self._entries)}")
        return self._entries[number - 1]

    def many(self, numbers: Sequence[int]) -> Iterator[Record]:
        return map(self.get, numbers)

    def find(self, prefix: str) -> tuple[Record, ...]:
        whole = self._by_id.get(prefix)
        if whole is not None:
            return (whole,)
        records = (record for record in self._records if record.digest.startswith(prefix))
        return tuple(record for record, _ in zip(records, range(FIND_LIMIT), strict=False))

    def records(self, start: int = 1, *, reverse: bool = False) -> Iterator[Record]:
        high = len(self._records)
        if start > high:
            return iter(())
        low = max(start - 1, 0)
        numbers = range(high - 1, low - 1, -1) if reverse else range(low, high)
        return map(self._records.__getitem__, numbers)

    def latest(self, kind: str, before: int | None = None) -> Record | None:
        if before is None:
            return self._latest.get(kind)
        return next((r for r in reversed(self._records[: max(before - 1, 0)]) if r.kind == kind), None)

    def touching(self, key: str, *, below: bool = False) -> tuple[int, ...]:
        return tuple((self._below if below else self._touching).get(key, ()))

    def contents(self, refs: Iterable[Ref]) -> dict[Ref, Stored | None]:
        contents: dict[Ref, Stored | None] = {}
        for ref in refs:
            if ref not in self._shelf.stored and not self._dropped and not is_redacted(ref):
                raise JournalCorruptError(f"content {ref[:12]} is not in the journal")
            held = self._shelf.stored.get(ref)
            contents[ref] = None if held is None else held[1]
        return contents

    def every_content(self) -> Iterator[tuple[Ref, Stored]]:
        return ((ref, held[1]) for ref, held in tuple(self._shelf.stored.items()) if held is not None)

    def forget(self, refs: Sequence[Ref]) -> Erased:
        with self._mutex:
            self.contents(refs)
            (record,) = self.append([Draft("forget", {"contents": sorted(set(refs))})])
            for ref in refs:
                self._shelf.drop(ref)
            return Erased(record)

    def drop(self, refs: Sequence[Ref], named: Collection[Ref]) -> Erased:
        with self._mutex:
            self.contents(refs)
            (record,) = self.append([draft_drop(len(self._rows), named)])
            gone = {*refs, *(ref for ref, held in self._shelf.stored.items() if held is None)}
            for ref in gone:
                self._shelf.drop(ref)
                del self._shelf.stored[ref]
            self._dropped = True
            return Erased(record)

    def lock(self, timeout: float = 30.0) -> MemoryLock:
        return MemoryLock(self._mutex, timeout)

    def assert_held(self) -> None:
        if not self._mutex._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001 - an RLock tells no other way
            raise NotHeldError("the journal is not locked")

    def check(self, progress: Callable[[int], None] = lambda _: None) -> ChainReport:
        examination = check_rows(self._rows, progress)
        stored = {
            ref: None if held is None else compute_content_id(held[0], (held[1].data,), tree=held[1].tree)
            for ref, held in self._shelf.stored.items()
        }
        trees = {ref: held.open_tree()[0] for ref, held in self.every_content() if held.tree}
        return examination.report().with_faults(examination.find_content_faults(stored, trees))

    def measure_size(self) -> int:
        return 0

    def close(self) -> None: ...
