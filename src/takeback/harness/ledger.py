"""A journal read as the life of one harness: which state it should be in, which entries are live, what is open.

Follows the journal forward, so that changes by other processes are taken in one by one. Opening starts from
the last checkpoint; the index of slots is fetched from the journal when an undo asks for it. Where a value that is
still in place was forgotten, the state has a hole, which is filled from what is really there and never recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

from takeback.errors import KEYS_HINT, HarnessError, JournalCorruptError, JournalError, MissingKeysError
from takeback.harness.codec import many_writes, writes_of
from takeback.harness.fate import CHANGES, TOGGLES, Fate, was_admitted
from takeback.harness.holes import all_holes, edited_hole, filling, hole_of, value_in, without_holes
from takeback.harness.images import KeptImage, with_images
from takeback.harness.missing import demand_installed, installed
from takeback.harness.stored_index import StoredIndex
from takeback.journal import ENTRY_KINDS, ROOT, Draft, Record, Ref, Store, Stored, leaf
from takeback.journal.counted import told
from takeback.journal.encoding import trusting
from takeback.journal.packing import KnownRefs, Packer, Unpacker, inside_refs
from takeback.journal.store import keyless_of, mutex_of
from takeback.journal.upgrade import runs
from takeback.state import ABSENT, State
from takeback.state.parts import is_part
from takeback.state.slots import Slot, get_slot, put_slots
from takeback.undo import History, Index, Write

MIN_CHECKPOINT = 200
"""Writes after which the state is written down at the earliest; following one costs what a few values do."""
VALUES_PER_WRITE = 4
BATCH = 200


class Ledger:
    """The journal of one harness, followed. With `until`, its state from the first record to that, for checking."""

    def __init__(self, store: Store, *, until: int | None = None) -> None:
        self.store = store
        self.mutex = mutex_of(store)
        """Held by a thread while it follows the journal or adds to it; whoever holds the journal's lock holds it."""
        self.state = State()
        """What the journal says the harness should be; without what is in `holes`."""
        self.holes: dict[Slot, Any] = {}
        """Where a value that is in place was forgotten, and what is still known of it."""
        self.pending: Record | None = None
        """A change that was announced and neither finished nor given up."""
        self.missing: set[str] = set()
        """Surfaces the journal names that are not installed: what it says of them is left out of the state."""
        self.last = 0
        self.head = ROOT
        self.identity = ""
        self.admitted: set[int] = set()
        """Entries that were seen to have an admitted recovery."""
        self._entries = self._changes = self._aborted = 0
        self._values = self._followed = 0
        self._inside_hidden = False
        self._first: State | None = None
        self._until = until
        self._known: KnownRefs = {}
        self._hidden: dict[Slot, Any] = {}
        self.packer = Packer(self._known, self._hidden)
        self.history = self._history(set())
        if until is None:
            self._start_at_checkpoint()
        self.refresh()

    def _history(self, undone: set[int]) -> History:
        """An index that reads from the journal; that of a journal in memory, all of which passes here, is held."""
        if self.store.location == ":memory:" and not self.last:
            return History(self._base, Index(), undone)
        return History(self._base, Index(StoredIndex(self.store)), undone)

    def begin(self, state: State, about: dict[str, Any], images: Sequence[KeptImage] = ()) -> None:
        """Write the first entry, with the whole state; only in an empty journal."""
        self.history.index.source = None  # what is followed from the first record on is complete
        tree = self.packer.state(state)
        genesis = with_images(Draft("genesis", about, {"state": tree}), images)
        _, settled = self.store.append([genesis, Draft("commit", {"entry": 1})], expect=ROOT)
        self.packer.stored()
        self.state = self._first = state
        self.identity = str(about.get("identity", ""))
        self._entries, self._values = 1, len(tree.parts)
        self.last, self.head = settled.seq, settled.digest

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

    def _base(self) -> State:
        if self._first is None:
            self._first = self.first_state()
        return self._first

    def first_state(self) -> State:
        """The state at the beginning, with what was forgotten of it standing as forgotten."""
        return self._stored_state(self.store.get(1), Unpacker(keyless=keyless_of(self.store)))

    def _stored_state(self, record: Record, unpacker: Unpacker) -> State:
        """The state a record holds, with what was forgotten of it standing as forgotten."""
        stored = self._held(record, "state")
        if stored is None:
            raise self._explain_no_state(record)
        parts, nodes = stored.opened()
        held = self.store.contents(part for part in parts if part)
        state, missing = unpacker.state(nodes, lambda at: (parts[at], held[parts[at]] if parts[at] else None))
        self.missing |= missing
        self._values = len(parts)
        return state

    def _explain_no_state(self, record: Record) -> JournalError:
        """Return the error for a record whose state cannot be read."""
        known = keyless_of(self.store)
        seal = next((known[ref] for ref in record.refs("state") if ref is not None and ref in known), "")
        if seal:
            return MissingKeysError(f"the state of record {record.seq} is sealed: {seal}", hint=KEYS_HINT)
        return JournalCorruptError(f"record {record.seq} holds no state", seq=record.seq)

    def _held(self, record: Record, name: str) -> Stored | None:
        """The one content that a record has of a name; None if it has none, or that was forgotten."""
        ref = next(iter(record.refs(name)), None)
        return None if ref is None else self.store.content(ref)

    def _take_state(self, record: Record) -> None:
        """Begin with the state a record holds."""
        unpacker = Unpacker(self._known, keyless_of(self.store))
        state = self._stored_state(record, unpacker)
        self._first = state if record.kind == "genesis" else self._first
        self.state, self.holes = without_holes(state, unpacker.holes), unpacker.holes

    def _start_at_checkpoint(self) -> None:
        start = self.store.latest("checkpoint")
        if start is None:
            return
        self._take_state(start)
        standing = self._held(start, "standing")
        if standing is None:
            raise JournalCorruptError(f"checkpoint {start.seq} does not say which entries are live", seq=start.seq)
        with trusting(f"checkpoint {start.seq}", seq=start.seq):
            whole = standing.json()
            for first, last in whole["undone"]:
                self.history.undone.update(range(first, last + 1))
            self._entries, self._changes, self._aborted = whole["entries"], whole["changes"], whole["aborted"]
            self.identity = str(whole["identity"])
        self.last, self.head = start.seq, start.digest

    def refresh(self) -> None:
        """Take in what was appended since; several threads may ask."""
        with self.mutex:
            self._follow()

    def _follow(self) -> None:
        following: Iterator[Record] = self.store.records(self.last + 1)
        if self._until is not None:
            following = islice(following, max(self._until - self.last, 0))
        first = next(following, None)
        if first is None:
            return
        following = chain((first,), following)
        while batch := list(islice(following, BATCH)):
            entries = [record for record in batch if record.kind in CHANGES | TOGGLES]
            writes = dict(zip((r.seq for r in entries), many_writes(self.store, entries, planning=True), strict=True))
            for record in batch:
                if record.prev != self.head or record.seq != self.last + 1:
                    raise JournalCorruptError(
                        f"journal record {record.seq} does not follow record {self.last}", seq=record.seq
                    )
                self.last, self.head = record.seq, record.digest
                self._take(record, writes)
            if self._until is not None:
                told("records replayed", self.last, self._until)

    def _take(self, record: Record, writes: dict[int, tuple[Write, ...]]) -> None:
        if record.kind in ENTRY_KINDS:
            self.pending = record
            self._entries += 1
        elif record.kind == "commit" and self.pending is not None:
            entry, self.pending = self.pending, None
            if entry.kind == "genesis":
                self._take_state(entry)
                self.identity = str(entry.payload.get("identity", ""))
            else:
                self._fold(entry, writes.get(entry.seq) or self._writes(entry))
        elif record.kind == "abort" and self.pending is not None:
            entry, self.pending = self.pending, None
            self._given_up(entry, writes.get(entry.seq) or self._writes(entry))
        elif record.kind == "forget":
            self._forgotten(record)

    def _writes(self, entry: Record) -> tuple[Write, ...]:
        return next(many_writes(self.store, (entry,), planning=True))

    def _given_up(self, entry: Record, writes: Sequence[Write]) -> None:
        if entry.kind in CHANGES:
            self._changes += 1
            self._aborted += 1
            self.history.undone.add(entry.entry)
            self._index(entry, writes)

    def _fold(self, entry: Record, writes: Sequence[Write]) -> None:
        """Let a committed entry take effect."""
        self._put(writes)
        self._followed += max(1, len(writes))
        if entry.kind in CHANGES:
            self._changes += 1
            self._index(entry, writes)
            if was_admitted(entry):
                self.admitted.add(entry.entry)
        else:
            self.history.toggle(entry.off, entry.on)

    def _index(self, entry: Record, writes: Sequence[Write]) -> None:
        if self._until is None:
            self.history.add(entry.entry, tuple(writes))

    def _put(self, writes: Sequence[Write]) -> None:
        """Put what was written into the state; what is gone of it, or lies in what is gone, into the holes."""
        known = list(installed(writes, self.missing))
        contents = [(write.slot, write.after) for write in known]
        if not self.holes and not self._hidden and not all_holes(contents):
            for slot in {slot[:-1] for slot, _ in contents if is_part(slot[-1])}:
                self._known.pop(slot, None)  # what is stored is not what stands there any more
            self.state = put_slots(self.state, contents)
            return
        for write in known:
            slot, whole = write.slot, write.slot[:-1]
            for place in (*self.holes, *self._hidden):
                if place[: len(slot)] == slot:
                    self.holes.pop(place, None)
                    self._hidden.pop(place, None)
            if is_part(slot[-1]):
                self._known.pop(whole, None)  # what is stored is not what stands there any more
                self._inside_hidden = self._inside_hidden or whole in self._hidden
                if whole in self.holes:
                    self.holes[whole] = edited_hole(self.holes[whole], slot, write.after)
                    continue
            self.state = put_slots(self.state, [(slot, write.after)])
            new = all_holes([(slot, write.after)])
            if slot in new and is_part(slot[-1]):
                new = {whole: hole_of(get_slot(self.state, whole), slot)}
            self.holes.update(new)
            self.state = without_holes(self.state, new)

    def _forgotten(self, record: Record) -> None:
        """What was forgotten is not recorded again where it is still in place, nor planned with from memory."""
        listed: Any = record.payload.get("contents", ())
        gone = set(listed)
        for slot, (value, ref) in tuple(self._known.items()):
            if ref in gone:
                self._hidden[slot] = value
                del self._known[slot]
        for slot, refs in self._inside().items():
            if refs & gone and slot not in self.holes:
                self._hidden[slot] = get_slot(self.state, slot)
        self._first = None
        self.history = self._history(self.history.undone)

    def _inside(self) -> dict[Slot, set[Ref]]:
        """Ids of what stands inside texts and lists of the last checkpoint, by where those stand."""
        last = self.store.latest("checkpoint")
        stored = None if last is None else self._held(last, "state")
        if stored is None:
            return {}
        parts, nodes = stored.opened()
        with trusting("a stored state"):
            return inside_refs(nodes, parts)

    def fill(self, actual: State) -> None:
        """Fill holes with what is really there; what is not there, or is no such thing, stays one."""
        found = [(slot, filling(slot, gone, actual)) for slot, gone in self.holes.items()]
        filled = [(slot, content) for slot, content in found if content is not ABSENT]
        self.state = put_slots(self.state, filled)
        for slot, content in filled:
            del self.holes[slot]
            self._hidden[slot] = value_in(content)

    def announce(self, draft: Draft) -> Record:
        """Write a change down ahead of making it."""
        (record,) = self.store.append([draft], expect=self.head)
        self._entries += 1
        self.packer.stored()
        self.pending, self.last, self.head = record, record.seq, record.digest
        return record

    def commit(self, writes: Sequence[Write]) -> Record:
        """Say that the announced change is made; `writes` is what it did."""
        record = self._pending()
        (settled,) = self.store.append([Draft("commit", {"entry": record.number})], expect=self.head)
        self.pending, self.last, self.head = None, settled.seq, settled.digest
        self._fold(record, writes)
        return record

    def abort(self, reason: str) -> None:
        """Say that the announced change was given up and nothing of it is left."""
        record = self._pending()
        draft = Draft("abort", {"entry": record.number}, {"reason": leaf(reason, "reason")})
        (settled,) = self.store.append([draft], expect=self.head)
        self.pending, self.last, self.head = None, settled.seq, settled.digest
        self._given_up(record, writes_of(self.store, record))

    def record(self, draft: Draft, writes: Sequence[Write]) -> Record:
        """Announce and commit at once, for a change that is made by saying so."""
        self._entries += 1
        record, settled = self.store.append([draft, Draft("commit", {"entry": self._entries})], expect=self.head)
        self.packer.stored()
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

    def fate(self, record: Record, following: Record | None = None) -> Fate:
        """What became of an entry: the record following it says whether it was made, later ones whether it stands."""
        if following is None and record.seq < self.last:
            following = self.store.record(record.seq + 1)
        if following is None or following.kind not in {"commit", "abort"}:
            return Fate.PENDING
        if following.kind == "abort":
            return Fate.ABORTED
        if record.kind not in CHANGES:
            return Fate.DONE
        return Fate.UNDONE if record.number in self.history.undone else Fate.LIVE

    def checkpoint_due(self) -> bool:
        """Whether following the journal has become dearer than writing the state down once.

        Also where something was written inside a value that was forgotten: only the state tells where its parts are.
        """
        due = self._followed > max(self._values // VALUES_PER_WRITE, MIN_CHECKPOINT) or self._inside_hidden
        return due and not self.missing

    def checkpoint(self) -> Record:
        """Write the state down, so that opening does not follow the journal from further back."""
        demand_installed(self.missing)
        state = self.state if not self.holes else put_slots(self.state, self.holes.items())
        tree = self.packer.state(state)
        standing: dict[str, Any] = {
            "undone": runs(sorted(self.history.undone)),
            "identity": self.identity,
            "entries": self._entries,
            "changes": self._changes,
            "aborted": self._aborted,
        }
        draft = Draft("checkpoint", {}, {"state": tree, "standing": leaf(standing, "standing")})
        (record,) = self.store.append([draft], expect=self.head)
        self.packer.stored()
        self._values, self._followed, self._inside_hidden = len(tree.parts), 0, False
        self.last, self.head = record.seq, record.digest
        return record

    def replayed(self) -> State:
        """The state that all records up to the last one known here add up to; forgotten values as they are now."""
        again = Ledger(self.store, until=self.last)
        again.fill(self.state)
        return again.state

    def tally(self) -> tuple[int, int, int]:
        """How many changes are live, were taken back, and were given up while they were made."""
        with self.mutex:
            undone = len(self.history.undone)
            return self._changes - undone, undone - self._aborted, self._aborted

    def aborted(self, record: Record) -> bool:
        """Whether a change was announced and given up."""
        return self.fate(record) is Fate.ABORTED

    @property
    def hidden(self) -> tuple[Slot, ...]:
        """Where values that were forgotten are in place."""
        return (*self._hidden, *self.holes)

    def entries(self, *, reverse: bool = True) -> Iterator[Record]:
        """Records that announce changes."""
        return (record for record in self.store.records(reverse=reverse) if record.kind in ENTRY_KINDS)

    def live_values(self) -> dict[str, list[Slot]]:
        """Where each stored value that is in place stands, by its id; after a checkpoint, all of them."""
        places: dict[str, list[Slot]] = {}
        for slot, (value, ref) in self._known.items():
            if value_in(get_slot(self.state, slot)) is value:
                places.setdefault(ref, []).append(slot)
        for slot, refs in self._inside().items():
            if get_slot(self.state, slot) is not ABSENT:
                for ref in refs:
                    places.setdefault(ref, []).append(slot)
        return places


__all__ = ["CHANGES", "TOGGLES", "Fate", "Ledger", "was_admitted"]
