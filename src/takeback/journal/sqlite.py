"""The default journal: one SQLite file, write-ahead, synced at every commit.

Writers of all processes are serialised by SQLite itself; `lock` additionally keeps them out across several
transactions. What is forgotten is overwritten in the file and in its write-ahead log.

Backups are noted, with their paths, in a file that the caller chooses outside of the project, so that what is
forgotten in the journal is forgotten in them too; a file counts as a copy only if it begins with the same record.
One that is gone, in use or damaged is named, because it may still hold what was forgotten.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from takeback.canonical import encode, parse_strict
from takeback.errors import JournalBusyError, JournalError, NotHeldError, TakebackError
from takeback.journal.content import Ref
from takeback.journal.record import RecentRecords
from takeback.journal.sql import (
    READ_VERSIONS,
    About,
    SqlDialect,
    SqlStore,
    begin_journal,
    note_erased,
    require_current_schema,
)
from takeback.journal.sqlite_files import (
    DRIVER_FAULTS,
    FileLock,
    ReadingCopy,
    can_write,
    has_any_bytes,
    has_bytes,
    make_private_file,
    make_uri,
    name_companion,
    note_connection,
    note_disconnection,
    put_in_place,
    require_journal_file,
    require_plain_file,
    translate_error,
)
from takeback.journal.store import MISSING_HINT, Copies, Erased, Options, describe_missing_journal, read_end

if TYPE_CHECKING:
    from takeback.journal.chain import ChainReport

DIALECT: Final = SqlDialect(number="INTEGER", text="TEXT", blob="BLOB", compact=" WITHOUT ROWID")
WAL_KEPT: Final = 4 << 20
"""Bytes of write-ahead log that are kept for the next transactions."""
ERASE_SECONDS: Final = 10.0
"""How long forgetting waits for other processes to finish reading."""
MANY_TRACES: Final = 64

GUARDS = tuple(
    f"CREATE TRIGGER IF NOT EXISTS records_no_{verb.lower()} BEFORE {verb} ON records "
    "BEGIN SELECT RAISE(ABORT, 'journal records are never changed'); END"
    for verb in ("UPDATE", "DELETE")
)


class SqliteStore(SqlStore):
    """A journal in a SQLite file; safe for threads and processes."""

    copies: Copies | None = None
    """In which copies what is forgotten goes as well; None where none are known of."""

    @property
    def reads_late(self) -> bool:
        """Whether contents may be read long after the record that names them: they are near, and not sealed."""
        return self._keys is None

    def __init__(self, path: Path, options: Options) -> None:
        self._path = path
        self.location = str(path)
        self._options = options
        self._voucher = options.voucher
        self._mutex = threading.RLock()
        self._recent = RecentRecords()
        self._ready = False
        self._copy: ReadingCopy | None = None
        self._lock = FileLock(name_companion(path, ".lock"), self.location)
        require_plain_file(path)
        fresh = not path.exists()
        if fresh and (not options.create or options.readonly):
            raise JournalError(describe_missing_journal(self.location), hint=MISSING_HINT)
        self.readonly = not fresh and (options.readonly or not can_write(path))
        with self._faults():
            if fresh:
                self._make()
            elif options.readonly:
                self._copy = ReadingCopy(path, untouched=True)
            require_journal_file(path if self._copy is None else self._copy.path)
        self._opened_file = self._file()
        note_connection(self._opened_file)
        try:
            with self._faults():
                self._connection = self._connect()
        except BaseException:
            note_disconnection(self._opened_file)
            raise
        self._closed = False
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    @classmethod
    def open_at(cls, where: str, options: Options) -> SqliteStore:
        """Open the journal at a path, or at `sqlite://` and a path."""
        return cls(Path(where.removeprefix("sqlite://")), options)

    def _make(self) -> None:
        """Make a journal without records, whole or not at all; one process at a time."""
        with self.lock(self._options.timeout):
            if not self._path.exists():
                made = make_private_file(self._path)
                with closing(sqlite3.connect(made, isolation_level=None)) as self._connection, self.transaction():
                    begin_journal(self, DIALECT, seal=self._options.seal)
                    self._guard()
                put_in_place(made, self._path)

    def _connect(self) -> sqlite3.Connection:
        timeout = self._options.timeout
        if self.readonly and self._copy is None:
            self._copy = ReadingCopy(self._path)
        name = make_uri(self._path, "mode=rw") if self._copy is None else self._copy.uri
        return sqlite3.connect(name, timeout=timeout, isolation_level=None, check_same_thread=False, uri=True)

    def _open(self) -> None:
        if self.readonly:
            self.run("PRAGMA query_only=ON")
            self.run("PRAGMA trusted_schema=OFF")
            require_current_schema(self.run(READ_VERSIONS), self.location)
            self._use(self._find_keys, untouched=self._options.readonly)
            return
        require_current_schema(self.run(READ_VERSIONS), self.location)
        if self._voucher is not None:  # before anything of a journal that may be a stranger's is acted on
            with self.snapshot():
                end = read_end(self)
            self._voucher.demand_vouched(end)
        self._prepare()
        about = self._use(self._find_keys)
        self._ready = True
        self._finish_erasing(about)

    def _find_keys(self, journal: str) -> Path:
        del journal
        return name_companion(self._path, ".keys")

    def _prepare(self) -> None:
        with self._faults():
            mode = self._connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            if mode != "wal":
                raise JournalError(f"{self.location}: SQLite cannot use write-ahead logging here (got {mode!r})")
            for pragma in ("synchronous=FULL", "secure_delete=ON", f"journal_size_limit={WAL_KEPT}"):
                self._connection.execute(f"PRAGMA {pragma}")

    def _guard(self) -> None:
        for guard in GUARDS:
            self.run(guard)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except DRIVER_FAULTS as error:
            raise translate_error(error, f"the journal {self.location}") from error

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        with self._mutex:
            try:
                return self._connection.execute(sql, parameters).fetchall()
            except DRIVER_FAULTS as error:
                raise translate_error(error, f"the journal {self.location}") from error

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._mutex:
            try:
                self._connection.executemany(sql, rows)
            except DRIVER_FAULTS as error:
                raise translate_error(error, f"the journal {self.location}") from error

    def transaction(self) -> AbstractContextManager[None]:
        """Enter a write transaction; nested ones belong to the outermost."""
        return self._nest_transaction("BEGIN IMMEDIATE")

    def snapshot(self) -> AbstractContextManager[None]:
        return self._nest_transaction("BEGIN")

    def _commit(self) -> None:
        self.run("COMMIT")

    def _has_begun(self) -> bool:
        return self._connection.in_transaction

    def _take_lock(self, timeout: float, deadline: float) -> None:
        self._lock.acquire(deadline, timeout)
        if self._ready:
            self._note_head()

    def _release_lock(self) -> None:
        self._lock.release()

    def assert_held(self) -> None:
        if not self._locks or not self._lock.is_held() or self._file() != self._opened_file:
            raise NotHeldError(f"the lock of the journal {self.location} was lost; nothing more was done")
        self._require_same_head()

    def _file(self) -> tuple[int, int]:
        try:
            stat = self._path.stat(follow_symlinks=False)
        except OSError:
            return (0, 0)
        return (stat.st_dev, stat.st_ino)

    def forget(self, refs: Sequence[Ref]) -> Erased:
        """Delete contents permanently, in the known copies too, unless those are sealed and lose their keys."""
        done = super().forget(refs)
        if self.copies is None or self._keys is not None:
            return done
        left = self.copies.forget(sorted(set(refs)), next(self.records(1)).digest)
        return replace(done, lingering="\n".join(filter(None, (done.lingering, *left))))

    def _erase_traces(self, refs: Sequence[Ref], traces: Sequence[bytes], seq: int, *, shrink: bool = False) -> str:
        lingering = "" if self._keys is None else self._keys.drop(refs)
        lingering = lingering or self._truncate_wal()
        if not lingering and (shrink or self._has_left_copies(traces)):
            self.run("VACUUM")
            lingering = self._truncate_wal()
        if not lingering:
            with self.transaction():
                note_erased(self, seq)
        return lingering

    def _finish_erasing(self, about: About) -> None:
        """Rewrite everything where a process killed while forgetting may have left copies behind."""
        last = self.latest("forget")
        if last is not None and last.seq > about.erased:
            with suppress(JournalBusyError), self.lock(0):  # whoever holds the lock may be about to do it
                if self._keys is not None:
                    self._keys.drop(self._contents.list_idle_keys() if last.dropped else last.forgotten)
                self.run("VACUUM")
                if not self._truncate_wal():
                    with self.transaction():
                        note_erased(self, last.seq)

    def _truncate_wal(self) -> str:
        """Empty the write-ahead log; what is in the way, if something still reads from it."""
        seconds = min(ERASE_SECONDS, self._options.timeout)
        self.run(f"PRAGMA busy_timeout={int(seconds * 1000)}")
        try:
            (busy, *_) = self.run("PRAGMA wal_checkpoint(TRUNCATE)")[0]
        finally:
            self.run(f"PRAGMA busy_timeout={int(self._options.timeout * 1000)}")
        if not busy:
            return ""
        return (
            f"another process is reading {self.location}: its write-ahead log keeps what was deleted until that ends "
            "and the journal is opened again"
        )

    def _has_left_copies(self, traces: Sequence[bytes]) -> bool:
        """Tell whether a copy of deleted rows is still in the file: SQLite moves rows when it balances pages."""
        if len(traces) > MANY_TRACES:
            return True
        if not traces or not has_bytes(self._path):
            return False
        return has_any_bytes(self._path, traces)

    def check(self, progress: Callable[[int], None] = lambda _: None) -> ChainReport:
        from takeback.journal.chain import find_integrity_faults  # noqa: PLC0415 - start-up

        return super().check(progress).with_faults(find_integrity_faults(self))

    def measure_size(self) -> int:
        places = (self._path, name_companion(self._path, "-wal"))
        return sum(place.stat().st_size for place in places if place.exists())

    def close(self) -> None:
        with self._mutex:
            with suppress(*DRIVER_FAULTS):
                self._connection.close()
            if not self._closed:
                self._closed = True
                note_disconnection(self._opened_file)
        if self._keys is not None:
            self._keys.close()
        if self._copy is not None:
            self._copy.close()


class KeptCopies(Copies):
    """The copies of one journal that this user has."""

    def __init__(self, journal: Path, note: Path) -> None:
        self._journal = journal
        self._note = note

    def note_copy(self, copy: Path) -> None:
        """Remember a backup."""
        self._write([*self._read(), str(copy.absolute())])

    def list_paths(self) -> list[Path]:
        stem, suffix = self._journal.stem, self._journal.suffix
        return [*sorted(self._journal.parent.glob(f"{stem}-replaced-*{suffix}")), *map(Path, self._read())]

    def forget(self, refs: Sequence[Ref], first: str) -> tuple[str, ...]:
        return tuple(self._forget_in_each(refs, first))

    def _forget_in_each(self, refs: Sequence[Ref], first: str) -> Iterator[str]:
        gone = []
        for path in self.list_paths():
            if not path.is_file() or path.is_symlink():
                gone.append(str(path))
                yield f"the backup {path} is not there any more: if it was moved, it still holds what was forgotten"
                continue
            try:
                yield from _forget_in(path, refs, first)
            except TakebackError as fault:
                yield f"the copy {path} may still hold what was forgotten: {fault.message}"
        if gone:
            self._write([path for path in self._read() if path not in gone])

    def _read(self) -> list[str]:
        try:
            note = parse_strict(self._note.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return []
        return [path for path in note if isinstance(path, str)] if isinstance(note, list) else []

    def _write(self, paths: Sequence[str]) -> None:
        self._note.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside = self._note.with_name(f"{self._note.name}.new")
        beside.write_text(encode(list(dict.fromkeys(paths)), ascii_only=True), encoding="utf-8")
        beside.replace(self._note)


def _forget_in(path: Path, refs: Sequence[Ref], first: str) -> Iterator[str]:
    """Forget contents in one copy; yield where they linger."""
    with closing(SqliteStore(path, Options(create=False))) as store:
        if next(iter(store.records(1))).digest != first:
            return
        there = sorted(ref for ref, content in store.contents(refs).items() if content is not None)
        lingering = store.forget(there).lingering if there else ""
    with suppress(OSError):
        os.unlink(name_companion(path, ".lock"))
    if lingering:
        yield lingering
