"""Copies of a SQLite journal: taken while it is in use, put in its place, built anew from its records, or salvaged.

A copy is one file, readable by its owner only, and is read back and checked before it gets its name. Whatever is
replaced is kept beside the journal. What can be worked out from the records (the index of touched keys, SQLite's
own indexes) is built anew; records and contents are only copied. Of a file that was cut short, a copy is padded to
the length that its header promises, and read up to the first record that is gone.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Final

from takeback.errors import InputError, JournalCorruptError, JournalError
from takeback.journal.chain import ChainReport, Fault, check_rows
from takeback.journal.key_index import KeyIndex
from takeback.journal.record import COLUMNS, ROOT, Row, open_row, read_row
from takeback.journal.sql import create_tables
from takeback.journal.sqlite import DIALECT, GUARDS, SqliteStore
from takeback.journal.sqlite_files import (
    DRIVER_FAULTS,
    ConnectedFile,
    FileLock,
    ReadingCopy,
    copy_file,
    make_private_file,
    make_uri,
    name_companion,
    put_in_place,
    translate_error,
)
from takeback.journal.store import Options, Voucher, open_journal

SECONDS: Final = 60.0
BATCH: Final = 200
COPIED: Final = {
    "contents": ("id", "tree", "salt", "lookup", "body", "forgotten"),
    "pieces": ("id", "at", "body"),
    "about": ("name", "value"),
    "schema_version": ("version", "migrated_at"),
}
"""Tables that are copied row by row, beside the records."""


@dataclass(frozen=True, slots=True)
class CheckedCopy:
    """A copy of a journal that was read back, whole."""

    path: Path
    records: int
    head: str
    """Digest of its last record."""


def copy_journal(source: Path, target: Path, keys: Path | None = None) -> CheckedCopy:
    """Copy a journal, also one that is being written to, and read the copy back before it gets its name."""
    return make_checked_copy(target, keys, lambda made: copy_database(source, made))


def make_checked_copy(target: Path, keys: Path | None, fill: Callable[[Path], None]) -> CheckedCopy:
    """Let `fill` write a journal into an empty file, and read that back before it gets its name."""
    _require_free_target(target)
    made = make_private_file(target)
    try:
        fill(made)
        checked = check_copy(made, keys)
        put_copy(made, target)
    except BaseException:
        discard_copy(made)
        raise
    return CheckedCopy(target, checked.records, checked.head)


def _require_free_target(target: Path) -> None:
    """Refuse a target that is there already, or whose folder is not."""
    if not target.parent.is_dir():
        raise InputError(str(target), found="no such folder", expected="a file in a folder that is there")
    if os.path.lexists(target):
        raise InputError(str(target), found="something that is there already", expected="the name of a new file")


def copy_database(source: Path, made: Path) -> None:
    """Write what a journal holds at one moment into an empty file, through SQLite, which knows what is committed."""
    reading = ReadingCopy(source)
    try:
        with closing(sqlite3.connect(reading.uri, uri=True)) as reader, closing(sqlite3.connect(made)) as writer:
            reader.backup(writer)
            writer.execute("PRAGMA journal_mode=DELETE")
    except DRIVER_FAULTS as error:
        raise translate_error(error, f"the journal {source}") from error
    finally:
        reading.close()


def check_copy(path: Path, keys: Path | None = None) -> CheckedCopy:
    """Read a copy whole: chain, contents, index, and SQLite's own check; raise what is wrong with it."""
    with closing(SqliteStore(path, Options(create=False, readonly=True, keys=keys))) as store:
        report = store.check()
    if not report.whole or report.head is None:
        problem = report.faults[0].problem if report.faults else "it holds no records"
        raise JournalCorruptError(f"{path} is no whole journal: {problem}; nothing was changed")
    return CheckedCopy(path, report.records, report.head)


def rebuild_journal(source: Path, made: Path) -> None:
    """Rewrite a journal into an empty file, with every index built from the records; raise if records are lost."""
    reading = ReadingCopy(source)
    try:
        with (
            closing(sqlite3.connect(reading.uri, uri=True)) as reader,
            closing(sqlite3.connect(made, isolation_level=None)) as writer,
        ):
            writer.execute("BEGIN")
            create_tables(ConnectedFile(writer), DIALECT)
            for table, columns in COPIED.items():
                _copy_rows(reader, writer, table, columns)
            _copy_records(reader, writer, source)
            for guard in GUARDS:
                writer.execute(guard)
            writer.execute("COMMIT")
    except DRIVER_FAULTS as error:
        raise JournalCorruptError(
            f"records or contents of {source} cannot be read ({error}); nothing was changed"
        ) from error
    finally:
        reading.close()


def _copy_rows(reader: sqlite3.Connection, writer: sqlite3.Connection, table: str, columns: Sequence[str]) -> None:
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    cursor = reader.execute(f"SELECT {names} FROM {table} NOT INDEXED")  # noqa: S608 - constants
    while rows := cursor.fetchmany(BATCH):
        writer.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", rows)  # noqa: S608 - constants


