"""What follows from a request: what stands in the way, what helps, what is looked at for it."""

from __future__ import annotations

import pytest
from tests.support.changes import config, file, mutation, prompt, socket
from tests.support.undo_world import World

from takeback.runtime import run_forward
from takeback.state import ABSENT, PMap, State
from takeback.state.address import is_part
from takeback.state.forgotten import FORGOTTEN_VALUE
from takeback.undo import Blocked, Plan, Write, consequences, plan_redo, plan_undo
from takeback.undo.consequences import find_consequences, find_smallest_unblocking_set, why_impossible
from takeback.undo.index import OWN, START, Node, build_slot_change
from takeback.undo.record import run_and_record


def edit(target, old, new, kind="prompt"):
    return {"op_type": f"edit_{kind}", "target": target, "value": {"old": old, "new": new}}


def test_redoing_an_edit_needs_the_text_it_edits():
    world = World()
    world.do(prompt("p", "one\ntwo\n"))
    world.do(edit("p", "one", "1"))
    world.undo(1, 2)
    blocked = plan_redo(world.history, world.state, {2})
    assert (blocked.off, blocked.on) == ((), (1,))
    assert blocked.together.on == (1, 2)
    assert blocked.reasons == ((2, 'it edits the prompts["p"] that #1 put there'),)


def test_redoing_an_edit_of_the_first_text_needs_its_replacement_undone():
    world = World(prompts={"p": "one\ntwo\n"})
    world.do(prompt("p", "else"))
    world.undo(1)
    world.do(edit("p", "one", "1"))
    world.undo(2)
    world.redo(1)
    blocked = plan_redo(world.history, world.state, {2})
    assert (blocked.off, blocked.on) == ((1,), ())
    assert dict(blocked.reasons)[2] == 'it edits the prompts["p"] that was there at the beginning'


def test_undoing_a_tool_blocks_on_a_later_edit_of_its_field():
    world = World()
    tool = Write(("tools", "t"), ABSENT, PMap({"id": "t"}))
    field = Write(("tools", "t", "description"), ABSENT, "new")
    for write in (tool, field):
        world.count += 1
        world.history.add(world.count, (write,))
    blocked = plan_undo(world.history, world.state, {1})
    assert isinstance(blocked, Blocked)
    assert blocked.reasons == ((2, 'it changes tools["t"], which is not there'),)
    assert find_consequences(world.history, frozenset({2}), frozenset()).removed == {}


def test_every_write_is_examined_once(monkeypatch):
    """The second entry writes below both places that the first wrote."""
    world = World()
    world.do(config("a", {}), config("a.b", {}))
    world.do(config("a.b.c", 1))
    seen = []
    monkeypatch.setattr(
        consequences,
        "why_impossible",
        lambda history, version, view: seen.append(version[:2]) or why_impossible(history, version, view),
    )
    find_consequences(world.history, frozenset({1}), frozenset())
    assert sorted(seen) == sorted(set(seen))


def test_an_address_freed_and_taken_in_one_entry_blocks_no_undo():
    world = World()
    world.do(socket("a", 9100), socket("b", 9101))
    world.do({"op_type": "free_socket", "target": "a"}, socket("c", 9100))
    assert isinstance(plan_undo(world.history, world.state, {1}), Plan)
    blocked = plan_undo(world.history, world.state, {2})
    assert isinstance(blocked, Plan)


def in_the_way(*tops):
    """Files that were written below some places, then taken back; the places are files now."""
    world = World()
    world.do(*(file(top, "1") for top in tops))
    world.undo(1)
    world.do(*(file(f"{top}/x", "2") for top in tops))
    world.undo(2)
    world.redo(1)
    return world


def helped(world, *entries):
    on = frozenset(entries)
    settled = find_consequences(world.history, frozenset(), on)
    assert set(settled.unmet) == on
    return find_smallest_unblocking_set(world.history, frozenset(), on, settled)


def test_only_entries_in_the_way_are_reported():
    world = in_the_way("d")
    world.do(file("e", "3"))
    assert helped(world, 2) == (frozenset({1}), frozenset())


def test_only_the_entry_that_put_a_file_in_the_way_is_a_cause():
    world = World()
    before = world.do(file("d/x", "0"))
    world.undo(before)
    way = world.do(file("d", "1"))
    world.undo(way)
    wanted = world.do(file("d/x", "2"))
    world.undo(wanted)
    world.redo(way)
    assert find_consequences(world.history, frozenset(), frozenset({wanted})).causes == {wanted: {way}}


def test_two_entries_in_the_way_are_reported_together():
    world = World()
    for top in "de":
        world.do(file(top, "1"))
    world.undo(1, 2)
    world.do(file("d/x", "2"), file("e/x", "2"))
    world.undo(3)
    world.redo(1, 2)
    assert helped(world, 3) == (frozenset({1, 2}), frozenset())


def test_many_entries_in_the_way_are_found_one_by_one(monkeypatch):
    monkeypatch.setattr("takeback.undo.consequences.MAX_HELP", 1)
    world = World()
    for top in "def":
        world.do(file(top, "1"))
    world.undo(1, 2, 3)
    world.do(*(file(f"{top}/x", "2") for top in "def"))
    world.undo(4)
    world.redo(1, 2, 3)
    assert helped(world, 4) == (frozenset({1, 2, 3}), frozenset())


