"""What captures take down and what restores and removals do with it."""

from __future__ import annotations

import pytest
from tests.support.running import change, op, undo, witness, witness_to_json

from takeback.errors import OperationFailed
from takeback.language import read_program
from takeback.runtime import recover
from takeback.state import SURFACES, Stage, State

TOOL = {"id": "t", "description": "", "parameters": {}, "implementation": ""}
FULL = {
    "config": {"a": {"b": 1}},
    "prompts": {"p": "old"},
    "routing": {"r": None},
    "tools": {"t": TOOL},
    "middleware": [{"id": name, "handler": name, "priority": 100, "options": {}} for name in "mno"],
    "listeners": {"e": [{"id": name, "handler": name, "options": {}} for name in "xy"]},
    "files": {"d/f": {"content": "old", "mode": "0600"}},
    "resources": {"s": {"kind": "socket", "address": "tcp://127.0.0.1:9001", "lifecycle": "open"}},
}
FAMILIES = {
    "config": ("config", "config", "a.b", 2),
    "prompts": ("prompt", "prompt", "p", "new"),
    "routing": ("routing", "routing", "r", "m"),
    "tools": ("tool", "tool", "t", {"id": "new"}),
    "middleware": ("middleware", "middleware", "n", {"handler": "new"}),
    "listeners": ("listener", "listener", "e", {"id": "x", "handler": "new"}),
    "files": ("file", "file", "d/f", {"content": "new", "mode": "0755"}),
    "resources": ("socket", "socket", "s", "tcp://127.0.0.1:9002"),
}
FORWARD = {
    "config": "set_config",
    "prompts": "set_prompt",
    "routing": "set_routing",
    "tools": "register_tool",
    "middleware": "add_middleware",
    "listeners": "add_listener",
    "files": "write_file",
    "resources": "allocate_socket",
}


def _restore(surface: str, target: str) -> dict:
    name = "release_socket" if surface == "resources" else f"restore_{FAMILIES[surface][1]}"
    return op(name, target, witness_key="w")


@pytest.mark.parametrize("surface", FAMILIES)
def test_a_restore_puts_back_what_was_replaced(surface):
    name, _, target, value = FAMILIES[surface]
    held = witness(FULL, op(f"capture_{name}", target, witness_key="w"))
    changed = change(FULL, op(FORWARD[surface], target, value=value))
    assert changed != FULL
    assert undo(changed, held, _restore(surface, target)) == FULL


@pytest.mark.parametrize("surface", FAMILIES)
def test_a_restore_removes_what_was_not_there(surface):
    name, _, target, value = FAMILIES[surface]
    before = {other: part for other, part in FULL.items() if other != surface}
    held = witness(before, op(f"capture_{name}", target, witness_key="w"))
    changed = change(before, op(FORWARD[surface], target, value=value))
    assert undo(changed, held, _restore(surface, target)) == before


@pytest.mark.parametrize("surface", FAMILIES)
def test_a_witness_shows_value_and_existence_in_json(surface):
    name, _, target, _ = FAMILIES[surface]
    there = witness_to_json(witness(FULL, op(f"capture_{name}", target, witness_key="w")))
    absent = witness_to_json(witness({}, op(f"capture_{name}", target, witness_key="w")))
    assert there["w_existed"] is True
    assert absent == {"w": None, "w_existed": False}


def test_a_captured_null_exists():
    assert witness_to_json(witness(FULL, op("capture_routing", "r", witness_key="w"))) == {
        "w": None,
        "w_existed": True,
    }


def test_a_whole_chain_and_one_callback_have_a_json_form():
    held = witness(
        FULL,
        op("capture_middleware", "*", witness_key="chain"),
        op("capture_listener", "e", value="y", witness_key="one"),
    )
    plain = witness_to_json(held)
    assert [item["id"] for item in plain["chain"]] == ["m", "n", "o"]
    assert plain["one"] == {"id": "y", "handler": "y", "options": {}}


