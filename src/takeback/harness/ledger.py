"""A journal read as the life of one harness: which state it should be in, which entries are live, what is open.

Follows the journal forward, so that changes by other processes are taken in one by one. Opening starts from
the last checkpoint; the index of slots is fetched from the journal when an undo asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from takeback.errors import HarnessError, JournalCorruptError, JournalError
from takeback.harness.codec import StoredIndex, writes_of
from takeback.harness.images import KeptImage, with_images
from takeback.journal import ENTRY_KINDS, ROOT, Draft, Record, Store
from takeback.journal.encoding import encode
from takeback.state import State
from takeback.state.slots import dump_state, load_state, put_slots
from takeback.undo import GONE, History, Index, Write

CHANGES = frozenset({"apply", "adopt", "salvage"})
MIN_CHECKPOINT = 64 * 1024
BYTES_OF_RECORD = 500
BYTES_OF_WRITE = 100


class Ledger:
    """The journal of one harness, followed."""

    def __init__(self, store: Store, *, before: int | None = None) -> None:
        self.store = store
        self.state = State()
        """What the journal says the harness should be."""
        self.pending: Record | None = None
        """A change that was announced and neither finished nor given up."""
        self.last = 0
        self.head = ROOT
        self.identity = ""
        self.admitted: set[int] = set()
        """Entries that were seen to have an admitted recovery."""
        self._checkpoint_size = 0
        self._since_checkpoint = 0
        self.history = History(self._base(), Index(StoredIndex(store)))
        self._start_at_checkpoint(before)
        self.refresh()

    def begin(self, state: State, about: dict[str, Any], images: Sequence[KeptImage] = ()) -> None:
        """Write the first entry, with the whole state; only in an empty journal."""
        self.history.index.source = None  # what is followed from the first record on is complete
        genesis = with_images(Draft("genesis", about, {"state": dump_state(state)}), images)
        self.store.append([genesis, Draft("commit", {"entry": 1})], expect=ROOT)
        self.refresh()

    @property
    def begun(self) -> bool:
        """Whether there is a first entry."""
        return self.last > 0

    def demand_identity(self, identity: str) -> None:
        """Refuse the journal of another workspace."""
        if self.begun and self.identity != identity:
            raise HarnessError(
                f"the journal {self.store.location} belongs to another workspace",
                hint="give each workspace a journal of its own: a path, or a URL that ends in #name",
            )

    def _base(self) -> Any:
        @cache
        def base() -> State | None:
            text = self.store.attachment(1, "state")
            return None if text is None else load_state(json.loads(text))

        return base

    def _start_at_checkpoint(self, before: int | None) -> None:
        """Take the state from the last checkpoint (before a record, where one is given), if there is one."""
        start = next(
            (
                record
                for record in self.store.records(reverse=True)
                if record.kind == "checkpoint" and (before is None or record.seq < before)
            ),
            None,
        )
        if start is not None:
            text = self.store.attachment(start.seq, "state")
            if text is None:
                raise JournalError(f"the state of checkpoint {start.seq} in {self.store.location} was forgotten")
            whole = json.loads(text)
            self.state = load_state(whole["state"])
            self.history.undone.update(whole["undone"])
            self.last, self.head = start.seq, start.digest
            self.identity = whole["identity"]
            self._checkpoint_size = len(text)

    def refresh(self) -> None:
        """Take in what was appended since."""
        for record in self.store.records(self.last + 1):
            if record.prev != self.head:
                raise JournalCorruptError(
                    f"journal record {record.seq} does not follow record {self.last}",
                    seq=record.seq,
                )
            self._take(record)
            self.last, self.head = record.seq, record.digest

    def _take(self, record: Record) -> None:
        if record.kind in ENTRY_KINDS:
            self.pending = record
        elif record.kind == "commit" and self.pending is not None:
            self._settle(self.pending)
            self.pending = None
        elif record.kind == "abort" and self.pending is not None:
            if self.pending.kind in CHANGES:
                self.history.undone.add(self.pending.seq)
                self.history.add(self.pending.seq, writes_of(self.store, self.pending))
            self.pending = None

    def _settle(self, record: Record) -> None:
        if record.kind == "genesis":
            text = self.store.attachment(record.seq, "state")
            if text is None:
                raise JournalError(f"the first state in {self.store.location} was forgotten, and no checkpoint")
            self.state = load_state(json.loads(text))
            self.identity = str(record.payload.get("identity", ""))
            self._checkpoint_size = len(text)
            return
        writes = writes_of(self.store, record)
        if any(write.after is GONE for write in writes):
            raise JournalError(
                f"what record {record.seq} in {self.store.location} wrote was forgotten, no checkpoint"
            )
        self._fold(record, writes)

    def _fold(self, record: Record, writes: Sequence[Write]) -> None:
        """Let a committed record take effect."""
        self.state = put_slots(self.state, [(write.slot, write.after) for write in writes])
        self._since_checkpoint += BYTES_OF_RECORD + BYTES_OF_WRITE * len(writes)
        if record.kind in CHANGES:
            self.history.add(record.seq, tuple(writes))
            if was_admitted(record):
                self.admitted.add(record.seq)
        else:
            self.history.toggle(_numbers(record, "off"), _numbers(record, "on"))

    def announce(self, draft: Draft) -> Record:
        """Write a change down ahead of making it."""
        (record,) = self.store.append([draft], expect=self.head)
        self.pending, self.last, self.head = record, record.seq, record.digest
        return record

    def commit(self, writes: Sequence[Write]) -> Record:
        """Say that the announced change is made; `writes` is what it did."""
        record = self._pending()
        (settled,) = self.store.append([Draft("commit", {"entry": record.seq})], expect=self.head)
        self.pending, self.last, self.head = None, settled.seq, settled.digest
        self._fold(record, writes)
        return record

    def abort(self, reason: str) -> None:
        """Say that the announced change was given up and nothing of it is left."""
        record = self._pending()
        (settled,) = self.store.append([Draft("abort", {"entry": record.seq, "reason": reason})], expect=self.head)
        self._take(settled)
        self.last, self.head = settled.seq, settled.digest

    def record(self, draft: Draft, writes: Sequence[Write]) -> Record:
        """Announce and commit at once, for a change that is made by saying so."""
        entry = Draft("commit", {"entry": self.last + 1})
        record, settled = self.store.append([draft, entry], expect=self.head)
        self.last, self.head = settled.seq, settled.digest
        self._fold(record, writes)
        return record

    def _pending(self) -> Record:
        if self.pending is None:
            raise JournalError(f"nothing is under way in {self.store.location}")
        return self.pending

    def after(self, record: Record) -> State:
        """The state that a pending record leads to."""
        return put_slots(self.state, [(write.slot, write.after) for write in writes_of(self.store, record)])

    def checkpoint_due(self) -> bool:
        """Whether following the journal has become dearer than writing the state down once."""
        return self._since_checkpoint > max(self._checkpoint_size, MIN_CHECKPOINT)

    def checkpoint(self) -> Record:
        """Write the state down, so that opening does not follow the journal from further back."""
        whole: dict[str, Any] = {
            "state": dump_state(self.state),
            "undone": sorted(self.history.undone),
            "identity": self.identity,
        }
        (record,) = self.store.append(
            [Draft("checkpoint", {"state": self.state.digest()}, {"state": whole})], expect=self.head
        )
        self._checkpoint_size, self._since_checkpoint = len(encode(whole)), 0
        self.last, self.head = record.seq, record.digest
        return record

    def replayed(self) -> State:
        """The state from the first record on that nothing after it was forgotten of: for checking.

        That is the very first one, unless contents were forgotten: then the checkpoint written ahead of that.
        """
        forgot = next((record.seq for record in self.store.records(reverse=True) if record.kind == "forget"), 0)
        return Ledger(self.store, before=forgot).state

    def tally(self) -> tuple[int, int, int]:
        """How many changes are live, were taken back, and were given up while they were made."""
        counts = {"live": 0, "undone": 0, "abort": 0}
        fate = ""
        for record in self.store.records(reverse=True):
            if record.kind in CHANGES:
                counts[fate if fate == "abort" else "undone" if record.seq in self.history.undone else "live"] += 1
            fate = record.kind
        return counts["live"], counts["undone"], counts["abort"]

    def aborted(self, record: Record) -> bool:
        """Whether a change was announced and given up."""
        following = next(iter(self.store.records(record.seq + 1)), None)
        return following is not None and following.kind == "abort"

    def entries(self, *, reverse: bool = True) -> Iterator[Record]:
        """Records that announce changes."""
        return (record for record in self.store.records(reverse=reverse) if record.kind in ENTRY_KINDS)


def was_admitted(record: Record) -> bool:
    """Whether an entry was made with a recovery that was admitted."""
    payload = record.payload
    return record.kind == "apply" and not payload.get("forced") and payload.get("candidate") is not None


def _numbers(record: Record, name: str) -> list[int]:
    found: Any = record.payload.get(name)
    return list(found) if isinstance(found, list) else []
