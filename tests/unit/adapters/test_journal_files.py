"""A journal backed up, put back, accepted and mended: on real SQLite files, some of them damaged."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing

import pytest
from tests.support.changes import candidate, config

from takeback.adapters import init_workspace, open_workspace
from takeback.adapters.doctor import back_up_journal, examine_workspace, mend_journal, plan_return, return_journal
from takeback.errors import HarnessError, InputError, JournalCorruptError, TakebackError
from takeback.harness import Applied
from takeback.harness.engine import Engine
from takeback.journal import Draft, open_journal

INDEXES = (
    "sqlite_autoindex_records_1",
    "sqlite_autoindex_records_2",
    "rare_records",
    "sqlite_autoindex_contents_1",
    "contents_by_lookup",
    "touches",
    "touched_keys",
    "sqlite_autoindex_touched_keys_1",
    "touched_keys_by_bucket",
    "touched_buckets",
)


@pytest.fixture
def root(tmp_path):
    place = init_workspace(tmp_path / "agent")
    make(place, "a", "b", "c")
    return place


def make(place, *names):
    with closing(open_workspace(place)) as harness:
        for name in names:
            assert isinstance(harness.apply(candidate(config(name, 1))), Applied)


def journal_of(root):
    return root / ".takeback/journal.db"


def files_of(root):
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and ".takeback" not in path.parts}


def put(root, source):
    for suffix in ("-wal", "-shm"):
        journal_of(root).with_name(f"journal.db{suffix}").unlink(missing_ok=True)
    shutil.copyfile(source, journal_of(root))


def bad(root):
    return [finding for finding in examine_workspace(root) if not finding.good]


def spoil(path, name):
    """Fill the first page of a table or index with zeros."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\0" * size)


def test_a_backup_of_an_open_journal_is_complete(root, tmp_path):
    with closing(open_workspace(root)) as harness:
        harness.apply(candidate(config("d", 1)))  # it is in the write-ahead log only
        made = back_up_journal(root, tmp_path / "copy.db")
        assert made.head == harness.ledger.head
    with closing(open_journal(tmp_path / "copy.db", create=False)) as copy:
        assert copy.check().whole
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("copy.db?*"))


