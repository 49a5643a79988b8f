"""The writes that each slot has seen, in order: the index that makes undo cost follow what an entry touched.

Kept as a tree of slots, so that what lies above and below a path is found without looking at anything else. A
slot's versions are held, or read when looked at. `Index` holds what it is given; a harness that reopens a
long journal gives it a `Source` to fetch slots from on first use, so that opening does not read the whole
history. Invariants: a node's versions are in order of time; once a node is `loaded` its versions are
complete, once it is `below` so are those of all slots beneath it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, overload

from takeback.state import ABSENT, SURFACES
from takeback.state.address import is_part
from takeback.state.forgotten import Forgotten, has_forgotten
from takeback.state.slots import Slot, describe_slot
from takeback.state.surface import Slotted
from takeback.undo.plan_types import SlotChange

When = tuple[int, int]
"""A time in a history: an entry, and the position of a write in it."""
START: Final[When] = (-(2**41), 0)
"""Before everything that was ever written."""
MOVED: Final = "/"
"""What everything claims that was moved, wherever it stands."""
OWN: Final = -2
"""In `Write.on`, stands for the entry itself."""
TAKEN_IN: Final = -(2**40)
"""Added to an entry's number, stands for what that entry took in, see `number_taken_in`."""


def number_taken_in(entry: int) -> int:
    """Return the number under which the index holds what an entry took in: things that were there, and not known yet.

    They count as written before the first entry, and nobody can take them back.
    """
    return TAKEN_IN + entry


def find_taking_entry(number: int) -> int | None:
    """Return the entry that took in what stands under a number; None for the number of an entry itself."""
    return number - TAKEN_IN if number < OWN else None


class Write(NamedTuple):
    """What an entry wrote in one slot. `strict` writes fail where a container stands.

    `on` is set for a part: the write that put the whole there in which it lies, without which it could not be.
    `needs` writes fail where nothing is: a move, a replacement in place, the removal of an item. A list in a `shared`
    write came with its first item and belongs to nobody; a `shared` part lies in one, and makes it where it is not.
    A `bare` write is of a file's content alone: its mode, and where it stands, stay what they were.
    """

    slot: Slot
    before: Any
    after: Any
    strict: bool = False
    on: When | None = None
    needs: bool = False
    shared: bool = False
    bare: bool = False

    def __repr__(self) -> str:
        return f"Write({describe_slot(self.slot)})"


class Version(NamedTuple):
    """One write in the history of a slot, ordered by entry and position in it."""

    entry: int
    position: int
    write: Write


