"""The undo index read from a journal: versions of slots, fetched when they are asked for.

Numbers of entries come from the journal's index at once; what an entry wrote is read when a version is looked at,
so that a slot with a long history costs what a plan looks at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from takeback.harness.codec import claim_key, many_writes
from takeback.journal import Store
from takeback.state.slots import Slot, slot_key
from takeback.undo import Version, Write
from takeback.undo.index import LazyVersions, claim_of

AHEAD = 256


class StoredIndex:
    """Fetches versions from the journal's index of touched slots."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._writes: dict[int, tuple[Write, ...]] = {}

    def at(self, slot: Slot) -> LazyVersions:
        """Versions of one slot."""
        return LazyVersions(slot, self._store.touching(slot_key(slot)), self.entry)

    def below(self, slot: Slot) -> list[Version]:
        """Versions beneath one slot."""
        depth = len(slot)
        versions = self._versions(self._store.touching(slot_key(slot), below=True))
        return [v for v in versions if len(v.write.slot) > depth and v.write.slot[:depth] == slot]

    def claiming(self, surface: str, claim: str) -> list[Version]:
        """Versions that claim something exclusive."""
        versions = self._versions(self._store.touching(claim_key(surface, claim)))
        return [v for v in versions if v.write.slot[0] == surface and claim_of(surface, v.write.after) == claim]

    def entry(self, number: int) -> tuple[Write, ...]:
        """The writes of one entry; what was there before is not read."""
        if number not in self._writes:
            self.load((number,))
        return self._writes[number]

    def remember(self, number: int, writes: tuple[Write, ...]) -> None:
        """Keep what a new entry wrote, which is at hand."""
        self._writes[number] = writes

    def load(self, numbers: Iterable[int]) -> None:
        """Read entries ahead, together."""
        missing = [number for number in dict.fromkeys(numbers) if number not in self._writes]
        for start in range(0, len(missing), AHEAD):
            part = missing[start : start + AHEAD]
            records = tuple(self._store.many(part))
            self._writes.update(zip(part, many_writes(self._store, records, before=False), strict=True))

    def _versions(self, numbers: Iterable[int]) -> Iterator[Version]:
        unique = tuple(dict.fromkeys(numbers))
        self.load(unique)
        return (Version(number, at, write) for number in unique for at, write in enumerate(self.entry(number)))
