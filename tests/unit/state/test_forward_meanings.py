"""What each forward operation means on an element that is there, that is not, or that is in the way."""

from __future__ import annotations

import pytest
from tests.support.running import attempt, change, op

CHAIN = [
    {"id": name, "handler": name, "priority": priority, "options": {}}
    for name, priority in (("a", 10), ("b", 50), ("c", 90))
]


def _ids(state: dict) -> list[str]:
    return [item["id"] for item in state["middleware"]]


def _add(**fields: object) -> dict:
    return op("add_middleware", fields.pop("target", "x"), value={"handler": "h"}, **fields)


def test_set_config_makes_the_mappings_above_the_key():
    assert change({}, op("set_config", "a.b.c", value=1)) == {"config": {"a": {"b": {"c": 1}}}}


def test_set_config_replaces_a_mapping_by_a_value():
    assert change({"config": {"a": {"b": 1}}}, op("set_config", "a", value=2)) == {"config": {"a": 2}}


@pytest.mark.parametrize("blocker", [1, None, "text", [], [{"b": 1}]])
def test_set_config_fails_below_a_value_that_is_no_mapping(blocker):
    after, receipt = attempt({"config": {"a": blocker}}, op("set_config", "a.b", value=1))
    assert receipt.failed_at == 0
    assert "'a' is in the way of 'a/b'" in receipt.reason
    assert after.write() == {"config": {"a": blocker}}


def test_a_dot_inside_a_config_key_is_written_with_a_backslash():
    assert change({}, op("set_config", r"a\.b.c", value=1)) == {"config": {"a.b": {"c": 1}}}
    assert change({}, op("set_config", r"a\\b", value=1)) == {"config": {"a\\b": 1}}


def test_set_prompt_and_set_routing_bind_and_replace():
    after = change({"prompts": {"p": "old"}}, op("set_prompt", "p", value="new"), op("set_routing", "r", value=None))
    assert after == {"prompts": {"p": "new"}, "routing": {"r": None}}


def test_register_tool_replaces_a_used_key_and_keeps_an_id_of_its_own():
    before = {"tools": {"t": {"id": "t", "description": "old", "parameters": {}, "implementation": ""}}}
    after = change(before, op("register_tool", "t", value={"id": "other"}))
    assert after["tools"] == {"t": {"id": "other", "description": "", "parameters": {}, "implementation": ""}}


def test_add_middleware_without_a_place_appends():
    assert _ids(change({"middleware": CHAIN}, _add())) == ["a", "b", "c", "x"]


@pytest.mark.parametrize(("index", "ids"), [(0, "xabc"), (1, "axbc"), (3, "abcx"), (99, "abcx")])
def test_add_middleware_by_index_counts_from_the_front_and_appends_past_the_end(index, ids):
    assert "".join(_ids(change({"middleware": CHAIN}, _add(index=index)))) == ids


@pytest.mark.parametrize(
    ("place", "ids"),
    [({"before": "b"}, "axbc"), ({"after": "b"}, "abxc"), ({"before": "a"}, "xabc"), ({"after": "c"}, "abcx")],
)
def test_add_middleware_inserts_next_to_its_anchor(place, ids):
    assert "".join(_ids(change({"middleware": CHAIN}, _add(**place)))) == ids


@pytest.mark.parametrize("side", ["before", "after"])
def test_add_middleware_fails_without_its_anchor(side):
    after, receipt = attempt({"middleware": CHAIN}, _add(**{side: "gone"}))
    assert receipt.failed_at == 0
    assert "there is no middleware 'gone'" in receipt.reason
    assert _ids(after.write()) == ["a", "b", "c"]


@pytest.mark.parametrize(("priority", "ids"), [(5, "xabc"), (10, "axbc"), (49, "axbc"), (50, "abxc"), (90, "abcx")])
def test_add_middleware_by_priority_inserts_before_the_first_larger_number(priority, ids):
    after = change({"middleware": CHAIN}, _add(priority=priority))
    assert "".join(_ids(after)) == ids
    assert next(item for item in after["middleware"] if item["id"] == "x")["priority"] == priority


