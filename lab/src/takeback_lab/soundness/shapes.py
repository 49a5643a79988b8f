"""Joint shapes: every state over the names of a candidate in which each is there or not, as one thing or another.

They are made on JSON from the text of the candidate, with nothing of the proof: neither its components nor its base.
All places vary at once. Where there are too many joint shapes, some are drawn.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod
from typing import Any, Final

from takeback.errors import InputError
from takeback.state import KINDS, State

MOST: Final = 600
"""All joint shapes are run where there are no more than these."""
DRAWN: Final = 120
"""How many are drawn where there are more."""
ABSENT: Final = None
"""As a shape: nothing is there. Any other shape is a list of one or more JSON values."""
_TREES: Final = {"config": ".", "files": "/"}
Plain = dict[str, Any]
Shape = Any
Choices = list[Shape]
Trie = dict[str, Any]


def joint_shapes(candidate: Plain, rng: random.Random) -> Iterator[State]:
    """Yield the states of a candidate's joint shapes: all of them, or some where there are too many."""
    slots = _slots(candidate)
    counts: list[int] = [slot.count for slot in slots]
    if prod(counts) <= MOST:
        chosen: Iterable[tuple[Shape, ...]] = product(*(slot.every() for slot in slots))
    else:
        chosen = (tuple(slot.draw(rng) for slot in slots) for _ in range(DRAWN))
    for shapes in chosen:
        state = _state(zip(slots, shapes, strict=True), rng)
        if state is not None:
            yield state


class _Flat:
    """A slot with nothing below: it is absent, or one of some contents."""

    def __init__(self, surface: str, key: str, contents: Choices) -> None:
        self.surface = surface
        self.key = key
        self._contents = [ABSENT, *([content] for content in contents)]
        self.count: int = len(self._contents)

    def every(self) -> Choices:
        return self._contents

    def draw(self, rng: random.Random) -> Shape:
        return rng.choice(self._contents)


class _Node:
    """A path of a tree with the named paths below it: absent, a leaf, or a container with any shape of those."""

    def __init__(self, surface: str, key: str, leaves: Choices, below: list[_Node]) -> None:
        self.surface = surface
        self.key = key
        self._leaves = leaves
        self._below = below
        self.count: int = 1 + len(leaves) + 2 * prod(node.count for node in below)

    def every(self) -> Iterator[Shape]:
        yield ABSENT
        yield from ([leaf] for leaf in self._leaves)
        for children in product(*(list(node.every()) for node in self._below)):
            yield self._container(children, beside=False)
            yield self._container(children, beside=True)

    def draw(self, rng: random.Random) -> Shape:
        how = rng.randrange(4)
        if how == 0:
            return ABSENT
        if how == 1:
            return [rng.choice(self._leaves)]
        return self._container([node.draw(rng) for node in self._below], beside=rng.random() < _HALF)

    def _container(self, children: Iterable[Shape], *, beside: bool) -> Shape:
        shown = zip(self._below, children, strict=True)
        inside = {node.key: shape[0] for node, shape in shown if shape is not ABSENT}
        if beside:
            inside["beside"] = _LEAF[self.surface]
        return [_Container(inside)]


_HALF: Final = 0.5
_LEAF: Final[dict[str, Any]] = {"config": "beside", "files": {"content": "beside", "mode": "0600"}}


class _Container(dict[str, Any]):
    """A container of a tree, told apart from a leaf that is a mapping."""


NamedPlace = _Flat | _Node


def _slots(candidate: Plain) -> list[NamedPlace]:
    """Return the slots that a candidate names, trees by their top names."""
    ops = [op for program in ("mutation", "witness", "recovery") for op in candidate[program]]
    named: dict[str, dict[str, None]] = {}
    for op in ops:
        for surface, key in _names(op):
            named.setdefault(surface, {})[key] = None
    found: list[NamedPlace] = []
    for surface, keys in named.items():
        if surface in _TREES:
            found += _tree(surface, keys, ops)
        else:
            found += [_Flat(surface, key, _contents(surface, key, ops)) for key in keys]
    return found


