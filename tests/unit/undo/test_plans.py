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


def test_undoing_the_middle_one_of_three_keeps_the_others():
    world = World()
    for name in ("a", "b", "c"):
        world.do(config(name, 1))
    world.undo(2)
    assert world.state.write() == {"config": {"a": 1, "c": 1}}


def test_a_plan_counts_a_write_that_is_only_supposed_while_it_is():
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


def test_both_inserted_in_front_and_the_first_one_goes():
    world = World(middleware=[{"id": "auth", "handler": "h"}])
    world.do(middleware("one", index=0))
    world.do(middleware("two", index=0))
    world.undo(1)
    assert world.chain() == ["two", "auth"]
    world.redo(1)
    assert world.chain() == ["two", "one", "auth"]


def test_what_stood_next_to_an_undone_element_keeps_its_place():
    world = World(middleware=[{"id": "auth", "handler": "h"}, {"id": "log", "handler": "h"}])
    world.do(middleware("anchor", index=1))
    world.do(middleware("beside", after="anchor"))
    world.undo(1)
    assert world.chain() == ["auth", "beside", "log"]


def test_a_moved_element_goes_back_where_it_was_while_later_ones_stay():
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


def test_directories_go_with_the_file_that_made_them_and_others_stay():
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


def test_a_value_below_one_that_was_a_scalar_blocks_and_goes_along():
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


def test_a_callback_replaced_in_place_keeps_the_place_when_its_first_binding_is_undone():
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


def test_a_thing_removed_by_hand_comes_back_with_its_place():
    world = World(middleware=[{"id": name, "handler": "h"} for name in ("a", "b", "c")])
    world.remove_by_hand(("middleware", "b"))
    world.do(middleware("d", index=1))
    world.undo(1)
    assert world.chain() == ["a", "b", "d", "c"] or world.chain() == ["a", "d", "b", "c"]


def test_a_container_left_empty_by_hand_goes_with_the_entry_that_made_it():
    world = World()
    world.do(config("a.b", 1))
    world.remove_by_hand(("config", "a", "b"))
    assert world.state.write() == {"config": {"a": {}}}
    world.undo(1)
    assert world.state.write() == {}
    world.redo(1)
    assert world.state.write() == {"config": {"a": {}}}


def test_a_container_made_for_something_moved_away_at_once_goes_with_the_entry():
    world = World()
    world.do(file("d/x", "1"), {"op_type": "move_file", "target": "d/x", "value": "moved"})
    assert world.state.write()["files"]["d"] == {"directory": True}
    world.undo(1)
    assert world.state.write() == {}


def test_several_at_once_and_back():
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


def test_a_token_changes_with_what_the_plan_rests_on_and_with_nothing_else():
    world = World()
    world.do(config("a", 1))
    token = plan_undo(world.history, world.state, {1}).token
    world.do(config("unrelated", 1))
    assert plan_undo(world.history, world.state, {1}).token == token
    world.do(config("a", 2))
    assert plan_undo(world.history, world.state, {1}).token != token


def test_a_plan_has_a_token_though_a_name_cannot_be_written_as_utf8():
    slot = ("routing", "\udcff")
    history = History(State)
    history.add(1, (Write(slot, ABSENT, "one"),))
    assert len(plan_undo(history, put_slots(State(), [(slot, "one")]), {1}).token) == 24


def test_the_short_way_is_taken_where_nothing_else_was_ever_written_near():
    world = World()
    world.do(config("x.y.z", 1))
    world.do(file("d/e", "x"))
    world.do(config("shared.a", 1))
    world.do(config("shared.b", 1))
    world.undo(4)
    for entry, taken in ((1, True), (2, True), (3, False)):
        assert (_plan_independent(world.history, world.state, entry) is not None) is taken


