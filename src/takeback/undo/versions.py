"""The writes a slot has seen: one write, its place in time, and a slot's versions, held or read when looked at."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, overload

from takeback.state.slots import Slot, slot_title

When = tuple[int, int]
"""A time in a history: an entry, and the position of a write in it."""
START: Final[When] = (-1, 0)
"""Before the first entry."""
OWN: Final = -2
"""In `Write.on`, stands for the entry itself."""


class Write(NamedTuple):
    """What an entry wrote in one slot. `strict` writes fail where a container stands.

    `on` is set for a part: the write that put the whole there in which it lies, without which it could not be.
    `needs` writes fail where nothing is: a move, a replacement in place, the removal of an item. A list in a `shared`
    write came with its first item and belongs to nobody; a `shared` part lies in one, and makes it where it is not.
    """

    slot: Slot
    before: Any
    after: Any
    strict: bool = False
    on: When | None = None
    needs: bool = False
    shared: bool = False

    def __repr__(self) -> str:
        return f"Write({slot_title(self.slot)})"


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
        self, slot: Slot, numbers: Iterable[int], writes: Callable[[int], tuple[Write, ...]], stop: int | None = None
    ) -> None:
        self._slot = slot
        self._numbers = list(numbers)
        self._writes = writes
        self._added: list[Version] = []
        self._stored = len(self._numbers) if stop is None else stop

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> Version: ...
    @overload
    def __getitem__(self, at: slice) -> LazyVersions: ...
    def __getitem__(self, at: int | slice) -> Version | LazyVersions:
        if isinstance(at, slice):
            part = LazyVersions(self._slot, self._numbers[at], self._writes)
            part._added, part._stored = self._added, min(self._stored, len(part))
            return part
        at += len(self._numbers) if at < 0 else 0
        if at >= self._stored:
            return self._added[at - self._stored]
        number = self._numbers[at]
        own = (Version(number, place, write) for place, write in enumerate(self._writes(number)))
        mine = [version for version in own if version.write.slot == self._slot]
        return mine[at - bisect_left(self._numbers, number)]

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


def entry_of(versions: Versions, at: int) -> int:
    """The entry of one version, without reading what it wrote."""
    return versions._numbers[at] if isinstance(versions, LazyVersions) else versions[at][0]  # noqa: SLF001


def time_of(version: Version) -> When:
    """When a version was written."""
    return version[:2]


def place_after(versions: Versions, entry: int) -> int:
    """The place of the first version by a later entry, without reading what was written."""
    if isinstance(versions, LazyVersions):
        return bisect_right(versions._numbers, entry)  # noqa: SLF001
    return bisect_right(versions, entry, key=lambda version: version[0])
