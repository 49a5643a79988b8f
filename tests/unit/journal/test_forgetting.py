"""What is forgotten is gone: from raw files, from copies of sealed journals, from what commands show."""

from __future__ import annotations

import base64
import gzip
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import psycopg
import pytest
from tests.support.changes import candidate, config, file, listener, middleware, prompt, socket, tool
from tests.support.raw_bytes import files_holding

from takeback import State, open_memory
from takeback.adapters import init_workspace, open_workspace
from takeback.errors import JournalCorruptError, JournalError
from takeback.harness import Adopted, Undone
from takeback.harness.entry_log import change_to_json, load_entry_writes
from takeback.harness.entry_names import resolve_entry
from takeback.harness.records import load_candidate_json, load_evidence, load_record_writes
from takeback.journal import Draft, make_leaf, open_journal, resolve_record
from takeback.state.forgotten import has_forgotten
from takeback.undo import Gone

SECRET = "hunter2-XYZZY-☃"


def apply(harness, *ops):
    return harness.apply(candidate(*ops)).entry.id


def private(root):
    return root / ".takeback"


@pytest.fixture
def agent(tmp_path):
    root = tmp_path / "agent"
    init_workspace(root, start=State.read({"config": {"old": SECRET, "other": 1}}))
    return root


def full_of(harness):
    """A history in which the secret stands everywhere it can stand; the entry that wrote it."""
    one = apply(harness, config("password", SECRET), config("n", 1))
    harness.ledger.checkpoint()
    for n in range(30):
        apply(harness, config(f"k{n % 7}", n), prompt(f"p{n % 5}", f"text {n}" * 20))
    two = apply(harness, config("password", "new"))
    harness.undo(two)
    harness.redo()
    three = apply(harness, config("password", SECRET))
    harness.undo(three)
    harness.ledger.checkpoint()
    return one


def test_the_secret_is_in_the_raw_files_before_it_is_forgotten(agent):
    with closing(open_workspace(agent, hold=False)) as harness:
        full_of(harness)
    assert files_holding(private(agent), SECRET) == ["journal.db"]


def test_forgetting_an_entry_leaves_no_byte_of_what_it_wrote_in_any_file(agent):
    with closing(open_workspace(agent, hold=False)) as harness:
        apply(harness, config("old", "replaced"))
        harness.forget("HEAD")
        one = full_of(harness)
        done = harness.forget(one)
        assert (done.lingering, done.contents > 1) == ("", True)
        assert files_holding(private(agent), SECRET) == [], "while this process is open"
        assert harness.journal.check().whole
    assert files_holding(private(agent), SECRET) == []


def test_forgetting_also_removes_replaced_values_of_the_first_state(agent):
    with closing(open_workspace(agent, hold=False)) as harness:
        harness.forget(apply(harness, config("old", "replaced")))
        assert files_holding(private(agent), SECRET) == []


