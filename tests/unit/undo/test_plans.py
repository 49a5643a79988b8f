"""Undo of any entry equals the history without it; where a later entry needs it, the answer is blocked."""

from __future__ import annotations

import pytest
from tests.support.changes import config, file, listener, middleware, mutation, prompt, socket, tool
from tests.support.undo_world import World

from takeback.state import ABSENT, PMap, State
from takeback.state.forgotten import FORGOTTEN_VALUE
from takeback.state.slots import put_slots
from takeback.undo import (
    Blocked,
    Gone,
    History,
    Overwritten,
    Plan,
    SlotChange,
    Write,
    find_dependencies,
    plan_toggle,
    plan_undo,
)
from takeback.undo.history import SUPPOSED, ContentGone
from takeback.undo.plan import _plan_independent, _plan_request
from takeback.undo.record import list_writes_between, run_and_record


def test_undoing_the_middle_of_three_entries_keeps_the_others():
    world = World()
    for name in ("a", "b", "c"):
        world.do(config(name, 1))
    world.undo(2)
    assert world.state.write() == {"config": {"a": 1, "c": 1}}


def test_a_supposed_write_counts_only_while_it_is_supposed():
    world = World(config={"k": 0})
    world.do(config("k", 1))
    with world.history.index.suppose_entry((Write(("config", "k"), 1, 2),)):
        (kept,) = plan_undo(world.history, world.state, {1}).kept
        assert (kept.slot, kept.entry) == (("config", "k"), SUPPOSED)
    assert plan_undo(world.history, world.state, {1}).kept == ()


def test_an_overwritten_value_stays_when_the_earlier_writer_is_undone():
    world = World(config={"k": 0})
    world.do(config("k", 1))
    world.do(config("k", 2))
    assert world.undo(1).changes == ()
    assert world.state.write() == {"config": {"k": 2}}
    world.undo(2)
    assert world.state.write() == {"config": {"k": 0}}


def test_undoing_the_first_of_two_front_inserts_keeps_the_second():
    world = World(middleware=[{"id": "auth", "handler": "h"}])
    world.do(middleware("one", index=0))
    world.do(middleware("two", index=0))
    world.undo(1)
    assert world.chain() == ["two", "auth"]
    world.redo(1)
    assert world.chain() == ["two", "one", "auth"]


def test_the_neighbour_of_an_undone_element_keeps_its_place():
    world = World(middleware=[{"id": "auth", "handler": "h"}, {"id": "log", "handler": "h"}])
    world.do(middleware("anchor", index=1))
    world.do(middleware("beside", after="anchor"))
    world.undo(1)
    assert world.chain() == ["auth", "beside", "log"]


def test_undoing_a_move_returns_the_element_and_keeps_later_ones():
    world = World(middleware=[{"id": name, "handler": "h"} for name in ("a", "b", "c")])
    world.do(middleware("c", index=0))
    world.do(middleware("d", index=1))
    world.undo(1)
    assert world.chain() == ["d", "a", "b", "c"]


def test_a_mapping_made_on_the_way_vanishes_with_the_last_that_needs_it():
    world = World()
    world.do(config("a.b", 1))
    world.do(config("a.c", 2))
    world.undo(1)
    assert world.state.write() == {"config": {"a": {"c": 2}}}
    world.undo(2)
    assert world.state.write() == {}


def test_a_mapping_that_was_there_stays_even_when_it_is_empty():
    world = World(config={"a": {}})
    world.do(config("a.b.c", 1))
    world.undo(1)
    assert world.state.write() == {"config": {"a": {}}}


def test_undoing_a_file_removes_only_the_directories_it_made():
    world = World(files={"keep": {"directory": True}})
    world.do(file("keep/new/f", "x"))
    world.do(file("other/g", "y"))
    world.undo(1)
    assert world.state.write()["files"] == {
        "keep": {"directory": True},
        "other/g": {"content": "y", "mode": "0644"},
    }


def test_replacing_a_mapping_is_undone_leaf_by_leaf():
    world = World(config={"a": {"old": 1}})
    world.do(config("a", {"x": 1}))
    world.do(config("a.b", 2))
    world.undo(1)
    assert world.state.write() == {"config": {"a": {"old": 1, "b": 2}}}


def test_a_value_below_a_former_scalar_blocks_and_cascades():
    world = World(config={"a": 5})
    world.do(config("a", {}))
    world.do(config("a.b", 1))
    world.do(config("z", 1))
    blocked = world.undo(1)
    assert isinstance(blocked, Blocked)
    assert blocked.off == (2,)
    assert "'a' is not a mapping" in blocked.reasons[0][1]
    assert blocked.together.state.write() == {"config": {"a": 5, "z": 1}}