@pytest.mark.parametrize("entry", [1, 2, 3, 4])
def test_the_short_way_says_what_the_general_way_says(entry):
    world = World(config={"a": {"b": 0}}, tools={"t": {"id": "old"}})
    world.do(config("a.b", 1), tool("t"))
    world.do(middleware("m", index=0), config("x.y.z", 1))
    world.do(prompt("p", "1"), tool("t", "newer"))
    world.do(socket("s", 9100), file("d/e", "x"))
    short = plan_undo(world.history, world.state, {entry})
    general = _plan_request(world.history, world.state, frozenset({entry}), frozenset())
    assert short.state == general.state
    assert short.token == general.token


def test_directories_left_by_a_file_that_was_written_and_removed_in_one_entry_go_with_it():
    world = World()
    world.do(file("v/u/z", "x"), {"op_type": "remove_file", "target": "v/u/z"})
    assert world.state.write() != {}
    world.undo(1)
    assert world.state.write() == {}


def test_entries_that_a_new_change_would_tie_to_itself_are_reported():
    world = World(config={"a": 5}, resources={"r1": {"address": "tcp://127.0.0.1:9100"}})
    world.do(config("a", {}))
    world.do(socket("r1", 9101))
    world.do(config("free", 1))
    recorded = run_and_record(mutation(config("a.b", 1), socket("r2", 9100), config("free.not", 1)), world.state)
    assert not recorded.receipt.succeeded
    recorded = run_and_record(mutation(config("a.b", 1), socket("r2", 9100)), world.state)
    assert set(find_dependencies(world.history, recorded.writes)) == {1, 2}


def test_a_change_that_brings_its_own_footing_ties_nothing():
    world = World(config={"a": 5})
    world.do(config("a", {}))
    recorded = run_and_record(mutation(config("a", {"n": 1}), config("a.b", 1)), world.state)
    assert find_dependencies(world.history, recorded.writes) == {}


def test_forgotten_content_is_a_result_that_names_the_slot():
    history = History(lambda: None)
    history.add(1, (Write(("config", "a"), FORGOTTEN_VALUE, FORGOTTEN_VALUE),))
    state = State.read({"config": {"a": 1}})
    outcome = plan_undo(history, state, {1})
    assert isinstance(outcome, Gone)
    assert outcome.slots == (("config", "a"),)


def test_without_the_first_state_a_captured_value_serves():
    history = History(lambda: None)
    history.add(1, (Write(("prompts", "p"), "old", "new"),))
    outcome = plan_undo(history, State.read({"prompts": {"p": "new"}}), {1})
    assert outcome.state.write() == {"prompts": {"p": "old"}}
    with pytest.raises(ContentGone, match="the state at the beginning"):
        history.base_content(("prompts", "unknown"))


def test_what_would_not_change_is_not_among_what_can_still_be_put_back():
    history = History(State)
    history.add(1, (Write(("routing", "p"), ABSENT, "same"), Write(("config", "a"), ABSENT, FORGOTTEN_VALUE)))
    history.add(2, (Write(("routing", "p"), "same", "same"), Write(("config", "a"), FORGOTTEN_VALUE, 2)))
    outcome = plan_undo(history, State.read({"routing": {"p": "same"}, "config": {"a": 2}}), (2,))
    assert outcome == Gone((("config", "a"),), ())


def test_what_lies_in_something_unknown_can_still_be_taken_away_but_not_what_it_lay_in():
    held, slot = PMap({"content": "one"}), ("files", "d", "x")
    history = History(lambda: None)  # nobody knows any more whether 'd' was there before
    history.add(1, (Write(slot, ABSENT, held),))
    history.add(2, (Write(slot, held, ABSENT),))
    history.add(3, (Write(slot, ABSENT, held), Write(("config", "a"), FORGOTTEN_VALUE, 1)))
    state = put_slots(State.read({"config": {"a": 1}}), [(slot, held)])
    assert plan_undo(history, state, (3,)) == Gone((("config", "a"),), (SlotChange(slot, held, ABSENT),))


