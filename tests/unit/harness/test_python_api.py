"""A harness reads like Python: one-line changes, answers that are true or false, subscribers, asyncio."""

from __future__ import annotations

import pytest
from tests.support.changes import candidate, config, prompt

from takeback import Applied, Blocked, Discarded, Gone, Refused, Stale, State, Unchanged, Undone, oracle
from takeback.adapters import init_workspace, open_memory, open_workspace
from takeback.evolve import evolve, propose_mutation
from takeback.state import Level


@pytest.fixture
def harness():
    start = {"config": {"a": {"b": 0}, "allow": ["X"]}, "prompts": {"system": "Use tabs.\n"}}
    with open_memory(State.read(start)) as opened:
        yield opened


# answers are true or false -----------------------------------------------------------------------


def test_what_was_done_is_true(harness):
    applied = harness.apply(candidate(config("a.b", 1)))
    assert isinstance(applied, Applied)
    assert applied
    assert harness.undo(applied)
    assert harness.redo()
    harness.adapter.edit(State())
    assert harness.adopt()


def test_what_was_not_done_is_false(harness):
    first = harness.apply(candidate(prompt("new", "One.\nTwo.\n")))
    harness.apply(candidate({"op_type": "edit_prompt", "target": "new", "old": "Two.", "new": "Three."}))
    refused = harness.apply({"mutation": [config("a.b", 4)]})
    blocked = harness.undo(first)
    stale = harness.undo(token="0" * 12)
    unchanged = harness.restore("HEAD")
    harness.apply(candidate(prompt("system", "Use spaces.\n")))
    harness.forget("HEAD")
    gone = harness.undo("HEAD")
    assert [type(one) for one in (refused, blocked, stale, unchanged, gone)] == [
        Refused,
        Blocked,
        Stale,
        Unchanged,
        Gone,
    ]
    assert not any((refused, blocked, stale, unchanged, gone))


def test_a_recovery_that_the_language_lacks_is_false():
    assert not oracle(candidate({"op_type": "edit_prompt", "target": "p", "old": "a", "new": "b"}).mutation, Level.L0)


def test_a_turn_of_the_loop_is_true_if_the_harness_changed(harness):
    change = propose_mutation(candidate(config("a.b", 1)).mutation)
    assert evolve(harness, change)
    assert not evolve(harness, change)


def test_a_plan_and_a_discard_are_true(tmp_path):
    root = tmp_path / "agent"
    init_workspace(root)
    with open_workspace(root) as harness:
        applied = harness.apply(candidate(config("a", 1)))
        assert harness.plan_undo(applied)
        (root / "config.toml").write_text("a = 2\n")
        refused = harness.undo(applied)
        assert isinstance(refused, Refused)
        assert not refused
        discarded = harness.discard()
        assert isinstance(discarded, Discarded)
        assert discarded
        assert isinstance(harness.undo(applied), Undone)
