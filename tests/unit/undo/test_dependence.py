"""What depends on what: a later write that needs the thing, a later whole write, and lists that belong to nobody."""

from __future__ import annotations

from itertools import permutations

import pytest
from tests.support.changes import config, file, listener, middleware
from tests.support.undo_world import World

from takeback.state import ABSENT
from takeback.state.forgotten import FORGOTTEN_VALUE
from takeback.state.slots import put_slots
from takeback.undo import Blocked, Plan, Write

ITEM = {"target": "permissions.allow"}
GROUP = {"id": "g", "handler": "h", "options": {"matcher": "Bash", "hooks": [{"command": "a"}]}}


def append(value):
    return {"op_type": "append_config", **ITEM, "value": value}


def unset(target):
    return {"op_type": "unset_config", "target": target}


def insert(value, **spot):
    return {"op_type": "insert_config", **ITEM, "value": value, **spot}


def remove(value):
    return {"op_type": "remove_config_item", **ITEM, "value": value}


def group(**options):
    value = {**GROUP, "options": {**GROUP["options"], **options}}
    return {"op_type": "add_listener", "target": "PreToolUse", "value": value}


PUT_AND_NEED = {
    "move_middleware": (middleware("m"), {"op_type": "move_middleware", "target": "m", "index": 0}),
    "replace_middleware": (
        middleware("m"),
        {"op_type": "replace_middleware", "target": "m", "value": {"handler": "other"}},
    ),
    "move_listener": (
        listener("on_start", "new"),
        {"op_type": "move_listener", "target": "on_start", "value": "new", "index": 0},
    ),
    "edit_group": (group(), group(matcher="Write")),
    "move_file": (file("a", "x"), {"op_type": "move_file", "target": "a", "value": "b"}),
    "edit_file": (file("a", "x\n"), {"op_type": "edit_file", "target": "a", "value": {"old": "x", "new": "y"}}),
    "remove_config_item": (append("later"), remove("later")),
}


def world():
    return World(
        config={"permissions": {"allow": ["first"]}},
        middleware=[{"id": "base", "handler": "h"}],
        listeners={"on_start": [{"id": "base", "handler": "h"}]},
    )


@pytest.mark.parametrize("needing", PUT_AND_NEED)
def test_an_undo_is_blocked_by_an_entry_that_needs_its_result(needing):
    w = world()
    before = w.state
    put, need = PUT_AND_NEED[needing]
    first, second = w.do(put), w.do(need)
    outcome = w.undo(first)
    assert isinstance(outcome, Blocked)
    assert (outcome.off, outcome.on) == ((second,), ())
    assert dict(outcome.reasons)[second]
    assert isinstance(outcome.together, Plan)
    assert outcome.together.state == before
    after = w.state
    assert isinstance(w.undo(second), Plan)
    assert isinstance(w.undo(first), Plan)
    assert w.state == before
    assert isinstance(w.redo(second), Blocked)
    assert isinstance(w.redo(first, second), Plan)
    assert w.state == after


@pytest.mark.parametrize("needing", sorted(set(PUT_AND_NEED) - {"edit_file", "remove_config_item"}))
def test_an_undo_is_not_blocked_where_an_earlier_write_still_provides_the_value(needing):
    w = world()
    put, need = PUT_AND_NEED[needing]
    w.do(put)
    again = w.do(put)
    w.do(need)
    assert isinstance(w.undo(again), Plan)


def test_undoing_an_element_blocks_on_all_its_later_moves():
    w = world()
    first = w.do(middleware("m"))
    moves = [w.do({"op_type": "move_middleware", "target": "m", "index": at}) for at in (0, 1)]
    outcome = w.undo(first)
    assert isinstance(outcome, Blocked)
    assert outcome.off == tuple(moves)
    assert isinstance(w.undo(moves[0]), Plan)


