"""A key file that can only be read is read, and leaves no copy of a key behind."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing

import pytest

from takeback.errors import JournalError
from takeback.journal import sqlite_files
from takeback.journal.encryption import ContentKey, KeyFile


def test_keys_read_through_a_copy_are_held_only_in_memory(tmp_path, monkeypatch):
    def refused(_name):
        raise sqlite3.OperationalError("unable to open database file")

    copies, found = tmp_path / "copies", tmp_path / "found"
    for folder in (copies, found):
        folder.mkdir()
    with closing(KeyFile(tmp_path / "keys", "j", create=True)) as keys:
        keys.add([ContentKey("one", b"k" * 32, b"l" * 32)])
        for ending in ("", "-wal"):
            shutil.copy(tmp_path / f"keys{ending}", found / f"keys{ending}")
    monkeypatch.setattr(sqlite_files, "_query_tables", refused)
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    with closing(KeyFile(found / "keys", "j", create=False, readonly=True)) as read:
        assert read.get(["one"]) == {"one": b"k" * 32}
        assert not list(copies.rglob("*"))


def test_a_failed_write_keeps_no_key_and_later_keys_are_kept(tmp_path):
    one, two = (ContentKey(name, b"k" * 32, b"l" * 32) for name in ("one", "two"))
    with closing(KeyFile(tmp_path / "keys", "j", create=True)) as keys:
        with pytest.raises(JournalError):
            keys.add([one, ContentKey("bad", None, b"l" * 32)])
        keys.add([two])
        assert keys.get(["one", "two", "bad"]) == {"two": two.key}


def test_missing_directories_of_a_key_file_are_created(tmp_path):
    path = tmp_path / "state" / "takeback" / "keys" / "j.keys"
    for create in (True, False):
        KeyFile(path, "j", create=create).close()
    KeyFile(path.with_name("other.keys"), "k", create=True).close()
