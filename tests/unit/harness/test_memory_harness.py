"""A harness over a journal: apply, undo, redo, restore, adopt, forget; the same after opening again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.support.changes import candidate, config, middleware, prompt, tool

from takeback.adapters import open_memory
from takeback.errors import InputError, UnknownEntryError
from takeback.harness import Adopted, Applied, RefusalReason, Refused, Stale, Undone
from takeback.harness.entry_names import build_restore_request
from takeback.language import read_candidate
from takeback.state import State
from takeback.undo import Blocked, Gone, Plan

WRONG = {"mutation": [tool("grep")], "witness": [], "recovery": [{"op_type": "unregister_tool", "target": "grep"}]}


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def journal(request, tmp_path):
    if request.param == "memory":
        return ":memory:"
    if request.param == "sqlite":
        return tmp_path / "journal.db"
    name = f"m{abs(hash(str(tmp_path))) % 10**9}"
    return f"{request.getfixturevalue('postgres_url')}#{name}"


def apply(harness, *ops, **options):
    done = harness.apply(candidate(*ops), **options)
    assert isinstance(done, Applied), done
    return done.entry.id


def test_entries_are_applied_undone_redone_and_logged(journal):
    harness = open_memory(State.read({"config": {"a": 1}}), journal=journal)
    one = apply(harness, config("a", 2))
    two = apply(harness, config("b", 1), middleware("m", index=0))
    three = apply(harness, config("c", 1))
    assert isinstance(harness.undo(two[:8]), Undone)
    assert harness.state.write() == {"config": {"a": 2, "c": 1}}
    harness.redo()
    assert harness.state.write()["config"] == {"a": 2, "b": 1, "c": 1}
    restored = harness.restore(one)
    assert harness.state.write() == {"config": {"a": 2}}
    harness.undo(restored.entry.id)
    assert harness.state.write()["config"] == {"a": 2, "b": 1, "c": 1}
    harness.restore(three)
    assert harness.ledger.replay_state() == harness.state
    assert harness.journal.check().whole
    harness.close()


def test_a_reopened_harness_knows_state_and_history(tmp_path):
    place = tmp_path / "journal.db"
    first = open_memory(State.read({"config": {"a": {"x": 0}}}), journal=place)
    ids = [apply(first, config(f"a.k{n}", n), middleware(f"m{n}", index=0)) for n in range(5)]
    first.undo(ids[1])
    state = first.state
    first.close()
    again = open_memory(journal=place)
    assert again.state == state
    assert [link.place for link in again.state.part("middleware")] == [
        link.place for link in state.part("middleware")
    ]
    again.undo(ids[3])
    again.redo(ids[1])
    assert again.state.write()["config"]["a"] == {"x": 0, "k0": 0, "k1": 1, "k2": 2, "k4": 4}
    assert again.ledger.replay_state() == again.state


def test_a_checkpoint_saves_reading_the_whole_history(tmp_path, monkeypatch):
    monkeypatch.setattr("takeback.harness.ledger.MIN_CHECKPOINT", 5)
    harness = open_memory(journal=tmp_path / "journal.db")
    ids = [apply(harness, config(f"k{n}", n)) for n in range(12)]
    harness.undo(ids[2])
    kinds = [record.kind for record in harness.journal.records()]
    assert "checkpoint" in kinds
    harness.close()
    again = open_memory(journal=tmp_path / "journal.db")
    assert again.state == harness.state
    again.undo(ids[0])
    again.redo(ids[2])
    assert sorted(again.state.write()["config"]) == sorted(f"k{n}" for n in range(1, 12))
    assert again.ledger.replay_state() == again.state


def test_a_refused_change_shows_the_smallest_breaking_state():
    harness = open_memory()
    refused = harness.apply(read_candidate(WRONG))
    assert isinstance(refused, Refused)
    assert refused.why is RefusalReason.VERDICT
    assert set(refused.verdict.counterexample.state.write()["tools"]) == {"grep"}
    assert harness.journal.head().seq == 2, "only the beginning is on record"


def test_a_forced_change_is_recorded_as_forced_and_can_be_undone():
    harness = open_memory(State.read({"tools": {"grep": {"id": "old"}}}))
    done = harness.apply(read_candidate(WRONG), force=True)
    assert done.forced
    record = harness.journal.get(done.entry.number)
    assert record.payload["forced"] is True
    assert record.payload["evidence"]["grade"] == "refuted"
    harness.undo(done.entry.id)
    assert harness.state.write()["tools"]["grep"]["id"] == "old"


def test_force_does_not_mark_an_admitted_change():
    harness = open_memory()
    assert not harness.apply(candidate(config("a", 1)), force=True).forced


def test_a_mutation_that_cannot_run_here_is_refused_even_when_forced():
    harness = open_memory(State.read({"config": {"a": 5}}))
    refused = harness.apply(candidate(config("a.b", 1)), force=True)
    assert (refused.why, "cannot run on the present state" in refused.message) == (RefusalReason.STATE, True)


def test_ties_to_earlier_entries_are_reported_and_can_be_refused():
    harness = open_memory(State.read({"config": {"a": 5}}))
    one = harness.apply(candidate(config("a", {})))
    refused = harness.apply(candidate(config("a.b", 1)), allow_ties=False)
    assert (refused.why, list(refused.ties)) == (RefusalReason.TIED, [one.entry.number])
    assert list(harness.apply(candidate(config("a.b", 1))).ties) == [one.entry.number]
    blocked = harness.undo(one.entry.id)
    assert isinstance(blocked, Blocked)
    assert harness.state.write() == {"config": {"a": {"b": 1}}}
    harness.undo(one.entry.id, cascade=True)
    assert harness.state.write() == {"config": {"a": 5}}


def test_a_plans_token_binds():
    harness = open_memory()
    one = apply(harness, config("a", 1))
    plan = harness.plan_undo(one)
    assert isinstance(plan, Plan)
    apply(harness, config("a", 2))
    stale = harness.undo(one, token=plan.token)
    assert isinstance(stale, Stale)
    assert harness.state.write() == {"config": {"a": 2}}
    assert isinstance(harness.undo(one, token=stale.plan.token), Undone)


def test_drift_is_refused_shown_and_adopted_as_an_entry():
    harness = open_memory(State.read({"config": {"a": 1}}))
    harness.adapter.edit(State.read({"config": {"a": 1, "by_hand": 1}}))
    refused = harness.apply(candidate(config("by_hand", 2)))
    assert (refused.why, [change.slot for change in refused.drift]) == (RefusalReason.DRIFT, [("config", "by_hand")])
    adopted = harness.adopt("tuned")
    assert isinstance(adopted, Adopted)
    apply(harness, config("b", 1))
    harness.undo(adopted.entry.id)
    assert harness.state.write() == {"config": {"a": 1, "b": 1}}
    assert harness.adopt() is None


def test_undo_after_forgetting_reports_the_missing_witness_and_the_rest():
    harness = open_memory(State.read({"prompts": {"p": "first"}}))
    one = apply(harness, prompt("p", "second"))
    two = apply(harness, prompt("p", "third"))
    harness.forget(one)
    gone = harness.undo(two)
    assert isinstance(gone, Gone)
    assert gone.slots == (("prompts", "p"),)
    assert harness.state.write() == {"prompts": {"p": "third"}}
    assert isinstance(harness.undo(one), Undone), "the later value stays, nothing forgotten is needed"
    assert isinstance(harness.undo(two), Gone), "what the first captured is gone from the first state as well"
    assert harness.state.write() == {"prompts": {"p": "third"}}
    assert harness.journal.check().whole


def test_the_rest_of_a_partial_undo_can_be_salvaged():
    harness = open_memory(State.read({"prompts": {"p": "first", "q": "first"}}))
    one = apply(harness, prompt("p", "second"))
    two = apply(harness, prompt("p", "third"), prompt("q", "third"))
    harness.forget(one)
    gone = harness.undo(two)
    assert (gone.slots, [change.slot for change in gone.left]) == ((("prompts", "p"),), [("prompts", "q")])
    salvaged = harness.salvage(two)
    assert isinstance(salvaged, Adopted)
    assert harness.state.write() == {"prompts": {"p": "third", "q": "first"}}
    harness.undo(salvaged.entry.id)
    assert harness.state.write() == {"prompts": {"p": "third", "q": "third"}}
    assert isinstance(harness.salvage(one), Undone), "where nothing is gone, it is an undo"


def test_salvaging_removes_containers_only_the_entry_needed():
    harness = open_memory()
    one = apply(harness, config("z", 1))
    two = apply(harness, config("z", 2), config("a", {}), config("a.b", 1), config("a.c.d", 1), config("x.y", 1))
    harness.forget(one)
    assert [change.slot[1:] for change in harness.undo(two).left] == [("a",), ("x", "y"), ("x",)]
    harness.salvage(two)
    assert harness.state.write() == {"config": {"z": 2}}


def test_values_inside_a_forgotten_container_are_listed_by_the_undo():
    harness = open_memory(State.read({"config": {"a": 5}}))
    one = apply(harness, config("a", {"b": 1}))
    two = apply(harness, config("a.c", 2), config("a.b", 2))
    harness.forget(one)
    gone = harness.undo(two)
    assert isinstance(gone, Gone)
    assert set(gone.slots) | {change.slot for change in gone.left} == {("config", "a", "b"), ("config", "a", "c")}
    assert harness.state.write() == {"config": {"a": {"b": 2, "c": 2}}}


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda h, one: h.undo("ffffffff"), UnknownEntryError),
        (lambda h, one: h.undo("nonsense"), UnknownEntryError),
        (lambda h, one: h.undo("#1"), InputError),
        (lambda h, one: h.redo(one), InputError),
        (lambda h, one: h.redo(), InputError),
        (lambda h, one: (h.undo(one), h.undo(one)), InputError),
        (lambda h, one: h.forget("#9"), UnknownEntryError),
    ],
)
def test_unknown_entry_names_are_errors_that_explain_themselves(act, error):
    harness = open_memory()
    one = apply(harness, config("a", 1))
    with pytest.raises(error):
        act(harness, one)


def test_two_harnesses_on_one_journal_see_each_other(tmp_path):
    one = open_memory(journal=tmp_path / "journal.db")
    two = open_memory(journal=tmp_path / "journal.db")
    first = apply(one, config("a", 1))
    second = apply(two, config("b", 1))
    one.undo(second)
    two.undo(first)
    assert two.state.write() == {}
    one.status()
    assert one.state.write() == {}
    assert one.journal.check().whole


def test_restore_accepts_a_point_in_time():
    harness = open_memory()
    one = apply(harness, config("a", 1))
    apply(harness, config("a", 2))
    at = datetime.fromisoformat(harness.journal.find(one)[0].created_at)
    for text in (at.isoformat(), at.replace(tzinfo=None).isoformat(), f"{at:%Y%m%dT%H%M%S.%f}Z"):
        assert isinstance(harness.restore(text), Undone)
        assert harness.state.write() == {"config": {"a": 1}}
        harness.undo("HEAD")
    east = at.astimezone(timezone(timedelta(hours=5)))
    assert harness.plan(lambda ledger: build_restore_request(ledger, east.isoformat())).state.write() == {
        "config": {"a": 1}
    }
    future = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    assert harness.plan(lambda ledger: build_restore_request(ledger, future)).changes == ()
    for text, words in (("2001-01-01", "at or after the beginning"), ("2001-99-01", "ISO 8601")):
        with pytest.raises(InputError, match=words):
            harness.restore(text)


def test_a_result_of_another_harness_is_an_unknown_entry():
    one, two = open_memory(), open_memory()
    mine, theirs = one.apply(candidate(config("a", 1))), two.apply(candidate(config("b", 2)))
    assert mine.entry.seq == theirs.entry.seq
    assert one.plan_undo(mine).changes
    for ask in (one.plan_undo, one.undo):
        with pytest.raises(UnknownEntryError):
            ask(theirs)
    assert one.state.write() == {"config": {"a": 1}}


def test_changes_by_another_harness_after_an_adoption_are_not_drift(tmp_path):
    journal = str(tmp_path / "journal.db")
    one, two = open_memory(journal=journal), open_memory(journal=journal)
    one.adapter.edit(State.read({"config": {"by": "hand"}}))
    assert one.adopt() is not None
    two.apply(candidate(config("a", 1)))
    assert one.status().clean
    assert one.state.write() == {"config": {"a": 1, "by": "hand"}}