def _copy_records(reader: sqlite3.Connection, writer: sqlite3.Connection, source: Path) -> None:
    """Copy the records in order, and build the index that each of them names by its digest."""
    index = KeyIndex(ConnectedFile(writer), str(source))
    touched = prev = ROOT
    cursor = reader.execute(f"SELECT {COLUMNS} FROM records NOT INDEXED ORDER BY seq")  # noqa: S608 - a constant
    for values in cursor:
        record = open_row(read_row(values))
        keys = record.touches
        touched = index.add(record.number, keys, touched) if record.number is not None and keys else touched
        if record.prev != prev or record.touched != touched:
            raise JournalCorruptError(
                f"record {record.seq} of {source} does not follow from those before it; nothing was changed",
                seq=record.seq,
            )
        prev = record.digest
        writer.execute(f"INSERT INTO records ({COLUMNS}) VALUES ({', '.join('?' * 9)})", values)  # noqa: S608


def replace_journal(path: Path, made: Path) -> Path | None:
    """Put a finished file in a journal's place; return where the one that was there is kept, None if none was.

    The old file's log is taken aside with it first: SQLite would read it into the new file.
    """
    lock = FileLock(name_companion(path, ".lock"), str(path))
    lock.acquire(time.monotonic() + SECONDS, SECONDS)
    try:
        aside = _choose_aside_name(path) if path.exists() else None
        if aside is not None:
            os.link(path, aside, follow_symlinks=False)
            if name_companion(path, "-wal").exists():
                name_companion(path, "-wal").rename(name_companion(aside, "-wal"))
        name_companion(path, "-shm").unlink(missing_ok=True)
        put_copy(made, path)
    finally:
        lock.release()
    return aside


def _choose_aside_name(path: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    for more in ("", *(f"-{at}" for at in range(1, 1000))):
        name = path.with_name(f"{path.stem}-replaced-{stamp}{more}{path.suffix}")
        if not os.path.lexists(name):
            return name
    raise JournalError(f"too many replaced journals beside {path}: move some away")


def put_copy(made: Path, target: Path) -> None:
    """Give a file its name, durably."""
    fd = os.open(made, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    put_in_place(made, target)


def discard_copy(made: Path) -> None:
    """Remove an unfinished copy, with what SQLite put beside it."""
    for ending in ("", "-wal", "-shm", "-journal", ".lock"):
        name_companion(made, ending).unlink(missing_ok=True)


HEADER = 100
MAGIC = b"SQLite format 3\0"
PAGE_SIZE_AT = slice(16, 18)
PAGE_COUNT_AT = slice(28, 32)
MOST_PROMISED = 1 << 40


def examine_journal(
    where: str | PathLike[str],
    progress: Callable[[int], None] = lambda _: None,
    *,
    keys: str | PathLike[str] | None = None,
    readonly: bool = False,
    voucher: Voucher | None = None,
) -> ChainReport:
    """Check a journal; one that cannot be opened is reported with what can still be read of it."""
    try:
        with closing(open_journal(where, create=False, keys=keys, readonly=readonly, voucher=voucher)) as store:
            return store.check(progress)
    except JournalCorruptError as error:
        path = Path(fspath(where))
        rows = [] if "://" in fspath(where) else list(salvage_rows(path))
        return check_rows(rows, progress).report().with_faults([Fault(None, error.message)])


def salvage_rows(path: Path) -> Iterator[Row]:
    """Yield the rows that can still be read, from the first on."""
    with tempfile.TemporaryDirectory(prefix="takeback-salvage-") as directory:
        copy = Path(directory) / "journal.db"
        try:
            for ending in ("", "-wal"):
                if name_companion(path, ending).exists():
                    copy_file(name_companion(path, ending), name_companion(copy, ending))
            _pad_to_header(copy)
            mode = "mode=rw" if name_companion(copy, "-wal").exists() else "mode=ro&immutable=1"
            with closing(sqlite3.connect(make_uri(copy, mode), uri=True)) as connection:
                yield from _read_rows(connection)
        except (sqlite3.Error, OSError, OverflowError, UnicodeError):
            return


def _read_rows(connection: sqlite3.Connection) -> Iterator[Row]:
    seq = 1
    query = f"SELECT {COLUMNS} FROM records WHERE seq = ?"  # noqa: S608 - a constant
    while row := connection.execute(query, (seq,)).fetchone():
        try:
            yield read_row(row)
        except JournalCorruptError:
            return
        seq += 1


def _pad_to_header(path: Path) -> None:
    with path.open("r+b") as file:
        header = file.read(HEADER)
        if len(header) == HEADER and header.startswith(MAGIC):
            size = int.from_bytes(header[PAGE_SIZE_AT], "big")
            promised = (65536 if size == 1 else size) * int.from_bytes(header[PAGE_COUNT_AT], "big")
            if promised < MOST_PROMISED:
                with suppress(OSError):  # a damaged header may promise more than a file can be
                    file.truncate(max(promised, path.stat().st_size))