def test_blocking_entries_are_followed_to_the_end_and_no_further():
    world = World(config={"a": 5})
    world.do(config("a", {}))
    world.do(config("a.b", {}), prompt("p", "x"))
    world.do(config("a.b.c", 1))
    world.do(prompt("p", "y"))
    blocked = world.undo(1)
    assert blocked.off == (2, 3)
    assert blocked.together.state.write() == {"config": {"a": 5}, "prompts": {"p": "y"}}


def test_a_later_write_of_the_whole_lifts_the_dependency():
    world = World(config={"a": 5})
    world.do(config("a", {}))
    world.do(config("a", {"fresh": 1}))
    world.do(config("a.b", 1))
    assert isinstance(world.undo(1), Plan)
    assert world.state.write() == {"config": {"a": {"fresh": 1, "b": 1}}}


def test_an_address_that_was_freed_and_taken_blocks():
    world = World(resources={"r1": {"address": "tcp://127.0.0.1:9100"}})
    world.do(socket("r1", 9101))
    world.do(socket("r2", 9100))
    blocked = world.undo(1)
    assert blocked.off == (2,)
    assert "held by 'r1'" in blocked.reasons[0][1]
    held = blocked.together.state.write()["resources"]
    assert [(key, item["address"]) for key, item in held.items()] == [("r1", "tcp://127.0.0.1:9100")]


def test_a_redo_that_a_later_entry_makes_impossible_names_it():
    world = World()
    world.do(file("d", "a file"))
    world.undo(1)
    world.do(file("d/x", "in a directory"))
    blocked = world.redo(1)
    assert (blocked.off, blocked.on) == ((2,), ())
    assert blocked.together.state.write()["files"] == {"d": {"content": "a file", "mode": "0644"}}


def test_a_redo_that_needs_another_names_that_one():
    world = World(config={"a": 5})
    world.do(config("a", {}))
    world.do(config("a.b", 1))
    world.undo(1, 2)
    blocked = world.redo(2)
    assert (blocked.off, blocked.on) == ((), (1,))
    assert blocked.together.state.write() == {"config": {"a": {"b": 1}}}


def test_a_replaced_callback_keeps_its_place_when_its_first_binding_is_undone():
    world = World()
    world.do(listener("e", "one"))
    world.do(listener("e", "two"))
    world.do(listener("e", "one", handler="new"))
    world.undo(1)
    assert [(c["id"], c["handler"]) for c in world.state.write()["listeners"]["e"]] == [("one", "new"), ("two", "h")]


def test_a_kept_mode_is_the_one_resolved_when_the_write_ran():
    world = World(files={"f": {"content": "0", "mode": "0600"}})
    world.do(file("f", "1", mode="0755"))
    world.do(file("f", "2"))
    world.undo(1)
    assert world.state.write()["files"]["f"] == {"content": "2", "mode": "0755"}


def test_an_element_removed_by_hand_returns_to_its_place():
    world = World(middleware=[{"id": name, "handler": "h"} for name in ("a", "b", "c")])
    world.remove_by_hand(("middleware", "b"))
    world.do(middleware("d", index=1))
    world.undo(1)
    assert world.chain() == ["a", "b", "d", "c"] or world.chain() == ["a", "d", "b", "c"]


def test_undoing_an_entry_removes_its_container_emptied_by_hand():
    world = World()
    world.do(config("a.b", 1))
    world.remove_by_hand(("config", "a", "b"))
    assert world.state.write() == {"config": {"a": {}}}
    world.undo(1)
    assert world.state.write() == {}
    world.redo(1)
    assert world.state.write() == {"config": {"a": {}}}


def test_undoing_an_entry_removes_a_directory_it_emptied_itself():
    world = World()
    world.do(file("d/x", "1"), {"op_type": "move_file", "target": "d/x", "value": "moved"})
    assert world.state.write()["files"]["d"] == {"directory": True}
    world.undo(1)
    assert world.state.write() == {}


def test_several_entries_are_undone_and_redone_at_once():
    world = World()
    for name in ("a", "b", "c", "d"):
        world.do(config(name, 1), tool(name))
    before = world.state
    world.undo(1, 3)
    assert sorted(world.state.write()["tools"]) == ["b", "d"]
    world.settle(plan_toggle(world.history, world.state, {2}, {1, 3}))
    assert sorted(world.state.write()["tools"]) == ["a", "c", "d"]
    world.redo(2)
    assert world.state == before


