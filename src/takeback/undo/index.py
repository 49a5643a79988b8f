"""Which writes each slot has seen, in order: the index that makes undo cost follow what an entry touched.

Kept as a tree of slots, so that what lies above and below a path is found without looking at anything else.
`Index` holds what it is given; a harness that reopens a long journal gives it a `Source` to fetch slots from
on first use, so that opening does not read the whole history.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from takeback.journal.packing import Forgotten
from takeback.state import ABSENT, SURFACES
from takeback.state.slots import Slot

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


def claim_of(surface: str, content: Any) -> str | None:
    """What a content claims, also one that was forgotten: that outlives its value."""
    if isinstance(content, Forgotten):
        return content.claim
    return None if content is ABSENT else SURFACES[surface].claim(content)


class LazyVersions:
    """Versions of one slot, oldest first, each read when it is looked at.

    `numbers` are the entries that wrote the slot, one for each write: an entry may write it more than once.
    """

    def __init__(self, slot: Slot, numbers: Sequence[int], entry: Callable[[int], tuple[Write, ...]]) -> None:
        self._slot = slot
        self._numbers = list(numbers)
        self._entry = entry
        self._added: list[Version] = []
        self._stored = len(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: int) -> Version:
        at += len(self._numbers) if at < 0 else 0
        if at >= self._stored:
            return self._added[at - self._stored]
        number = self._numbers[at]
        own = [Version(number, place, write) for place, write in enumerate(self._entry(number))]
        mine = [version for version in own if version.write.slot == self._slot]
        return mine[at - bisect_left(self._numbers, number)]

    def __iter__(self) -> Iterator[Version]:
        return (self[at] for at in range(len(self)))

    def entry_at(self, at: int) -> int:
        """The entry of a version, without reading it."""
        return self._numbers[at]

    def before(self, entry: int, position: int) -> int:
        """How many versions are before a time."""
        at = bisect_left(self._numbers, entry)
        while at < len(self) and self._numbers[at] == entry and self[at].position < position:
            at += 1
        return at

    def append(self, version: Version) -> None:
        """Add the newest version."""
        self._numbers.append(version.entry)
        self._added.append(version)

    def pop(self) -> Version:
        """Take the newest version off again; only one that was added here."""
        self._numbers.pop()
        return self._added.pop()


Versions = list[Version] | LazyVersions


def entry_at(versions: Versions, at: int) -> int:
    """The entry of one version."""
    return versions.entry_at(at) if isinstance(versions, LazyVersions) else versions[at][0]


def before(versions: Versions, entry: int, position: int) -> int:
    """How many versions are before a time."""
    if isinstance(versions, LazyVersions):
        return versions.before(entry, position)
    return bisect_left(versions, (entry, position), key=lambda version: version[:2])


class Source(Protocol):
    """Where an index fetches what it does not hold."""

    def at(self, slot: Slot) -> Versions:
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
        self.versions: Versions = []
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
            claim = claim_of(write.slot[0], write.after)
            key = (write.slot[0], claim or "")
            if claim is not None and (self._source is None or key in self._claims):
                self._claims.setdefault(key, []).append(version)

    @contextmanager
    def supposing(self, writes: tuple[Write, ...]) -> Iterator[list[Version]]:
        """Inside the block, the index holds one more entry, the newest, with these writes."""
        versions = [Version(SUPPOSED, position, write) for position, write in enumerate(writes)]
        claims: list[Versions] = []
        for version in versions:
            slot = version.write.slot
            self.at(slot).append(version)
            claim = claim_of(slot[0], version.write.after)
            if claim is not None:
                self.claiming(slot[0], claim)
                held = self._claims.setdefault((slot[0], claim), [])
                held.append(version)
                claims.append(held)
        self._entries[SUPPOSED] = writes
        try:
            yield versions
        finally:
            del self._entries[SUPPOSED]
            for versions_held in (*claims, *(self._node(write.slot).versions for write in writes)):
                while len(versions_held) and entry_at(versions_held, -1) == SUPPOSED:
                    versions_held.pop()

    def writes(self, entry: int) -> tuple[Write, ...]:
        """The writes of one entry."""
        found = self._entries.get(entry)
        if found is None:
            if self._source is None:
                raise KeyError(entry)
            found = self._entries[entry] = self._source.entry(entry)
        return found

    def at(self, slot: Slot) -> Versions:
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
