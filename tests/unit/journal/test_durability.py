"""What a commit rests on, seen from outside: how SQLite is told to sync, and which directories are synced."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing

import psycopg
import pytest
from tests.support.changes import candidate, config

from takeback.adapters import init_workspace, open_memory, open_workspace
from takeback.errors import JournalError, TakebackError
from takeback.harness import Applied, Undone
from takeback.journal import Draft, make_leaf, open_journal
from takeback.journal.failpoint import arm_failpoints
from takeback.journal.memory import MemoryStore

FULL = 2


def test_commits_are_synced_and_deleted_data_is_overwritten(tmp_path):
    with closing(open_journal(tmp_path / "journal.db", seal=True)) as store:
        assert store.run("PRAGMA synchronous") == [(FULL,)]
        assert store.run("PRAGMA journal_mode") == [("wal",)]
        assert store.run("PRAGMA secure_delete") == [(1,)]
        assert store._keys._run("PRAGMA synchronous") == [(FULL,)]
        assert store._keys._run("PRAGMA secure_delete") == [(1,)]


def test_the_directory_of_a_new_journal_is_synced(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync

    def watched(fd):
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            synced.append(os.fstat(fd).st_ino)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", watched)
    open_journal(tmp_path / "journal.db").close()
    assert tmp_path.stat().st_ino in synced


def test_a_journal_named_by_path_is_readable_by_its_owner_only(tmp_path):
    with closing(open_journal(tmp_path / "journal.db")) as store:
        store.append([Draft("apply", {}, {"after": make_leaf(1)})])
        modes = {path.name: oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()}
    assert set(modes.values()) == {"0o600"}, modes


def test_a_file_half_written_by_a_checkpoint_is_read_with_its_log(tmp_path):
    """As a full disk or a kill in the middle of a checkpoint leaves it: the first page is not what it should be."""
    path, copy = tmp_path / "journal.db", tmp_path / "copy" / "journal.db"
    copy.parent.mkdir()
    with closing(open_journal(path)) as store:
        for n in range(200):
            store.append([Draft("apply", {"n": n, "text": "x" * 400})])
        whole = path.read_bytes()
        copy.write_bytes(whole[:100] + bytes(3996) + whole[4096:])
        (copy.parent / "journal.db-wal").write_bytes((tmp_path / "journal.db-wal").read_bytes())
    with pytest.raises(sqlite3.DatabaseError):
        sqlite3.connect(f"file:{copy}?mode=ro&immutable=1", uri=True).execute(
            "SELECT * FROM sqlite_master"
        ).fetchall()
    with closing(open_journal(copy)) as store:
        assert store.check().whole
        assert store.head().payload["n"] == 199


def test_a_journal_that_can_only_be_read_is_read(tmp_path):
    path = tmp_path / "journal.db"
    with closing(open_memory(journal=path)) as harness:
        harness.apply(candidate(config("a", 1)))
    with closing(open_journal(path, readonly=True)) as store:
        assert store.readonly
        assert [record.kind for record in store.records()] == ["genesis", "commit", "apply", "commit"]
        assert store.check().whole
        with pytest.raises(JournalError, match="can only be read here"):
            store.append([Draft("apply", {})])


def test_a_postgresql_journal_opened_for_reading_is_not_written(postgres_url, tmp_path):
    url, keys = f"{postgres_url}#reading", tmp_path / "keys"
    with closing(open_journal(url, keys=keys)) as store:
        store.append([Draft("apply", {}, {"after": make_leaf(1)})])
    with closing(open_journal(url, keys=keys, readonly=True)) as store:
        assert store.readonly
        with pytest.raises(JournalError, match="can only be read here"):
            store.append([Draft("apply", {})])
        assert store.head().seq == 1


def test_a_connection_lost_at_commit_is_distinguished_from_a_refused_commit(postgres_url, tmp_path):
    with closing(open_journal(f"{postgres_url}#commit", keys=tmp_path / "keys")) as store:
        store.run("CREATE TEMPORARY TABLE one (n INT UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        with pytest.raises(JournalError, match="duplicate key"), store.transaction():
            store.run_many("INSERT INTO one VALUES (?)", [(1,), (1,)])
        (pid,) = store.run("SELECT pg_backend_pid()")[0]
        lost = pytest.raises(JournalError, match="lost at the commit")
        with psycopg.connect(postgres_url, autocommit=True) as other, lost, store.transaction():
            other.execute("SELECT pg_terminate_backend(%s)", (pid,))
        assert store.run("SELECT 1") == [(1,)], "on a new connection"


def test_a_harness_reconnects_after_losing_its_connection(postgres_url, tmp_path):
    url = f"{postgres_url}#lost"
    with closing(open_memory(journal=url, keys=tmp_path / "keys")) as harness:
        entry = harness.apply(candidate(config("a", 1))).entry
        (pid,) = harness.journal.run("SELECT pg_backend_pid()")[0]
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (pid,))
        assert isinstance(harness.apply(candidate(config("b", 2))), Applied)
        assert isinstance(harness.undo(entry.id), Undone)
        assert harness.state.write() == {"config": {"b": 2}}
        assert harness.journal.check().whole


@pytest.mark.parametrize("boundary", ["journal.append.begin", "file.renamed", "change.written"])
def test_a_harness_continues_after_losing_its_connection_during_a_change(postgres_url, tmp_path, boundary):
    url, keys = f"{postgres_url}#{boundary.replace('.', '_')}", tmp_path / "keys"
    root = init_workspace(tmp_path / "agent", journal=url, keys=keys)
    with closing(open_workspace(root, journal=url, keys=keys)) as harness:
        (pid,) = harness.journal.run("SELECT pg_backend_pid()")[0]

        def cut(name):
            if name == boundary:
                with psycopg.connect(postgres_url, autocommit=True) as other:
                    other.execute("SELECT pg_terminate_backend(%s)", (pid,))

        with arm_failpoints(cut), pytest.raises(TakebackError):
            harness.apply(candidate(config("a", 1)))
        assert harness.status().clean
        made = harness.state.write() != {}
        assert made == (boundary != "journal.append.begin")
        assert isinstance(harness.apply(candidate(config("b", 2))), Applied)
        assert harness.journal.check().whole


def test_a_store_of_another_package_is_found_by_its_scheme(monkeypatch):
    class Point:
        name = "elsewhere"

        @staticmethod
        def load():
            return MemoryStore

    monkeypatch.setattr(
        "takeback.journal.store.entry_points",
        lambda group, name="elsewhere": [Point] if (group, name) == ("takeback.stores", "elsewhere") else [],
    )
    assert isinstance(open_journal("elsewhere://host/journal"), MemoryStore)
    known = "unknown kind of journal 'nowhere'; expected a file path or elsewhere://… or postgresql://…"
    with pytest.raises(JournalError, match=known):
        open_journal("nowhere://user:secret@host")
