"""A journal in PostgreSQL, backed up into a file, put back, and read from the file alone: on a real server."""

from __future__ import annotations

import json
import sqlite3
import stat
from contextlib import closing

import psycopg
import pytest
from tests.support.changes import candidate, config
from typer.testing import CliRunner

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.doctor import back_up_journal, plan_return, return_journal
from takeback.cli import app
from takeback.errors import InputError, JournalCorruptError, JournalError, TakebackError
from takeback.harness import Applied, Undone
from takeback.journal import open_journal, postgres_copy
from takeback.journal.url import read_url

LARGE = "x" * 3_000_000


@pytest.fixture
def url(tmp_path, postgres_url):
    return f"{postgres_url}#{tmp_path.name[-30:].replace('-', '_').lower()}"


@pytest.fixture
def root(tmp_path, url):
    place = init_workspace(tmp_path / "agent", journal=url)
    make(place, a=1, b="two", c=LARGE)
    return place


def make(place, **values):
    with closing(open_workspace(place)) as harness:
        for name, value in values.items():
            assert isinstance(harness.apply(candidate(config(name, value))), Applied)


def told(place):
    """Return everything a journal tells: entries, and the state."""
    with closing(open_workspace(place, hold=False)) as harness:
        return [entry.to_json() for entry in harness.log()], harness.state.write()


def schemas(url):
    with psycopg.connect(read_url(url).connect) as connection:
        return {row[0] for row in connection.execute("SELECT nspname FROM pg_namespace")}


def read_all(place, keys):
    """Return the records and contents of a journal."""
    with closing(open_journal(place, create=False, keys=keys, readonly=True)) as store:
        assert store.check().whole
        return list(store.records()), dict(store.every_content())


def test_a_backup_is_a_journal_in_a_file_that_holds_all_of_it(root, url, tmp_path):
    made = back_up_journal(root, tmp_path / "copy.db")
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    keys = root / ".takeback/journal.keys"
    records, contents = read_all(made.path, keys)
    assert (records, contents) == read_all(url, keys)
    assert (made.records, made.head) == (len(records), records[-1].digest)
    assert LARGE[:1000].encode() not in made.path.read_bytes(), "contents stay sealed"


def test_a_backup_is_taken_at_one_moment_while_others_write(root, tmp_path, monkeypatch):
    before = told(root)
    pages = postgres_copy._pages

    def write_meanwhile(store, table, columns):
        if table == "contents":
            make(root, later=1)
        yield from pages(store, table, columns)

    monkeypatch.setattr(postgres_copy, "_pages", write_meanwhile)
    back_up_journal(root, tmp_path / "copy.db")
    assert len(told(root)[0]) == len(before[0]) + 1
    found = plan_return(root, tmp_path / "copy.db")
    assert [record.number for record in found.lost] == [len(before[0]) + 1]


def test_restoring_a_backup_keeps_the_replaced_journal_and_lists_losses(root, url, tmp_path):
    before = told(root)
    back_up_journal(root, tmp_path / "copy.db")
    make(root, d=4)
    plan = plan_return(root, tmp_path / "copy.db")
    assert ([record.number for record in plan.lost], plan.done) == ([5], False)
    assert len(told(root)[0]) == len(before[0]) + 1, "a plan changes nothing"
    known = schemas(url)
    done = return_journal(root, tmp_path / "copy.db")
    assert done.done
    assert schemas(url) - known == {done.aside}
    assert told(root) == before
    with closing(open_workspace(root)) as harness:
        assert [change.slot for change in harness.status().drift]
        assert harness.discard() is not None
        assert isinstance(harness.undo("#2"), Undone)


def test_a_deleted_journal_is_restored_from_a_backup(root, url, tmp_path):
    before = told(root)
    back_up_journal(root, tmp_path / "copy.db")
    place = read_url(url)
    with psycopg.connect(place.connect, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA "takeback_{place.name}" CASCADE')
    with pytest.raises(TakebackError):
        open_workspace(root)
    done = return_journal(root, tmp_path / "copy.db")
    assert (done.aside, bool(done.unknown)) == (None, True)
    assert told(root) == before
    with psycopg.connect(place.connect) as connection, pytest.raises(psycopg.Error, match="never changed"):
        connection.execute(f'DELETE FROM "takeback_{place.name}".records')


def test_restoring_a_damaged_or_foreign_backup_changes_nothing(root, url, tmp_path):
    back_up_journal(root, tmp_path / "copy.db")
    known, before = schemas(url), told(root)
    with closing(sqlite3.connect(tmp_path / "copy.db")) as connection, connection:
        connection.execute("DROP TRIGGER records_no_update")
        connection.execute("UPDATE records SET payload = replace(payload, 'config', 'konfig') WHERE entry = 3")
    with pytest.raises(JournalCorruptError):
        return_journal(root, tmp_path / "copy.db")
    other = init_workspace(tmp_path / "other")
    back_up_journal(other, tmp_path / "other.db")
    with pytest.raises(TakebackError):
        return_journal(root, tmp_path / "other.db")
    assert (schemas(url), told(root)) == (known, before)


def test_an_incomplete_copy_on_the_server_is_not_put_in_place(root, url, tmp_path, monkeypatch):
    back_up_journal(root, tmp_path / "copy.db")
    known, before = schemas(url), told(root)
    tables = {name: columns for name, columns in postgres_copy.TABLES.items() if name != "touches"}
    monkeypatch.setattr(postgres_copy, "TABLES", tables)
    with pytest.raises(JournalError, match="nothing was changed"):
        return_journal(root, tmp_path / "copy.db")
    assert (schemas(url), told(root)) == (known, before)


def test_a_backup_does_not_overwrite_an_existing_file(root, tmp_path):
    (tmp_path / "copy.db").write_text("mine")
    with pytest.raises(InputError):
        back_up_journal(root, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "mine"


def test_the_commands_back_up_and_restore_a_server_journal(root, tmp_path):
    before = told(root)
    made = CliRunner().invoke(app, ["backup", str(tmp_path / "copy.db"), "--dir", str(root), "--json"])
    assert made.exit_code == 0
    records, _ = read_all(tmp_path / "copy.db", root / ".takeback/journal.keys")
    assert json.loads(made.stdout)["head"] == records[-1].digest
    make(root, d=4)
    words = ["restore-journal", str(tmp_path / "copy.db"), "--dir", str(root)]
    shown = CliRunner().invoke(app, words)
    assert "would be lost: #5" in shown.stdout
    done = CliRunner().invoke(app, [*words, "--yes", "--json"])
    assert json.loads(done.stdout)["aside"].startswith("replaced_takeback_")
    assert told(root) == before