class LazyVersions:
    """Versions of one slot, oldest first, each read when it is looked at: a long history costs what a plan looks at.

    `numbers` are the entries that wrote the slot, one for each write: an entry may write it more than once.
    """

    def __init__(
        self,
        slot: Slot,
        numbers: Iterable[int],
        written: Callable[[int, Slot], list[Version]],
    ) -> None:
        self._slot = slot
        self._numbers = list(numbers)
        self._written = written
        self._added: list[Version] = []
        self._stored = len(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> Version: ...
    @overload
    def __getitem__(self, at: slice) -> LazyVersions: ...
    def __getitem__(self, at: int | slice) -> Version | LazyVersions:
        if isinstance(at, slice):
            part = LazyVersions(self._slot, self._numbers[at], self._written)
            part._added, part._stored = self._added, min(self._stored, len(part))
            return part
        at += len(self._numbers) if at < 0 else 0
        if at >= self._stored:
            return self._added[at - self._stored]
        number = self._numbers[at]
        return self._written(number, self._slot)[at - bisect_left(self._numbers, number)]

    def __iter__(self) -> Iterator[Version]:
        return (self[at] for at in range(len(self)))

    def __reversed__(self) -> Iterator[Version]:
        return (self[at] for at in reversed(range(len(self))))

    def append(self, version: Version) -> None:
        """Add the newest version."""
        self._numbers.append(version.entry)
        self._added.append(version)

    def pop(self) -> Version:
        """Take the newest version off again; only one that was added here."""
        self._numbers.pop()
        return self._added.pop()


Versions = list[Version] | LazyVersions


def get_entry(versions: Versions, at: int) -> int:
    """Return the entry of one version, without reading what it wrote."""
    return versions._numbers[at] if isinstance(versions, LazyVersions) else versions[at][0]  # noqa: SLF001


def get_write_time(version: Version) -> When:
    """Return when a version was written."""
    return version[:2]


def find_index_after(versions: Versions, entry: int) -> int:
    """Return the index of the first version by a later entry, without reading what was written."""
    if isinstance(versions, LazyVersions):
        return bisect_right(versions._numbers, entry)  # noqa: SLF001
    return bisect_right(versions, entry, key=lambda version: version[0])


VERY_MANY: Final = 128
"""From so many slots below one top name on, all that was written there is loaded together."""
SUPPOSED = 2**61
"""The number of an entry that is only supposed."""


class Source(Protocol):
    """Where an index fetches what it does not hold: numbers of entries, ascending, and what an entry wrote."""

    def at(self, slot: Slot) -> Iterable[int]:
        """Return the entries that wrote one slot."""

    def below(self, slot: Slot) -> Iterable[int]:
        """Return the entries that wrote a slot beneath one."""

    def list_claims(self, surface: str, claim: str) -> Iterable[int]:
        """Return the entries that claim something exclusive."""

    def list_shared_parts(self, slot: Slot) -> Iterable[int]:
        """Return the entries that wrote parts of a list that belongs to nobody."""

    def entry(self, number: int) -> tuple[Write, ...]:
        """Return the writes of one entry."""

    def entries(self, numbers: Sequence[int]) -> Mapping[int, tuple[Write, ...]]:
        """Return the writes of several entries, read together."""


NO_CHILDREN: Final[Mapping[str, Any]] = MappingProxyType({})


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
        "slot",
        "sole",
        "surface",
        "versions",
    )

    def __init__(self, slot: Slot, above: Node | None = None) -> None:
        self.slot = slot
        self.deep = len(slot) > 2  # noqa: PLR2004 - a surface and one name: nothing is above that
        """Whether slots can lie above it."""
        self.part = bool(slot) and is_part(slot[-1])
        self.surface: Slotted = SURFACES[slot[0]] if slot else _NONE
        self.contained = self.deep and self.surface.nested
        """Whether containers can lie above it."""
        self.versions: Versions = []
        self.children: Mapping[str, Node] = NO_CHILDREN
        self.above = above
        self.loaded = False
        self.below = False
        self.ordered: list[Version] | None = None
        """Versions of every slot beneath it in order of time, once they were asked for."""
        self.sole: int | None = None
        """The only entry that wrote it, where none ever wrote above or below; None also where that is not known."""

    @property
    def path(self) -> tuple[str, ...]:
        """The slot within its surface."""
        return self.slot[1:]

    def make_child(self, slot: Slot) -> Node:
        """Make the node of a slot right beneath this one."""
        children = self.children if isinstance(self.children, dict) else {}
        self.children = children
        child = children[slot[-1]] = Node(slot, self)
        child.loaded = child.below = self.below
        return child

    def add(self, version: Version) -> None:
        """Take in the newest version of an index that holds all, and note whose the slot is from now on."""
        entry = version.entry
        if not len(self.versions):
            self.sole = entry
            for other in _walk_nodes(self):
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

    def note_change(self) -> None:
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
        self._sorted: dict[int, dict[Slot, list[Version]]] = {}
        self._slots: dict[int, tuple[Slot, ...]] = {}
        self._claimed: dict[int, dict[tuple[str, str], list[Version]]] = {}
        self._claims: dict[tuple[str, str], list[Version]] = {}
        self._shared: dict[Slot, list[Version]] = {}
        self._moved: dict[str, bool] = {}
        self.source = source
        self.supposes = False
        """Whether an entry is supposed at the moment: `Node.sole` knows nothing of it."""

    def add(self, entry: int, writes: tuple[Write, ...]) -> None:
        """Take in an entry that is newer than all others."""
        self._entries[entry] = writes
        known = [(at, write) for at, write in enumerate(writes) if write.slot[0] in SURFACES]
        if self.source is None and len(known) == len(writes):
            self._written[entry] = _group_written((self._node(write.slot), write) for write in writes)
        for position, write in known:
            version = Version(entry, position, write)
            node = self._node(write.slot) if self.source is None else self._find_complete(write.slot)
            if self.source is None and node is not None:
                node.add(version)
            elif node is not None:
                node.versions.append(version)
                node.note_change()
            for claim in list_write_claims(write):
                key = (write.slot[0], claim)
                if self.source is None or key in self._claims:
                    self._claims.setdefault(key, []).append(version)
                elif claim == MOVED:
                    self._moved[write.slot[0]] = True
            if write.shared and is_part(write.slot[-1]) and (self.source is None or write.slot[:-1] in self._shared):
                self._shared.setdefault(write.slot[:-1], []).append(version)

    @contextmanager
    def suppose_entry(self, writes: tuple[Write, ...]) -> Iterator[list[Version]]:
        """Hold one more entry, the newest, with these writes, inside the block."""
        versions = [Version(SUPPOSED, position, write) for position, write in enumerate(writes)]
        touched: list[Versions] = []
        for version in versions:
            touched.append(self.at(version.write.slot))
            touched[-1].append(version)
            self._node(version.write.slot).note_change()
            for claim in list_write_claims(version.write):
                self.list_claims(version.write.slot[0], claim)
                touched.append(self._claims.setdefault((version.write.slot[0], claim), []))
                touched[-1].append(version)
            if version.write.shared and is_part(version.write.slot[-1]):
                self.list_shared_parts(version.write.slot[:-1])
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
                while len(held) and get_entry(held, -1) == SUPPOSED:
                    held.pop()
            for write in writes:
                self._node(write.slot).note_change()

    def writes(self, entry: int) -> tuple[Write, ...]:
        """Return the writes of one entry."""
        writes = self._entries.get(entry)
        if writes is None:
            if self.source is None:
                raise KeyError(entry)
            writes = self._entries[entry] = self.source.entry(entry)
        return writes

    def _list_versions(self, entry: int, slot: Slot) -> list[Version]:
        """Return what an entry wrote in one slot."""
        return self._sort(entry)[slot]

    def _sort(self, entry: int) -> dict[Slot, list[Version]]:
        """Return what an entry wrote, by slot, the slots in order."""
        by_slot = self._sorted.get(entry)
        if by_slot is None:
            grouped: dict[Slot, list[Version]] = {}
            for position, write in enumerate(self.writes(entry)):
                grouped.setdefault(write.slot, []).append(Version(entry, position, write))
            by_slot = self._sorted[entry] = {slot: grouped[slot] for slot in sorted(grouped)}
            self._slots[entry] = tuple(by_slot)
        return by_slot

    def node(self, slot: Slot) -> Node:
        """Return one slot's node, its versions complete."""
        node = self._node(slot)
        if self.source is not None and not node.loaded:
            self._load(self.source, node)
        return node

    def list_line(self, slot: Slot) -> list[Node]:
        """Return the nodes of a slot and of those that it lies in, from within, their versions complete."""
        node: Node | None = self._node(slot)
        nodes: list[Node] = []
        while node is not None and (not nodes or len(node.slot) > 1):
            if self.source is not None and not node.loaded:
                self._load(self.source, node)
            nodes.append(node)
            node = node.above
        return nodes

    def list_written_nodes(self, entry: int) -> tuple[WrittenNode, ...]:
        """Return the nodes of the slots that an entry wrote, each once, their versions complete."""
        nodes = self._written.get(entry)
        if nodes is None:
            nodes = _group_written((self._node(write.slot), write) for write in self.writes(entry))
            if self.source is None:
                self._written[entry] = nodes
        if self.source is not None:
            for node, *_ in nodes:
                if not node.loaded:
                    self._load(self.source, node)
        return nodes

    def _load(self, source: Source, node: Node) -> None:
        kept = [version for version in node.versions if version.entry == SUPPOSED]
        node.versions = LazyVersions(node.slot, source.at(node.slot), self._list_versions)
        for version in kept:
            node.versions.append(version)
        node.loaded = True
        node.note_change()

    def at(self, slot: Slot) -> Versions:
        """Return the versions of one slot, oldest first."""
        return self.node(slot).versions

    def below(self, slot: Slot) -> list[Version]:
        """Return the versions of every slot beneath one, oldest first; no slots lie beneath a bare surface."""
        if len(slot) == 1:
            return []
        node = self._node(slot)
        if self.source is not None and not node.below:
            self._load_below(self.source, slot, node)
        if not node.children:
            return []
        if node.ordered is None:
            node.ordered = sorted(_descend(node), key=get_write_time)
        return node.ordered

    def is_alone(self, node: Node) -> bool:
        """Tell whether nothing above or below a slot was ever written."""
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

    def list_claims(self, surface: str, claim: str) -> list[Version]:
        """Return the versions that claim something exclusive, oldest first."""
        key = (surface, claim)
        if self.source is not None and key not in self._claims:
            numbers = tuple(dict.fromkeys(self.source.list_claims(surface, claim)))
            self.read_ahead(numbers)
            self._claims[key] = [claim for number in numbers for claim in self._sort_claims(number).get(key, ())]
        return self._claims.get(key, [])

    def _sort_claims(self, entry: int) -> dict[tuple[str, str], list[Version]]:
        """Return what an entry claims, and by which writes."""
        claims = self._claimed.get(entry)
        if claims is None:
            claims = self._claimed[entry] = {}
            for position, write in enumerate(self.writes(entry)):
                for claim in list_write_claims(write) if write.slot[0] in SURFACES else ():
                    claims.setdefault((write.slot[0], claim), []).append(Version(entry, position, write))
        return claims

    def has_moved(self, surface: str) -> bool:
        """Tell whether anything of a surface was ever moved, so that its slot does not say where it stands."""
        if (surface, MOVED) in self._claims or self.source is None:
            return bool(self._claims.get((surface, MOVED)))
        moved = self._moved.get(surface)
        if moved is None:
            moved = self._moved[surface] = next(iter(self.source.list_claims(surface, MOVED)), None) is not None
        return moved

    def list_shared_parts(self, slot: Slot) -> list[Version]:
        """Return the versions of the parts of a list that belongs to nobody, oldest first."""
        if self.source is not None and slot not in self._shared:
            versions = self._versions(self.source.list_shared_parts(slot))
            mine = (version for version in versions if version.write.slot[:-1] == slot)
            self._shared[slot] = [own for own in mine if own.write.shared and is_part(own.write.slot[-1])]
        return self._shared.get(slot, [])

    def read_ahead(self, entries: Iterable[int]) -> None:
        """Read what several entries wrote together, where it is not held."""
        missing = [entry for entry in entries if entry not in self._entries]
        if self.source is not None and missing:
            self._entries.update(self.source.entries(missing))

    def load_around(self, entries: Iterable[int]) -> None:
        """Load everything at and below the tops of nested slots of which entries wrote very many, in one go."""
        if self.source is None:
            return
        entries = tuple(entries)
        self.read_ahead(entries)
        slots = {write.slot for entry in entries for write in self.writes(entry) if SURFACES[write.slot[0]].nested}
        tops = Counter(slot[:2] for slot in slots)
        for top, number in tops.items():
            if number >= VERY_MANY:
                self.node(top)
                self.below(top)

    def _versions(self, entries: Iterable[int]) -> Iterator[Version]:
        numbers = tuple(dict.fromkeys(entries))
        self.read_ahead(numbers)
        for entry in numbers:
            for position, write in enumerate(self.writes(entry)):
                yield Version(entry, position, write)

    def _node(self, slot: Slot) -> Node:
        node = self._root
        for depth, name in enumerate(slot, start=1):
            below = node.children.get(name)
            node = node.make_child(slot[:depth]) if below is None else below  # the whole slot is held once
        return node

    def _find_complete(self, slot: Slot) -> Node | None:
        """Return the node of a slot whose versions are complete; None where they are read when they are needed."""
        node = self._root
        for name in slot:
            child = node.children.get(name)
            if child is None:
                return self._node(slot) if node.below else None
            node = child
        return node if node.loaded or node.below else None

    def _load_below(self, source: Source, slot: Slot, node: Node) -> None:
        supposed: list[Version] = []
        for child in _walk_nodes(node):
            supposed += [version for version in child.versions if version.entry == SUPPOSED]
            child.versions = []
        numbers = tuple(dict.fromkeys(source.below(slot)))
        self.read_ahead(numbers)
        behind = (*slot[:-1], slot[-1] + "\0")  # comes right after everything beneath the slot
        for number in numbers:
            grouped, slots = self._sort(number), self._slots[number]
            for at in range(bisect_right(slots, slot), bisect_left(slots, behind)):
                for version in grouped[slots[at]]:
                    self._node(slots[at]).versions.append(version)
        for version in supposed:
            self._node(version.write.slot).versions.append(version)
        for child in _walk_nodes(node):
            child.loaded = child.below = True
            child.ordered = None
        node.below, node.ordered = True, None