@pytest.mark.parametrize(
    ("place", "ids"), [({}, "bca"), ({"index": 1}, "bac"), ({"after": "b"}, "bac"), ({"priority": 60}, "bac")]
)
def test_add_middleware_of_an_id_in_the_chain_moves_and_replaces_it(place, ids):
    after = change({"middleware": CHAIN}, _add(target="a", **place))
    assert "".join(_ids(after)) == ids
    assert next(item for item in after["middleware"] if item["id"] == "a")["handler"] == "h"


def test_add_listener_appends_and_replaces_in_place():
    bound = [{"id": name, "handler": name, "options": {}} for name in "xy"]
    after = change(
        {"listeners": {"e": bound}},
        op("add_listener", "e", value={"id": "x", "handler": "new"}),
        op("add_listener", "e", value="z"),
    )
    assert [(one["id"], one["handler"]) for one in after["listeners"]["e"]] == [("x", "new"), ("y", "y"), ("z", "z")]


def test_add_listener_makes_the_event():
    assert [one["id"] for one in change({}, op("add_listener", "e", value="x"))["listeners"]["e"]] == ["x"]


def test_write_file_makes_directories_and_uses_the_default_mode():
    after = change({}, op("write_file", "d/e/f", value="x"))
    assert after == {"files": {"d/e/f": {"content": "x", "mode": "0644"}}}


def test_write_file_keeps_the_mode_of_a_file_that_is_there_unless_one_is_given():
    before = {"files": {"f": {"content": "old", "mode": "0755"}}}
    assert change(before, op("write_file", "f", value="new"))["files"]["f"] == {"content": "new", "mode": "0755"}
    given = change(before, op("write_file", "f", value={"content": "new", "mode": "0600"}))
    assert given["files"]["f"]["mode"] == "0600"


def test_write_file_fails_below_a_file():
    _, receipt = attempt({"files": {"f": {"content": ""}}}, op("write_file", "f/g", value="x"))
    assert "'f' is in the way of 'f/g'" in receipt.reason


@pytest.mark.parametrize("files", [{"d": {"directory": True}}, {"d/f": {"content": ""}}])
def test_write_file_fails_on_a_directory(files):
    _, receipt = attempt({"files": files}, op("write_file", "d", value="x"))
    assert "'d' is a directory" in receipt.reason


def test_write_file_into_an_empty_directory_fills_it():
    after = change({"files": {"d": {"directory": True}}}, op("write_file", "d/f", value="x"))
    assert list(after["files"]) == ["d/f"]


def test_allocate_socket_fails_on_an_address_another_key_holds():
    held = {"resources": {"m": {"address": "tcp://127.0.0.1:9101"}}}
    after, receipt = attempt(held, op("allocate_socket", "n", value="tcp://127.0.0.1:9101"))
    assert "tcp://127.0.0.1:9101 is held by resource 'm'" in receipt.reason
    assert list(after.write()["resources"]) == ["m"]


def test_allocate_socket_fails_on_an_address_held_outside_the_harness():
    held = {"resources": {"m": {"kind": "external", "address": "tcp://127.0.0.1:9101"}}}
    assert not attempt(held, op("allocate_socket", "n", value="tcp://127.0.0.1:9101"))[1].succeeded


def test_allocate_socket_replaces_its_own_descriptor():
    held = {"resources": {"m": {"address": "tcp://127.0.0.1:9101", "lifecycle": "closed"}}}
    after = change(held, op("allocate_socket", "m", value="tcp://127.0.0.1:9101"))
    assert after["resources"]["m"]["lifecycle"] == "open"


def test_ephemeral_ports_never_conflict():
    zero = "tcp://127.0.0.1:0"
    after = change({}, op("allocate_socket", "m", value=zero), op("allocate_socket", "n", value=zero))
    assert [item["address"] for item in after["resources"].values()] == [zero, zero]


def test_a_mutation_that_fails_half_way_leaves_the_state_as_it_was():
    before = {"prompts": {"p": "old"}, "config": {"a": 1}}
    after, receipt = attempt(before, op("set_prompt", "p", value="new"), op("set_config", "a.b", value=1))
    assert after.write() == before
    assert receipt.failed_at == 1
    assert receipt.reason.startswith("mutation[1] set_config:")
    assert [str(write.address) for write in receipt.writes] == ['prompts["p"]']