@pytest.mark.parametrize(
    ("surface", "removal"),
    [
        ("config", op("delete_config", "a.b")),
        ("tools", op("unregister_tool", "t")),
        ("files", op("delete_file", "d/f")),
        ("listeners", op("unregister_listener", "e")),
        ("resources", op("release_socket", "s")),
    ],
)
def test_a_removal_without_a_witness_removes_and_does_nothing_where_nothing_is(surface, removal):
    left = undo(FULL, {}, removal)
    assert left.get(surface, {}) in ({}, {"a": {}}, {"d": {"directory": True}})
    assert undo(left, {}, removal) == left


@pytest.mark.parametrize("name", ["delete_config", "restore_config"])
def test_a_removal_with_a_witness_does_what_the_restore_does(name):
    held = witness(FULL, op("capture_config", "a.b", witness_key="w"))
    changed = change(FULL, op("set_config", "a.b", value=2))
    assert undo(changed, held, op(name, "a.b", witness_key="w")) == FULL


def test_unregister_listener_removes_only_the_named_callback():
    left = undo(FULL, {}, op("unregister_listener", "e", value="x"))
    assert [one["id"] for one in left["listeners"]["e"]] == ["y"]


def test_removing_the_last_callback_removes_the_event():
    left = undo(FULL, {}, op("unregister_listener", "e", value="x"), op("unregister_listener", "e", value="y"))
    assert "listeners" not in left


def test_a_restored_callback_keeps_its_place_among_later_ones():
    held = witness(FULL, op("capture_listener", "e", value="x", witness_key="w"))
    later = change(
        FULL, op("add_listener", "e", value={"id": "x", "handler": "new"}), op("add_listener", "e", value="z")
    )
    left = undo(later, held, op("restore_listener", "e", witness_key="w"))
    assert [(one["id"], one["handler"]) for one in left["listeners"]["e"]] == [("x", "x"), ("y", "y"), ("z", "z")]


def test_a_whole_event_restore_takes_later_callbacks_with_it():
    held = witness(FULL, op("capture_listener", "e", witness_key="w"))
    later = change(FULL, op("add_listener", "e", value="z"))
    assert undo(later, held, op("restore_listener", "e", witness_key="w")) == FULL


def test_a_restore_takes_away_the_mappings_the_change_made():
    held = witness({}, op("capture_config", "a.b.c", witness_key="w"))
    changed = change({}, op("set_config", "a.b.c", value=1))
    assert undo(changed, held, op("restore_config", "a.b.c", witness_key="w")) == {}


def test_a_restore_keeps_mappings_that_were_there_empty():
    before = {"config": {"a": {"b": {}}}}
    held = witness(before, op("capture_config", "a.b.c", witness_key="w"))
    changed = change(before, op("set_config", "a.b.c", value=1))
    assert undo(changed, held, op("restore_config", "a.b.c", witness_key="w")) == before


def test_a_restore_keeps_a_container_that_something_else_moved_into():
    held = witness({}, op("capture_file", "d/f", witness_key="w"))
    changed = change({}, op("write_file", "d/f", value="x"), op("write_file", "d/later", value="y"))
    left = undo(changed, held, op("restore_file", "d/f", witness_key="w"))
    assert list(left["files"]) == ["d/later"]


def test_a_whole_chain_restore_brings_back_membership_and_order():
    held = witness(FULL, op("capture_middleware", "*", witness_key="w"))
    changed = change(
        FULL,
        op("add_middleware", "o", value={"handler": "new"}, index=0),
        op("add_middleware", "new", value={"handler": "h"}, index=1),
    )
    assert undo(changed, held, op("restore_middleware", "*", witness_key="w")) == FULL


def test_one_element_can_be_restored_from_a_chain_but_not_the_reverse():
    chain = witness(FULL, op("capture_middleware", "*", witness_key="w"))
    changed = change(FULL, op("add_middleware", "n", value={"handler": "new"}, index=0))
    assert undo(changed, chain, op("restore_middleware", "n", witness_key="w")) == FULL
    one = witness(FULL, op("capture_middleware", "n", witness_key="w"))
    with pytest.raises(OperationFailed, match="one element, not the chain"):
        undo(changed, one, op("restore_middleware", "*", witness_key="w"))


