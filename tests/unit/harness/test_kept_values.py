"""What an undo, redo or restore leaves as it is because later entries wrote it: said, and refused on request."""

from __future__ import annotations

import pytest
from tests.support.changes import candidate, config

from takeback import open_memory
from takeback.harness import Applied, Harness, RefusalReason, Refused, Undone
from takeback.state import State
from takeback.undo import Plan


def edit(old, new):
    return {"op_type": "edit_prompt", "target": "system", "value": {"old": old, "new": new}}


@pytest.fixture
def harness():
    with open_memory(State.read({"config": {"a": 0}, "prompts": {"system": "one\ntwo\n"}})) as opened:
        yield opened


def apply(harness: Harness, *ops: dict) -> int:
    done = harness.apply(candidate(*ops))
    assert isinstance(done, Applied), done
    return done.entry.number


def kept(plan):
    assert isinstance(plan, Plan), plan
    return [(one.slot, one.entry) for one in plan.kept]


@pytest.mark.parametrize(
    ("first", "second", "slot"),
    [
        (config("a", 1), config("a", 2), ("config", "a")),
        (edit("two", "zwei"), edit("zwei", "deux"), ("prompts", "system", "\x1f1")),
    ],
)
def test_an_undo_of_an_overwritten_value_keeps_the_later_value(harness, first, second, slot):
    one, two = apply(harness, first), apply(harness, second)
    plan = harness.plan_undo(f"#{one}")
    assert kept(plan) == [(slot, two)]
    assert not plan.visible
    done = harness.undo(f"#{one}")
    assert isinstance(done, Undone)
    assert (kept(done.plan), done.plan.visible) == ([(slot, two)], False)


def test_a_strict_undo_refuses_to_keep_later_values(harness):
    one, two = apply(harness, config("a", 1), config("b", 1)), apply(harness, config("a", 2))
    before = harness.journal.head()
    for refused in (harness.undo(f"#{one}", strict=True), harness.plan_undo(f"#{one}", strict=True)):
        assert isinstance(refused, Refused)
        assert refused.why is RefusalReason.KEPT
        assert f"#{two}" in refused.message
        assert kept(refused.plan) == [(("config", "a"), two)]
    assert harness.journal.head() == before
    assert isinstance(harness.undo(f"#{two}", strict=True), Undone)
    assert isinstance(harness.undo(f"#{one}", strict=True), Undone)


def test_a_redo_lists_kept_values_and_strict_refuses_it(harness):
    one = apply(harness, config("a", 1))
    assert isinstance(harness.undo(f"#{one}"), Undone)
    two = apply(harness, config("a", 2))
    refused = harness.redo(f"#{one}", strict=True)
    assert isinstance(refused, Refused)
    assert refused.why is RefusalReason.KEPT
    done = harness.redo(f"#{one}")
    assert isinstance(done, Undone)
    assert (kept(done.plan), done.plan.visible) == ([(("config", "a"), two)], False)


def test_values_written_by_the_same_redo_are_not_listed_as_kept(harness):
    one, two = apply(harness, config("a", 1)), apply(harness, config("a", 2))
    assert isinstance(harness.undo(f"#{one}", f"#{two}"), Undone)
    done = harness.redo(f"#{one}", f"#{two}", strict=True)
    assert isinstance(done, Undone)
    assert done.plan.kept == ()
    assert done.plan.visible


def test_a_strict_restore_keeps_no_later_value(harness):
    one = apply(harness, config("a", 1))
    apply(harness, config("a", 2))
    assert isinstance(harness.restore(f"#{one}", strict=True), Undone)
    assert harness.state["config", "a"] == 1