@pytest.mark.parametrize(
    ("put", "whole", "moved"),
    [
        (middleware("m"), middleware("m", index=0), {"op_type": "move_middleware", "target": "m", "index": 1}),
        (
            listener("on_start", "new"),
            listener("on_start", "new", "other"),
            {"op_type": "move_listener", "target": "on_start", "value": "new", "index": 0},
        ),
        (file("a", "x"), file("a", "y"), {"op_type": "move_file", "target": "a", "value": "b"}),
    ],
)
def test_a_later_whole_write_and_its_dependents_stay(put, whole, moved):
    w = world()
    first, second = w.do(put), w.do(whole)
    w.do(moved)
    now = w.state
    plan = w.undo(first)
    assert isinstance(plan, Plan)
    assert not plan.visible
    assert {kept.entry for kept in plan.kept} & {second, second + 1}
    assert w.state == now
    assert isinstance(w.undo(second), Blocked)


def test_redoing_a_removal_is_blocked_by_a_later_move():
    w = world()
    removal = w.do({"op_type": "remove_middleware", "target": "base"})
    w.undo(removal)
    move = w.do({"op_type": "move_middleware", "target": "base", "index": 0})
    outcome = w.redo(removal)
    assert isinstance(outcome, Blocked)
    assert outcome.off == (move,)


def test_a_line_that_a_later_edit_wrote_again_stays_as_that_edit_wrote_it():
    w = World(prompts={"p": "one\n"})
    edit = {"op_type": "edit_prompt", "target": "p"}
    first = w.do({**edit, "value": {"old": "", "new": "two\n"}})
    w.do({**edit, "value": {"old": "two\n", "new": "three\n"}})
    plan = w.undo(first)
    assert isinstance(plan, Plan)
    assert (plan.visible, len(plan.kept)) == (False, 1)


def allowed(w):
    return w.state.write().get("config", {}).get("permissions", {}).get("allow")


FIRST = [
    (config("permissions.allow", ["rm"]),),
    (config("permissions", {"allow": ["rm"]}),),
]


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("second", [append("ls"), insert("ls", index=0), insert("ls", after="rm")])
@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_the_first_item_of_a_list_does_not_own_the_list(first, second, order):
    w = World(config={"keep": 1})
    w.do(*first)
    w.do(second)
    full = w.state
    for entry in order:
        assert isinstance(w.undo(entry), Plan)
        if entry == order[0]:
            assert allowed(w) == ["ls" if entry == 1 else "rm"]
    assert w.state.write() == World(config={"keep": 1}).state.write()
    for back in (order, order[::-1]):
        for entry in back:
            assert isinstance(w.redo(entry), Plan)
        assert w.state == full
        assert isinstance(w.undo(1, 2), Plan)
        assert w.state.write() == World(config={"keep": 1}).state.write()


def test_items_added_while_the_first_is_undone_stay_beside_it():
    w = World(config={})
    w.do(config("permissions.allow", ["rm"]))
    w.do(append("ls"))
    w.undo(1)
    w.do(append("cat"))
    w.do(insert("cp", before="ls"))
    assert isinstance(w.redo(1), Plan)
    assert sorted(allowed(w)) == ["cat", "cp", "ls", "rm"]
    for entry in (1, 2, 3, 4):
        assert isinstance(w.undo(entry), Plan)
    assert w.state.write().get("config", {}) == {}


def test_undoing_a_list_is_blocked_by_the_removal_of_its_item():
    w = World(config={})
    w.do(config("permissions.allow", ["rm"]))
    w.do(remove("rm"))
    assert allowed(w) == []
    outcome = w.undo(1)
    assert isinstance(outcome, Blocked)
    assert outcome.off == (2,)
    w.undo(1, 2)
    assert allowed(w) is None
    w.redo(1, 2)
    assert allowed(w) == []