def _names(op: Plain) -> Iterator[tuple[str, str]]:
    """Yield what an operation names: its target, an anchor, a callback, where a file is moved to."""
    surface, target = KINDS[op["op_type"]].surface, op["target"]
    near = [op[place] for place in ("before", "after") if isinstance(op.get(place), str)]
    if surface == "listeners":
        value = op.get("value")
        called = value["id"] if isinstance(value, dict) else value
        yield from ((surface, f"{target} {name}") for name in (called, *near, "beside") if name is not None)
        return
    if target != "*":
        yield surface, target
    if surface == "middleware":
        yield from ((surface, name) for name in near)
    if op["op_type"] == "move_file":
        yield surface, op["value"]


def _contents(surface: str, key: str, ops: list[Plain]) -> Choices:
    """Return the contents that a flat slot is tried with."""
    if surface == "prompts":
        return [f"first {key}", *_edited(surface, key, ops)]
    if surface == "calls":
        return [{"call": f"first {key}", "arguments": {}, "state": state} for state in ("made", "compensated")]
    if surface == "external":
        edits = [op["value"] for op in ops if op["target"] == key and op["op_type"] == "edit_external"]
        return [{f"first {key}": key}, *({edit["field"]: edit["value"]} for edit in edits)]
    if surface == "tools":
        return [{"id": f"first {key}"}]
    if surface in {"middleware", "listeners"}:
        return [{"id": key.rpartition(" ")[2], "handler": f"first {key}"}]
    if surface == "resources":
        wanted = {op["value"] for op in ops if op["op_type"] == "allocate_socket"}
        return [_socket(address, key) for address in (_own(key), *sorted(wanted))]
    return [f"first {key}"]


def _own(key: str) -> str:
    """Return an address that nobody names."""
    return f"tcp://127.0.0.1:{20_000 + sum(key.encode()) % 5_000}"


def _socket(address: str, key: str) -> Plain:
    return {"kind": "socket", "address": address, "lifecycle": f"first {key}"}


def _edited(surface: str, key: str, ops: list[Plain]) -> Choices:
    """Return a value on which the edits of a slot have a chance: each needle on its own line, or each item once."""
    edits = [op for op in ops if op["target"] == key and KINDS[op["op_type"]].surface == surface]
    edits = [op for op in edits if KINDS[op["op_type"]].inside]
    if not edits:
        return []
    if surface == "config":
        wanted = [op["value"] for op in edits] + [op[at] for op in edits for at in ("before", "after") if at in op]
        return [[item for at, item in enumerate(wanted) if item not in wanted[:at]]]
    return ["\n".join(dict.fromkeys(op["value"]["old"] for op in edits))]


def _tree(surface: str, keys: Iterable[str], ops: list[Plain]) -> list[NamedPlace]:
    mark = _TREES[surface]
    trie: Trie = {}
    for key in keys:
        node = trie
        for name in key.split(mark):
            node = node.setdefault(name, {})

    def made(name: str, node: Trie, above: str) -> _Node:
        path = f"{above}{mark}{name}" if above else name
        leaves: Choices = [f"first {path}", *_edited(surface, path, ops)]
        if surface == "files":
            leaves = [{"content": content, "mode": "0640"} for content in leaves]
        return _Node(surface, name, leaves, [made(child, inner, path) for child, inner in node.items()])

    return [made(name, node, "") for name, node in trie.items()]


def _state(chosen: Iterable[tuple[NamedPlace, Shape]], rng: random.Random) -> State | None:
    """Return the state of some shapes; None where they cannot stand together (one address held twice)."""
    plain: Plain = {}
    for slot, shape in chosen:
        if shape is ABSENT:
            continue
        content = shape[0]
        if slot.surface == "files":
            plain.setdefault("files", {}).update(_flat_files(slot.key, content))
        elif slot.surface == "middleware":
            plain.setdefault("middleware", []).append(content)
        elif slot.surface == "listeners":
            plain.setdefault("listeners", {}).setdefault(slot.key.rpartition(" ")[0], []).append(content)
        else:
            plain.setdefault(slot.surface, {})[slot.key] = content
    for chain in (plain.get("middleware", []), *plain.get("listeners", {}).values()):
        rng.shuffle(chain)
    try:
        return State.read(plain, "a joint shape")
    except InputError:
        return None


def _flat_files(path: str, content: Any) -> Plain:
    if not isinstance(content, _Container):
        return {path: content}
    if not content:
        return {path: {"directory": True}}
    found: Plain = {}
    for name, inner in content.items():
        found.update(_flat_files(f"{path}/{name}", inner))
    return found
