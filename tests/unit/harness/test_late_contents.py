"""Contents of many files that are read from the journal only when something asks for them."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from takeback.adapters import files_adapter, look_notes, open_workspace
from takeback.adapters.clients.init import init_clients
from takeback.adapters.look_notes import note_calm_status
from takeback.errors import JournalCorruptError
from takeback.harness import Adopted, Applied, Undone, late_contents
from takeback.harness.late_contents import StoredContent
from takeback.journal.sqlite import SqliteStore
from takeback.state.slots import get_slot

COUNT = 60
SECRET = "the word of file 5"


def slot_of(at):
    return "files", ".claude", "skills", "all", f"f{at}.txt"


def path_of(root, at):
    return root.joinpath(*slot_of(at)[1:])


def open_again(root):
    return closing(open_workspace(root, hold=False))


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A project whose journal holds more contents than are read when it is opened."""
    monkeypatch.setattr(late_contents, "MANY_PARTS", 20)
    monkeypatch.setattr(late_contents, "MOST_AT_ONCE", 8)
    monkeypatch.setattr(files_adapter, "MANY", 20)
    monkeypatch.setattr(look_notes, "MANY", 20)
    monkeypatch.setattr(files_adapter, "SETTLED", -60 * 10**9)  # times of files that were just written count as well
    for at in range(COUNT):
        path_of(tmp_path, at).parent.mkdir(parents=True, exist_ok=True)
        path_of(tmp_path, at).write_text(f"the word of file {at}\nsecond line\n")
    (tmp_path / "CLAUDE.md").write_text("# Rules\n- one\n")
    init_clients(tmp_path, ("claude-code",))
    with open_again(tmp_path) as harness:  # looks at every file once, and notes what it saw
        note_calm_status(harness, harness.status())
    return tmp_path


@pytest.fixture
def read_sizes(root, monkeypatch):
    """How many contents were asked of the journal, reading by reading."""
    sizes = []
    read = SqliteStore.contents

    def count(self, refs):
        refs = list(refs)
        sizes.append(len(refs))
        return read(self, refs)

    monkeypatch.setattr(SqliteStore, "contents", count)
    return sizes


def source_at(harness, at):
    return get_slot(harness.ledger.state, slot_of(at)).source


def test_opening_reads_no_content_of_a_file_that_is_as_it_was(root, read_sizes):
    with open_again(root) as harness:
        assert isinstance(source_at(harness, 7), StoredContent)
        assert harness.status().drift == ()
    assert sum(read_sizes) < COUNT // 3


def test_files_that_are_asked_for_in_order_are_read_several_at_once(root, read_sizes):
    with open_again(root) as harness:
        read_sizes.clear()
        order = [source for at in range(COUNT) if isinstance(source := source_at(harness, at), StoredContent)]
        for source in sorted(order, key=lambda source: source.at):
            assert source.read().endswith(b"\nsecond line\n")
    assert sum(read_sizes) < COUNT + late_contents.MOST_AT_ONCE
    assert len(read_sizes) < COUNT // 4


def test_each_late_content_is_the_bytes_of_its_file(root):
    with open_again(root) as harness:
        for at in range(COUNT):
            assert get_slot(harness.ledger.state, slot_of(at)).content == path_of(root, at).read_bytes()


def test_an_edit_of_a_file_that_was_not_read_is_recorded_and_undone_byte_for_byte(root):
    before = path_of(root, 9).read_bytes()
    path_of(root, 9).write_bytes(before.replace(b"second", b"third"))
    with open_again(root) as harness:
        adopted = harness.adopt()
        assert isinstance(adopted, Adopted)
        assert isinstance(harness.set("config", "theme", "dark"), Applied)
        assert isinstance(harness.undo(adopted.entry), Undone)
    assert path_of(root, 9).read_bytes() == before


def test_a_file_that_was_not_read_and_is_deleted_by_hand_comes_back(root):
    before = path_of(root, 11).read_bytes()
    path_of(root, 11).unlink()
    with open_again(root) as harness:
        adopted = harness.adopt()
        assert isinstance(adopted, Adopted)
        assert isinstance(harness.undo(adopted.entry), Undone)
    assert path_of(root, 11).read_bytes() == before


def test_what_this_process_forgets_stays_where_it_is_and_goes_from_the_journal(root):
    with open_again(root) as harness:
        harness.forget_value(SECRET)
        assert harness.status().drift == ()
        assert get_slot(harness.ledger.state, slot_of(5)).content.startswith(SECRET.encode())
        assert isinstance(harness.set("config", "theme", "dark"), Applied)
    assert path_of(root, 5).read_text().startswith(SECRET)
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in (root / ".takeback").glob("journal*"))


def test_what_another_process_forgets_before_it_was_read_is_missing_and_nothing_else_is(root):
    with open_again(root) as harness:
        assert isinstance(source_at(harness, 5), StoredContent)
        with open_again(root) as other:
            other.forget_value(SECRET)
        assert harness.status().drift == ()
        assert slot_of(5) in harness.ledger.holes or not isinstance(source_at(harness, 5), StoredContent)
        assert isinstance(harness.set("config", "theme", "dark"), Applied)
        path_of(root, 6).write_text("another\n")
        assert isinstance(harness.adopt(), Adopted)
    assert path_of(root, 5).read_text().startswith(SECRET)


def test_nothing_is_put_off_once_anything_was_forgotten(root, read_sizes):
    with open_again(root) as harness:
        harness.forget_value(SECRET)
    with open_again(root) as harness:
        assert isinstance(source_at(harness, 7), bytes)


def test_a_content_that_was_changed_in_the_journal_is_noticed_when_it_is_needed(root):
    with open_again(root) as harness:
        ref = source_at(harness, 13).ref
    path_of(root, 13).write_text("edited\n")
    with closing(sqlite3.connect(root / ".takeback/journal.db")) as journal:
        journal.execute("UPDATE contents SET body = x'00' || 'forged' WHERE id = ?", (ref,))
        journal.commit()
    with open_again(root) as harness, pytest.raises(JournalCorruptError, match="holds what it cannot hold"):
        harness.adopt()
    assert path_of(root, 13).read_text() == "edited\n"