def test_a_token_changes_only_with_what_its_plan_depends_on():
    world = World()
    world.do(config("a", 1))
    token = plan_undo(world.history, world.state, {1}).token
    world.do(config("unrelated", 1))
    assert plan_undo(world.history, world.state, {1}).token == token
    world.do(config("a", 2))
    assert plan_undo(world.history, world.state, {1}).token != token


def test_a_plan_with_a_name_outside_utf8_has_a_token():
    slot = ("routing", "\udcff")
    history = History(State)
    history.add(1, (Write(slot, ABSENT, "one"),))
    assert len(plan_undo(history, put_slots(State(), [(slot, "one")]), {1}).token) == 24


def test_the_fast_path_is_used_where_no_related_write_exists():
    world = World()
    world.do(config("x.y.z", 1))
    world.do(file("d/e", "x"))
    world.do(config("shared.a", 1))
    world.do(config("shared.b", 1))
    world.undo(4)
    for entry, taken in ((1, True), (2, True), (3, False)):
        assert (_plan_independent(world.history, world.state, entry) is not None) is taken


@pytest.mark.parametrize("entry", [1, 2, 3, 4])
def test_the_fast_path_agrees_with_the_general_plan(entry):
    world = World(config={"a": {"b": 0}}, tools={"t": {"id": "old"}})
    world.do(config("a.b", 1), tool("t"))
    world.do(middleware("m", index=0), config("x.y.z", 1))
    world.do(prompt("p", "1"), tool("t", "newer"))
    world.do(socket("s", 9100), file("d/e", "x"))
    short = plan_undo(world.history, world.state, {entry})
    general = _plan_request(world.history, world.state, frozenset({entry}), frozenset())
    assert short.state == general.state
    assert short.token == general.token


def test_undoing_an_entry_removes_directories_of_a_file_it_wrote_and_removed():
    world = World()
    world.do(file("v/u/z", "x"), {"op_type": "remove_file", "target": "v/u/z"})
    assert world.state.write() != {}
    world.undo(1)
    assert world.state.write() == {}


def test_a_new_change_reports_the_entries_it_ties_to_itself():
    world = World(config={"a": 5}, resources={"r1": {"address": "tcp://127.0.0.1:9100"}})
    world.do(config("a", {}))
    world.do(socket("r1", 9101))
    world.do(config("free", 1))
    recorded = run_and_record(mutation(config("a.b", 1), socket("r2", 9100), config("free.not", 1)), world.state)
    assert not recorded.receipt.succeeded
    recorded = run_and_record(mutation(config("a.b", 1), socket("r2", 9100)), world.state)
    assert set(find_dependencies(world.history, recorded.writes)) == {1, 2}


def test_a_change_that_creates_its_own_containers_ties_nothing():
    world = World(config={"a": 5})
    world.do(config("a", {}))
    recorded = run_and_record(mutation(config("a", {"n": 1}), config("a.b", 1)), world.state)
    assert find_dependencies(world.history, recorded.writes) == {}


def test_an_undo_of_forgotten_content_names_the_slot():
    history = History(lambda: None)
    history.add(1, (Write(("config", "a"), FORGOTTEN_VALUE, FORGOTTEN_VALUE),))
    state = State.read({"config": {"a": 1}})
    outcome = plan_undo(history, state, {1})
    assert isinstance(outcome, Gone)
    assert outcome.slots == (("config", "a"),)


def test_an_undo_uses_the_captured_value_without_the_first_state():
    history = History(lambda: None)
    history.add(1, (Write(("prompts", "p"), "old", "new"),))
    outcome = plan_undo(history, State.read({"prompts": {"p": "new"}}), {1})
    assert outcome.state.write() == {"prompts": {"p": "old"}}
    with pytest.raises(ContentGone, match="the state at the beginning"):
        history.base_content(("prompts", "unknown"))


def test_the_rest_of_an_undo_omits_unchanged_values():
    history = History(State)
    history.add(1, (Write(("routing", "p"), ABSENT, "same"), Write(("config", "a"), ABSENT, FORGOTTEN_VALUE)))
    history.add(2, (Write(("routing", "p"), "same", "same"), Write(("config", "a"), FORGOTTEN_VALUE, 2)))
    outcome = plan_undo(history, State.read({"routing": {"p": "same"}, "config": {"a": 2}}), (2,))
    assert outcome == Gone((("config", "a"),), ())