def test_a_backup_never_overwrites_a_file(root, tmp_path):
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(InputError, match="there already"):
        back_up_journal(root, tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize("name", ["records", "contents", "touches"])
def test_a_damaged_journal_is_not_backed_up_as_if_it_were_whole(root, tmp_path, name):
    spoil(journal_of(root), name)
    with pytest.raises(TakebackError):
        back_up_journal(root, tmp_path / "copy.db")
    assert not list(tmp_path.glob("copy.db*"))


def test_an_older_copy_of_the_journal_is_refused_with_a_working_way_out(root, tmp_path):
    back_up_journal(root, tmp_path / "old.db")
    make(root, "d", "e")
    put(root, tmp_path / "old.db")
    with pytest.raises(JournalCorruptError, match="old copy") as fault:
        open_workspace(root)
    assert "takeback restore-journal" in fault.value.hint
    before = files_of(root)
    plan = plan_return(root, None)
    assert "records 9 to 12" in plan.unknown
    assert not plan.done
    with pytest.raises(JournalCorruptError):
        open_workspace(root)  # saying what would be lost changes nothing
    assert return_journal(root, None).done
    assert files_of(root) == before
    with closing(open_workspace(root)) as harness:
        assert {change.slot[-1] for change in harness.status().drift} == {"d", "e"}
    make_after_adopting(root)
    assert bad(root) == []


def make_after_adopting(root):
    with closing(open_workspace(root)) as harness:
        harness.adopt()
        assert isinstance(harness.apply(candidate(config("f", 1))), Applied)


def test_restoring_a_backup_lists_losses_and_keeps_the_replaced_journal(root, tmp_path):
    back_up_journal(root, tmp_path / "old.db")
    make(root, "d", "e")
    before = files_of(root)
    plan = plan_return(root, tmp_path / "old.db")
    assert [record.entry for record in plan.lost] == [6, 5]
    done = return_journal(root, tmp_path / "old.db")
    assert files_of(root) == before
    with closing(open_journal(done.aside, create=False, readonly=True)) as kept:
        assert kept.check().whole
        assert kept.get(6).kind == "apply"
    with closing(open_workspace(root)) as harness:
        assert {change.slot[-1] for change in harness.status().drift} == {"d", "e"}
        assert harness.status().problems == ()
    assert return_journal(root, done.aside).lost == ()  # and back again
    assert bad(root) == []


def test_a_change_that_was_under_way_in_the_backup_is_given_up_and_writes_nothing(root, tmp_path):
    with closing(open_workspace(root)) as harness, harness.journal.lock():
        draft = Draft("apply", {"touches": ['["config","z"]']}, {"before": [None], "after": [None]})
        harness.journal.append([draft], expect=harness.ledger.head)
        back_up_journal(root, tmp_path / "old.db")
    before = files_of(root)
    assert return_journal(root, tmp_path / "old.db").done
    with closing(open_workspace(root)) as harness:
        assert harness.status().pending is None
        assert harness.recovered.entry is None
    assert files_of(root) == before


def test_the_journal_of_another_workspace_is_not_put_in_place(root, tmp_path):
    other = init_workspace(tmp_path / "other")
    with pytest.raises(HarnessError, match="another workspace"):
        return_journal(root, journal_of(other))
    make(root, "d")


@pytest.mark.parametrize("name", ["records", "contents", "touches"])
def test_a_damaged_backup_is_not_put_in_place(root, tmp_path, name):
    back_up_journal(root, tmp_path / "old.db")
    spoil(tmp_path / "old.db", name)
    before = journal_of(root).read_bytes()
    with pytest.raises(TakebackError):
        return_journal(root, tmp_path / "old.db")
    assert journal_of(root).read_bytes() == before
    make(root, "d")


@pytest.mark.parametrize("content", [None, b"", b"nonsense\n"])
def test_a_missing_or_damaged_head_note_is_reported_until_recovered(root, content):
    head = root / ".takeback/HEAD"
    head.unlink() if content is None else head.write_bytes(content)
    with closing(open_workspace(root)) as harness:
        assert "HEAD" in harness.doubt
        assert any("takeback recover" in problem for problem in harness.status().problems)
        assert not harness.status().clean
        assert isinstance(harness.apply(candidate(config("d", 1))), Applied)
    assert any("HEAD" in finding.detail for finding in bad(root)), "a change does not settle it in silence"
    with closing(open_workspace(root)) as harness:
        harness.recover()
    with closing(open_workspace(root)) as harness:
        assert harness.doubt == ""
        assert harness.status().clean
    assert bad(root) == []


@pytest.mark.parametrize("name", INDEXES)
def test_a_damaged_index_is_detected_and_rebuilt_from_the_records(root, name):
    with closing(open_workspace(root)) as harness:
        head, log = harness.ledger.head, [entry.id for entry in harness.log()]
    before = files_of(root)
    spoil(journal_of(root), name)
    found = bad(root)
    assert found, f"the zeroed {name} is not noticed"
    assert any("doctor --mend" in finding.detail for finding in found)
    aside = mend_journal(root)
    assert aside.exists()
    assert bad(root) == []
    with closing(open_workspace(root)) as harness:
        assert (harness.ledger.head, [entry.id for entry in harness.log()]) == (head, log)
        harness.undo("#2")
    assert files_of(root) != before


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM touches WHERE entry = 3",
        'INSERT INTO touches VALUES (\'["config","zz"]\', 2, 1)',
        "UPDATE touched_keys SET digest = 'x'",
        "UPDATE touched_buckets SET total = '0'",
    ],
)
def test_an_index_that_contradicts_the_records_is_rebuilt(root, statement):
    with closing(sqlite3.connect(journal_of(root))) as connection, connection:
        connection.execute(statement)
    assert any("doctor --mend" in finding.detail for finding in bad(root))
    mend_journal(root)
    assert bad(root) == []


@pytest.mark.parametrize("name", ["records", "contents"])
def test_mending_refuses_a_journal_with_lost_records(root, name):
    spoil(journal_of(root), name)
    before = journal_of(root).read_bytes()
    with pytest.raises(TakebackError):
        mend_journal(root)
    assert journal_of(root).read_bytes() == before
    assert not list((root / ".takeback").glob("journal-replaced*"))


def test_mending_refuses_a_journal_with_an_altered_record(root):
    with closing(sqlite3.connect(journal_of(root))) as connection, connection:
        connection.execute("DROP TRIGGER records_no_update")
        connection.execute("UPDATE records SET payload = replace(payload, 'config', 'konfig') WHERE entry = 3")
    with pytest.raises(JournalCorruptError):
        mend_journal(root)


def test_mending_a_server_journal_is_refused(root):
    with pytest.raises(InputError) as fault:
        mend_journal(root, "postgresql://localhost/x#agent")
    assert "takeback backup FILE" in fault.value.hint


def test_the_engine_reports_the_last_record_of_the_journal(root):
    (root / ".takeback/HEAD").unlink()
    with closing(open_workspace(root)) as harness:
        engine: Engine = harness._engine
        assert f"record {engine.ledger.last}" in engine.doubt
