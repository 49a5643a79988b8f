"""Which writes each slot has seen, in order: the index that makes undo cost follow what an entry touched.

Kept as a tree of slots, so that what lies above and below a path is found without looking at anything else.
`Index` holds what it is given; a harness that reopens a long journal gives it a `Source` to fetch slots from
on first use, so that opening does not read the whole history. Invariants: a node's versions are in order of
time; once a node is `loaded` its versions are complete, once it is `below` so are those of all slots beneath it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from takeback.journal.packing import Forgotten, is_gone
from takeback.state import ABSENT, SURFACES
from takeback.state.parts import is_part
from takeback.state.slots import Slot
from takeback.state.surface import Surface
from takeback.undo.outcome import SlotChange
from takeback.undo.versions import LazyVersions, Version, Versions, Write, entry_of, time_of

SUPPOSED = 2**61
"""The number of an entry that is only supposed."""


class Source(Protocol):
    """Where an index fetches what it does not hold: numbers of entries, ascending, and what an entry wrote."""

    def at(self, slot: Slot) -> Iterable[int]:
        """Entries that wrote one slot."""

    def below(self, slot: Slot) -> Iterable[int]:
        """Entries that wrote a slot beneath one."""

    def claiming(self, surface: str, claim: str) -> Iterable[int]:
        """Entries that claim something exclusive."""

    def sharing(self, slot: Slot) -> Iterable[int]:
        """Entries that wrote parts of a list that belongs to nobody."""

    def entry(self, number: int) -> tuple[Write, ...]:
        """The writes of one entry."""

    def entries(self, numbers: Sequence[int]) -> Mapping[int, tuple[Write, ...]]:
        """The writes of several entries, read together."""


class Node:
    """One slot's place in the index: its versions, and what lies above and below."""

    __slots__ = (
        "above",
        "below",
        "children",
        "contained",
        "deep",
        "loaded",
        "ordered",
        "part",
        "path",
        "slot",
        "sole",
        "surface",
        "versions",
    )

    def __init__(self, slot: Slot, above: Node | None = None) -> None:
        self.slot = slot
        self.path = slot[1:]
        self.deep = len(slot) > 2  # noqa: PLR2004 - a surface and one name: nothing is above that
        """Whether slots can lie above it."""
        self.part = bool(slot) and is_part(slot[-1])
        self.surface: Surface = SURFACES[slot[0]] if slot else _NONE
        self.contained = self.deep and self.surface.nested
        """Whether containers can lie above it."""
        self.versions: Versions = []
        self.children: dict[str, Node] = {}
        self.above = above
        self.loaded = False
        self.below = False
        self.ordered: list[Version] | None = None
        """Versions of every slot beneath it in order of time, once they were asked for."""
        self.sole: int | None = None
        """The only entry that wrote it, where none ever wrote above or below; None also where that is not known."""

    def add(self, version: Version) -> None:
        """Take in the newest version of an index that holds all, and note whose the slot is from now on."""
        entry = version.entry
        if not len(self.versions):
            self.sole = entry
            for other in _nodes(self):
                if len(other.versions):
                    self.sole = other.sole = None
        elif self.sole != entry:
            self.sole = None
        self.versions.append(version)
        above = self.above
        while above is not None:
            above.ordered = None
            if len(above.versions):
                self.sole = above.sole = None
            above = above.above

    def changed(self) -> None:
        """Note that versions were added or taken off."""
        above = self.above
        while above is not None:
            above.ordered = None
            above = above.above


_NONE: Any = None
WrittenNode = tuple[Node, SlotChange | None, Any, Any]
"""A slot that an entry wrote, the way back to what it found there (see `way_back`), and the two contents of that.

The contents are beside the change because unpacking a plain tuple is several times quicker than asking a named one.
"""