def test_a_value_inside_a_forgotten_container_can_still_be_removed():
    held, slot = PMap({"content": "one"}), ("files", "d", "x")
    history = History(lambda: None)  # nobody knows any more whether 'd' was there before
    history.add(1, (Write(slot, ABSENT, held),))
    history.add(2, (Write(slot, held, ABSENT),))
    history.add(3, (Write(slot, ABSENT, held), Write(("config", "a"), FORGOTTEN_VALUE, 1)))
    state = put_slots(State.read({"config": {"a": 1}}), [(slot, held)])
    assert plan_undo(history, state, (3,)) == Gone((("config", "a"),), (SlotChange(slot, held, ABSENT),))


@pytest.mark.parametrize("above", [("d",), ("d", "e")], ids="/".join)
def test_a_forgotten_value_is_not_put_back_over_another(above):
    held, slot = PMap({"content": "one"}), ("files", "d", "e", "x")
    history = History(lambda: None)
    history.add(1, (Write(slot, ABSENT, held),))
    history.toggle({1}, ())
    there = State.read({"files": {"/".join(above): {"content": "a file"}}})
    assert plan_toggle(history, there, (), {1}) == Gone((), ())
    assert plan_toggle(history, State(), (), {1}) == Gone((), (SlotChange(slot, ABSENT, held),))


def test_a_new_write_is_tied_to_dependencies_of_its_dependency():
    world = World(config={"a": 1})
    mapping = world.do(config("a", {}))
    world.do(config("a.b", {}), config("a", {"x": 1}))  # stands on the mapping, though it puts another in its place
    recorded = run_and_record(mutation(config("a.c", 1)), world.state)
    assert find_dependencies(world.history, recorded.writes) == {mapping: "'a' is not a mapping"}


def test_of_two_equal_ways_to_make_room_the_newer_is_named():
    world = World()
    world.do(socket("t", 9102))
    away = world.do(socket("t", 9103))
    wanted = world.do(socket("s", 9102))
    for entry in (wanted, away):
        assert isinstance(world.undo(entry), Plan)
    outcome = world.redo(wanted)
    assert isinstance(outcome, Blocked)
    assert (outcome.off, outcome.on) == ((), (away,))


def test_undoing_a_hook_keeps_the_rest_of_its_group():
    def group(*commands):
        options = {"hooks": [{"command": command} for command in commands]}
        value = {"id": "g", "handler": "h", "options": options}
        return {"op_type": "add_listener", "target": "PreToolUse", "value": value}

    world = World()
    world.do(group("a"))
    middle = world.do(group("a", "b"))
    later = world.do(group("a", "b", "c"))
    world.do(group("a", "b", "c", "d"))
    for entry, left in ((middle, ["a", "c", "d"]), (later, ["a", "d"])):
        assert isinstance(world.undo(entry), Plan)
        (callback,) = world.state.part("listeners")["PreToolUse"]
        assert [hook["command"] for hook in callback.record["options"]["hooks"]] == left


def test_a_file_over_a_replaced_directory_is_tied_to_the_replacement():
    world = World(files={"d/x": {"content": "one"}, "e": {"content": "two"}})
    after = put_slots(world.state, [(("files", "d"), world.state.part("files")["e"])])
    place = world._add(list_writes_between(world.state, after), after)
    recorded = run_and_record(mutation(file("d", "three")), world.state)
    assert find_dependencies(world.history, recorded.writes) == {place: "'d' is a directory"}


def test_a_value_is_not_put_back_below_one_that_covers_a_forgotten_value():
    world = World()
    world.do(config("a", {"b": {}}))
    below = world.do(config("a.b.c", 1))
    world.undo(below)
    over = world.do(config("a", 5))
    history = History(State, undone={below})
    history.add(1, (Write(("config", "a"), ABSENT, PMap({"b": PMap(), "k": FORGOTTEN_VALUE})),))
    for entry in (below, over):
        history.add(entry, world.history.index.writes(entry))
    outcome = plan_toggle(history, world.state, {over}, {below})
    assert isinstance(outcome, Gone)
    assert (outcome.slots, outcome.left) == ((("config", "a"),), ())


