"""Examines a journal that may be too damaged to open, without writing to it.

For a SQLite file that was cut short, a copy is padded to the length its header promises, and records are
read from it one by one until the first that is gone. What that yields is the trustworthy beginning.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from os import PathLike, fspath
from pathlib import Path

from takeback.errors import JournalCorruptError
from takeback.journal.chain import ChainReport, Fault, check_rows
from takeback.journal.record import Row
from takeback.journal.sql import COLUMNS
from takeback.journal.store import open_journal

HEADER = 100
MAGIC = b"SQLite format 3\0"
PAGE_SIZE_AT = slice(16, 18)
PAGE_COUNT_AT = slice(28, 32)


def examine(where: str | PathLike[str]) -> ChainReport:
    """Check a journal; one that cannot be opened is reported with what can still be read of it."""
    try:
        with closing(open_journal(where, create=False)) as store:
            return store.check()
    except JournalCorruptError as error:
        report = check_rows(salvaged(Path(fspath(where))))
        faults = (Fault(None, error.message), *report.faults)
        return ChainReport(report.records, report.intact, report.head, faults)


def salvaged(path: Path) -> list[Row]:
    """The rows that can still be read, from the first on."""
    with tempfile.TemporaryDirectory(prefix="takeback-salvage-") as directory:
        copy = Path(directory) / "journal.db"
        shutil.copyfile(path, copy)
        _pad(copy)
        rows: list[Row] = []
        try:
            with closing(sqlite3.connect(f"file:{copy}?mode=ro&immutable=1", uri=True)) as connection:
                query = f"SELECT {COLUMNS} FROM records WHERE seq = ?"  # noqa: S608 - a constant
                while found := connection.execute(query, (len(rows) + 1,)).fetchone():
                    rows.append(Row(*found))
        except sqlite3.Error:
            return rows
        return rows


def _pad(path: Path) -> None:
    """Give the copy the length its header promises; the missing pages read as empty."""
    with path.open("r+b") as file:
        header = file.read(HEADER)
        if len(header) == HEADER and header.startswith(MAGIC):
            size = int.from_bytes(header[PAGE_SIZE_AT], "big")
            promised = (65536 if size == 1 else size) * int.from_bytes(header[PAGE_COUNT_AT], "big")
            with suppress(OSError):  # a damaged header may promise more than a file can be
                file.truncate(max(promised, path.stat().st_size))
