"""Proof rests on operations not looking into stored values: here every operation runs on values that scream.

An `Opaque` value raises `PeekedError` on any inspection. A kind may look at just what it declares in `reads`; what
that uncovers is listed in `UNCOVERS`. A new operation that peeks without saying so fails this test.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from tests.support.running import op

from takeback.errors import OperationFailed
from takeback.language import read_operation
from takeback.state import KINDS, SURFACES, Captured, Kind, Level, Operation, PMap, Requirement, Stage
from takeback.state.chain import Chain
from takeback.state.file import File


class PeekedError(Exception):
    """An operation looked at a value it does not declare to read."""


def _peek(self: object, *_: object) -> Any:
    raise PeekedError


SPECIAL = (
    "getattribute",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "hash",
    "bool",
    "len",
    "iter",
    "contains",
    "getitem",
    "repr",
    "str",
    "bytes",
    "format",
    "int",
    "float",
    "index",
    "call",
    "add",
    "radd",
    "copy",
    "reduce_ex",
    "sizeof",
    "dir",
)
Opaque = type("Opaque", (), {f"__{name}__": _peek for name in SPECIAL})

UNCOVERS: dict[str, str] = {
    "ancestors are mappings": "",
    "ancestors are directories": "",
    "the path is a directory": "",
    "the path is a file": "",
    "order of the chain": "",
    "order of the callbacks": "",
    "an anchor is there": "",
    "the element is there": "",
    "the callback is there": "",
    "the file is there": "mode",
    "mode, to keep it": "mode",
    "priority of the others": "priority",
    "address of the others": "address",
}
"""What each declaration lets an operation see of stored values; the empty ones speak of structure only."""

PRESENT, OTHER = "k", "other"
TARGETS = {
    "config": ("k", "m", "m.k", "m.x", "k.x", "x", "x.y"),
    "files": ("k", "m", "m/k", "m/x", "k/x", "x", "x/y"),
}
VALUES: dict[str, list[Any]] = {
    "set_config": [1, {"k": 1}],
    "set_prompt": ["text"],
    "register_tool": [{"id": "t"}],
    "set_routing": [None, "model"],
    "add_middleware": [{"handler": "h"}],
    "add_listener": [{"id": PRESENT, "handler": "h"}, "new"],
    "write_file": ["text", {"content": "text", "mode": "0600"}],
    "allocate_socket": ["tcp://127.0.0.1:9001", "tcp://127.0.0.1:9009", "tcp://127.0.0.1:0"],
    "capture_listener": [PRESENT, "new"],
    "unregister_listener": [PRESENT, "new"],
    "remove_listener": [PRESENT, "new"],
    "move_listener": [PRESENT, "new"],
    "replace_middleware": [{"handler": "h"}],
    "move_file": ["new", "m/new", "k/new"],
}
PLACES = [{}, {"index": 0}, {"index": 9}, {"before": OTHER}, {"after": OTHER}, {"after": "gone"}, {"priority": 50}]


def _uncovered(kind: Kind) -> set[str]:
    unknown = set(kind.reads) - set(UNCOVERS)
    assert not unknown, f"{kind.name} declares {unknown}: say in UNCOVERS what that lets it see"
    return {UNCOVERS[read] for read in kind.reads} - {""}


def _value(surface: str, seen: set[str]) -> Any:
    """The surface's value with every stored value opaque, apart from what is uncovered."""
    if surface == "config":
        return PMap({"k": Opaque(), "m": PMap({"k": Opaque()})})
    if surface == "files":
        leaf = File(Opaque(), 0o600) if "mode" in seen else Opaque()
        return PMap({"k": leaf, "m": PMap({"k": leaf})})
    if surface == "middleware":
        record = PMap({"priority": 100, "handler": Opaque()}) if "priority" in seen else Opaque()
        return Chain.of([(OTHER, record), (PRESENT, record)])
    if surface == "listeners":
        return PMap({PRESENT: Chain.of([(OTHER, Opaque()), (PRESENT, Opaque())])})
    if surface == "resources" and "address" in seen:
        return PMap(
            {
                key: PMap({"address": f"tcp://127.0.0.1:900{at}", "kind": Opaque(), "lifecycle": Opaque()})
                for at, key in enumerate((OTHER, PRESENT))
            }
        )
    return PMap({PRESENT: Opaque(), OTHER: Opaque()})