def test_a_part_is_not_put_back_into_a_missing_forgotten_text():
    world = World()
    world.do(prompt("p", "one\ntwo\n"))
    edited = world.do({"op_type": "edit_prompt", "target": "p", "value": {"old": "one", "new": "1"}})
    removed = world.do({"op_type": "remove_prompt", "target": "p"})
    history = History(State)
    history.add(1, (Write(("prompts", "p"), ABSENT, FORGOTTEN_VALUE),))
    for entry in (edited, removed):
        history.add(entry, world.history.index.writes(entry))
    outcome = plan_toggle(history, world.state, {removed, edited}, ())
    assert isinstance(outcome, Gone)
    assert (outcome.slots, outcome.left) == ((("prompts", "p"),), ())


def test_undoing_an_edit_of_a_replaced_text_ignores_the_replacement():
    world = World(prompts={"p": "one\ntwo\n"})
    edited = world.do({"op_type": "edit_prompt", "target": "p", "value": {"old": "one", "new": "1"}})
    slot = ("prompts", "p")
    world.history.add(2, (Write(slot, ABSENT, FORGOTTEN_VALUE),))
    (part,) = (write.slot for write in world.history.index.writes(edited))
    outcome = plan_undo(world.history, State.read({"prompts": {"p": "else"}}), {edited})
    assert isinstance(outcome, Plan)
    assert (outcome.changes, outcome.kept) == ((), (Overwritten(part, 2, slot),))


def test_the_rest_of_an_undo_is_found_although_a_part_is_gone():
    world = World(prompts={"p": "one\ntwo\n"})
    edited = run_and_record(
        mutation({"op_type": "edit_prompt", "target": "p", "value": {"old": "one", "new": "1"}}), world.state
    )
    key, route = ("config", "a"), ("routing", "r")
    world.history.add(1, (Write(key, ABSENT, FORGOTTEN_VALUE),))
    world.history.add(2, (*edited.writes, Write(route, ABSENT, "one"), Write(key, FORGOTTEN_VALUE, 2)))
    world.history.add(3, (Write(("prompts", "p"), ABSENT, "else"),))
    state = State.read({"prompts": {"p": "else"}, "routing": {"r": "one"}, "config": {"a": 2}})
    assert plan_undo(world.history, state, {2}) == Gone((key,), (SlotChange(route, "one", ABSENT),))


def test_the_rest_of_an_undo_keeps_a_line_where_another_value_was_forgotten():
    world = World(prompts={"p": "one\ntwo\n"})
    edited = run_and_record(
        mutation({"op_type": "edit_prompt", "target": "p", "value": {"old": "one", "new": "1"}}), world.state
    )
    key = ("config", "a")
    world.history.add(1, (Write(key, ABSENT, FORGOTTEN_VALUE),))
    world.history.add(2, (*edited.writes, Write(key, FORGOTTEN_VALUE, 2)))
    outcome = plan_undo(world.history, put_slots(edited.state, [(key, 2)]), {2})
    (line,) = edited.writes
    assert outcome == Gone((key,), (SlotChange(line.slot, line.after, line.before),))


def test_an_undo_to_an_equal_value_is_no_change():
    world = World(config={"a": {"b": 1}})
    world.do(config("a", {"b": 1}))
    assert _plan_request(world.history, world.state, frozenset({1}), frozenset()).changes == ()


def replaced_by_a_file(world):
    """Put a file where a directory is, as by hand."""
    after = put_slots(world.state, [(("files", "d"), world.state.part("files")["e"])])
    return world._add(list_writes_between(world.state, after), after)


def test_lines_of_a_restored_directory_keep_their_identities():
    def insert(line):
        return {"op_type": "edit_file", "target": "d/f", "value": {"old": "one\n", "new": f"one\n{line}\n"}}

    world = World(files={"d/f": {"content": "one\ntwo\n"}, "e": {"content": "x"}})
    first = world.do(insert("new"))
    place = replaced_by_a_file(world)
    world.undo(first)
    world.undo(place)
    second = world.do(insert("other"))
    names = [{write.slot for write in world.history.index.writes(entry)} for entry in (first, second)]
    assert not names[0] & names[1]


def test_a_restored_directory_lacks_a_file_that_was_edited_and_removed():
    world = World(files={"d/f": {"content": "one\n"}, "d/g": {"content": "y"}, "e": {"content": "x"}})
    world.do({"op_type": "edit_file", "target": "d/f", "value": {"old": "one", "new": "1"}})
    world.do({"op_type": "remove_file", "target": "d/f"})
    before = world.state
    world.undo(replaced_by_a_file(world))
    assert world.state.write() == before.write()
    assert list(world.state.part("files")["d"]) == ["g"]
