"""What a slot holds, at any time and for any set of entries taken back.

A history is a base state, the writes of every entry, and which entries are undone. A `View` is the same
history with some entries supposed undone or back: every question is asked of a view, so that a plan can look
at the history it would make. An entry is a number; times are (entry, position) pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from takeback.errors import TakebackError
from takeback.journal.packing import is_gone
from takeback.state import ABSENT, SURFACES, PMap, State, tree
from takeback.state.slots import Slot, get_slot
from takeback.undo.index import Index, Version, Write, before, claim_of, entry_at

When = tuple[int, int]
END: Final[When] = (2**62, 0)
START: Final[When] = (-1, 0)


class ContentGone(TakebackError):  # noqa: N818 - says what is gone; a plan turns it into a result
    """The content a slot should get was forgotten."""

    def __init__(self, slot: Slot, entry: int | None) -> None:
        source = "the state at the beginning" if entry is None else f"entry {entry}"
        super().__init__(f"what {source} held at {'/'.join(slot)} was forgotten")
        self.slot = slot


class View:
    """Which entries count as live."""

    __slots__ = ("off", "on", "undone")

    def __init__(self, undone: set[int], off: Iterable[int] = (), on: Iterable[int] = ()) -> None:
        self.undone = undone
        self.off = set(off)
        self.on = set(on)

    def live(self, entry: int) -> bool:
        """Whether the entry's writes count."""
        if entry in self.off:
            return False
        return entry in self.on or entry not in self.undone


def _when(version: Version) -> When:
    return version[:2]


class History:
    """The writes of every entry over a base state. `base` is asked for only when a slot needs it."""

    def __init__(
        self, base: Callable[[], State | None], index: Index | None = None, undone: Iterable[int] = ()
    ) -> None:
        self._base = base
        self.index = Index() if index is None else index
        self.undone = set(undone)

    def add(self, entry: int, writes: tuple[Write, ...]) -> None:
        """Take in the newest entry, live."""
        self.index.add(entry, writes)

    def toggle(self, off: Iterable[int], on: Iterable[int]) -> None:
        """Note that entries were undone, and others brought back."""
        self.undone.update(off)
        self.undone.difference_update(on)

    def last(self, slot: Slot, view: View, until: When = END) -> Version | None:
        """The last live write to exactly this slot before a time."""
        versions = self.index.at(slot)
        at = len(versions) if until is END else before(versions, *until)
        while at:
            at -= 1
            if view.live(entry_at(versions, at)):
                return versions[at]
        return None

    def next(self, slot: Slot, view: View, entry: int) -> Version | None:
        """The first live write to exactly this slot by a later entry."""
        versions = self.index.at(slot)
        for at in range(before(versions, entry + 1, 0), len(versions)):
            if view.live(entry_at(versions, at)):
                return versions[at]
        return None

    def cover(self, slot: Slot, view: View, until: When = END) -> Version | None:
        """The last live write before a time to a nested slot or to anything above it."""
        best: Version | None = None
        for depth in range(2, len(slot) + 1):
            found = self.last(slot[:depth], view, until)
            if found is not None and (best is None or _when(found) > _when(best)):
                best = found
        return best

    def base_content(self, slot: Slot) -> Any:
        """What the slot held before the first entry; `Forgotten` stands for what is gone of it."""
        base = self._base()
        if base is not None:
            return get_slot(base, slot)
        versions = self.index.at(slot)
        if len(versions) and not SURFACES[slot[0]].nested and not is_gone(versions[0].write.before):
            return versions[0].write.before
        raise ContentGone(slot, None)

    def held(self, slot: Slot, view: View, until: When = END) -> Any:
        """What a slot that is not nested holds; `Forgotten` where that is gone."""
        version = self.last(slot, view, until)
        return self.base_content(slot) if version is None else version.write.after

    def content(self, slot: Slot, view: View, until: When = END) -> Any:
        """What a slot that is not nested holds, to be put back."""
        version = self.last(slot, view, until)
        content = self.base_content(slot) if version is None else version.write.after
        if is_gone(content):
            raise ContentGone(slot, None if version is None else version.entry)
        return content

    def covered(self, slot: Slot, view: View, until: When = END) -> tuple[Any, When, Slot]:
        """What the last write at or above a nested slot put there: its content, when, and at which slot.

        The content returned is that of the write's own slot; base content is that of the first name.
        """
        version = self.cover(slot, view, until)
        if version is None:
            return self.base_content(slot[:2]), START, slot[:2]
        return version.write.after, _when(version), version.write.slot

    def node(self, slot: Slot, view: View, until: When = END) -> tuple[Any, When]:
        """What the last write at or above a nested slot left exactly there, and when."""
        content, when, at = self.covered(slot, view, until)
        return (tree.get(content, slot[len(at) :]) if len(at) < len(slot) else content), when

    def subtree(self, slot: Slot, view: View, until: When = END) -> Any:
        """What a nested slot holds, with everything that later writes put below it."""
        content, when = self.node(slot, view, until)
        holder = PMap({} if content is ABSENT else {"": content})
        for version in self._below(slot, view, when, until):
            after = version.write.after
            path = ("", *version.write.slot[len(slot) :])
            holder = tree.drop(holder, path) if after is ABSENT else tree.put(holder, path, after)
        found = holder.get("", ABSENT)
        if is_gone(found):
            raise ContentGone(slot, None)
        return found

    def is_container(self, slot: Slot, view: View, until: When = END) -> bool:
        """Whether a nested slot is a mapping or directory, also one that only holds up what is below it."""
        content, when = self.node(slot, view, until)
        if content is not ABSENT:
            return type(content) is PMap
        return any(version.write.after is not ABSENT for version in self._below(slot, view, when, until))

    def _below(self, slot: Slot, view: View, after: When, until: When) -> Iterator[Version]:
        for version in self.index.below(slot):
            if after < _when(version) < until and view.live(version.entry):
                yield version

    def objection(self, version: Version, view: View) -> str | None:
        """Why a write could not have happened in this view; None if it could."""
        write, until = version.write, _when(version)
        slot, surface = write.slot, SURFACES[write.slot[0]]
        claim = claim_of(slot[0], write.after) if surface.exclusive else None
        if claim is not None:
            for other in self.holders(slot[0], claim):
                if other != slot and claim_of(slot[0], self.held(other, view, until)) == claim:
                    return f"{claim} is held by {other[-1]!r}"
        if not surface.nested or write.after is ABSENT:
            return None
        if len(slot) > 2:  # noqa: PLR2004 - surface and one name: nothing is above it
            above = self._leaf_above(slot, view, until)
            if above is not None:
                return f"{'/'.join(above[1:])!r} is not a {'directory' if surface.strict else 'mapping'}"
        if write.strict and self.is_container(slot, view, until):
            return f"{'/'.join(slot[1:])!r} is a directory"
        return None

    def _leaf_above(self, slot: Slot, view: View, until: When) -> Slot | None:
        """The highest slot above one that is neither a container nor absent.

        Looked for from the top: a removal below a leaf does nothing, so it says nothing about the leaf.
        """
        for depth in range(2, len(slot)):
            content, _ = self.node(slot[:depth], view, until)
            if content is not ABSENT and type(content) is not PMap:
                return slot[:depth]
        return None

    def holders(self, surface: str, claim: str) -> set[Slot]:
        """Slots that ever held what is claimed."""
        found = {version.write.slot for version in self.index.claiming(surface, claim)}
        base = self._base()
        if base is not None:
            part = base.part(surface)
            found.update((surface, key) for key in part if claim_of(surface, part[key]) == claim)
        return found
