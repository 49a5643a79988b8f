"""The recovery that was admitted counts: undo by the journal and by the recovery must end in the same state."""

from __future__ import annotations

import pytest
from tests.support.changes import candidate, config, file, listener, middleware, mutation, prompt, socket, tool

from takeback.adapters import init_workspace, open_memory, open_workspace
from takeback.adapters.doctor import examine_workspace
from takeback.errors import HarnessError
from takeback.harness import Undone, cross_check
from takeback.harness import toggle as module
from takeback.harness.cross_check import CrossCheck, cross_check_recovery
from takeback.language import Candidate, read_candidate
from takeback.state import State
from takeback.state.slots import put_slots
from takeback.undo import Blocked, plan_undo

START = {
    "config": {"a": {"b": 1}, "l": ["x"]},
    "prompts": {"p": "one\ntwo\n"},
    "middleware": [{"id": "auth", "handler": "h"}, {"id": "log", "handler": "h"}],
    "files": {"d/x": {"content": "x\n"}},
}


@pytest.fixture
def root(tmp_path):
    return init_workspace(tmp_path / "agent", start=State.read(START))


@pytest.fixture
def harness(root):
    with open_workspace(root, hold=False) as opened:
        yield opened


def roads(harness, *entries):
    plan = plan_undo(harness.ledger.history, harness.state, set(entries))
    return cross_check_recovery(harness.ledger, harness.state, plan)


CHANGES = {
    "a value": [config("a.b", 2)],
    "a deep value": [config("n.e.w", {"k": 1})],
    "a file": [file("new/deep/f", "1"), file("d/x", "2")],
    "a chain": [middleware("auth", index=1), middleware("new", index=0)],
    "many": [prompt("p", "new"), tool("t"), listener("e", "cb"), config("a", 5), socket("s", 0)],
    "an edit": [{"op_type": "edit_prompt", "target": "p", "value": {"old": "one", "new": "1"}}],
    "an item": [{"op_type": "append_config", "target": "l", "value": "y"}],
}


@pytest.mark.parametrize("name", CHANGES)
def test_undo_and_recovery_end_in_the_same_state(harness, name):
    entry = harness.apply(candidate(*CHANGES[name])).entry
    assert roads(harness, entry.number) is CrossCheck.AGREE
    other = harness.apply(candidate(config("else.where", 1))).entry
    assert roads(harness, entry.number) is CrossCheck.AGREE
    assert roads(harness, entry.number, other.number) is CrossCheck.AGREE
    assert isinstance(harness.undo(entry.id), Undone)


def test_a_differing_recovery_is_a_fault_that_names_the_entry(root, harness, monkeypatch):
    entry = harness.apply(candidate(config("a.b", 2))).entry
    before, head = (root / "config.toml").read_bytes(), harness.ledger.head

    def astray(history, state, off, on, **more):
        plan = module_plan(history, state, off, on, **more)
        return plan._replace(state=put_slots(plan.state, [(("config", "else"), 1)]))

    module_plan = module.plan_toggle
    monkeypatch.setattr(module, "plan_toggle", astray)
    with pytest.raises(HarnessError, match=rf"{entry.id[:12]}.*differ at config\[\"else\"\]; nothing was changed"):
        harness.undo(entry.id)
    assert (root / "config.toml").read_bytes() == before
    assert harness.ledger.head == head


@pytest.mark.parametrize("stored", [True, False])
def test_a_memory_harness_with_a_stored_journal_checks_recoveries(tmp_path, monkeypatch, stored):
    monkeypatch.setattr(cross_check, "recover", lambda recovery, state, held: state)
    with open_memory(State.read(START), journal=tmp_path / "journal.db" if stored else ":memory:") as harness:
        entry = harness.apply(candidate(config("a.b", 2))).entry
        if stored:
            with pytest.raises(HarnessError, match=rf"{entry.id[:12]} \(#2\).*differ at config\[\"a.b\"\]"):
                harness.undo(entry)
            assert harness.state["config", "a.b"] == 2
        else:
            assert isinstance(harness.undo(entry), Undone)


def test_a_recovery_that_fails_is_a_fault(harness, monkeypatch):
    entry = harness.apply(candidate(config("a.b", 2))).entry
    wrong = read_candidate(
        {"mutation": [config("a.b", 2)], "recovery": [{"op_type": "delete_config", "target": "a.b"}]}
    )
    monkeypatch.setattr("takeback.harness.cross_check.load_admitted_candidate", lambda *_: wrong)
    with pytest.raises(HarnessError, match="differ at"):
        roads(harness, entry.number)


def test_entries_that_others_overlay_are_not_compared(harness):
    one = harness.apply(candidate(config("a.b", 2))).entry
    harness.apply(candidate(config("a.b", 3)))
    assert roads(harness, one.number) is CrossCheck.OVERLAID
    two = harness.apply(candidate(config("deep", {"x": 1}))).entry
    harness.apply(candidate(config("deep.x", 2)))
    assert roads(harness, two.number) is CrossCheck.OVERLAID