READER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN") if sys.argv[2] == "reading" else None
print(connection.execute("SELECT COUNT(*) FROM contents").fetchone()[0], flush=True)
sys.stdin.readline()
connection.execute("COMMIT") if sys.argv[2] == "reading" else None
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("doing", ["open", "reading"])
def test_forgetting_waits_for_another_reader_or_reports_it(agent, doing, monkeypatch):
    monkeypatch.setattr("takeback.journal.sqlite.ERASE_SECONDS", 0.3)
    with closing(open_workspace(agent, hold=False)) as harness:
        one = full_of(harness)
        other = subprocess.Popen(
            [sys.executable, "-c", READER, str(private(agent) / "journal.db"), doing],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert int(other.stdout.readline()) > 10
            harness.forget_value(SECRET)
            done = harness.forget(one)
            if doing == "open":
                assert done.lingering == ""
                assert files_holding(private(agent), SECRET) == []
            else:
                told = harness.forget_value("text 29").lingering
                assert "another process is reading" in told
            other.stdin.write("\n")
            other.stdin.flush()
            assert other.stdout.readline() == "done\n"
        finally:
            other.communicate("\n", timeout=240)
    with closing(open_workspace(agent, hold=False)):
        assert files_holding(private(agent), SECRET) == [], "opening finishes what could not be finished"
        assert doing == "open" or files_holding(private(agent), "text 29") == []


def test_forgetting_rewrites_pages_with_stale_copies_of_rows(tmp_path, monkeypatch):
    """Rows are copied when pages are balanced; a copy that stays behind is found by its salt."""
    path = tmp_path / "journal.db"
    harness = open_memory(journal=path)
    for n in range(400):
        apply(harness, prompt(f"p{n % 90}", f"secret number {n:04d} " + "x" * (n % 60)))
    for n in range(0, 400, 3):
        harness.forget(f"#{n + 2}")
    gone = range(0, 310, 3)
    raw = path.read_bytes()
    assert [n for n in gone if f"secret number {n:04d} ".encode() in raw] == []
    assert harness.journal.check().whole


def test_a_process_killed_while_it_forgets_has_it_finished_by_the_next(agent, monkeypatch):
    with closing(open_workspace(agent, hold=False)) as harness:
        one = full_of(harness)
        monkeypatch.setattr("takeback.journal.sqlite.SqliteStore._truncate_wal", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            harness.forget(one)
        assert files_holding(private(agent), "new-one") == []
        monkeypatch.undo()
        assert files_holding(private(agent), SECRET) == ["journal.db", "journal.db-wal"]
        with closing(open_workspace(agent, hold=False)):
            assert files_holding(private(agent), SECRET) == ["journal.db"], "the first state has it: another entry's"
            harness.forget_value(SECRET)
            assert files_holding(private(agent), SECRET) == []


def test_a_large_content_is_gone_compressed_or_not(agent):
    with closing(open_workspace(agent, hold=False)) as harness:
        one = apply(harness, file("big", (SECRET + " words and words\n") * 2000))
        two = apply(harness, file("big", "small"))
        assert "journal.db-wal" in files_holding(private(agent), SECRET)
        harness.forget(one)
        harness.forget_value(SECRET)
        assert files_holding(private(agent), SECRET) == []
        assert isinstance(harness.undo(two), Gone)


def test_a_forgotten_entry_is_shown_without_its_values(agent):
    with closing(open_workspace(agent, hold=False)) as harness:
        one = full_of(harness)
        harness.forget(one)
        record = resolve_entry(harness.ledger, one)
        shown = load_candidate_json(harness.journal, record)
        assert [op["value"] for op in shown["mutation"]] == ["(forgotten)", "(forgotten)"]
        assert [op["target"] for op in shown["mutation"]] == ["password", "n"]
        changes = [change_to_json(change) for change in load_entry_writes(harness, record)]
        assert [change["after"] for change in changes] == ["(forgotten)", "(forgotten)"]
        assert load_evidence(harness.journal, record)["grade"] == "proved"


def test_the_evidence_of_a_refuted_change_holds_no_value_once_it_is_forgotten(tmp_path):
    from takeback import read_candidate

    harness = open_memory(journal=tmp_path / "j.db")
    wrong = {"mutation": [config("a", SECRET)], "witness": [], "recovery": [config("a", SECRET + "!")]}
    wrong["recovery"] = []
    done = harness.apply(read_candidate(wrong), force=True)
    harness.apply(candidate(config("a", 2)))
    harness.forget(done.entry.id)
    assert files_holding(tmp_path, SECRET) == []
    assert load_evidence(harness.journal, harness.journal.get(2))["grade"] == "refuted"


def test_a_forgotten_value_in_use_stays_in_its_files_without_drift(agent):
    with closing(open_workspace(agent, hold=False)) as harness:
        ops = (config("password", SECRET), prompt("p", SECRET), file("d/f", SECRET, mode="0600"))
        more = (middleware("m", index=0), listener("e", "cb", SECRET), tool("t", SECRET))
        one = apply(harness, *ops, *more)
        done = harness.forget(one)
        assert (done.kept, len(done.live)) == ((), 6)
        harness.forget_value(SECRET)
        assert files_holding(private(agent), SECRET) == []
        state = harness.state
        assert harness.status().clean
    with closing(open_workspace(agent, hold=False)) as harness:
        assert harness.status().clean
        assert harness.state == state
        assert harness.state.write()["files"]["d/f"]["mode"] == "0600"
        assert harness.state.part("middleware").ids() == ("m",)
        assert harness.ledger.replay_state() == harness.state


def test_a_forgotten_value_is_not_captured_by_a_later_change(agent):
    with closing(open_workspace(agent, hold=False)) as harness:
        harness.forget(apply(harness, config("password", SECRET), config("old", 1)))
        two = apply(harness, config("password", "new"))
        harness.ledger.checkpoint()
        assert files_holding(private(agent), SECRET) == []
        assert isinstance(harness.undo(two), Gone)
    with closing(open_workspace(agent, hold=False)) as harness:
        assert harness.state.write()["config"]["password"] == "new"
        assert harness.status().clean


def test_a_line_of_a_forgotten_text_is_not_captured_by_an_edit(agent):
    with closing(open_workspace(agent, hold=False)) as harness:
        harness.forget(apply(harness, prompt("p", f"key {SECRET}\ntwo\n"), prompt("q", "one\ntwo\n")))
        for text, old in (("p", SECRET), ("q", "two")):
            edit = {"op_type": "edit_prompt", "target": text, "value": {"old": old, "new": "gone"}}
            entry = resolve_entry(harness.ledger, apply(harness, edit))
            (write,) = load_record_writes(harness.journal, entry)
            assert write.slot[:2] == ("prompts", text)
            assert (has_forgotten(write.before), has_forgotten(write.after)) == (True, False)
        assert harness.state.write()["prompts"] == {"p": "key gone\ntwo\n", "q": "one\ngone\n"}


@pytest.mark.parametrize("opened_again", [False, True])
def test_a_forgotten_value_that_is_written_again_is_captured_again(agent, opened_again):
    with closing(open_workspace(agent, hold=False)) as harness:
        harness.forget(apply(harness, config("password", SECRET), prompt("p", "one\ntwo\n")))
        if not opened_again:
            again = apply(harness, config("password", SECRET), prompt("p", "one\ntwo\n"))
            over = apply(harness, config("password", "new"), prompt("p", "three\n"))
    with closing(open_workspace(agent, hold=False)) as harness:
        if opened_again:
            again = apply(harness, config("password", SECRET), prompt("p", "one\ntwo\n"))
            over = apply(harness, config("password", "new"), prompt("p", "three\n"))
        assert isinstance(harness.undo(over), Undone)
        written = harness.state.write()
        assert (written["config"]["password"], written["prompts"]["p"]) == (SECRET, "one\ntwo\n")
        assert all(
            not has_forgotten(write.after)
            for write in load_record_writes(harness.journal, resolve_entry(harness.ledger, again))
        )
    with closing(open_workspace(agent, hold=False)) as harness:
        assert harness.state.write() == written
        assert harness.status().clean
        assert harness.ledger.replay_state() == harness.state


def test_a_checkpoint_holds_no_copy_of_a_forgotten_value_that_is_in_place(agent):
    with closing(open_workspace(agent, hold=False)) as harness:
        harness.forget(apply(harness, config("password", SECRET), config("old", 1)))
    with closing(open_workspace(agent, hold=False)) as harness:
        harness.ledger.checkpoint()
        assert files_holding(private(agent), SECRET) == []
    with closing(open_workspace(agent, hold=False)) as harness:
        assert harness.state.write()["config"]["password"] == SECRET
        assert harness.status().clean


def test_a_forgotten_value_that_is_deleted_by_hand_is_drift(agent):
    with closing(open_workspace(agent, hold=False)) as harness:
        harness.forget(apply(harness, file("d/f", SECRET)))
    (agent / "files/d/f").unlink()
    with closing(open_workspace(agent, hold=False)) as harness:
        (change,) = [c for c in harness.status().drift if c.slot == ("files", "d", "f")]
        assert change_to_json(change)["before"] == "(forgotten)"
        assert isinstance(harness.adopt(), Adopted)
        assert harness.status().clean


def test_an_open_process_drops_values_forgotten_by_another(agent):
    with closing(open_workspace(agent, hold=False)) as one, closing(open_workspace(agent, hold=False)) as two:
        first = apply(one, config("password", SECRET))
        second = apply(one, config("password", "new"))
        two.plan_undo(second)
        one.forget(first)
        assert isinstance(two.undo(second), Gone), "not from what it remembers"
        apply(two, config("other", 5))
        two.ledger.checkpoint()
        one.forget_value(SECRET)
        assert files_holding(private(agent), SECRET) == []


def test_a_memory_harness_keeps_values_in_place_and_reports_them(tmp_path):
    harness = open_memory(State.read({"config": {"a": 1}}), journal=tmp_path / "j.db")
    one = apply(harness, config("password", SECRET), config("b", 2))
    done = harness.forget(one)
    assert set(done.kept) == {("config", "password"), ("config", "b")}
    harness.close()
    harness = open_memory(journal=tmp_path / "j.db")
    assert harness.state.write()["config"] == {"a": 1, "b": 2, "password": SECRET}
    apply(harness, config("password", "new"))
    assert harness.forget(one).kept == (("config", "b"),)
    assert files_holding(tmp_path, SECRET) == []


def test_forgetting_keeps_a_socket_known_only_to_the_journal(agent):
    with closing(open_workspace(agent, hold=False)) as harness:
        done = harness.forget(apply(harness, socket("metrics", 0)))
        assert done.kept == (("resources", "metrics"),)
    with closing(open_workspace(agent, hold=False)) as harness:
        assert harness.state.write()["resources"]["metrics"]["address"].endswith(":0")


def test_a_value_is_forgotten_everywhere_and_remaining_names_are_listed(agent):
    with closing(open_workspace(agent, hold=False)) as harness:
        full_of(harness)
        harness.apply(candidate(config(f"x{SECRET}", 1)), note=f"uses {SECRET}")
        told = harness.forget_value(SECRET, dry=True)
        assert (told.record, told.contents > 2) == (None, True)
        assert {place.kind for place in told.places} >= {"genesis", "apply", "undo", "redo", "checkpoint"}
        assert {place.what for place in told.places if place.ref} >= {"before", "after", "candidate", "state"}
        done = harness.forget_value(SECRET)
        assert {(place.kind, place.what) for place in done.stays} >= {("apply", "note"), ("apply", "touches")}
        again = harness.forget_value(SECRET, dry=True)
        assert [place for place in again.places if place.ref is not None] == []
        assert harness.journal.check().whole


@pytest.mark.parametrize("secret", ['with "quotes" and \\', "naïve ☃ 😀", "tab\tand\nnewline", "short"])
def test_a_value_is_found_in_every_encoding_of_the_journal(tmp_path, secret):
    harness = open_memory(journal=tmp_path / "j.db")
    apply(harness, config("a", {"deep": [secret]}), prompt("p", f"before {secret} after"), file("f", secret))
    apply(harness, config("a", 1), prompt("p", "x"), file("f", "x"))
    assert harness.forget_value(secret).contents >= 5
    assert files_holding(tmp_path, secret) == []


def test_an_older_copy_of_the_journal_is_noticed(agent, tmp_path):
    with closing(open_workspace(agent, hold=False)) as harness:
        one = full_of(harness)
        harness.journal.run("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(private(agent) / "journal.db", tmp_path / "before.db")
        harness.forget(one)
    shutil.copy(tmp_path / "before.db", private(agent) / "journal.db")
    with pytest.raises(JournalCorruptError, match="old copy"):
        open_workspace(agent, hold=False)


def test_an_older_copy_of_a_sealed_journal_cannot_be_decrypted(tmp_path):
    path = tmp_path / "journal.db"
    store = open_journal(path, seal=True)
    store.close()
    harness = open_memory(journal=path)
    one = apply(harness, config("password", SECRET), file("big", SECRET * 4000))
    apply(harness, config("password", "new"), file("big", "x"))
    assert files_holding(tmp_path, SECRET) == [], "sealed from the first"
    keys = tmp_path / "journal.db.keys"
    before = {bytes(key) for (key,) in sqlite3.connect(keys).execute("SELECT key FROM keys")}
    harness.journal.run("PRAGMA wal_checkpoint(TRUNCATE)")
    copy = tmp_path / "copy"
    copy.mkdir()
    shutil.copy(path, copy / "journal.db")
    harness.forget(one)
    harness.close()
    after = {bytes(key) for (key,) in sqlite3.connect(keys).execute("SELECT key FROM keys")}
    assert len(before - after) >= 4
    assert not [key for key in before - after if key in keys.read_bytes()], "no byte of a deleted key is left"
    shutil.copy(keys, copy / "journal.db.keys")
    store = open_journal(copy / "journal.db")
    record = resolve_record(store, one)
    assert SECRET not in repr(load_record_writes(store, record)), "without its key a content is as good as forgotten"
    assert None in store.contents(ref for ref in record.refs("after") if ref).values()


def test_a_key_file_is_readable_by_its_owner_only_and_belongs_to_one_journal(tmp_path):
    for name in "ab":
        with closing(open_journal(tmp_path / f"{name}.db", seal=True)) as store:
            store.append([Draft("apply", {}, {"after": make_leaf(1)})])
    keys = [tmp_path / f"{name}.db.keys" for name in "ab"]
    assert [oct(path.stat().st_mode & 0o777) for path in keys] == ["0o600", "0o600"]
    with pytest.raises(JournalError, match="belongs to another journal"):
        open_journal(tmp_path / "a.db", keys=keys[1])
    keys[0].unlink()
    with pytest.raises(JournalError, match="missing"):
        open_journal(tmp_path / "a.db")


def dump_of(url):
    """Everything a PostgreSQL server's client can see of a journal, dead rows aside."""
    schema = "takeback_" + url.partition("#")[2]
    seen = []
    with psycopg.connect(url.partition("#")[0]) as connection:
        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
        for (table,) in tables:
            seen += connection.execute(f'SELECT * FROM {schema}."{table}"').fetchall()
    return repr(seen).encode()


def test_a_postgresql_journal_never_holds_the_secret_not_even_on_the_servers_disk(postgres_url, tmp_path):
    url = f"{postgres_url}#forgetting"
    keys = tmp_path / "journal.keys"
    harness = open_memory(State.read({"config": {"old": SECRET}}), journal=url, keys=keys)
    one = apply(harness, config("password", SECRET), file("f", SECRET * 3000))
    two = apply(harness, config("password", "new"), file("f", "x"))
    harness.ledger.checkpoint()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CHECKPOINT")
        (data,) = connection.execute("SHOW data_directory").fetchone()
    assert files_holding(data, SECRET) == [], "in no table, log or page of the server"
    assert b"hunter2" not in dump_of(url)
    assert isinstance(harness.undo(two), Undone)
    harness.redo()
    harness.forget(one)
    assert isinstance(harness.undo(two), Gone)
    assert harness.journal.check().whole


FORMS_ON_DISK = {
    "utf-16.txt": lambda secret: f"key={secret}\n".encode("utf-16"),
    "hex.txt": lambda secret: secret.encode().hex().encode(),
    "percent.txt": lambda secret: "".join(f"%{byte:02x}" for byte in secret.encode()).encode(),
    "base64.txt": lambda secret: base64.b64encode(b"x" + secret.encode()),
    "packed.gz": lambda secret: gzip.compress(secret.encode()),
}


@pytest.mark.parametrize("name", FORMS_ON_DISK)
def test_a_value_is_forgotten_in_the_form_its_file_had(tmp_path, name):
    secret = "correct horse staple 9"
    init_workspace(tmp_path)
    with open_workspace(tmp_path, hold=False) as harness:
        (tmp_path / "files").mkdir(exist_ok=True)
        (tmp_path / "files" / name).write_bytes(FORMS_ON_DISK[name](secret))
        harness.adopt()
        (tmp_path / "files" / name).write_bytes(b"gone\n")
        harness.adopt()
        assert harness.forget_value(secret, dry=True).contents > 0
        assert harness.forget_value(secret).record is not None
        assert harness.forget_value(secret, dry=True).contents == 0
