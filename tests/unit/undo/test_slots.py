"""Slots of every surface: content in, content out, with places and types."""

from __future__ import annotations

import json

import pytest
from tests.support.changes import config, file, listener, middleware, mutation, prompt, routing, socket, tool

from takeback.journal.content import encode
from takeback.runtime import run_forward
from takeback.state import ABSENT, State, register, unregister
from takeback.state.slots import (
    dump_state,
    find_differing_slots,
    format_slot_key,
    get_slot,
    parse_slot_key,
    put_slots,
)
from takeback.state.surface import SURFACES, Surface
from takeback.undo.record import list_writes_between, run_and_record

FULL = {
    "config": {"a": {"b": [1, 1.0, True, None, {"x": {}}]}, "empty": {}, "dotted.key": 1},
    "prompts": {"system": "text\r\n"},
    "routing": {"main": None},
    "tools": {"key": {"id": "other", "parameters": {"type": "object"}}},
    "middleware": [{"id": name, "handler": "h"} for name in ("a", "b")],
    "listeners": {"e": [{"id": "x", "handler": "h"}, {"id": "y", "handler": "h"}]},
    "files": {"d/f": {"base64": "/wA=", "mode": "0600"}, "d/t": {"content": "é"}, "e": {"directory": True}},
    "resources": {"r": {"address": "tcp://127.0.0.1:9100"}},
}


def load_state(raw):
    return State({name: SURFACES[name].load(part) for name, part in raw.items()})


def test_a_state_survives_json_with_every_place():
    state = State.read(FULL)
    state = run_forward(mutation(middleware("m", index=1), listener("e", "z")), state)[0]
    back = load_state(json.loads(encode(dump_state(state))))
    assert back == state
    assert [link.place for link in back.part("middleware")] == [link.place for link in state.part("middleware")]
    assert encode(back.write()) == encode(state.write())


OPS = [
    config("a.b", 2),
    prompt("p", "x"),
    routing("main", "m"),
    tool("t"),
    middleware("c", index=0),
    listener("e", "w"),
    file("d/n", "x"),
    socket("s", 9200),
]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op["op_type"])
def test_a_recorded_write_holds_both_values_and_reverses_the_operation(op):
    state = State.read(FULL)
    recorded = run_and_record(mutation(op), state)
    (write,) = recorded.writes
    assert get_slot(recorded.state, write.slot) is write.after
    assert put_slots(recorded.state, [(write.slot, write.before)]) == state
    surface = SURFACES[write.slot[0]]
    back = surface.slot_from_json(json.loads(encode(surface.slot_to_json(write.after))), write.slot[1:])
    assert surface.is_identical(back, write.after)
    assert parse_slot_key(format_slot_key(write.slot)) == write.slot


@pytest.mark.parametrize("op", OPS, ids=lambda op: op["op_type"])
def test_differing_slots_name_the_slots_a_change_wrote(op):
    state = State.read(FULL)
    recorded = run_and_record(mutation(op), state)
    assert list(find_differing_slots(state, recorded.state)) == [recorded.writes[0].slot]
    assert list(find_differing_slots(state, State.read(FULL))) == []


def test_a_hand_edit_is_recorded_at_the_highest_differing_slot():
    before = State.read({"config": {"a": {"b": 1, "c": 2}}, "files": {"d/x": {"content": "1"}}})
    after = State.read({"config": {"a": {"b": 1}, "n": {"m": 1}}, "files": {"d": {"content": "now a file"}}})
    writes = list_writes_between(before, after)
    assert [write.slot for write in writes] == [("config", "a", "c"), ("config", "n"), ("files", "d")]
    assert put_slots(before, [(write.slot, write.after) for write in writes]) == after


def test_a_surface_without_slots_is_one_slot():
    class Whole(type(SURFACES["config"])):
        written, get_slot, put_slot = Surface.find_written_slots, Surface.get_slot, Surface.put_slot
        differing, alike, dump, load = Surface.differing, Surface.is_identical, Surface.dump, Surface.load
        slot_to_json, slot_from_json = Surface.slot_to_json, Surface.slot_from_json

    surface = Whole()
    part = State.read(FULL).part("config")
    assert surface.written(None) == ((),)
    assert surface.put_slot(part, (), ABSENT) == SURFACES["config"].empty
    assert surface.load(surface.dump(part)) == part
    assert surface.slot_from_json(surface.slot_to_json(part), ()) == part
    assert list(surface.differing(part, part.put("new", 1))) == [()]
    assert surface.get_slot(part, ()) is part


def test_a_keyed_surface_from_outside_has_slots_by_default():
    class Flags(type(SURFACES["prompts"])):
        name = "flags"
        kinds = ()

    register(Flags())
    try:
        one, two = State.read({"flags": {"a": "1"}}), State.read({"flags": {"a": "2"}})
        assert list(find_differing_slots(one, two)) == [("flags", "a")]
        assert load_state(dump_state(two)) == two
    finally:
        unregister("flags")