class Index:
    """Versions by slot, by what they claim, and by entry."""

    def __init__(self, source: Source | None = None) -> None:
        self._root = Node(())
        self._entries: dict[int, tuple[Write, ...]] = {}
        self._written: dict[int, tuple[WrittenNode, ...]] = {}
        self._claims: dict[tuple[str, str], list[Version]] = {}
        self._shared: dict[Slot, list[Version]] = {}
        self.source = source
        self.supposes = False
        """Whether an entry is supposed at the moment: `Node.sole` knows nothing of it."""

    def add(self, entry: int, writes: tuple[Write, ...]) -> None:
        """Take in an entry that is newer than all others."""
        self._entries[entry] = writes
        known = [(at, write, self._node(write.slot)) for at, write in enumerate(writes) if write.slot[0] in SURFACES]
        if len(known) == len(writes):
            self._written[entry] = _written((node, write) for _, write, node in known)
        for position, write, node in known:
            version = Version(entry, position, write)
            if self.source is None:
                node.add(version)
            elif node.loaded or node.below:
                node.versions.append(version)
                node.changed()
            claim = claim_of(write)
            key = (write.slot[0], claim or "")
            if claim is not None and (self.source is None or key in self._claims):
                self._claims.setdefault(key, []).append(version)
            if write.shared and node.part and (self.source is None or write.slot[:-1] in self._shared):
                self._shared.setdefault(write.slot[:-1], []).append(version)

    @contextmanager
    def supposing(self, writes: tuple[Write, ...]) -> Iterator[list[Version]]:
        """Inside the block, the index holds one more entry, the newest, with these writes."""
        versions = [Version(SUPPOSED, position, write) for position, write in enumerate(writes)]
        touched: list[Versions] = []
        for version in versions:
            touched.append(self.at(version.write.slot))
            touched[-1].append(version)
            self._node(version.write.slot).changed()
            claim = claim_of(version.write)
            if claim is not None:
                self.claiming(version.write.slot[0], claim)
                touched.append(self._claims.setdefault((version.write.slot[0], claim), []))
                touched[-1].append(version)
            if version.write.shared and is_part(version.write.slot[-1]):
                self.sharing(version.write.slot[:-1])
                touched.append(self._shared.setdefault(version.write.slot[:-1], []))
                touched[-1].append(version)
        self._entries[SUPPOSED] = writes
        self.supposes = True
        try:
            yield versions
        finally:
            self.supposes = False
            del self._entries[SUPPOSED]
            for held in (*touched, *(self._node(write.slot).versions for write in writes)):
                while len(held) and entry_of(held, -1) == SUPPOSED:
                    held.pop()
            for write in writes:
                self._node(write.slot).changed()

    def writes(self, entry: int) -> tuple[Write, ...]:
        """The writes of one entry."""
        found = self._entries.get(entry)
        if found is None:
            if self.source is None:
                raise KeyError(entry)
            found = self._entries[entry] = self.source.entry(entry)
        return found

    def node(self, slot: Slot) -> Node:
        """One slot's node, its versions complete."""
        node = self._node(slot)
        if self.source is not None and not node.loaded:
            self._load(self.source, node)
        return node

    def written(self, entry: int) -> tuple[WrittenNode, ...]:
        """The nodes of the slots that an entry wrote, each once, their versions complete."""
        found = self._written.get(entry)
        if found is None:
            writes = self.writes(entry)
            found = self._written[entry] = _written((self._node(write.slot), write) for write in writes)
        if self.source is not None:
            for node, *_ in found:
                if not node.loaded:
                    self._load(self.source, node)
        return found

    def _load(self, source: Source, node: Node) -> None:
        kept = [version for version in node.versions if version.entry == SUPPOSED]
        node.versions = LazyVersions(node.slot, source.at(node.slot), self.writes)
        for version in kept:
            node.versions.append(version)
        node.loaded = True
        node.changed()

    def at(self, slot: Slot) -> Versions:
        """Versions of one slot, oldest first."""
        return self.node(slot).versions

    def below(self, slot: Slot) -> list[Version]:
        """Versions of every slot beneath one, oldest first. A surface alone is no slot that others lie beneath."""
        if len(slot) == 1:
            return []
        node = self._node(slot)
        if self.source is not None and not node.below:
            self._load_below(self.source, slot, node)
        if not node.children:
            return []
        if node.ordered is None:
            node.ordered = sorted(_descend(node), key=time_of)
        return node.ordered

    def alone(self, node: Node) -> bool:
        """Whether nothing above or below a slot was ever written."""
        if self.source is not None and not node.below:
            self._load_below(self.source, node.slot, node)
        if node.children and next(_descend(node), None) is not None:
            return False
        while node.deep and node.above is not None:
            node = node.above
            if self.source is not None and not node.loaded:
                self._load(self.source, node)
            if len(node.versions):
                return False
        return True

    def claiming(self, surface: str, claim: str) -> list[Version]:
        """Versions that claim something exclusive, oldest first."""
        key = (surface, claim)
        if self.source is not None and key not in self._claims:
            found = self._versions(self.source.claiming(surface, claim))
            mine = (version for version in found if version.write.slot[0] == surface)
            self._claims[key] = [version for version in mine if claim_of(version.write) == claim]
        return self._claims.get(key, [])

    def sharing(self, slot: Slot) -> list[Version]:
        """Versions of the parts of a list that belongs to nobody, oldest first."""
        if self.source is not None and slot not in self._shared:
            found = self._versions(self.source.sharing(slot))
            mine = (version for version in found if version.write.slot[:-1] == slot)
            self._shared[slot] = [version for version in mine if version.write.shared]
        return self._shared.get(slot, [])

    def read_ahead(self, entries: Iterable[int]) -> None:
        """Read what several entries wrote together, where it is not held."""
        missing = [entry for entry in entries if entry not in self._entries]
        if self.source is not None and missing:
            self._entries.update(self.source.entries(missing))

    def _versions(self, entries: Iterable[int]) -> Iterator[Version]:
        numbers = tuple(dict.fromkeys(entries))
        self.read_ahead(numbers)
        for entry in numbers:
            for position, write in enumerate(self.writes(entry)):
                yield Version(entry, position, write)

    def _node(self, slot: Slot) -> Node:
        node = self._root
        for name in slot:
            below = node.children.get(name)
            if below is None:
                below = node.children[name] = Node((*node.slot, name), node)
                below.loaded = below.below = node.below
            node = below
        return node

    def _load_below(self, source: Source, slot: Slot, node: Node) -> None:
        supposed: list[Version] = []
        for child in _nodes(node):
            supposed += [version for version in child.versions if version.entry == SUPPOSED]
            child.versions = []
        depth = len(slot)
        for version in (*self._versions(source.below(slot)), *supposed):
            other = version.write.slot
            if len(other) > depth and other[:depth] == slot:
                self._node(other).versions.append(version)
        for child in _nodes(node):
            child.loaded = child.below = True
            child.ordered = None
        node.below, node.ordered = True, None


