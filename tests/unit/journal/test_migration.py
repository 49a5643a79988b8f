"""An older journal is brought forward when it is opened; a newer one is refused."""

from __future__ import annotations

import sqlite3

import pytest

from takeback.errors import JournalError
from takeback.journal import ROOT, Draft, open_journal
from takeback.journal.record import seal
from takeback.journal.schema import CURRENT, V1


def write_v1(path):
    """A journal of layout version 1, written without this version's code for stores."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY, migrated_at TEXT NOT NULL)")
    connection.execute("INSERT INTO schema_version VALUES (1, '2026-01-01')")
    for statement in V1:
        connection.execute(statement.format(number="INTEGER", text="TEXT"))
    prev = ROOT
    for seq in (1, 2, 3):
        draft = Draft("apply", {"touches": ['["config","a"]', f'["tools","t{seq}"]']}, {"before": seq})
        row, texts = seal(draft, seq=seq, created_at="2026-01-01T00:00:00.000000+00:00", prev=prev)
        connection.execute(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)",
            (row.seq, row.kind, row.created_at, row.payload, row.attachments, row.prev, row.digest),
        )
        connection.execute("INSERT INTO attachments VALUES (?, ?, ?)", (seq, "before", texts["before"]))
        prev = row.digest
    connection.commit()
    connection.close()
    return prev


def test_version_1_gains_its_index_and_keeps_every_record(tmp_path):
    path = tmp_path / "journal.db"
    head = write_v1(path)
    store = open_journal(path)
    assert store.head().digest == head
    assert store.touching('["config","a"]') == (1, 2, 3)
    assert store.touching('["tools","t2"]') == (2,)
    assert store.attachment(3, "before") == "3"
    assert store.check().whole
    assert [row[0] for row in store.run("SELECT version FROM schema_version ORDER BY version")] == [
        1,
        CURRENT,
    ]


def test_migrating_twice_changes_nothing_more(tmp_path):
    path = tmp_path / "journal.db"
    write_v1(path)
    open_journal(path).close()
    store = open_journal(path)
    assert len(store.run("SELECT * FROM schema_version")) == CURRENT
    assert len(store.run("SELECT * FROM touches")) == 6


def test_a_newer_journal_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "journal.db"
    open_journal(path).close()
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO schema_version VALUES (99, 'tomorrow')")
    connection.commit()
    with pytest.raises(JournalError, match="layout version 99"):
        open_journal(path)
