"""A plain implementation of round trips: deep copies and sorted JSON; only the encoder is shared.

This is what one would write in an afternoon: states are dicts, every stage copies the state, comparing means
serialising. It does the same work (capture, forward, effects, contract audit, recover, compare) for the
operations the benchmark uses.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from takeback.canonical import encode

Plain = dict[str, Any]


def round_trip(candidate: Plain, state: Plain) -> bool:
    """Return whether the recovered state equals the state before and the contract covers the effects."""
    witness = {op["witness_key"]: deepcopy(_capture(op, state)) for op in candidate["witness"]}
    changed = deepcopy(state)
    for op in candidate["mutation"]:
        _forward(op, changed)
    effects = {f"{_surface(op)}[{encode(op['target'])}]" for op in candidate["mutation"]}
    differing = {name for name in changed if _text(changed[name]) != _text(state.get(name))}
    contract = set(candidate["contract"])
    covered = effects <= contract and all(any(item.startswith(name) for item in contract) for name in differing)
    recovered = deepcopy(changed)
    for op in candidate["recovery"]:
        _restore(op, recovered, witness[op["witness_key"]])
    return covered and _text(recovered) == _text(state)


def _text(value: Any) -> str:
    return encode(value)


_SURFACES = {
    "config": "config",
    "prompt": "prompts",
    "tool": "tools",
    "routing": "routing",
    "middleware": "middleware",
    "listener": "listeners",
    "file": "files",
    "socket": "resources",
}


def _surface(op: Plain) -> str:
    return _SURFACES[op["op_type"].split("_")[1]]


def _capture(op: Plain, state: Plain) -> tuple[bool, Any]:
    part = state[_surface(op)]
    if _surface(op) == "middleware":
        found = [(at, entry) for at, entry in enumerate(part) if entry["id"] == op["target"]]
        return bool(found), found[0] if found else None
    if _surface(op) == "config":
        *above, last = op["target"].split(".")
        for name in above:
            part = part.get(name, {})
        return last in part, part.get(last)
    return op["target"] in part, part.get(op["target"])


def _forward(op: Plain, state: Plain) -> None:
    part, target, value = state[_surface(op)], op["target"], op["value"]
    if _surface(op) == "middleware":
        part[:] = [entry for entry in part if entry["id"] != target]
        part.insert(op.get("index", len(part)), {"id": target, "priority": 100, "options": {}, **value})
    elif _surface(op) == "listeners":
        part.setdefault(target, []).append({"options": {}, **value})
    elif _surface(op) == "config":
        *above, last = target.split(".")
        for name in above:
            part = part.setdefault(name, {})
        part[last] = value
    else:
        part[target] = value


def _restore(op: Plain, state: Plain, captured: tuple[bool, Any]) -> None:
    part, target, (existed, value) = state[_surface(op)], op["target"], captured
    if _surface(op) == "middleware":
        part[:] = [entry for entry in part if entry["id"] != target]
        if existed:
            part.insert(*value)
        return
    if _surface(op) == "config":
        *above, target = target.split(".")
        for name in above:
            part = part[name]
    if existed:
        part[target] = value
    else:
        part.pop(target, None)