def test_redoing_the_unset_of_a_list_keeps_a_later_append():
    w = World(config={})
    w.do(config("permissions.allow", ["rm"]))
    w.do({"op_type": "unset_config", "target": "permissions.allow"})
    w.undo(2)
    w.do(append("ls"))
    assert isinstance(w.redo(2), Plan)
    assert allowed(w) == ["ls"]
    assert isinstance(w.undo(1), Plan)
    assert allowed(w) == ["ls"]
    assert isinstance(w.undo(2), Plan)
    assert allowed(w) == ["ls"]
    assert isinstance(w.redo(1), Plan)
    assert allowed(w) == ["rm", "ls"]


def test_undoing_a_list_is_blocked_by_an_append_that_cannot_recreate_it():
    w = World(config={"permissions": 5})
    w.do({"op_type": "unset_config", "target": "permissions"})
    w.do(config("permissions.allow", ["rm"]))
    w.do(append("ls"))
    outcome = w.undo(1, 2)
    assert isinstance(outcome, Blocked)
    assert outcome.off == (3,)
    assert "is not a mapping" in dict(outcome.reasons)[3]


def test_undoing_a_list_set_as_a_whole_blocks_on_later_appends():
    w = World(config={})
    w.do(config("permissions.allow", ["rm", "cp"]))
    w.do(append("ls"))
    outcome = w.undo(1)
    assert isinstance(outcome, Blocked)
    assert outcome.off == (2,)


def test_redoing_a_value_below_a_list_is_blocked_by_its_appends():
    w = World(config={})
    below = w.do(config("permissions.allow.x", 5))
    w.undo(below)
    first = w.do(config("permissions.allow", ["rm"]))
    item = w.do(append("ls"), {"op_type": "unset_config", "target": "permissions.allow"})
    assert isinstance(w.undo(first), Plan)
    outcome = w.redo(below)
    assert isinstance(outcome, Blocked)
    assert outcome.off == (item,)


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("last", [unset("permissions.allow"), config("permissions.allow", 5)], ids=["unset", "set"])
@pytest.mark.parametrize("order", [*permutations((1, 2, 3))])
def test_a_mapping_goes_with_the_last_item_of_a_list_that_was_taken_out(first, last, order):
    w = World(config={"keep": 1})
    w.do(*first)
    w.do(append("ls"))
    w.do(last)
    held = last["op_type"] == "set_config"
    for step, entry in enumerate(order, 1):
        assert isinstance(w.undo(entry), Plan)
        left = {*order[step:]}
        assert ("permissions" in w.state.write()["config"]) == bool(left & ({1, 2, 3} if held else {1, 2}))
    for step, entry in enumerate(order, 1):
        assert isinstance(w.redo(entry), Plan)
        there = {*order[:step]}
        assert ("permissions" in w.state.write()["config"]) == bool(there & ({1, 2, 3} if held else {1, 2}))


def test_redoing_an_item_is_blocked_by_an_item_of_a_list_above_it():
    w = World(config={})
    w.do(config("permissions.allow", ["rm"]))
    item = w.do(append("ls"))
    w.do(unset("permissions"))
    w.do(config("permissions", ["cp"]))
    above = w.do({"op_type": "append_config", "target": "permissions", "value": "mv"})
    for entry in (item, 1, 4, 3):
        assert isinstance(w.undo(entry), Plan)
    outcome = w.redo(item)
    assert isinstance(outcome, Blocked)
    assert outcome.off == (above,)
    assert "is a mapping" in dict(outcome.reasons)[above]
    assert isinstance(w.settle(outcome.together), Plan)
    assert w.state.write()["config"] == {"permissions": {"allow": ["ls"]}}


def test_undoing_an_item_of_a_list_that_was_taken_out_ignores_what_was_forgotten_in_its_place():
    w = World(config={})
    w.do(config("permissions.allow", ["rm"]))
    item = w.do(append("ls"))
    w.do(unset("permissions.allow"))
    slot = ("config", "permissions", "allow", "x")
    w.history.add(4, (Write(slot, ABSENT, FORGOTTEN_VALUE),))
    w.state = put_slots(w.state, [(slot, 5)])
    assert isinstance(w.undo(item), Plan)
    assert w.state.write()["config"] == {"permissions": {"allow": {"x": 5}}}
