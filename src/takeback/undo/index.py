"""Which writes each slot has seen, in order: the index that makes undo cost follow what an entry touched.

Kept as a tree of slots, so that what lies above and below a path is found without looking at anything else.
`Index` holds what it is given; a harness that reopens a long journal gives it a `Source` to fetch slots from
on first use, so that opening does not read the whole history.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from takeback.state import SURFACES
from takeback.state.slots import Slot


class Gone:
    """Stands for captured content that was forgotten."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "GONE"


GONE = Gone()
SUPPOSED = 2**61
"""The number of an entry that is only supposed."""


class Write(NamedTuple):
    """What an entry wrote in one slot. `strict` writes fail where a container stands."""

    slot: Slot
    before: Any
    after: Any
    strict: bool = False


class Version(NamedTuple):
    """One write in the history of a slot, ordered by entry and position in it."""

    entry: int
    position: int
    write: Write


class Source(Protocol):
    """Where an index fetches what it does not hold."""

    def at(self, slot: Slot) -> list[Version]:
        """Versions of one slot, in order."""

    def below(self, slot: Slot) -> list[Version]:
        """Versions of every slot beneath one, in order."""

    def claiming(self, surface: str, claim: str) -> list[Version]:
        """Versions whose content claims something exclusive."""

    def entry(self, number: int) -> tuple[Write, ...]:
        """The writes of one entry."""


class Node:
    """One slot's place in the index: its versions, and what lies above and below."""

    __slots__ = ("above", "below", "children", "kind", "loaded", "path", "slot", "surface", "versions")

    def __init__(self, slot: Slot, above: Node | None = None) -> None:
        self.slot = slot
        self.surface = slot[0] if slot else ""
        self.path = slot[1:]
        self.kind: Any = SURFACES[self.surface] if slot else None
        self.versions: list[Version] = []
        self.children: dict[str, Node] = {}
        self.above = above
        self.loaded = False
        self.below = False

    def alone(self) -> bool:
        """Whether nothing above or below was ever written, as far as is known here."""
        if self.children:
            return False
        node = self.above
        while node is not None:
            if node.versions:
                return False
            node = node.above
        return True


class Index:
    """Versions by slot, by what they claim, and by entry."""

    def __init__(self, source: Source | None = None) -> None:
        self._root = Node(())
        self._entries: dict[int, tuple[Write, ...]] = {}
        self.held: dict[int, tuple[Node, ...]] = {}
        """Where an entry's writes stand, for entries of which every slot's whole history is held here."""
        self._claims: dict[tuple[str, str], list[Version]] = {}
        self._source = source

    def add(self, entry: int, writes: tuple[Write, ...]) -> None:
        """Take in an entry that is newer than all others."""
        self._entries[entry] = writes
        nodes = tuple(self._node(write.slot) for write in writes)
        if self._source is None:
            self.held[entry] = tuple(dict.fromkeys(nodes))
        for position, (write, node) in enumerate(zip(writes, nodes, strict=True)):
            version = Version(entry, position, write)
            if self._source is None or node.loaded or node.below:
                node.versions.append(version)
            claim = SURFACES[write.slot[0]].claim(write.after) if write.after is not GONE else None
            key = (write.slot[0], claim or "")
            if claim is not None and (self._source is None or key in self._claims):
                self._claims.setdefault(key, []).append(version)

    @contextmanager
    def supposing(self, writes: tuple[Write, ...]) -> Iterator[list[Version]]:
        """Inside the block, the index holds one more entry, the newest, with these writes."""
        versions = [Version(SUPPOSED, position, write) for position, write in enumerate(writes)]
        claims: list[list[Version]] = []
        for version in versions:
            slot = version.write.slot
            self.at(slot).append(version)
            claim = SURFACES[slot[0]].claim(version.write.after)
            if claim is not None:
                self.claiming(slot[0], claim)
                claims.append(self._claims.setdefault((slot[0], claim), []))
                claims[-1].append(version)
        self._entries[SUPPOSED] = writes
        try:
            yield versions
        finally:
            del self._entries[SUPPOSED]
            for held in (*claims, *(self._node(write.slot).versions for write in writes)):
                while held and held[-1].entry == SUPPOSED:
                    held.pop()

    def writes(self, entry: int) -> tuple[Write, ...]:
        """The writes of one entry."""
        found = self._entries.get(entry)
        if found is None:
            if self._source is None:
                raise KeyError(entry)
            found = self._entries[entry] = self._source.entry(entry)
        return found

    def at(self, slot: Slot) -> list[Version]:
        """Versions of one slot, oldest first."""
        node = self._node(slot)
        if self._source is not None and not node.loaded:
            node.versions = self._source.at(slot)
            node.loaded = True
        return node.versions

    def below(self, slot: Slot) -> list[Version]:
        """Versions of every slot beneath one, oldest first."""
        node = self._node(slot)
        if self._source is not None and not node.below:
            self._load_below(slot, node)
        if not node.children:
            return []
        return sorted(_descend(node), key=lambda version: version[:2])

    def claiming(self, surface: str, claim: str) -> list[Version]:
        """Versions that claim something exclusive, oldest first."""
        key = (surface, claim)
        if self._source is not None and key not in self._claims:
            self._claims[key] = self._source.claiming(surface, claim)
        return self._claims.get(key, [])

    def _node(self, slot: Slot) -> Node:
        node = self._root
        for name in slot:
            below = node.children.get(name)
            if below is None:
                below = node.children[name] = Node((*node.slot, name), node)
                below.loaded = below.below = node.below
            node = below
        return node

    def _load_below(self, slot: Slot, node: Node) -> None:
        if self._source is None:
            return
        supposed: list[Version] = []
        for child in _nodes(node):
            supposed += [version for version in child.versions if version.entry == SUPPOSED]
            child.versions, child.loaded, child.below = [], True, True
        for version in (*self._source.below(slot), *supposed):
            found = self._node(version.write.slot)
            found.versions.append(version)
            found.loaded = True
        for child in _nodes(node):
            child.below = True
        node.below = True


def _nodes(node: Node) -> Iterator[Node]:
    for child in node.children.values():
        yield child
        yield from _nodes(child)


def _descend(node: Node) -> Iterator[Version]:
    for child in _nodes(node):
        yield from child.versions
