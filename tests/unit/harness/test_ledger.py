"""The journal as the life of one harness: the same whether it is followed, read anew or read from a checkpoint."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest
from tests.support.changes import candidate, config, middleware, prompt

from takeback import State
from takeback.adapters import init_workspace, open_workspace
from takeback.errors import HarnessError, JournalCorruptError, JournalError
from takeback.harness import ledger as module
from takeback.harness.ledger import EntryStatus, Ledger
from takeback.harness.records import draft_change, draft_toggle, load_candidate, load_evidence, load_record_writes
from takeback.journal import Draft, make_leaf, open_journal
from takeback.journal.memory import MemoryStore
from takeback.progress import listener
from takeback.state.forgotten import has_forgotten
from takeback.undo import Write

START = {
    "config": {"old": "was here", "list": ["a", "b"]},
    "prompts": {"p": "one\ntwo\n"},
    "middleware": [{"id": "auth", "handler": "h"}],
}


def written(name, before, after):
    return (Write(("prompts", name), before, after),)


def begun(store=None, start=None):
    ledger = Ledger(store or MemoryStore())
    ledger.begin(State.read(start or {"prompts": {"p": "0"}}), {"identity": "mine"})
    return ledger


def made(ledger, before, after, name="p", **about):
    """Record that a prompt was written."""
    writes = written(name, before, after)
    return ledger.record(draft_change("apply", writes, about, packer=ledger.packer), writes)


def announced(ledger, before, after):
    writes = written("p", before, after)
    return ledger.announce(draft_change("apply", writes, {}, packer=ledger.packer)), writes


def taken_back(ledger, *entries, before, after):
    writes = written("p", before, after)
    return ledger.record(draft_toggle("undo", [one.entry for one in entries], (), writes, {}), writes)


def told(ledger):
    """All that a ledger says."""
    return {
        "state": ledger.state.write(),
        "holes": set(ledger.holes),
        "hidden": set(ledger.hidden),
        "undone": set(ledger.history.undone),
        "tally": ledger.tally(),
        "identity": ledger.identity,
        "at": (ledger.last, ledger.head),
        "pending": ledger.pending,
        "fates": [ledger.fate(record) for record in ledger.entries()],
    }


def test_following_rereading_and_checkpoints_give_the_same_ledger():
    ledger = begun()
    one = made(ledger, "0", "1")
    two = made(ledger, "1", "2")
    taken_back(ledger, two, before="2", after="1")
    announced(ledger, "1", "3")
    ledger.abort("no room")
    assert told(ledger) == told(Ledger(ledger.store))
    assert told(ledger)["tally"] == (1, 1, 1)
    assert told(ledger)["state"] == {"prompts": {"p": "1"}}
    assert told(ledger)["fates"] == [
        EntryStatus.ABORTED,
        EntryStatus.DONE,
        EntryStatus.UNDONE,
        EntryStatus.LIVE,
        EntryStatus.DONE,
    ]
    ledger.checkpoint()
    assert told(ledger) == told(Ledger(ledger.store))
    taken_back(ledger, one, before="1", after="0")
    announced(ledger, "0", "4")
    again = Ledger(ledger.store)
    assert told(ledger) == told(again)
    assert again.fate(again.pending) is EntryStatus.PENDING
    (write,) = load_record_writes(again.store, again.pending)
    assert write.after == "4"


def test_a_second_ledger_follows_appended_records(monkeypatch):
    """Also more than is read at once, with a change whose announcement and whose end are read apart."""
    monkeypatch.setattr(module, "BATCH", 2)
    ledger = begun()
    other = Ledger(ledger.store)
    one = made(ledger, "0", "1")
    announced(ledger, "1", "2")
    other.refresh()
    assert told(other) == told(ledger)
    ledger.commit(written("p", "1", "2"))
    two, _ = announced(ledger, "2", "3")
    other.refresh()
    ledger.abort("no room")
    made(ledger, "2", "4")
    other.refresh()
    assert told(other) == told(ledger)
    for entry, after in ((one.entry, "1"), (two.entry, "3")):
        (write,) = other.history.index.writes(entry)
        assert (has_forgotten(write.before), write.after) == (True, after)  # what was before is not read for planning


def test_only_an_announced_change_can_be_committed_or_aborted():
    ledger = begun()
    for end in (lambda: ledger.commit(()), lambda: ledger.abort("no room")):
        with pytest.raises(JournalError, match="nothing is under way"):
            end()
    record, writes = announced(ledger, "0", "1")
    assert (ledger.pending, ledger.fate(record)) == (record, EntryStatus.PENDING)
    assert ledger.commit(writes) == record
    assert (ledger.pending, ledger.fate(record), ledger.is_aborted(record)) == (None, EntryStatus.LIVE, False)


def test_a_pending_change_stays_pending_when_other_records_follow():
    ledger = begun()
    record, _ = announced(ledger, "0", "1")
    ledger.store.append([Draft("forget", {"contents": []})], expect=ledger.head)
    assert Ledger(ledger.store).pending == record


def test_commits_and_aborts_name_the_number_of_their_entry():
    ledger = begun()
    announced(ledger, "0", "1")
    ledger.commit(written("p", "0", "1"))
    made(ledger, "1", "2")
    announced(ledger, "2", "3")
    ledger.abort("no room")
    made(ledger, "2", "4")
    made(Ledger(ledger.store), "4", "5")
    records = list(ledger.store.records())
    ends = [record.payload["entry"] for record in records if record.kind in {"commit", "abort"}]
    assert ends == [record.number for record in ledger.entries(reverse=False)] == [1, 2, 3, 4, 5, 6]


def test_the_fate_of_an_entry_is_read_from_the_following_record():
    ledger = begun()
    record = made(ledger, "0", "1")
    following = ledger.store.record(record.seq + 1)
    assert ledger.fate(record, following) is EntryStatus.LIVE
    assert ledger.fate(record, replace(following, kind="abort")) is EntryStatus.ABORTED
    assert ledger.fate(record, replace(following, kind="apply")) is EntryStatus.PENDING


def test_only_unforced_entries_with_a_recovery_count_as_admitted():
    plain = candidate(prompt("p", "x")).to_json()
    ledger = begun()
    good = made(ledger, "0", "1", candidate=plain)
    made(ledger, "1", "2", candidate=plain, forced=True)
    made(ledger, "2", "3")
    assert ledger.admitted == {good.entry} == Ledger(ledger.store).admitted


@pytest.mark.parametrize("short", ["before", "after"])
def test_a_record_with_fewer_values_than_slots_is_refused(short):
    ledger = begun()
    whole = draft_change("apply", written("p", "0", "1"), {})
    draft = Draft(whole.kind, whole.payload, {**whole.contents, short: []})
    (record,) = ledger.store.append([draft], expect=ledger.head)
    with pytest.raises(JournalCorruptError, match=f"record {record.seq}"):
        load_record_writes(ledger.store, record)


def test_the_evidence_of_an_entry_reads_back_unchanged():
    ledger = begun()
    refuted = {"grade": "refuted", "reasons": ["it does not come back"], "counterexample": {"prompts": {}}}
    proved = {"grade": "proved", "reasons": [], "counterexample": None}
    for given, stored in ((refuted, True), (proved, False)):
        record = made(ledger, "0", "1", evidence=given)
        assert load_evidence(ledger.store, record) == given
        assert ("evidence" in record.contents) is stored
    assert load_evidence(ledger.store, made(ledger, "1", "2")) is None


def test_the_journal_of_another_workspace_is_refused():
    ledger = begun()
    ledger.require_identity("mine")
    with pytest.raises(HarnessError, match="belongs to another workspace"):
        ledger.require_identity("yours")
    Ledger(MemoryStore()).require_identity("whose it will be")


def test_a_record_that_does_not_follow_the_last_one_is_refused(monkeypatch):
    ledger = begun()
    record = made(ledger, "0", "1")
    records = ledger.store.records
    for wrong in (replace(record, prev="0" * 64), replace(record, seq=record.seq + 1)):
        monkeypatch.setattr(
            ledger.store,
            "records",
            lambda start=1, w=wrong, **_: (w if r.seq == record.seq else r for r in records(start)),
        )
        with pytest.raises(JournalCorruptError, match=r"does not follow record 2") as fault:
            Ledger(ledger.store)
        assert fault.value.seq == wrong.seq


def test_a_checkpoint_is_due_when_following_costs_more_than_writing_it(monkeypatch):
    monkeypatch.setattr(module, "MIN_CHECKPOINT", 2)
    ledger = begun()
    assert not ledger.is_checkpoint_due()
    made(ledger, "0", "1")
    taken_back(ledger, before="1", after="1")
    assert not ledger.is_checkpoint_due()
    ledger.record(draft_change("apply", (), {}), ())
    assert ledger.is_checkpoint_due()
    ledger.checkpoint()
    for _ in range(2):
        assert not ledger.is_checkpoint_due()
        made(ledger, "1", "1")
    assert not ledger.is_checkpoint_due()
    large = begun(start={"prompts": {f"p{at}": "x" for at in range(4 * module.VALUES_PER_WRITE)}})
    for _ in range(4):
        made(large, "x", "x", "p0")
    assert not large.is_checkpoint_due()
    made(large, "x", "x", "p0")
    assert large.is_checkpoint_due()


def test_a_checkpoint_without_its_contents_is_refused():
    for missing, match in (("state", "holds no state"), ("standing", "does not say which entries are live")):
        ledger = begun()
        contents = {"state": ledger.packer.state(ledger.state), "standing": make_leaf({}, "standing")}
        ledger.store.append([Draft("checkpoint", {}, {**contents, missing: None})], expect=ledger.head)
        with pytest.raises(JournalCorruptError, match=match):
            Ledger(ledger.store)


def test_no_checkpoint_is_written_while_a_surface_is_missing():
    ledger = begun()
    ledger.missing.add("elsewhere")
    with pytest.raises(HarnessError, match="elsewhere"):
        ledger.checkpoint()
    assert ledger.store.latest("checkpoint") is None


def test_a_replay_reports_progress_and_stops_at_its_end():
    ledger = begun()
    for at in range(5):
        made(ledger, str(at), str(at + 1))
    seen = []
    token = listener.set(lambda *step: seen.append(step))
    try:
        assert ledger.replay_state().write() == {"prompts": {"p": "5"}}
    finally:
        listener.reset(token)
    assert seen == [("records replayed", ledger.last, ledger.last)]
    early = Ledger(ledger.store, until=ledger.last - 2)
    assert early.state.write() == {"prompts": {"p": "4"}}
    assert early.last == ledger.last - 2


def test_entries_are_listed_from_the_last_or_from_the_first():
    ledger = begun()
    one, two = made(ledger, "0", "1"), made(ledger, "1", "2")
    assert [record.number for record in ledger.entries()] == [two.number, one.number, 1]
    assert [record.number for record in ledger.entries(reverse=False)] == [1, one.number, two.number]


@pytest.fixture
def harness(tmp_path):
    """One with files, which still hold what the journal forgets."""
    with open_workspace(init_workspace(tmp_path / "agent", start=State.read(START))) as opened:
        yield opened


def forgotten(harness, *ops):
    """Make a change, forget what it captured, and give another who reads the journal."""
    entry = harness.apply(candidate(*ops))
    harness.forget(entry)
    return Ledger(harness.journal)


def test_a_forgotten_value_in_place_is_a_hole_until_filled(harness):
    reader = forgotten(harness, config("secret.key", "hunter2"), middleware("new", after="auth"))
    key, chain = ("config", "secret", "key"), ("middleware", "new")
    assert set(reader.holes) == set(reader.hidden) == {key, chain}
    assert "hunter2" not in str(reader.state.write())
    reader.fill(harness.state)
    assert reader.state.write() == harness.state.write()
    assert (reader.holes, set(reader.hidden)) == ({}, {key, chain})
    assert set(harness.ledger.hidden) == {key, chain}


def test_a_line_that_was_forgotten_leaves_a_hole_where_its_text_is(harness):
    edit = {"op_type": "edit_prompt", "target": "p", "value": {"old": "two", "new": "hunter2"}}
    for reader in (forgotten(harness, edit), Ledger(harness.journal, until=harness.ledger.last)):
        assert set(reader.holes) == {("prompts", "p")}
        assert "hunter2" not in str(reader.state.write())
        reader.fill(harness.state)
        assert (reader.holes, reader.state.write()) == ({}, harness.state.write())


def test_a_hole_is_not_filled_from_a_state_without_the_value(harness):
    reader = forgotten(harness, config("secret.key", "hunter2"))
    reader.fill(State.read(START))
    assert set(reader.holes) == {("config", "secret", "key")}


def test_writing_over_or_around_a_hole_ends_it(harness):
    for over in (config("secret.key", "new"), config("secret", "new")):
        forgotten(harness, config("secret", {}), config("secret.key", "hunter2"))
        harness.apply(candidate(over))
        reader = Ledger(harness.journal)
        assert (reader.holes, reader.hidden, harness.ledger.hidden) == ({}, (), ())
        assert reader.state.write() == harness.state.write()


def test_a_checkpoint_of_a_state_with_holes_keeps_them(harness):
    forgotten(harness, config("secret.key", "hunter2"))
    reader = Ledger(harness.journal)
    reader.checkpoint()
    again = Ledger(harness.journal)
    assert (set(again.holes), again.state.write()) == (set(reader.holes), reader.state.write())
    assert ("config", "secret", "key") in again.holes


def test_an_edit_inside_a_forgotten_text_writes_a_checkpoint(harness):
    forgotten(harness, prompt("p", "hunter2\nline\n"))
    assert not harness.ledger.is_checkpoint_due()
    edit = {"op_type": "edit_prompt", "target": "p", "value": {"old": "line", "new": "LINE"}}
    writes = harness.apply(candidate(edit)).entry
    assert [write.slot[:2] for write in load_record_writes(harness.journal, writes)] == [("prompts", "p")]
    assert harness.ledger.store.latest("checkpoint").seq > writes.seq


def test_forgotten_values_are_not_among_the_live_values(harness):
    harness.apply(candidate(config("secret.key", "hunter2")))
    harness.ledger.checkpoint()
    before = {slot for slots in harness.ledger.live_values().values() for slot in slots}
    assert {("config", "secret", "key"), ("config", "old"), ("prompts", "p"), ("config", "list")} <= before
    harness.forget_value("hunter2")
    after = {slot for slots in harness.ledger.live_values().values() for slot in slots}
    assert before - after == {("config", "secret", "key")}
    harness.apply(candidate(config("old", "new")))
    assert ("config", "old") not in {
        slot for slots in Ledger(harness.journal).live_values().values() for slot in slots
    }


def places(ledger):
    """Where the values stand that a ledger knows to be stored."""
    return {slot for slots in ledger.live_values().values() for slot in slots}


def test_a_checkpoint_knows_the_slots_of_values_another_wrote():
    ledger = begun()
    assert places(ledger) == {("prompts", "p")}
    other = Ledger(ledger.store)
    made(ledger, "0", "1")
    other.refresh()
    other.checkpoint()
    assert places(other) == {("prompts", "p")}


def test_the_slot_of_an_edited_text_is_known_until_it_is_removed(harness):
    text = ("prompts", "p")
    harness.apply(candidate({"op_type": "edit_prompt", "target": "p", "value": {"old": "two", "new": "2"}}))
    harness.ledger.checkpoint()
    assert text in places(harness.ledger)
    harness.apply(candidate({"op_type": "remove_prompt", "target": "p"}))
    assert text not in places(harness.ledger)


def test_an_edited_text_stays_visible_when_another_value_is_forgotten(harness):
    harness.apply(candidate({"op_type": "edit_prompt", "target": "p", "value": {"old": "two", "new": "2"}}))
    harness.ledger.checkpoint()
    forgotten(harness, config("secret.key", "hunter2"))
    assert harness.ledger.hidden == (("config", "secret", "key"),)


def test_a_candidate_with_a_forgotten_part_cannot_be_loaded(harness):
    entry = harness.apply(candidate(config("secret.key", "hunter2"), config("n", 1))).entry
    assert load_candidate(harness.journal, entry) == candidate(config("secret.key", "hunter2"), config("n", 1))
    harness.forget_value("hunter2")
    assert load_candidate(harness.journal, entry) is None


def test_a_checkpoint_reuses_stored_contents(tmp_path):
    with closing(open_journal(str(tmp_path / "journal.db"))) as store:
        ledger = begun(store, {"prompts": {"p": "0" * 100}})
        first = store.record(1)
        ledger.checkpoint()
        assert store.latest("checkpoint").refs("state") == first.refs("state")


def test_a_ledger_opened_at_a_record_does_not_advance():
    ledger = begun()
    for before, after in (("0", "1"), ("1", "2"), ("2", "3")):
        made(ledger, before, after)
    there = Ledger(ledger.store, until=4)
    there.refresh()
    assert (there.last, there.state["prompts", "p"]) == (4, "1")
