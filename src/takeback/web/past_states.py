"""States of the past, kept while somebody looks through them: no look takes back more than a stretch of entries."""

from __future__ import annotations

from typing import Final

from takeback.harness import Harness
from takeback.harness.entry_log import PastPoint, Rewind
from takeback.journal import Record
from takeback.state import State

EVERY: Final = 400
"""Records between two states that are kept."""
MOST: Final = 500
"""So many states are kept; they share what is the same in them."""


class PastStates:
    """The states of one harness right after its entries."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self._known: dict[int, PastPoint] = {}
        self._gone = 0

    def after(self, entry: Record) -> State:
        """Return the state right after an entry."""
        forgotten = self._harness.journal.latest("forget")
        gone = 0 if forgotten is None else forgotten.seq
        if gone != self._gone or len(self._known) > MOST:  # a kept state may hold what was forgotten
            self._known.clear()
            self._gone = gone
        nearest = min((seq for seq in self._known if seq >= entry.seq), default=None)
        begin = None if nearest is None else self._known[nearest]
        rewind = Rewind(self._harness, begin, entry.seq)
        for seq in range((self._harness.ledger.last if nearest is None else nearest) - EVERY, entry.seq, -EVERY):
            self._known[seq] = rewind.mark(seq)
        return rewind.after(entry)
