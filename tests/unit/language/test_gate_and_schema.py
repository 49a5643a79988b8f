"""The gate names what is out of a language; the schema holds what the parser takes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.support.running import op

from takeback.language import candidate_schema, gate, read_candidate
from takeback.state import KINDS, Level, Stage

L0_SURFACES = {"config", "prompts", "tools", "routing"}


def _out(level: Level = Level.L0, **programs: list) -> list[str]:
    return [str(one) for one in gate(read_candidate({"mutation": [], **programs}), level)]


def test_the_levels_hold_the_operations_of_the_papers_table():
    l0 = {kind.name for kind in KINDS.values() if kind.level is Level.L0}
    l1 = {kind.name for kind in KINDS.values() if Level.L1.includes(kind.level)}
    assert l0 == {
        "capture_config",
        "set_config",
        "restore_config",
        "delete_config",
        "capture_prompt",
        "set_prompt",
        "restore_prompt",
        "capture_tool",
        "register_tool",
        "restore_tool",
        "unregister_tool",
        "capture_routing",
        "set_routing",
        "restore_routing",
    }
    assert l1 - l0 == {
        "capture_middleware",
        "add_middleware",
        "restore_middleware",
        "capture_listener",
        "add_listener",
        "restore_listener",
        "unregister_listener",
        "capture_file",
        "write_file",
        "restore_file",
        "delete_file",
        "capture_socket",
        "allocate_socket",
        "release_socket",
    }
    assert {kind.surface for kind in KINDS.values() if kind.level is Level.L0} == L0_SURFACES


def test_every_operation_out_of_l0_is_named_with_its_position():
    out = _out(
        mutation=[op("set_config", "a", value=1), op("write_file", "f", value="x")],
        witness=[op("capture_socket", "s", witness_key="w")],
        recovery=[op("release_socket", "s")],
    )
    assert out == [
        "mutation[1] write_file: belongs to L1, not to L0",
        "witness[0] capture_socket: belongs to L1, not to L0",
        "recovery[0] release_socket: belongs to L1, not to L0",
    ]


@pytest.mark.parametrize("targets", [("a", "a"), ("a", "a.b"), ("a.b", "a"), ("a.b.c", "a.b")])
def test_two_writes_that_can_see_each_other_are_out_of_l0(targets):
    ops = [op("set_config", target, value=at) for at, target in enumerate(targets)]
    assert _out(mutation=ops) == [
        "mutation[1] set_config: its order with mutation[0] set_config matters, which needs L1"
    ]
    assert _out(Level.L1, mutation=ops) == []


@pytest.mark.parametrize("targets", [("a", "b"), ("a.b", "a.c"), ("a", r"a\.b")])
def test_writes_that_cannot_see_each_other_are_in_l0(targets):
    assert _out(mutation=[op("set_config", target, value=at) for at, target in enumerate(targets)]) == []


def test_the_same_operation_twice_is_in_l0_but_not_where_only_the_type_differs():
    assert _out(mutation=[op("set_config", "a", value=1)] * 2) == []
    for one, two in [(1, True), (1, 1.0), (0, False), (0.0, -0.0)]:
        assert len(_out(mutation=[op("set_config", "a", value=one), op("set_config", "a", value=two)])) == 1


def test_two_captures_under_one_key_depend_on_their_order():
    captures = [op("capture_prompt", name, witness_key="w") for name in ("p", "q")]
    assert len(_out(witness=captures)) == 1
    captures[1]["witness_key"] = "v"
    assert _out(witness=captures) == []


def test_writes_on_different_surfaces_never_depend_on_order():
    assert _out(mutation=[op("set_prompt", "a", value="x"), op("set_routing", "a", value="x")]) == []


def test_a_recovery_that_restores_and_then_deletes_one_key_depends_on_order():
    recovery = [op("restore_config", "a", witness_key="w"), op("delete_config", "a")]
    assert len(_out(recovery=recovery)) == 1


def _walk(schema: object) -> list[dict]:
    if isinstance(schema, dict):
        return [schema, *(found for item in schema.values() for found in _walk(item))]
    return [found for item in schema for found in _walk(item)] if isinstance(schema, list) else []


@pytest.mark.parametrize("level", [Level.L0, Level.L1])
def test_the_schema_bounds_every_string_number_and_array(level):
    for part in _walk(candidate_schema(level)):
        kind = part.get("type")
        if kind == "string":
            assert "maxLength" in part or "pattern" in part, part
        if kind in {"integer", "number"}:
            assert {"minimum", "maximum"} <= set(part), part
        if kind == "array":
            assert "maxItems" in part, part


@pytest.mark.parametrize("level", [Level.L0, Level.L1])
def test_the_schema_has_exactly_the_operations_of_its_level(level):
    schema = candidate_schema(level)
    for name, stage in (("mutation", Stage.FORWARD), ("witness", Stage.CAPTURE), ("recovery", Stage.RECOVERY)):
        forms = schema["properties"][name]["items"]["anyOf"]
        found = {form["properties"]["op_type"]["const"] for form in forms}
        assert found == {kind.name for kind in KINDS.values() if kind.stage is stage and level.includes(kind.level)}
        assert all(form["additionalProperties"] is False for form in forms)


def test_the_schema_of_a_repair_has_no_mutation():
    schema = candidate_schema(Level.L1, mutation=False)
    assert list(schema["properties"]) == ["witness", "recovery", "contract"]
    assert schema["required"] == ["witness", "recovery", "contract"]


_TYPES = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}


def _fits(value: object, schema: dict) -> bool:
    """Tell whether a value fits a schema, for the keywords that ours uses."""
    if "const" in schema:
        return value == schema["const"]
    if "anyOf" in schema:
        return any(_fits(value, one) for one in schema["anyOf"])
    if not isinstance(value, _TYPES[schema["type"]]) or (schema["type"] == "integer" and isinstance(value, bool)):
        return False
    if isinstance(value, str):
        return len(value) <= schema.get("maxLength", 10**9) and bool(re.search(schema.get("pattern", ""), value))
    if isinstance(value, list):
        return len(value) <= schema["maxItems"] and all(_fits(item, schema["items"]) for item in value)
    if isinstance(value, dict) and "properties" in schema:
        known = schema["properties"]
        return set(schema["required"]) <= set(value) <= set(known) and all(_fits(value[k], known[k]) for k in value)
    return True


@pytest.mark.parametrize(
    "name", ["config", "prompts", "routing", "tools", "middleware", "listeners", "files", "sockets", "multi-surface"]
)
def test_the_schema_takes_the_worked_examples_and_turns_away_bad_ones(name):
    schema = candidate_schema(Level.L1)
    examples = Path(__file__).parents[3] / "examples" / "candidates"
    plain = json.loads((examples / name / "candidate.json").read_text())
    assert _fits(plain, schema)
    assert not _fits({**plain, "notes": 1}, schema)
    assert not _fits({**plain, "mutation": [{**plain["mutation"][0], "op_type": "fly"}]}, schema)
    assert not _fits({**plain, "recovery": [{**plain["recovery"][0], "value": {"x": 1}}]}, schema)