def test_an_earlier_undone_entry_is_no_fault(harness):
    first = harness.apply(candidate(config("a.b", 2))).entry
    second = harness.apply(candidate(config("a.b", 3))).entry
    harness.undo(first.id)
    assert roads(harness, second.number) is CrossCheck.OVERLAID
    assert isinstance(harness.undo(second.id), Undone)
    assert harness.state == State.read(START)


def test_plans_name_forced_and_unproved_entries(root, harness):
    bad = Candidate(mutation(config("a.b", 9)), (), (), candidate(config("a.b", 9)).contract)
    forced = harness.apply(bad, force=True).entry
    (root / "prompts/new.md").write_text("by hand")
    adopted = harness.adopt().entry
    (root / "files/empty").mkdir()
    unproved = harness.adopt().entry
    proved = harness.apply(candidate(tool("t"))).entry
    assert harness.plan_undo(forced.id).unadmitted == (forced.number,)
    assert harness.plan_undo(adopted.id, unproved.id, proved.id).unadmitted == (unproved.number,)
    assert harness.plan_undo(adopted.id, proved.id).unadmitted == ()
    assert roads(harness, adopted.number) is CrossCheck.AGREE
    assert roads(harness, unproved.number) is CrossCheck.ALONE
    assert roads(harness, forced.number) is CrossCheck.ALONE
    assert harness.undo(forced.id).plan.unadmitted == (forced.number,)


def test_the_doctor_checks_the_recovery_of_every_live_entry(root, harness):
    for name in ("a value", "a chain", "an edit"):
        harness.apply(candidate(*CHANGES[name]))
    harness.apply(candidate(config("a.b", 7)))
    (root / "prompts/new.md").write_text("by hand")
    harness.adopt()
    (root / "files/empty").mkdir()
    harness.adopt()
    found = examine_workspace(root, deep=True)
    assert all(finding.good for finding in found)
    assert found[-1].detail == "4 run and compared, 1 overlaid by other entries, 1 without an admitted recovery"
    assert "recoveries" not in [finding.check for finding in examine_workspace(root)]


def whole_chain(name):
    return {
        "mutation": [middleware(name)],
        "witness": [{"op_type": "capture_middleware", "target": "*", "witness_key": "w"}],
        "recovery": [{"op_type": "restore_middleware", "target": "*", "witness_key": "w"}],
        "contract": ["middleware"],
    }


def test_comparing_a_recovery_of_a_whole_chain_leaves_the_index_as_it_was(tmp_path):
    stored = tmp_path / "journal.db"
    with open_memory(State.read(START), journal=stored) as harness:
        first = harness.apply(candidate(middleware("new"))).entry
        second = harness.apply(whole_chain("other")).entry
        harness.apply(candidate(middleware("third")))
    with open_memory(journal=stored) as harness:
        assert isinstance(harness.undo(second), Undone)
        assert isinstance(harness.undo(first), Undone)
        assert [one["id"] for one in harness.state.write()["middleware"]] == ["auth", "log", "third"]


def test_a_whole_chain_recovery_is_overlaid_by_later_chain_writes(tmp_path):
    stored = tmp_path / "journal.db"
    with open_memory(State.read(START), journal=stored) as harness:
        entry = harness.apply(whole_chain("other")).entry
        assert roads(harness, entry.number) is CrossCheck.AGREE
        later = harness.apply(candidate(middleware("third"))).entry
    with open_memory(journal=stored) as harness:
        assert roads(harness, entry.number) is CrossCheck.OVERLAID
        assert roads(harness, entry.number, later.number) is CrossCheck.AGREE


def test_a_blocked_plan_names_unadmitted_entries_of_the_cascade(harness):
    whole = candidate(config("l", ["y"]))
    forced = harness.apply(Candidate(whole.mutation, (), (), whole.contract), force=True).entry
    harness.apply(candidate({"op_type": "append_config", "target": "l", "value": "z"}))
    blocked = harness.plan_undo(forced.id)
    assert isinstance(blocked, Blocked)
    assert blocked.together.unadmitted == (forced.number,)
    assert blocked.together == harness.plan_undo(forced.id, cascade=True)
    assert harness.undo(forced.id).together.unadmitted == (forced.number,)


@pytest.mark.parametrize("value", ["x\ny\n", ""])
@pytest.mark.parametrize("wanted", ["both", "restore"])
def test_an_edit_and_a_whole_write_are_undone_around_an_undone_removal(root, value, wanted):
    """The recovery of the whole write removes the text, because it was removed then: that is no road for the edit."""
    with open_workspace(root, hold=False) as harness:
        genesis = harness.journal.get(1).id
        edit = {"op_type": "edit_prompt", "target": "p", "value": {"old": "one\n", "new": ""}}
        ops = (edit, {"op_type": "remove_prompt", "target": "p"}, prompt("p", value))
        first, removal, last = (harness.apply(candidate(one)).entry.id for one in ops)
        harness.undo(removal)
        done = harness.undo(first, last) if wanted == "both" else harness.restore(genesis)
        assert isinstance(done, Undone)
        assert harness.state == State.read(START)
        assert isinstance(harness.redo(first, last), Undone)
        assert harness.state.write()["prompts"] == {"p": value}
