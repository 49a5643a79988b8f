"""An older journal is written anew in the present layout when it is opened; a newer one is refused.

`data/memory-v1.db` and `data/workspace-v1.tar` were made by a version with the older layout; `-v2` by the last one
that had it, which also knew parts of texts and lists, images of files, and discards. `data/expected.json` is what
those versions said of them.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
from pathlib import Path

import pytest
from tests.support.trusted import trust

from takeback import open_memory
from takeback.adapters import open_workspace
from takeback.adapters.doctor import examine_workspace
from takeback.errors import JournalCorruptError, JournalError
from takeback.harness import Undone
from takeback.harness.entry_log import iter_entries
from takeback.harness.records import load_candidate_json
from takeback.journal import examine_journal, open_journal, resolve_record
from takeback.journal.sql import CURRENT
from takeback.undo import Gone

DATA = Path(__file__).parent / "data"
EXPECTED = json.loads((DATA / "expected.json").read_text())


@pytest.fixture
def old(tmp_path):
    return Path(shutil.copy(DATA / "memory-v1.db", tmp_path / "journal.db"))


@pytest.fixture
def workspace(tmp_path):
    with tarfile.open(DATA / "workspace-v1.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "ws" / "files" / "bin").chmod(0o600)
    return trust(tmp_path / "ws")


def told(harness):
    """The log as the version that wrote the journal gave it, as far as the layout has not changed it."""
    return [
        {name: entry[name] for name in ("kind", "at", "status", "grade", "forced", "addresses", "note")}
        for entry in (view.to_json() for view in iter_entries(harness))
    ]


def before(name):
    return [
        {field: entry[field] for field in ("kind", "at", "status", "grade", "forced", "addresses", "note")}
        for entry in EXPECTED[name]["log"]
    ]


def copied(tmp_path, name):
    if not name.startswith("workspace"):
        return Path(shutil.copy(DATA / f"{name}.db", tmp_path / "journal.db"))
    with tarfile.open(DATA / f"{name}.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    return trust(tmp_path / "ws")


def test_a_journal_with_parts_and_images_is_the_same_afterwards(tmp_path):
    harness = open_memory(journal=copied(tmp_path, "memory-v2"))
    assert harness.state.write() == EXPECTED["memory-v2"]["state"]
    assert list(harness.state.part("middleware").ids()) == EXPECTED["memory-v2"]["order"]
    assert told(harness) == before("memory-v2")
    assert harness.journal.check().whole
    assert harness.ledger.replay_state() == harness.state
    for view in [view for view in iter_entries(harness) if view.status == "live" and view.kind == "apply"]:
        state, outcome = harness.state, harness.undo(view.id)
        if isinstance(outcome, Undone) and isinstance(harness.undo(outcome.entry.id), Undone):
            assert harness.state == state


def test_a_workspace_with_parts_and_images_goes_back_byte_for_byte(tmp_path):
    root = copied(tmp_path, "workspace-v2")
    harness = open_workspace(root, hold=False)
    assert harness.status().clean
    assert harness.state.write() == EXPECTED["workspace-v2"]["state"]
    assert told(harness) == before("workspace-v2")
    edited = (root / "prompts/system.md").read_bytes()
    (last,) = [view for view in iter_entries(harness) if view.note == "last"]
    assert isinstance(harness.undo(last.id), Undone)
    assert isinstance(harness.redo(), Undone)
    assert (root / "prompts/system.md").read_bytes() == edited
    (discarded,) = [view for view in iter_entries(harness) if view.kind == "discard"]
    harness.undo(discarded.id)
    assert (root / "prompts/system.md").read_text() == "rubbish", "what a discard kept comes back"
    harness.discard()
    harness.close()
    assert [finding for finding in examine_workspace(root) if not finding.good] == []


def test_a_migrated_journal_has_the_state_and_the_log_it_had(old):
    harness = open_memory(journal=old)
    assert harness.state.write() == EXPECTED["memory"]["state"]
    assert list(harness.state.part("middleware").ids()) == EXPECTED["memory"]["order"]
    assert told(harness) == before("memory")
    assert harness.journal.check().whole
    assert harness.ledger.replay_state() == harness.state


def test_a_migrated_workspace_is_as_it_was_and_its_doctor_finds_nothing(workspace):
    harness = open_workspace(workspace, hold=False)
    assert harness.status().clean
    assert harness.state.write() == EXPECTED["workspace"]["state"]
    assert told(harness) == before("workspace")
    harness.close()
    assert [finding for finding in examine_workspace(workspace) if not finding.good] == []


def test_entries_keep_their_former_names(old):
    harness = open_memory(journal=old)
    former = {entry["id"]: entry["note"] for entry in EXPECTED["memory"]["log"] if entry["kind"] == "apply"}
    for name, note in former.items():
        record = resolve_record(harness.journal, name[:12])
        assert (record.kind, record.payload["note"]) == ("apply", note)


def test_entries_are_numbered_without_gaps_and_off_and_on_name_them(old):
    harness = open_memory(journal=old)
    views = list(iter_entries(harness))
    assert [view.seq for view in views] == list(range(len(views), 0, -1))
    kinds = {view.seq: view.kind for view in views}
    assert {kinds[number] for view in views for number in (*view.off, *view.on)} == {"apply"}
    undone = {view.seq for view in views if view.status == "undone"}
    assert undone == {number for number in kinds if number in harness.ledger.history.undone}


def test_every_live_entry_can_still_be_undone_and_brought_back(old):
    harness = open_memory(journal=old)
    answers = []
    for view in [view for view in iter_entries(harness) if view.status == "live" and view.kind == "apply"]:
        state = harness.state
        done = harness.undo(view.id)
        assert isinstance(done, Undone)
        back = harness.undo(done.entry.id)
        answers.append(type(back))
        if isinstance(back, Undone):
            assert harness.state == state
    assert answers.count(Undone) >= 6
    assert answers.count(Gone) == 1, "what the entry wrote that was forgotten before"


def test_nothing_that_an_entry_captured_is_left_in_a_record(old):
    store = open_journal(old)
    raw = "".join(json.dumps([record.payload, list(record.contents)]) for record in store.records())
    assert "v1-secret-XYZZY" not in raw
    (named,) = [r for r in store.records() if r.payload.get("note") == "a note"]
    assert load_candidate_json(store, named)["mutation"][0]["value"] == "v1-secret-XYZZY"


def test_forgetting_in_a_migrated_journal_leaves_nothing_to_guess_from(old):
    harness = open_memory(journal=old)
    former = EXPECTED["memory"]["head"]
    assert former in "".join(held.data.decode(errors="replace") for _, held in harness.journal.every_content())
    harness.forget_value("v1-secret-XYZZY")
    harness.close()
    raw = b"".join(path.read_bytes() for path in old.parent.iterdir())
    assert b"v1-secret-XYZZY" not in raw
    assert former.encode() not in raw, "the digest of the old chain would confirm a guess"


def test_what_was_forgotten_before_is_still_gone_and_no_damage(old):
    harness = open_memory(journal=old)
    written = [entry for entry in EXPECTED["memory"]["log"] if entry["kind"] == "apply"]
    gone = next(entry["id"] for entry in written if 'config["a.b"]' in entry["addresses"])
    record = resolve_record(harness.journal, gone)
    assert set(record.refs("before")) == {""}, "its contents are known to be forgotten"


def test_migrating_happens_once(old):
    open_journal(old).close()
    head = open_journal(old).head()
    assert open_journal(old).head() == head
    with sqlite3.connect(old) as connection:
        assert connection.execute("SELECT version FROM schema_version").fetchall() == [(1,), (2,), (CURRENT,)]
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert not {name for name in tables if name.startswith("old_") or name == "attachments"}


def test_an_altered_older_journal_is_not_written_anew(old):
    connection = sqlite3.connect(old)
    connection.execute("DROP TRIGGER records_no_update")
    connection.execute("UPDATE records SET payload = replace(payload, 'XYZZY', 'PLUGH') WHERE seq = 3")
    connection.commit()
    connection.close()
    content = old.read_bytes()
    with pytest.raises(JournalCorruptError, match="record 3 of it was altered"):
        open_journal(old)
    assert not examine_journal(old).whole
    with sqlite3.connect(old) as connection:
        assert connection.execute("SELECT MAX(version) FROM schema_version").fetchone() == (2,)
    assert old.read_bytes()[:100] == content[:100]


def test_an_older_journal_that_can_only_be_read_says_what_to_do(old):
    with pytest.raises(JournalError, match="older layout") as caught:
        open_journal(old, readonly=True)
    assert "open it once where it can be written" in str(caught.value)


def test_an_older_journal_is_sealed_when_that_is_asked_for(old):
    store = open_journal(old, seal=True)
    assert store.check().whole
    store.close()
    assert b"v1-secret-XYZZY" not in b"".join(path.read_bytes() for path in old.parent.iterdir())


def test_a_newer_journal_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "journal.db"
    open_journal(path).close()
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO schema_version VALUES (99, 'tomorrow')")
    connection.commit()
    with pytest.raises(JournalError, match="layout version 99"):
        open_journal(path)
