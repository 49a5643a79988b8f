"""What a candidate names, for a question to a solver: paths of trees, keys, elements of chains, addresses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from takeback.opinion.interpreter import ABSENT, TREES, Op, Program

Term = str
"""A name that the script declares or defines, a number, or `true` or `false`."""
Trie = dict[str, Any]
UNNAMED: Final = ""
"""As the id of an element of a chain: one that nobody names, and stands for all of these."""


def find_key(op: Op) -> Any:
    """Return under which key a surface holds what an operation names."""
    if op.surface == "listeners":
        return op.path[0], op.value["id"] if isinstance(op.value, dict) else op.value
    return (op.surface, op.path[0]) if op.surface == "middleware" else op.path[0]


class Names:
    """What a candidate names: paths of trees, keys, elements, addresses."""

    def __init__(self, program: Program) -> None:
        ops = (*program.mutation, *program.witness, *program.recovery)
        self.surfaces = sorted({op.surface for op in ops})
        self.edits: dict[str, tuple[Term, Term]] = {}
        named = {surface: {path for op in ops if op.surface == surface for path in op.paths()} for surface in TREES}
        took = {op.key: op for op in program.witness}
        for op in program.recovery:
            taken_op = took.get(op.key)
            if taken_op is not None and taken_op.surface == op.surface in TREES and taken_op.path != op.path:
                self._mirror(named[op.surface], op.path, taken_op.path)
        self.tries = {surface: _grow(paths) for surface, paths in named.items()}
        self.keys: dict[str, list[Any]] = {}
        for op in ops:
            if op.surface not in TREES and op.surface != "listeners" and op.path != ("*",):
                self.keys.setdefault(op.surface, []).append(find_key(op))
        near = [op for op in ops if op.spot is not None and op.spot[0] in {"before", "after"}]
        chained = [
            ("middleware", str(op.spot[1])) for op in near if op.surface == "middleware" and op.spot is not None
        ]
        self.keys["middleware"] = [*self.keys.get("middleware", ()), *chained, ("middleware", UNNAMED)]
        heard = [op for op in ops if op.surface == "listeners"]
        called = [find_key(op)[1] for op in heard] + [
            str(op.spot[1]) for op in near if op in heard and op.spot is not None
        ]
        called = [name for name in called if name is not ABSENT] + [UNNAMED]
        self.keys["listeners"] = [(op.path[0], name) for op in heard for name in called]
        self.keys = {surface: list(dict.fromkeys(keys)) for surface, keys in self.keys.items()}
        self.ports = sorted({_address(op) for op in ops if op.name == "allocate_socket"} - {"0"})

    def _mirror(self, paths: set[tuple[str, ...]], first: tuple[str, ...], second: tuple[str, ...]) -> None:
        """Name below each of two paths what is named below the other."""
        for near, other in ((first, second), (second, first)):
            paths |= {(*other, *path[len(near) :]) for path in paths if path[: len(near)] == near}

    def port(self, op: Op) -> Term:
        """Return the number of an address: 0 where the system chooses one."""
        address = _address(op)
        return address if address == "0" else str(self.ports.index(address) + 1)


def _address(op: Op) -> str:
    address = str(op.value if isinstance(op.value, str) else op.value["address"])
    return "0" if address.endswith(":0") else address


def _grow(paths: Iterable[tuple[str, ...]]) -> Trie:
    trie: Trie = {}
    for path in sorted(paths):
        node = trie
        for name in path:
            node = node.setdefault(name, {})
    return trie