def _written(writes: Iterable[tuple[Node, Write]]) -> tuple[WrittenNode, ...]:
    first: dict[Node, Any] = {}
    last: dict[Node, Any] = {}
    for node, write in writes:
        first.setdefault(node, write.before)
        last[node] = write.after
    ways = ((node, way_back(node, last[node], before)) for node, before in first.items())
    return tuple((node, way, *(way[1:] if way else (None, None))) for node, way in ways)


def way_back(node: Node, before: Any, after: Any) -> SlotChange | None:
    """The change of a slot from one content to another; None where more than the contents has to be looked at.

    Where they are the same, it is from one content to that very content.
    """
    if node.part or is_gone(before) or is_gone(after):
        return None
    if before is after or (before is not ABSENT and after is not ABSENT and node.surface.alike(before, after)):
        left = before is ABSENT and node.contained  # what was written and removed again may have left containers
        return None if left else SlotChange(node.slot, before, before)
    claims = node.surface.exclusive and node.surface.claim(after) is not None  # which others may hold
    return None if claims else SlotChange(node.slot, before, after)


def claim_of(write: Write) -> str | None:
    """What a write claims that no other slot may hold."""
    return claimed(write.slot[0], write.after)


def claimed(surface: str, content: Any) -> str | None:
    """What a content claims, also one that was forgotten: that outlives its value."""
    if isinstance(content, Forgotten):
        return content.claim
    return None if content is ABSENT else SURFACES[surface].claim(content)


def _nodes(node: Node) -> Iterator[Node]:
    for child in node.children.values():
        yield child
        yield from _nodes(child)


def _descend(node: Node) -> Iterator[Version]:
    for child in _nodes(node):
        yield from child.versions
