"""Snapshots and inverses on plain JSON: the whole state, the touched values, the touched elements.

The effect-scoped snapshot keeps the value before of every address that the change affected. Order is part of
the value of a middleware chain and of an event's callbacks, so it keeps those whole. The inverse by element
identity keeps the one element and what stood after it. Both keep `[path]` where nothing was, `[path, n]` where
n containers above were missing too, and `[path, [value]]` where something was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

from takeback.canonical import decode
from takeback.runtime import find_effects, run_forward
from takeback.state.address import parse_dotted_path
from takeback_lab.snapshots.method import PlainMethod, UndoAttempt, packed, timed
from takeback_lab.snapshots.situations import AnyJson, Situation

JsonPath = list[str]
PlainRow = list[Any]


class FullSnapshot(PlainMethod):
    """Keep the whole state, put all of it back."""

    def attempt(self, trial: Situation) -> UndoAttempt:
        """Run one trial."""
        kept = packed(trial.before.write())
        live = decode(kept)
        recovered, seconds = timed(lambda: deepcopy(live))
        return UndoAttempt(recovered, len(kept), seconds)


class ScopedSnapshot(PlainMethod):
    """Keep the values before of what was affected, put those back."""

    def attempt(self, trial: Situation) -> UndoAttempt:
        """Run one trial."""
        before, later = trial.before.write(), trial.after.write()
        kept = packed([self.keep(before, path) for path in self.paths(trial)])
        rows = decode(kept)

        def undo() -> AnyJson:
            for row in rows:
                self.put_back(later, row)
            return later

        recovered, seconds = timed(undo)
        return UndoAttempt(recovered, len(kept), seconds)

    def paths(self, trial: Situation) -> list[JsonPath]:
        """What the change affected, each once, nothing below another."""
        _, receipt = run_forward(trial.change, trial.before)
        affected = find_effects(trial.before, trial.between, receipt)
        found = {self.path(one.surface, one.key, trial) for one in affected}
        inner = {path for path in found if any(path[:depth] in found for depth in range(1, len(path)))}
        return [list(path) for path in sorted(found - inner)]

    def path(self, surface: str, key: str, trial: Situation) -> tuple[str, ...]:
        """The path of an affected address."""
        del trial
        if surface == "middleware":
            return (surface,)
        return (surface, *(parse_dotted_path(key) if surface == "config" else [key]))

    def keep(self, state: AnyJson, path: JsonPath) -> PlainRow:
        """What is kept of a path."""
        surface, *inner = path
        if surface == "files":
            return _kept_file(state.get(surface, {}), path)
        node, missing = state.get(surface, {}), 0
        for at, name in enumerate(inner):
            if not isinstance(node, dict) or name not in node:
                missing = len(inner) - 1 - at
                return [path, missing] if missing else [path]
            node = node[name]
        return [path, [node]]

    def put_back(self, state: AnyJson, row: PlainRow) -> None:
        """Put one path back."""
        (surface, *inner), *kept = row
        if surface == "files":
            _put_file(state.setdefault(surface, {}), inner[0], kept)
        elif kept and isinstance(kept[0], list):
            _set(state, [surface, *inner], kept[0][0])
        else:
            _remove(state, [surface, *inner], kept[0] if kept else 0)


class ElementInverse(ScopedSnapshot):
    """Keep the one element before, by its identity; put it back where its neighbour is."""

    def path(self, surface: str, key: str, trial: Situation) -> tuple[str, ...]:
        """The path of the element."""
        if surface == "middleware":
            return (surface, key)
        if surface == "listeners":
            callbacks = [op.value["id"] for op in trial.change if op.kind.surface == surface and op.target == key]
            return (surface, key, *callbacks[:1])
        return super().path(surface, key, trial)

    def paths(self, trial: Situation) -> list[JsonPath]:
        """What the change affected; every callback it bound."""
        bound = {("listeners", op.target, op.value["id"]) for op in trial.change if op.kind.surface == "listeners"}
        others = [path for path in super().paths(trial) if path[0] != "listeners"]
        return [*others, *map(list, sorted(bound))]

    def keep(self, state: AnyJson, path: JsonPath) -> PlainRow:
        """An element with what follows it, or a value."""
        if path[0] not in {"middleware", "listeners"}:
            return super().keep(state, path)
        chain = _chain(state, path)
        for at, item in enumerate(chain):
            if item["id"] == path[-1]:
                return [path, [item], *(follower["id"] for follower in chain[at + 1 : at + 2])]
        return [path]

    def put_back(self, state: AnyJson, row: PlainRow) -> None:
        """Remove the element, or put it back before the one it stood before."""
        path, *kept = row
        if path[0] not in {"middleware", "listeners"}:
            super().put_back(state, row)
            return
        chain = [item for item in _chain(state, path) if item["id"] != path[-1]]
        if kept:
            (item,), *follower = kept
            at = next((at for at, other in enumerate(chain) if [other["id"]] == follower), len(chain))
            chain.insert(at, item)
        _store_chain(state, path, chain)


def _chain(state: AnyJson, path: JsonPath) -> list[AnyJson]:
    held: Any = state.get(path[0]) or {}
    found: list[AnyJson] = list(held) if path[0] == "middleware" else held.get(path[1], [])
    return found


def _store_chain(state: AnyJson, path: JsonPath, chain: list[AnyJson]) -> None:
    if path[0] == "middleware":
        state["middleware"] = chain
    elif chain:
        state.setdefault("listeners", {})[path[1]] = chain
    else:
        state["listeners"].pop(path[1], None)


def _set(node: AnyJson, path: JsonPath, value: AnyJson) -> None:
    for name in path[:-1]:
        node = node.setdefault(name, {})
    node[path[-1]] = value


def _remove(state: AnyJson, path: JsonPath, missing: int) -> None:
    """Remove a node, and as many containers above it as were missing, while they are empty."""
    nodes = [state]
    for name in path[:-1]:
        nodes.append(nodes[-1].get(name, {}))
    nodes[-1].pop(path[-1], None)
    for depth in range(len(path) - 2, len(path) - 2 - missing, -1):
        if nodes[depth + 1]:
            return
        nodes[depth].pop(path[depth], None)


def _folders(path: str) -> Iterator[str]:
    at = path.find("/")
    while at > 0:
        yield path[:at]
        at = path.find("/", at + 1)


def _is_folder(files: Iterable[str], folder: str) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for path in files)


def _kept_file(files: AnyJson, path: JsonPath) -> PlainRow:
    if path[1] in files:
        return [path, [files[path[1]]]]
    missing = sum(not _is_folder(files, folder) for folder in _folders(path[1]))
    return [path, missing] if missing else [path]


def _put_file(files: AnyJson, path: str, kept: PlainRow) -> None:
    """Put a file back, or remove it; a folder that was there and is empty again is listed again."""
    if kept and isinstance(kept[0], list):
        files[path] = kept[0][0]
        return
    files.pop(path, None)
    there = list(_folders(path))[: path.count("/") - (kept[0] if kept else 0)]
    if there and not _is_folder(files, there[-1]):
        files[there[-1]] = {"directory": True}
