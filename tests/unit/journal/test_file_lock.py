"""The lock beside a SQLite journal is held on the file that others would lock."""

from __future__ import annotations

import fcntl
import time

from takeback.journal import sqlite_files
from takeback.journal.sqlite_files import FileLock


def test_a_lock_file_deleted_while_being_locked_is_locked_again(tmp_path, monkeypatch):
    path = tmp_path / "journal.db.lock"
    taken_away = iter([True])
    flock = fcntl.flock

    def losing(fd: int, how: int) -> None:
        if next(taken_away, False):
            path.unlink()
        flock(fd, how)

    monkeypatch.setattr(sqlite_files.fcntl, "flock", losing)
    lock = FileLock(path, "journal.db")
    lock.acquire(time.monotonic() + 240, 240)
    assert lock.is_held()
    lock.release()