def _uses(kind: Kind) -> list[Operation]:
    """The kind on every target, with every sort of value, place and witness it takes."""
    targets = [*TARGETS.get(kind.surface, (PRESENT, "x")), *(["*"] if kind.whole else [])]
    keys: list[dict[str, Any]] = {
        Requirement.FORBIDDEN: [{}],
        Requirement.OPTIONAL: [{}, {"witness_key": "w"}],
        Requirement.REQUIRED: [{"witness_key": "w"}],
    }[kind.witness]
    values = (
        [{"value": value} for value in VALUES.get(kind.name, [])] if kind.value is not Requirement.FORBIDDEN else []
    )
    if kind.value is not Requirement.REQUIRED:
        values.append({})
    places = [
        place for place in PLACES if set(place) <= set(kind.spots) and (place or kind.spot is Requirement.OPTIONAL)
    ]
    ways = product(targets, values, [{}] if kind.spot is Requirement.FORBIDDEN else places, keys)
    return [
        read_operation(op(kind.name, target, **value, **place, **key), kind.stage, "use")
        for target, value, place, key in ways
        if value.get("value") != f"{target}/new"
    ]


def test_only_operations_that_write_parts_look_inside_values():
    """Those are decided by their own argument: what they edit must be restored from its own capture."""
    looking = {name for name, kind in KINDS.items() if kind.inside}
    assert looking == {"edit_prompt", "edit_file", "append_config", "insert_config", "remove_config_item"}
    for name in looking:
        assert any("to find" in read for read in KINDS[name].reads)


def _captures(surface: str, value: Any) -> list[Captured]:
    kinds = [kind for kind in KINDS.values() if kind.surface == surface and kind.stage is Stage.CAPTURE]
    return [kind.run(value, use) for kind in kinds for use in _uses(kind)]


def _run_all(kind: Kind, uses: list[Operation]) -> int:
    """Run the kind on opaque values in every way; return how often it ran through."""
    done = 0
    for use in uses:
        value = _value(kind.surface, _uncovered(kind))
        held: list[Captured | None] = [None]
        if kind.stage is Stage.RECOVERY and use.witness_key is not None:
            held = list(_captures(kind.surface, value))
        for captured in held:
            arguments = (value, use, captured) if kind.stage is Stage.RECOVERY else (value, use)
            try:
                kind.run(*arguments)
                done += 1
            except OperationFailed:
                continue
    return done


@pytest.mark.parametrize("name", sorted(name for name, kind in KINDS.items() if not kind.inside))
def test_an_operation_looks_at_nothing_it_does_not_declare(name):
    assert _run_all(KINDS[name], _uses(KINDS[name])) > 0


@pytest.mark.parametrize(
    ("surface", "cheat"),
    [
        ("prompts", lambda value, use: (value.put(use.path, "x") if value.get(use.path) == "x" else value, None)),
        ("prompts", lambda value, use: (value if value.get(use.path) else value.drop(use.path), None)),
        ("prompts", lambda value, use: (value, isinstance(value.get(use.path), str))),
        ("prompts", lambda value, use: (value.put(use.path, f"{value.get(use.path)}!"), None)),
        ("tools", lambda value, use: (value, value[use.path]["id"])),
        ("config", lambda value, use: (value, hash(value["m"]["k"]))),
        ("listeners", lambda value, use: (value, value[PRESENT].links[0].record["handler"])),
    ],
)
def test_an_operation_that_peeks_at_values_is_detected(surface, cheat):
    kind = Kind("peek", Stage.FORWARD, Level.L0, cheat, surface)
    use = Operation(kind, PRESENT, PRESENT, SURFACES["prompts"].address(PRESENT))
    with pytest.raises(PeekedError):
        _run_all(kind, [use])


def test_an_unexplained_declaration_is_detected():
    kind = Kind.forward("peek", Level.L0, lambda value, use: (value, None), reads=("the weather",))
    with pytest.raises(AssertionError, match="the weather"):
        _uncovered(kind)


def test_restores_put_back_the_very_value_that_was_captured():
    value = _value("prompts", set())
    captured = KINDS["capture_prompt"].run(value, _uses(KINDS["capture_prompt"])[0])
    restored = KINDS["restore_prompt"].run(value.put(PRESENT, "x"), _uses(KINDS["restore_prompt"])[0], captured)
    assert restored[PRESENT] is value[PRESENT]