@pytest.mark.parametrize("above", [("d",), ("d", "e")], ids="/".join)
def test_what_is_unknown_is_not_put_back_where_something_else_stands_in_its_way(above):
    held, slot = PMap({"content": "one"}), ("files", "d", "e", "x")
    history = History(lambda: None)
    history.add(1, (Write(slot, ABSENT, held),))
    history.toggle({1}, ())
    there = State.read({"files": {"/".join(above): {"content": "a file"}}})
    assert plan_toggle(history, there, (), {1}) == Gone((), ())
    assert plan_toggle(history, State(), (), {1}) == Gone((), (SlotChange(slot, ABSENT, held),))


def test_a_new_write_is_tied_to_what_the_entry_it_stands_on_stands_on():
    world = World(config={"a": 1})
    mapping = world.do(config("a", {}))
    world.do(config("a.b", {}), config("a", {"x": 1}))  # stands on the mapping, though it puts another in its place
    recorded = run_and_record(mutation(config("a.c", 1)), world.state)
    assert find_dependencies(world.history, recorded.writes) == {mapping: "'a' is not a mapping"}


def test_of_two_ways_to_make_room_of_the_same_size_the_newer_one_is_named():
    world = World()
    world.do(socket("t", 9102))
    away = world.do(socket("t", 9103))
    wanted = world.do(socket("s", 9102))
    for entry in (wanted, away):
        assert isinstance(world.undo(entry), Plan)
    outcome = world.redo(wanted)
    assert isinstance(outcome, Blocked)
    assert (outcome.off, outcome.on) == ((), (away,))


def test_a_group_of_hooks_made_here_loses_only_the_hook_that_is_taken_back():
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


def test_a_file_written_over_one_that_took_a_directorys_place_is_tied_to_it():
    world = World(files={"d/x": {"content": "one"}, "e": {"content": "two"}})
    after = put_slots(world.state, [(("files", "d"), world.state.part("files")["e"])])
    place = world._add(list_writes_between(world.state, after), after)
    recorded = run_and_record(mutation(file("d", "three")), world.state)
    assert find_dependencies(world.history, recorded.writes) == {place: "'d' is a directory"}


def test_a_value_is_not_put_back_below_one_that_stays_because_what_it_covers_was_forgotten():
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


def test_a_part_is_not_put_back_into_a_text_that_was_forgotten_and_is_not_there():
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


def test_an_edit_of_a_text_that_is_replaced_needs_nothing_of_what_replaced_it():
    world = World(prompts={"p": "one\ntwo\n"})
    edited = world.do({"op_type": "edit_prompt", "target": "p", "value": {"old": "one", "new": "1"}})
    slot = ("prompts", "p")
    world.history.add(2, (Write(slot, ABSENT, FORGOTTEN_VALUE),))
    (part,) = (write.slot for write in world.history.index.writes(edited))
    outcome = plan_undo(world.history, State.read({"prompts": {"p": "else"}}), {edited})
    assert isinstance(outcome, Plan)
    assert (outcome.changes, outcome.kept) == ((), (Overwritten(part, 2, slot),))


def test_what_is_left_is_looked_for_behind_a_part_that_is_not_there_any_more():
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


def test_a_line_is_left_to_put_back_where_only_something_else_was_forgotten():
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


def test_what_would_be_the_same_is_no_change():
    world = World(config={"a": {"b": 1}})
    world.do(config("a", {"b": 1}))
    assert _plan_request(world.history, world.state, frozenset({1}), frozenset()).changes == ()


def replaced_by_a_file(world):
    """Put a file where a directory is, as by hand."""
    after = put_slots(world.state, [(("files", "d"), world.state.part("files")["e"])])
    return world._add(list_writes_between(world.state, after), after)


def test_a_directory_that_comes_back_keeps_the_names_that_lines_of_its_files_had():
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


def test_a_directory_comes_back_without_a_file_that_was_edited_and_removed():
    world = World(files={"d/f": {"content": "one\n"}, "d/g": {"content": "y"}, "e": {"content": "x"}})
    world.do({"op_type": "edit_file", "target": "d/f", "value": {"old": "one", "new": "1"}})
    world.do({"op_type": "remove_file", "target": "d/f"})
    before = world.state
    world.undo(replaced_by_a_file(world))
    assert world.state.write() == before.write()
    assert list(world.state.part("files")["d"]) == ["g"]
