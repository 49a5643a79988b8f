"""The undo index read from a journal: which entries wrote what, and what they wrote, read when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from takeback.harness.codec import claim_key, many_writes, shared_key
from takeback.journal import Store
from takeback.state.slots import Slot, slot_key
from takeback.undo import Write

AHEAD = 256


class StoredIndex:
    """Tells from the journal's index of touched slots which entries wrote what."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def at(self, slot: Slot) -> tuple[int, ...]:
        """Entries that wrote one slot, one for each time they did."""
        return self._store.touching(slot_key(slot))

    def below(self, slot: Slot) -> tuple[int, ...]:
        """Entries that wrote a slot beneath one."""
        return self._store.touching(slot_key(slot), below=True)

    def claiming(self, surface: str, claim: str) -> tuple[int, ...]:
        """Entries that claim something exclusive."""
        return self._store.touching(claim_key(surface, claim))

    def sharing(self, slot: Slot) -> tuple[int, ...]:
        """Entries that wrote parts of a list that belongs to nobody."""
        return self._store.touching(shared_key(slot))

    def entry(self, number: int) -> tuple[Write, ...]:
        """The writes of one entry; what was there before is read only of parts, whose history needs it."""
        return self.entries((number,))[number]

    def entries(self, numbers: Sequence[int]) -> dict[int, tuple[Write, ...]]:
        """The writes of several entries, read together."""
        found: dict[int, tuple[Write, ...]] = {}
        for start in range(0, len(numbers), AHEAD):
            chosen = numbers[start : start + AHEAD]
            writes = many_writes(self._store, self._store.many(chosen), planning=True)
            found.update(zip(chosen, writes, strict=True))
        return found