def test_a_release_that_would_take_a_held_address_fails_and_names_the_holder():
    held = witness(FULL, op("capture_socket", "s", witness_key="w"))
    changed = change(
        FULL,
        op("allocate_socket", "s", value="tcp://127.0.0.1:9002"),
        op("allocate_socket", "v", value="tcp://127.0.0.1:9001"),
    )
    with pytest.raises(OperationFailed, match=r"recovery\[0\] release_socket: tcp://127.0.0.1:9001 is held by.*'v'"):
        undo(changed, held, op("release_socket", "s", witness_key="w"))


def test_a_restore_without_its_capture_fails_and_names_the_key():
    with pytest.raises(OperationFailed, match=r"recovery\[0\] restore_prompt: no capture wrote 'w'"):
        undo(FULL, {}, op("restore_prompt", "p", witness_key="w"))


def test_a_restore_refuses_a_capture_of_another_surface():
    held = witness(FULL, op("capture_config", "a", witness_key="w"))
    with pytest.raises(OperationFailed, match="'w' holds a capture of config"):
        undo(FULL, held, op("restore_prompt", "p", witness_key="w"))


def test_a_file_recovery_never_removes_a_directory():
    with pytest.raises(OperationFailed, match="'d' is a directory"):
        undo(FULL, {}, op("delete_file", "d"))


def test_a_later_capture_under_the_same_key_wins():
    held = witness(FULL, op("capture_prompt", "q", witness_key="w"), op("capture_prompt", "p", witness_key="w"))
    assert witness_to_json(held) == {"w": "old", "w_existed": True}


def test_an_element_restored_from_the_capture_of_another_does_not_take_its_place():
    before = {"middleware": FULL["middleware"][:1]}
    captures = op("capture_middleware", "m", witness_key="w"), op("capture_middleware", "x", witness_key="none")
    there = undo(
        before,
        witness(before, *captures),
        op("restore_middleware", "x", witness_key="w"),
        op("restore_middleware", "m", witness_key="w"),
        op("restore_middleware", "x", witness_key="none"),
    )
    assert there == before


def test_an_element_restored_from_the_capture_of_another_has_its_own_id():
    before = {"middleware": FULL["middleware"][:1]}
    held = witness(before, op("capture_middleware", "m", witness_key="w"))
    there = undo(before, held, op("restore_middleware", "x", witness_key="w"))
    assert there["middleware"] == [FULL["middleware"][0], {**FULL["middleware"][0], "id": "x"}]
    program = read_program([op("restore_middleware", "x", witness_key="w")], Stage.RECOVERY, "recovery")
    state = recover(program, State.read(before), held)
    surface = SURFACES["middleware"]
    assert State.read(state.write()).digest() == state.digest()
    assert surface.write(surface.load(surface.dump(state.part("middleware")))) == there["middleware"]
    link = surface.get_slot(state.part("middleware"), ("x",))
    assert surface.slot_to_json(link)["record"]["id"] == "x"


@pytest.mark.parametrize("surface", ["config", "files"])
def test_a_removal_by_the_capture_of_another_place_leaves_the_containers_there(surface):
    """How many containers were missing is known of the place that was captured, not of the one that is restored."""
    name, restores, join = FAMILIES[surface][0], FAMILIES[surface][1], {"config": ".", "files": "/"}[surface]
    value = {"config": 1, "files": "x"}[surface]
    held = witness({}, op(f"capture_{name}", join.join("pqr"), witness_key="w"))
    here = change({}, op(FORWARD[surface], join.join("abc"), value=value))
    there = undo(here, held, op(f"restore_{restores}", join.join("abc"), witness_key="w"))
    empty = {"config": {"a": {"b": {}}}, "files": {"a/b": {"directory": True}}}
    assert there[surface] == empty[surface]
    own = witness({}, op(f"capture_{name}", join.join("abc"), witness_key="w"))
    assert surface not in undo(here, own, op(f"restore_{restores}", join.join("abc"), witness_key="w"))
