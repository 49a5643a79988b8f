"""Rows of SQLite are read and written beside programs that hold its locks almost all the time."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

pytest.importorskip("sqlalchemy")

from takeback.adapters.bindings import sql
from takeback.adapters.bindings.protocol import RecordChange
from takeback.adapters.variables import use_variables
from takeback.errors import UnreachableError

LOOKS = 200
"""So often the lock is found taken."""


@pytest.fixture
def other(tmp_path, monkeypatch):
    """Another program's connection. Nothing waits inside SQLite: only how often we look decides who gets the lock."""
    monkeypatch.setattr(sql, "SECONDS", 0)
    use_variables({"ROWS": f"sqlite:///{tmp_path}/rows.db"})
    with closing(sqlite3.connect(tmp_path / "rows.db", isolation_level=None, timeout=0)) as at:
        at.execute("create table t(id text primary key, v text)")
        at.execute("insert into t values ('a', 'old')")
        yield at
    for engine in sql._ENGINES.values():
        engine.dispose()
    sql._ENGINES.clear()
    use_variables({})


@pytest.fixture
def binding(other):
    with closing(sql.SqlBinding("rows", {"url_env": "ROWS", "table": "t", "key": ["id"], "fields": ["v"]})) as at:
        yield at


@pytest.fixture
def pauses(other, monkeypatch):
    """The pauses between our looks; the other program leaves the lock free only after many of them."""
    seconds = []

    def pause(length):
        seconds.append(length)
        if len(seconds) == LOOKS:
            other.execute("commit")

    monkeypatch.setattr(sql.time, "sleep", pause)
    return seconds


def read(binding):
    assert binding.look("a").body == {"v": "old"}


def write(binding):
    binding.put(RecordChange("a", {"v": "old"}, {"v": "new"}))


@pytest.mark.parametrize("work", [read, write])
def test_a_lock_that_is_seldom_free_is_looked_for_every_few_milliseconds(binding, other, pauses, work):
    read(binding)
    other.execute("begin exclusive")
    work(binding)
    assert len(pauses) == LOOKS
    assert max(pauses) < 0.01


def test_a_reader_that_waited_keeps_its_lock_to_the_end(binding, other, pauses):
    engine = binding.engine
    other.execute("begin exclusive")
    with engine.connect().execution_options(**{sql.READS: True}) as at:
        at.begin()
        other.execute("begin immediate")
        other.execute("update t set v = 'theirs'")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("commit")
    assert len(pauses) == LOOKS
    other.execute("commit")


def test_reading_takes_no_write_lock(binding, other):
    other.execute("begin immediate")
    read(binding)
    other.execute("rollback")


def test_a_lock_that_is_never_free_is_an_outage_and_leaves_the_connection_usable(binding, other, monkeypatch):
    monkeypatch.setattr(sql, "LOCKED", 0)
    other.execute("begin exclusive")
    for work in (read, write):
        with pytest.raises(UnreachableError, match="locked"):
            work(binding)
    other.execute("commit")
    read(binding)
    write(binding)
    assert other.execute("select v from t").fetchall() == [("new",)]