def _group_written(writes: Iterable[tuple[Node, Write]]) -> tuple[WrittenNode, ...]:
    first: dict[Node, Any] = {}
    last: dict[Node, Any] = {}
    for node, write in writes:
        first.setdefault(node, write.before)
        last[node] = write.after
    ways = ((node, build_slot_change(node, last[node], before)) for node, before in first.items())
    return tuple((node, way, *(way[1:] if way else (None, None))) for node, way in ways)


def build_slot_change(node: Node, before: Any, after: Any) -> SlotChange | None:
    """Return the change of a slot from one content to another; None where more than the contents must be looked at.

    Where they are the same, it is from one content to that very content.
    """
    if node.part or has_forgotten(before) or has_forgotten(after):
        return None
    if before is after or (before is not ABSENT and after is not ABSENT and node.surface.is_identical(before, after)):
        left = before is ABSENT and node.contained  # what was written and removed again may have left containers
        return None if left else SlotChange(node.slot, before, before)
    claims = node.surface.exclusive and node.surface.claim(after) is not None  # which others may hold
    return None if claims else SlotChange(node.slot, before, after)


def list_write_claims(write: Write) -> list[str]:
    """Return all that a write claims and other slots may hold: one thing, or where files stand."""
    surface = SURFACES[write.slot[0]]
    if isinstance(write.after, Forgotten) and not surface.movable:
        return [] if write.after.claim is None else [write.after.claim]
    return [] if write.after is ABSENT else list(surface.list_claims(write.after))


def find_write_claim(write: Write) -> str | None:
    """Return what a write claims that no other slot may hold."""
    return find_content_claim(write.slot[0], write.after)


def find_content_claim(surface: str, content: Any) -> str | None:
    """Return what a content claims, also a forgotten one: the claim outlives its value."""
    if isinstance(content, Forgotten):
        return content.claim
    return None if content is ABSENT else SURFACES[surface].claim(content)


def _walk_nodes(node: Node) -> Iterator[Node]:
    for child in node.children.values():
        yield child
        yield from _walk_nodes(child)


def _descend(node: Node) -> Iterator[Version]:
    for child in _walk_nodes(node):
        yield from child.versions
