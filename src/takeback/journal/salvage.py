"""Examines a journal that may be too damaged to open, without writing to it.

For a SQLite file that was cut short, a copy is padded to the length its header promises, and records are
read from it one by one until the first that is gone. What that yields is the trustworthy beginning.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from os import PathLike, fspath
from pathlib import Path

from takeback.errors import JournalCorruptError
from takeback.journal.chain import ChainReport, Fault, check_rows
from takeback.journal.record import COLUMNS, Row, read_row
from takeback.journal.sqlite_files import copy_file, make_uri, name_companion
from takeback.journal.store import open_journal
from takeback.journal.voucher import Voucher

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
