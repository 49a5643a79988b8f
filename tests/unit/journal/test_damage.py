"""Tampering, corruption and obstruction are detected and named, with what can still be read."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

import psycopg
import pytest

from takeback.errors import JournalBusyError, JournalCorruptError, JournalError
from takeback.journal import Draft, examine_journal, make_leaf, open_journal


def fill(store, count=5):
    touched = [[f'["config","k{n}"]'] for n in range(count)]
    return store.append(
        [Draft("apply", {"touches": keys}, {"before": make_leaf(n, "b")}) for n, keys in enumerate(touched)]
    )


def tamper(path, *statements):
    connection = sqlite3.connect(path)
    for name in ("update", "delete"):
        connection.execute(f"DROP TRIGGER records_no_{name}")
    for statement in statements:
        connection.execute(*(statement if isinstance(statement, tuple) else (statement,)))
    connection.commit()
    connection.close()


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "journal.db"
    store = open_journal(place)
    fill(store)
    store.close()
    return place


@pytest.mark.parametrize(
    ("statement", "seq", "words"),
    [
        ("UPDATE records SET payload = replace(payload, 'k2', 'k7') WHERE seq = 3", 3, "does not match its digest"),
        ("UPDATE records SET created_at = '2001-01-01' WHERE seq = 2", 2, "does not match its digest"),
        ("UPDATE records SET entry = 9 WHERE seq = 5", 5, "does not match its digest"),
        (
            "UPDATE contents SET body = X'003939' WHERE body = X'0034'",
            5,
            "before of record 5) does not match its digest",
        ),
        ("UPDATE contents SET tree = 1 WHERE body = X'0034'", 5, "does not match its digest"),
        ("DELETE FROM contents WHERE body = X'0030'", 1, "no record says that it was forgotten"),
        ("UPDATE contents SET body = NULL, salt = NULL, forgotten = 2 WHERE body = X'0030'", 1, "no record says"),
        ("INSERT INTO contents (id, tree, body) VALUES ('x', 0, X'00')", None, "belongs to no record"),
    ],
)
def test_tampering_is_reported_with_record_and_difference(path, statement, seq, words):
    tamper(path, statement)
    report = open_journal(path).check()
    assert [(fault.seq, words in fault.problem) for fault in report.faults] == [(seq, True)]


@pytest.mark.parametrize("seal", [False, True], ids=["plain", "sealed"])
def test_a_forgotten_content_put_back_is_reported(tmp_path, seal):
    path, row = tmp_path / "journal.db", "SELECT salt, lookup, body, id FROM contents WHERE id = ?"
    with closing(open_journal(path, seal=seal)) as store:
        ref = fill(store)[2].contents["before"]
        kept = store.run(row, (ref,))[0]
        store.forget([ref])
        assert store.check().whole
    tamper(path, ("UPDATE contents SET salt = ?, lookup = ?, body = ?, forgotten = NULL WHERE id = ?", kept))
    report = examine_journal(path)
    assert [
        (fault.seq, "before of record 3) was forgotten, but is there" in fault.problem) for fault in report.faults
    ] == [(3, True)]


INDEX_DAMAGE = (
    "DELETE FROM touches WHERE entry = 4",
    'INSERT INTO touches VALUES (\'["config","k3"]\', 2, 1)',
    "UPDATE touches SET entry = 5 WHERE entry = 4",
    "UPDATE touches SET times = 2 WHERE entry = 4",
    "DELETE FROM touched_keys WHERE key LIKE '%k3%'",
    "UPDATE touched_keys SET digest = (SELECT digest FROM touched_keys WHERE key LIKE '%k1%') WHERE key LIKE '%k3%'",
    "DELETE FROM touched_buckets",
    "UPDATE touched_buckets SET total = '0'",
    "UPDATE touched_buckets SET total = 'zz'",
)


@pytest.mark.parametrize("statement", INDEX_DAMAGE)
def test_a_changed_index_row_is_noticed_in_use_and_by_a_check(path, statement):
    tamper(path, statement)
    store = open_journal(path)
    assert not store.check().whole
    with pytest.raises(JournalCorruptError, match="index"):
        store.touching('["config","k3"]')


def test_a_head_altered_to_fit_a_damaged_index_is_noticed(path):
    tamper(path, "DELETE FROM touches", "DELETE FROM touched_keys", "DELETE FROM touched_buckets")
    tamper_again = sqlite3.connect(path)
    tamper_again.execute("UPDATE records SET touched = ? WHERE seq = 5", ("0" * 64,))
    tamper_again.commit()
    with pytest.raises(JournalCorruptError, match="record 5 was altered"):
        open_journal(path).touching('["config","k3"]')


def test_a_damaged_index_still_serves_unaffected_keys(path):
    tamper(path, "DELETE FROM touches WHERE entry = 4")
    assert open_journal(path).touching('["config","k1"]') == (2,)


def test_an_index_row_and_its_digest_removed_together_are_noticed_by_the_sum(path):
    tamper(path, "DELETE FROM touches WHERE entry = 4", "DELETE FROM touched_keys WHERE key LIKE '%k3%'")
    with pytest.raises(JournalCorruptError, match="keys of bucket"):
        open_journal(path).touching('["config","k3"]')


def test_later_writes_do_not_hide_a_damaged_index(path):
    tamper(path, "UPDATE touched_keys SET digest = 'forged' WHERE key LIKE '%k3%'")
    with closing(open_journal(path)) as store:
        store.append([Draft("apply", {"touches": ['["config","k3"]']})])
        with pytest.raises(JournalCorruptError, match="index"):
            store.touching('["config","k3"]')


def test_a_record_removed_from_the_middle_is_noticed(path):
    tamper(path, "PRAGMA foreign_keys=OFF", "DELETE FROM records WHERE seq = 3")
    report = open_journal(path).check()
    assert "record 3 missing before record 4" in report.faults[0].problem
    assert (report.records, report.intact) == (4, 2)


def test_a_rewritten_record_with_a_fresh_digest_breaks_the_chain_at_its_successor(path):
    store = open_journal(path)
    row = store._select("WHERE seq = 3")[0]
    forged = row._replace(payload='{"n":666}')
    store.close()
    tamper(
        path,
        ("UPDATE records SET payload = ?, digest = ? WHERE seq = 3", (forged.payload, forged.compute_digest())),
    )
    report = open_journal(path).check()
    assert report.faults[0].seq == 4
    assert "follows" in report.faults[0].problem
    assert report.intact == 3


def test_reading_an_altered_record_is_an_error_that_names_it(path):
    tamper(path, "UPDATE records SET kind = 'undo' WHERE seq = 2")
    with pytest.raises(JournalCorruptError, match="record 2 was altered") as caught:
        list(open_journal(path).records())
    assert caught.value.seq == 2


def test_records_cannot_be_changed_by_accident(path):
    connection = sqlite3.connect(path)
    for statement in ("UPDATE records SET kind = 'undo'", "DELETE FROM records"):
        with pytest.raises(sqlite3.DatabaseError, match="never changed"):
            connection.execute(statement)


def test_a_truncated_file_is_reported_with_the_records_that_can_be_read(tmp_path):
    path = tmp_path / "journal.db"
    store = open_journal(path)
    for _ in range(8):
        fill(store, 50)
    store.close()
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(JournalCorruptError, match="damaged"):
        open_journal(path)
    report = examine_journal(path)
    assert any("damaged" in fault.problem for fault in report.faults)
    assert 0 < report.intact < 400
    assert path.stat().st_size % 4096 in (0, 2048), "examining does not touch the file"


def test_an_emptied_file_is_not_taken_for_a_new_journal(path):
    os.truncate(path, 0)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with pytest.raises(JournalCorruptError, match="truncated"):
        open_journal(path)


def test_garbage_is_not_a_journal(tmp_path):
    path = tmp_path / "journal.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(JournalCorruptError, match="damaged"):
        open_journal(path)


def test_another_programs_database_is_left_alone(tmp_path):
    path = tmp_path / "journal.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE songs (title TEXT)")
    connection.commit()
    with pytest.raises(JournalError, match="not a Takeback journal"):
        open_journal(path)
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("songs",)]


def test_a_locked_database_is_a_clear_error_and_nothing_is_written(path):
    store = open_journal(path, timeout=0.1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(JournalBusyError, match="nothing was written"):
        fill(store, 1)
    other.execute("ROLLBACK")
    assert len(list(store.records())) == 5
    assert fill(store, 1)[0].seq == 6


def test_a_missing_directory_is_reported(tmp_path):
    with pytest.raises(JournalError, match="directory does not exist"):
        open_journal(tmp_path / "nowhere" / "journal.db")


def test_an_unknown_url_scheme_is_reported():
    with pytest.raises(JournalError, match="'mysql'"):
        open_journal("mysql://host/db")


def test_a_full_disk_is_a_clear_error_and_nothing_is_lost(path):
    store = open_journal(path)
    pages = store.run("PRAGMA page_count")[0][0]
    store.run(f"PRAGMA max_page_count={pages}")
    with pytest.raises(JournalError, match="no space left"):
        store.append([Draft("apply", {"blob": "x" * 100_000})])
    store.run("PRAGMA max_page_count=100000")
    assert store.check().whole
    assert fill(store, 1)[0].seq == 6


def test_tampering_in_postgresql_is_reported(postgres_url, tmp_path):
    url = f"{postgres_url}#tamper"
    store = open_journal(url, keys=tmp_path / "keys")
    fill(store)
    with psycopg.connect(postgres_url) as connection:
        with pytest.raises(psycopg.Error, match="never changed"), connection.transaction():
            connection.execute("UPDATE takeback_tamper.records SET kind = 'undo' WHERE seq = 2")
        connection.execute("ALTER TABLE takeback_tamper.records DISABLE TRIGGER ALL")
        connection.execute("UPDATE takeback_tamper.records SET kind = 'undo' WHERE seq = 2")
    report = store.check()
    assert [fault.seq for fault in report.faults] == [2]
    assert report.intact == 1


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3cr%40t@127.0.0.1:1/db",
        "postgresql://me:s3cr%40t@127.0.0.1:notaport/db",
        "postgresql://me@127.0.0.1:1/db?password=s3cr%40t",
        "postgresql://me:s3cr%40t@127.0.0.1:1/db?nonsense=1",
        "postgresql://me:s3cr%40t@[::1/db",
        "postgresql://me:s3cr%40t@127.0.0.1:1/db#Bad Name",
    ],
)
def test_a_password_never_appears_in_an_error(url):
    with pytest.raises(JournalError) as caught:
        open_journal(url, timeout=1)
    chain = []
    error = caught.value
    while error is not None:
        chain.append(str(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert not any("s3cr" in text for text in chain)


@pytest.mark.parametrize(
    ("url", "repeated"),
    [
        ("postgresql://me@127.0.0.1:1/db", True),
        ("postgresql://me:@127.0.0.1:1/db?sslmode=disable", True),
        ("postgresql://me:s3cret@127.0.0.1:1/db", False),
        ("postgresql://me@127.0.0.1:1/db?password=s3cret", False),
    ],
)
def test_driver_messages_are_repeated_only_for_urls_without_secrets(monkeypatch, url, repeated):
    def connect(conninfo, **_options):
        raise psycopg.OperationalError(f"cannot read {conninfo}: Connection refused")

    monkeypatch.setattr(psycopg, "connect", connect)
    with pytest.raises(JournalError) as caught:
        open_journal(url)
    assert "Connection refused" in caught.value.message
    assert (f"cannot read {url}" in caught.value.message, "s3cret" in caught.value.message) == (repeated, False)
