"""A second opinion from z3 on flat keyed surfaces, with no code shared with the proof (JSON text apart).

A surface is an array from keys to "absent" or "present with a value" of an uninterpreted sort. Programs are
run symbolically on arrays; the question is whether some initial array is not restored. Contract coverage of
these surfaces does not depend on the state and is checked on the text of the candidate.
"""

from __future__ import annotations

from typing import Any, Final

import z3

from takeback.canonical import encode

_SURFACE: Final = {"config": "config", "prompt": "prompts", "routing": "routing", "tool": "tools"}
_INSIDE: Final = {"edit_prompt", "append_config", "insert_config", "remove_config_item"}
_REMOVES: Final = {"unset_config", "remove_prompt", "unset_routing", "remove_tool"}
SURFACES: Final = tuple(_SURFACE.values())

_Value = z3.DeclareSort("Value")
_Slot = z3.Datatype("Slot")
_Slot.declare("absent")
_Slot.declare("present", ("held", _Value))
_Slot = _Slot.create()


def surface_of(op: dict[str, Any]) -> str | None:
    """Return the keyed surface of an operation, or None where z3 is not asked."""
    return _SURFACE.get(op["op_type"].split("_")[1])


def fits(candidate: dict[str, Any]) -> bool:
    """Tell whether a candidate stays on flat keys of the four keyed surfaces."""
    ops = [*candidate["mutation"], *candidate["witness"], *candidate["recovery"]]
    return all(surface_of(op) and op["op_type"] not in _INSIDE and "." not in op["target"] for op in ops)


def holds(candidate: dict[str, Any]) -> bool:
    """Return whether the candidate restores every initial state and its contract covers every effect."""
    contract = set(candidate["contract"])
    for op in candidate["mutation"]:
        surface = surface_of(op)
        if surface not in contract and f"{surface}[{encode(op['target'])}]" not in contract:
            return False
    before = {name: z3.Array(name, z3.StringSort(), _Slot) for name in SURFACES}
    after = _recovered(candidate, before)
    if after is None:
        return False
    solver = z3.Solver()
    literals = [z3.Const(text, _Value) for text in sorted(_literals(candidate))]
    if len(literals) > 1:
        solver.add(z3.Distinct(*literals))
    solver.add(z3.Or(*(before[name] != after[name] for name in SURFACES)))
    answer = solver.check()
    if answer == z3.unknown:
        raise RuntimeError("z3 gave no answer on a quantifier-free problem of arrays")
    return bool(answer == z3.unsat)


def _literals(candidate: dict[str, Any]) -> set[str]:
    return {_text(op) for op in candidate["mutation"] if op["op_type"] not in _REMOVES}


def _text(op: dict[str, Any]) -> str:
    value = op["value"]
    if surface_of(op) == "tools":
        value = {"id": value.get("id", op["target"])}
    return f"{surface_of(op)}:{type(value).__name__}:{encode(value)}"


def _recovered(candidate: dict[str, Any], before: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arrays after the round trip, or None where a restore has no fitting witness."""
    witness = {
        op["witness_key"]: (surface_of(op), before[str(surface_of(op))][z3.StringVal(op["target"])])
        for op in candidate["witness"]
    }
    now = dict(before)
    for op in candidate["mutation"]:
        surface = str(surface_of(op))
        removes = op["op_type"] in _REMOVES
        written = _Slot.absent if removes else _Slot.present(z3.Const(_text(op), _Value))
        now[surface] = z3.Store(now[surface], z3.StringVal(op["target"]), written)
    for op in candidate["recovery"]:
        surface, key = str(surface_of(op)), z3.StringVal(op["target"])
        if "witness_key" not in op:
            now[surface] = z3.Store(now[surface], key, _Slot.absent)
            continue
        kind, slot = witness.get(op["witness_key"], (None, None))
        if kind != surface:
            return None
        now[surface] = z3.Store(now[surface], key, slot)
    return now