def test_the_smallest_helping_set_is_named_for_undo_and_redo(monkeypatch):
    monkeypatch.setattr("takeback.undo.consequences.MAX_HELP", 0)
    world = World()
    world.do(socket("t", 9102))
    world.do(socket("t", 9102))
    world.do(socket("t", 9103))
    world.do(socket("s", 9102))
    world.undo(3, 4)
    assert helped(world, 4) == (frozenset(), frozenset({3}))
    world = World()
    world.do(socket("t", 9102), socket("u", 9200))
    world.do(socket("t", 9103))
    world.do(socket("u", 9201))
    world.do(socket("s", 9102), socket("r", 9200))
    world.undo(2, 3, 4)
    assert helped(world, 4) == (frozenset({1}), frozenset())


def test_entries_that_do_not_help_are_left_out(monkeypatch):
    monkeypatch.setattr("takeback.undo.consequences.MAX_HELP", 0)
    world = World()
    world.do(socket("t", 9200))
    taken = world.do(socket("t", 9102))
    world.undo(taken)
    wanted = world.do(socket("s", 9102))
    world.undo(wanted)
    world.redo(taken)
    assert helped(world, wanted) == (frozenset({taken}), frozenset())


def test_a_new_line_gets_no_name_that_another_had_in_the_same_text():
    world = World(prompts={"p": "one\ntwo\n"})
    world.do(edit("p", "one\n", "one\nnew\n"))
    world.do(prompt("p", "else"))
    world.undo(1)
    world.undo(2)
    world.do(edit("p", "one\n", "one\nother\n"))
    first, second = ({write.slot for write in world.history.index.writes(entry)} for entry in (1, 3))
    assert not first & second


def test_a_helping_set_may_mix_an_undo_and_a_redo():
    world = World(resources={"t": {"address": "tcp://127.0.0.1:9102"}})
    away = world.do(socket("t", 9103))
    back = world.do(socket("t", 9102))
    world.do(socket("t", 9102))
    world.undo(3)
    world.undo(back)
    wanted = world.do(socket("s", 9102))
    world.undo(wanted)
    world.redo(back)
    world.undo(away)
    assert helped(world, wanted) == (frozenset({back}), frozenset({away}))


@pytest.mark.parametrize(("tries", "helping"), [(1, ({1}, set())), (2, (set(), {2}))])
def test_no_more_sets_are_tried_than_there_may_be(monkeypatch, tries, helping):
    """Both ways are as good; the newest entry is tried first, and without a try live ones come first."""
    monkeypatch.setattr("takeback.undo.consequences.MAX_TRIES", tries)
    world = World()
    world.do(socket("t", 9102))
    world.do(socket("t", 9103))
    world.do(socket("s", 9102))
    world.undo(2, 3)
    assert helped(world, 3) == helping


def test_redoing_an_edit_brings_back_only_the_text_it_was_made_in(monkeypatch):
    monkeypatch.setattr("takeback.undo.consequences.MAX_HELP", 0)
    world = World()
    world.do(prompt("p", "one\ntwo\n"))
    world.do(prompt("p", "else"))
    world.undo(2)
    world.do(edit("p", "one", "1"))
    world.undo(1, 3)
    assert helped(world, 3) == (frozenset(), frozenset({1}))


def test_a_recorded_run_agrees_with_a_plain_run():
    program = mutation(config("a.b", 1), edit("p", "one", "1"), file("d/x", "2"))
    state = State.read({"prompts": {"p": "one\n"}, "files": {"f": {"content": "one\n"}}})
    after, receipt = run_forward(program, state)
    recorded = run_and_record(program, state)
    assert (recorded.receipt, recorded.state.write()) == (receipt, after.write())


def test_only_writes_of_whole_files_conflict_with_a_directory():
    state = State.read({"files": {"f": {"content": "one\ntwo\n"}}})
    writes = run_and_record(mutation(file("g", "x"), edit("f", "one", "1", "file")), state).writes
    assert [(is_part(write.slot[-1]), write.strict) for write in writes] == [(False, True), (True, False)]


def test_only_parts_depend_on_the_write_of_their_whole():
    world = World(prompts={"p": "one\n"})
    writes = run_and_record(mutation(prompt("q", "x"), edit("p", "one", "1")), world.state).writes
    assert [write.on for write in world.history.with_parents(writes)] == [None, START]
    writes = run_and_record(mutation(prompt("q", "x\n"), edit("q", "x", "y")), world.state).writes
    assert [write.on for write in world.history.with_parents(writes)] == [None, (OWN, 0)]


@pytest.mark.parametrize(
    ("slot", "before", "after", "plain"),
    [
        (("prompts", "p"), ABSENT, ABSENT, True),
        (("prompts", "p"), "x", "x", True),
        (("config", "a"), ABSENT, ABSENT, True),
        (("config", "a", "b"), "x", "x", True),
        (("config", "a", "b"), ABSENT, ABSENT, False),
        (("config", "a"), FORGOTTEN_VALUE, "x", False),
        (("config", "a"), "x", FORGOTTEN_VALUE, False),
        (("config", "a"), "x", ABSENT, True),
        (("resources", "s"), {"address": ":9101"}, ABSENT, True),
        (("resources", "s"), ABSENT, {"address": ":9101"}, False),
    ],
)
def test_an_undo_without_related_writes_is_planned_directly(slot, before, after, plain):
    """What was written and removed again may have left the containers above it; others may hold an address by now."""
    change = build_slot_change(Node(slot), before, after)
    assert (change is not None) is plain


def test_a_redo_is_blocked_by_a_later_entry_that_holds_its_address():
    """What it claims is known only after its own writes: before them its slot held nothing."""
    world = World()
    first = world.do(socket("a", 9100))
    world.undo(first)
    second = world.do(socket("b", 9100))
    blocked = world.redo(first)
    assert isinstance(blocked, Blocked)
    assert blocked.off == (second,)
