"""Surfaces that are trees: config (mappings) and files (directories).

Capture remembers the content of a path and how many containers above it were missing; restore puts the
content back, or removes it together with the containers that were missing and are empty again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from takeback.state import part_slots, tree
from takeback.state.address import Address, is_part
from takeback.state.operation import Captured, Operation
from takeback.state.part_slots import slot_content_from_json, slot_content_to_json
from takeback.state.pmap import ABSENT, EMPTY, PMap, fast_tuple
from takeback.state.surface import Change, Component, Surface, ValueEdit
from takeback.state.tree import TreePath


def capture(value: PMap, op: Operation) -> Captured:
    """Take down what stands at the path and which containers above it are missing."""
    content = tree.get(value, op.path)
    missing = tree.count_missing(value, op.path) if content is ABSENT else 0
    return fast_tuple(Captured, (op.kind.surface, op.target, content, missing, None))


def bind(value: PMap, op: Operation) -> tuple[PMap, None]:
    """Put the operation's value at the path."""
    return tree.put(value, op.path, op.value), None


def restore(value: PMap, op: Operation, captured: Captured | None) -> PMap:
    """Put the old content back, or remove what is there and the containers made for it."""
    if captured is not None and captured.content is not ABSENT:
        return tree.put(value, op.path, captured.content)
    value = tree.drop(value, op.path)
    if captured is not None and captured.target == op.target:
        value = tree.prune(value, op.path, captured.missing)
    return value


class TreeSurface(Surface):
    """Paths to contents in nested `PMap`s."""

    empty: PMap = EMPTY
    nested = True

    @abstractmethod
    def join(self, path: TreePath) -> str:
        """Return a path in the surface's notation."""

    @abstractmethod
    def parse_key(self, key: str) -> TreePath:
        """Return the path of an address key."""

    @abstractmethod
    def generic(self, path: TreePath, salt: str) -> tuple[Any, ...]:
        """Return the contents that programs could tell apart at a path, a leaf first; each equals no other."""

    def contents(self, path: TreePath, ops: Sequence[Operation], salt: str) -> tuple[Any, ...]:
        """Return the contents that these operations could tell apart at a path, one that lets them run first."""
        return self.generic(path, salt)

    def address(self, path: TreePath) -> Address:
        return _make_address(self, path)

    def covers(self, outer: str, inner: str) -> bool:
        if outer == inner:
            return True
        above = self.parse_key(outer)
        return self.parse_key(inner)[: len(above)] == above

    def overlaps(self, first: Operation, second: Operation) -> bool:
        """Tell whether the path of one operation is at or above that of the other."""
        short, long = sorted((first.path, second.path), key=len)
        return bool(long[: len(short)] == short)

    def diff(self, before: PMap, after: PMap) -> Iterator[Change]:
        changes = tree.list_changes(before, after)
        if not changes:
            return iter(())
        return iter(
            [
                fast_tuple(Change, (_make_address(self, path), old, new))
                for path, old, new in changes
                if not self.equivalent(old, new)
            ]
        )

    def components(self, ops: Sequence[Operation], salt: str) -> tuple[Component, ...]:
        """Break the named paths into parts that cannot see each other."""
        trie: dict[str, Any] = {}
        for path in (path for op in ops for path in self.list_targets(op)):
            node = trie
            for name in path:
                node = node.setdefault(name, {})
            node[""] = True
        components: list[Component] = []
        for name, node in trie.items():
            components.extend(self._components((name,), node, ops, salt))
        return tuple(components)

    def _components(
        self, path: TreePath, node: dict[str, Any], ops: Sequence[Operation], salt: str
    ) -> Iterator[Component]:
        """Yield the parts below `path` first, then `path` itself: its edits come last and can hide theirs."""
        title = str(self.address(path))
        below = {name: child for name, child in node.items() if name}
        contents = (*self.contents(path, ops, salt), ABSENT)
        if not below:
            yield Component(title, tuple(_make_put_edit(path, content) for content in contents), path)
            return
        for name, child in below.items():
            yield from self._components((*path, name), child, ops, salt)
        beside = (*path, f"bystander_{salt}")
        populated = _make_put_edit(beside, self.generic(beside, salt)[0])
        yield Component(
            title,
            (
                populated,
                _make_put_edit(beside, ABSENT),
                _make_put_edit(path, EMPTY),
                *(_make_put_edit(path, content) for content in contents),
            ),
            path,
            shows=2,
        )

    def bystander(self, value: PMap, salt: str) -> PMap:
        path = (f"bystander_{salt}", "inner")
        return tree.put(value, path, self.generic(path, salt)[0])

    def entries(self, value: PMap) -> Iterator[tuple[Address, ValueEdit]]:
        """Yield each leaf and empty container; then each container, which goes with all below it."""
        for path, _ in sorted(tree.iter_leaves(value), key=lambda item: item[0]):
            for depth in range(1, len(path) + 1):
                yield self.address(path[:depth]), _make_put_edit(path[:depth], ABSENT)

    def size(self, value: PMap) -> int:
        return sum(1 for _ in tree.iter_leaves(value))

    def is_worth_storing(self, part: PMap) -> bool:
        return bool(part)

    def find_written_slots(self, op: Operation) -> tuple[TreePath, ...] | None:
        return self.list_targets(op)

    def get_slot(self, part: PMap, path: TreePath) -> Any:
        return tree.get(part, path)

    def put_slot(self, part: PMap, path: TreePath, content: Any) -> PMap:
        """Put content at the path, containers made on the way; or remove the node."""
        return tree.drop(part, path) if content is ABSENT else tree.put(part, path, content)

    def differing(self, before: PMap, after: PMap) -> Iterator[TreePath]:
        """Return the highest paths that differ in more than what they contain."""
        return part_slots.find_differing_below(before, after)

    def is_identical(self, old: Any, new: Any) -> bool:
        return part_slots.is_identical_content(old, new)

    def slot_to_json(self, content: Any) -> Any:
        return slot_content_to_json(content)

    def slot_from_json(self, raw: Any, path: TreePath) -> Any:
        return slot_content_from_json(raw, path[-1] if path else "", self.slot_title(path))

    def transfer_places(self, fresh: PMap, known: PMap) -> Any:
        return part_slots.transfer_identities(fresh, known)

    def dump(self, part: PMap) -> Any:
        return self.slot_to_json(part)

    def load(self, raw: Any) -> Any:
        return self.slot_from_json(raw, ())

    def slot_title(self, path: TreePath) -> str:
        return str(self.address(path)) if path and not is_part(path[-1]) else super().slot_title(path)


@lru_cache(maxsize=65_536)
def _make_address(surface: TreeSurface, path: TreePath) -> Address:
    return Address(surface.name, surface.join(path))


def _make_put_edit(path: TreePath, content: Any) -> ValueEdit:
    if content is ABSENT:
        return lambda value: tree.drop(value, path)
    return lambda value: tree.put_unless_blocked(value, path, content)
