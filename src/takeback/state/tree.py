"""Nested maps addressed by path: config mappings and file directories alike.

A container is a `PMap`; anything else is a leaf. `put` makes missing containers and fails on a leaf in the
way; `drop` removes one node; `prune` takes away containers that are empty and were not there before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from takeback.errors import OperationFailed
from takeback.state.address import is_part
from takeback.state.part_slots import get_part, put_part
from takeback.state.pmap import ABSENT, EMPTY, PMap

TreePath = tuple[str, ...]


def get(root: PMap, path: TreePath) -> Any:
    """Return what stands at `path`, or ABSENT."""
    node: Any = root
    for name in path:
        if type(node) is not PMap:
            return get_part(node, name) if is_part(name) else ABSENT
        node = node.get(name, ABSENT)
    return node


def count_missing(root: PMap, path: TreePath) -> int:
    """Return how many of the containers above `path` are not there."""
    node: Any = root
    for at, name in enumerate(path[:-1]):
        node = node.get(name, ABSENT) if type(node) is PMap else ABSENT
        if node is ABSENT:
            return len(path) - 1 - at
    return 0


def put(node: PMap, path: TreePath, value: Any, at: int = 0) -> PMap:
    """Return the tree with `value` at `path`, containers made on the way."""
    name = path[at]
    if at == len(path) - 1:
        return node.put(name, value)
    child = node.get(name, ABSENT)
    if child is ABSENT:
        child = EMPTY
    elif type(child) is not PMap:
        if is_part(path[at + 1]):
            return node.put(name, put_part(child, path[at + 1], value))
        raise OperationFailed(f"{'/'.join(path[: at + 1])!r} is in the way of {'/'.join(path)!r}")
    return node.put(name, put(child, path, value, at + 1))


def put_unless_blocked(node: PMap, path: TreePath, value: Any) -> PMap:
    """Return the tree with `value` at `path`; the tree itself where something is in the way."""
    try:
        return put(node, path, value)
    except OperationFailed:
        return node


def drop(node: PMap, path: TreePath, at: int = 0) -> PMap:
    """Return the tree without the node at `path`; the tree itself if there is none."""
    name = path[at]
    if at == len(path) - 1:
        return node.drop(name)
    child = node.get(name, ABSENT)
    if type(child) is not PMap:
        gone = is_part(path[at + 1]) and child is not ABSENT
        return node.put(name, put_part(child, path[at + 1], ABSENT)) if gone else node
    rest = drop(child, path, at + 1)
    return node if rest is child else node.put(name, rest)


TreeChanges = dict[str, "TreeChanges | tuple[Any]"]
"""What some names of a container become: other contents each, or changes of what is in them."""


def put_all(root: PMap, contents: Iterable[tuple[TreePath, Any]]) -> PMap | None:
    """Return the tree with other contents at many paths, as if each were put or, if ABSENT, dropped.

    None where that has to be done in order: where one lies in another, or in a leaf.
    """
    changes: TreeChanges = {}
    for path, value in contents:
        node = changes
        for name in path[:-1]:
            below = node.setdefault(name, {})
            if type(below) is not dict:
                return None
            node = below
        if path[-1] in node or is_part(path[-1]):
            return None
        node[path[-1]] = (value,)
    return _put_changes(root, changes)


def _put_changes(node: PMap, changes: TreeChanges) -> PMap | None:
    entries: dict[str, Any] = {}
    for name, change in changes.items():
        if type(change) is tuple:
            entries[name] = change[0]
            continue
        child = node.get(name, ABSENT)
        child = EMPTY if child is ABSENT else child
        changed = _put_changes(child, change) if type(child) is PMap and type(change) is dict else None
        if changed is None:
            return None
        if changed is not child:
            entries[name] = changed
    return node.put_all(entries)


def prune(root: PMap, path: TreePath, count: int) -> PMap:
    """Return the tree without the innermost `count` containers above `path`, as far as they are empty."""
    nodes: list[Any] = [root]
    for name in path[:-1]:
        nodes.append(nodes[-1].get(name, ABSENT) if type(nodes[-1]) is PMap else ABSENT)
    last = gone = len(path) - 1
    for depth in range(last, last - count, -1):
        if type(nodes[depth]) is not PMap or len(nodes[depth]) > (depth < last):
            break
        gone = depth - 1
    return root if gone == last else drop(root, path[: gone + 1])


def iter_leaves(node: Any, path: TreePath = ()) -> Iterator[tuple[TreePath, Any]]:
    """Yield every leaf and every empty container below `node`, with its path."""
    if type(node) is not PMap or (path and not node):
        yield path, node
        return
    waiting = [(path, iter(node.items()))]
    while waiting:
        place, items = waiting[-1]
        for name, below in items:
            if type(below) is PMap and below:
                waiting.append(((*place, name), iter(below.items())))
                break
            yield (*place, name), below
        else:
            waiting.pop()


def list_changes(old: PMap, new: PMap, path: TreePath = ()) -> list[tuple[TreePath, Any, Any]]:
    """Return `(path, before, after)` for each deepest place at which two trees differ in identity."""
    changes: list[tuple[TreePath, Any, Any]] = []
    for name, before, after in old.candidates(new):
        place = (*path, name)
        grown, shrunk = type(after) is PMap, type(before) is PMap
        if grown and shrunk:
            changes += list_changes(before, after, place)
        elif before is ABSENT and grown:
            changes += ((place, ABSENT, leaf) for place, leaf in iter_leaves(after, place))
        elif after is ABSENT and shrunk:
            changes += ((place, leaf, ABSENT) for place, leaf in iter_leaves(before, place))
        else:
            changes.append((place, before, after))
    return changes
