"""A journal read as the life of one harness: its state, which entries are live, and what is pending.

Follows the journal forward, so that changes by other processes are taken in one by one. Opening starts from
the last checkpoint; the index of slots is read from the journal when an undo needs it. Where a value that is
still in use was forgotten, the state has a missing value, which is filled from what is really there and never
recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain, islice
from typing import Any, Final

from takeback.errors import HarnessError, JournalCorruptError, JournalError
from takeback.harness.images import KeptImage, attach_images
from takeback.harness.late_contents import LateContents, can_read_late, defer_contents, is_unread
from takeback.harness.missing_values import (
    collect_missing_values,
    fill_from_actual,
    find_blank_lines,
    find_hidden_lines,
    find_withheld_values,
    fits_digest,
    make_missing_value,
    read_stored_value,
    remove_missing_values,
    update_missing_value,
)
from takeback.harness.outcomes import require_installed, skip_uninstalled
from takeback.harness.pack import KnownRefs, Packer, Unpacker, collect_inside_refs, list_file_positions
from takeback.harness.records import (
    PENDING,
    TAKEN_IN_KEY,
    draft_evidence,
    explain_no_state,
    group_runs,
    load_record_writes,
    load_taken_in,
    load_writes,
    make_claim_key,
    make_shared_key,
    make_taken_in_key,
)
from takeback.journal import ENTRY_KINDS, ROOT, Draft, Record, Ref, Store, Stored, make_leaf
from takeback.journal.content import guard_against_corruption
from takeback.journal.store import Erased, get_mutex, keyless_of
from takeback.progress import report_progress
from takeback.state import ABSENT, State
from takeback.state.address import is_part
from takeback.state.forgotten import Forgotten, find_redacted, has_forgotten
from takeback.state.slots import Slot, find_differing_slots, format_slot_key, get_slot, put_slots
from takeback.undo import History, Index, Write
from takeback.undo.index import find_taking_entry, number_taken_in

CHANGES: Final = frozenset({"apply", "adopt", "salvage"})
TOGGLES: Final = frozenset({"undo", "redo", "restore"})


class EntryStatus(StrEnum):
    """What became of an entry."""

    LIVE = "live"
    UNDONE = "undone"
    DONE = "done"
    """It took entries back or brought them back; what it did is said by those."""
    ABORTED = "aborted"
    """It was given up while it was made; nothing of it is left."""
    PENDING = "pending"


def has_admitted_recovery(record: Record) -> bool:
    """Return whether an entry has a recovery that was admitted, before the change or, where others made it, after."""
    lacks = record.is_forced or (record.evidence or {}).get("class") == "irreversible"
    return record.kind in CHANGES and not lacks and "candidate" in record.contents


AHEAD = 256


class StoredIndex:
    """Tells from the journal's index of touched slots which entries wrote what."""

    def __init__(self, store: Store, note_late: Callable[[LateContents], None] | None = None) -> None:
        self._store = store
        self._note_late = note_late
        """Is told of contents that are read when they are needed; without it, all are read at once."""
        self._takes_in: bool | None = None

    def at(self, slot: Slot) -> tuple[int, ...]:
        """Return the entries that wrote one slot, one for each time they did."""
        return (*self._find_taken_in(slot), *self._store.touching(format_slot_key(slot)))

    def below(self, slot: Slot) -> tuple[int, ...]:
        """Return the entries that wrote a slot beneath one."""
        taken_in = self._find_taken_in(slot, below=True)
        return (*taken_in, *self._store.touching(format_slot_key(slot), below=True))

    def note_taken_in(self) -> None:
        """Note that an entry took something in."""
        self._takes_in = True

    def _find_taken_in(self, slot: Slot, *, below: bool = False) -> tuple[int, ...]:
        """Return the numbers under which a slot, or slots beneath it, were taken in; ascending, as times are."""
        if self._takes_in is None:
            self._takes_in = bool(self._store.touching(TAKEN_IN_KEY))
        if not self._takes_in:
            return ()
        entries = dict.fromkeys(self._store.touching(make_taken_in_key(slot), below=below))
        return tuple(number_taken_in(entry) for entry in entries)

    def list_claims(self, surface: str, claim: str) -> tuple[int, ...]:
        """Return the entries that claim something exclusive."""
        return self._store.touching(make_claim_key(surface, claim))

    def list_shared_parts(self, slot: Slot) -> tuple[int, ...]:
        """Return the entries that wrote parts of a list that belongs to nobody."""
        return self._store.touching(make_shared_key(slot))

    def entry(self, number: int) -> tuple[Write, ...]:
        """Return the writes of one entry; values before are read only of parts, whose history needs them."""
        return self.entries((number,))[number]

    def entries(self, numbers: Sequence[int]) -> dict[int, tuple[Write, ...]]:
        """Return the writes of several entries, read together."""
        taking = {number: find_taking_entry(number) for number in numbers if number < 0}
        entries = {
            number: load_taken_in(self._store, self._store.get(entry), self._note_late)
            for number, entry in taking.items()
            if entry
        }
        numbers = [number for number in numbers if number not in entries]
        for start in range(0, len(numbers), AHEAD):
            chosen = numbers[start : start + AHEAD]
            writes = load_writes(self._store, self._store.many(chosen), planning=True)
            entries.update(zip(chosen, writes, strict=True))
        return entries


MIN_CHECKPOINT = 200
"""Writes after which the state is written down at the earliest; following one costs what a few values do."""
VALUES_PER_WRITE = 4
BATCH = 200


class Ledger:
    """The journal of one harness, followed. With `until`, its state from the first record to that, for checking."""

    def __init__(self, store: Store, *, until: int | None = None) -> None:
        self.store = store
        self.mutex = get_mutex(store)
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
        self.unproved: set[int] = set()
        """Entries whose evidence is still to be found."""
        self._entries = self._changes = self._aborted = 0
        self._values = self._followed = 0
        self._inside_hidden = False
        self._late: list[LateContents] = []
        """Contents of the state that are read when they are needed."""
        self._first: State | None = None
        self._until = until
        self._known: KnownRefs = {}
        self._hidden: dict[Slot, Any] = {}
        self.packer = Packer(self._known, self._hidden)
        self.capture = store.capture
        """What decides which contents are not stored; None if all are."""
        if self.capture is not None:
            capture = self.capture
            self.packer.withholds = lambda leaf: capture.find_ref(leaf) is not None
            self.packer.is_line_withheld = capture.is_line_apart
        self.history = self._open_history(set())
        if until is None:
            self._start_at_checkpoint()
        self.refresh()

    def _open_history(self, undone: set[int]) -> History:
        """Open an index that reads from the journal; the index of a journal in memory is held instead."""
        if self.store.location == ":memory:" and not self.last:
            return History(self._base, Index(), undone)
        return History(self._base, Index(StoredIndex(self.store, self._late.append)), undone)

    def begin(self, state: State, about: dict[str, Any], images: Sequence[KeptImage] = ()) -> None:
        """Write the first entry, with the whole state; only in an empty journal."""
        self.history.index.source = None  # what is followed from the first record on is complete
        tree = self.packer.state(state)
        genesis = attach_images(Draft("genesis", about, {"state": tree}), images)
        _, settled = self.store.append([genesis, Draft("commit", {"entry": 1})], expect=ROOT)
        self.last, self.head = settled.seq, settled.digest
        self.packer.remember_stored()
        self.state = self._first = state
        if self.capture is not None:
            self._hidden.update(find_withheld_values(self.capture, state, find_differing_slots(State(), state)))
        self.identity = str(about.get("identity", ""))
        self._entries, self._values = 1, len(tree.parts)

    @property
    def next_entry(self) -> int:
        """The number that the next entry will have."""
        return self._entries + 1

    @property
    def begun(self) -> bool:
        """Whether there is a first entry."""
        return self.last > 0

    def require_identity(self, identity: str) -> None:
        """Refuse the journal of another workspace."""
        if self.begun and self.identity != identity:
            raise HarnessError(
                f"the journal {self.store.location} belongs to another workspace",
                hint="give each workspace a journal of its own: a path, or a URL that ends in #name",
            )

    def _base(self) -> State:
        self._first = self.first_state() if self._first is None else self._first
        return self._first

    def first_state(self) -> State:
        """Return the state at the beginning, with forgotten values as `Forgotten`."""
        return self._load_state(self.store.get(1), Unpacker(keyless=keyless_of(self.store)))

    def _load_state(self, record: Record, unpacker: Unpacker) -> State:
        stored = self._find_content(record, "state")
        if stored is None:
            raise explain_no_state(self.store, record)
        parts, nodes = stored.open_tree()
        if self._until is None and can_read_late(self.store, parts):
            contents, unpacker.late = defer_contents(self.store, parts, list_file_positions(nodes))
            self._late.append(contents)
        held = self.store.contents(part for at, part in enumerate(parts) if part and at not in unpacker.late)
        state, missing = unpacker.state(nodes, lambda at: (parts[at], held[parts[at]] if parts[at] else None))
        self.missing |= missing
        self._values = len(parts)
        return state

    def _find_content(self, record: Record, name: str) -> Stored | None:
        """Return the one content that a record has under a name; None if it has none, or that was forgotten."""
        ref = next(iter(record.refs(name)), None)
        return None if ref is None else self.store.content(ref)

    def _take_state(self, record: Record) -> None:
        unpacker = Unpacker(self._known, keyless_of(self.store))
        state = self._load_state(record, unpacker)
        self._first = state if record.kind == "genesis" else self._first
        self.state, self.holes = remove_missing_values(state, unpacker.holes), unpacker.holes

    def _start_at_checkpoint(self) -> None:
        start = self.store.latest("checkpoint")
        if start is None:
            return
        self._take_state(start)
        standing = self._find_content(start, "standing")
        if standing is None:
            raise JournalCorruptError(f"checkpoint {start.seq} does not say which entries are live", seq=start.seq)
        with guard_against_corruption(f"checkpoint {start.seq}", seq=start.seq):
            whole = standing.json()
            for first, last in whole["undone"]:
                self.history.undone.update(range(first, last + 1))
            self._entries, self._changes, self._aborted = whole["entries"], whole["changes"], whole["aborted"]
            self.identity = str(whole["identity"])
            self.unproved.update(map(int, whole.get("unproved", ())))
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
            writes = dict(zip((r.seq for r in entries), load_writes(self.store, entries, planning=True), strict=True))
            for record in batch:
                if record.prev != self.head or record.seq != self.last + 1:
                    raise JournalCorruptError(
                        f"journal record {record.seq} does not follow record {self.last}", seq=record.seq
                    )
                self.last, self.head = record.seq, record.digest
                self._take(record, writes)
            if self._until is not None:
                report_progress("records replayed", self.last, self._until)

    def _take(self, record: Record, writes: dict[int, tuple[Write, ...]]) -> None:
        if record.kind in ENTRY_KINDS:
            self.pending = record
            self._entries += 1
        elif record.kind == "commit" and self.pending is not None:
            entry, self.pending = self.pending, None
            if entry.kind == "genesis":
                self._take_state(entry)
                self.identity = entry.identity
            else:
                self._fold(entry, writes.get(entry.seq) or self._writes(entry))
        elif record.kind == "abort" and self.pending is not None:
            entry, self.pending = self.pending, None
            self._drop_given_up(entry, writes.get(entry.seq) or self._writes(entry))
        elif record.kind == "forget":
            self._drop_forgotten(record)
        elif record.kind == "evidence":
            self._take_evidence(record)

    def _writes(self, entry: Record) -> tuple[Write, ...]:
        return next(load_writes(self.store, (entry,), planning=True))

    def _drop_given_up(self, entry: Record, writes: Sequence[Write]) -> None:
        if entry.kind in CHANGES:
            self._changes += 1
            self._aborted += 1
            self.history.undone.add(entry.entry)
            self._index(entry, writes)

    def _fold(self, entry: Record, writes: Sequence[Write], taken_in: tuple[Write, ...] | None = None) -> None:
        """Let a committed entry take effect."""
        taken_in = load_taken_in(self.store, entry, self._late.append) if taken_in is None else taken_in
        self._put(taken_in)
        self._put(writes)
        if self.capture is not None:
            slots = (write.slot for write in (*taken_in, *writes))
            self._hidden.update(find_withheld_values(self.capture, self.state, slots))
        self._followed += max(1, len(writes))
        if entry.kind in CHANGES:
            self._changes += 1
            self._index(entry, writes, taken_in)
            if has_admitted_recovery(entry):
                self.admitted.add(entry.entry)
            elif entry.unproved == PENDING:
                self.unproved.add(entry.entry)
        else:
            self.history.toggle(entry.off, entry.on)

    def prove(self, entry: int, about: Mapping[str, Any]) -> None:
        """Say on what evidence a recorded change rests, or why on none."""
        self._take_evidence(self._append(draft_evidence(entry, about)))

    def _take_evidence(self, record: Record) -> None:
        if record.about is not None:
            self.unproved.discard(record.about)
            self.admitted |= {record.about} if "candidate" in record.contents else set()

    def _index(self, entry: Record, writes: Sequence[Write], taken_in: tuple[Write, ...] = ()) -> None:
        if self._until is None:
            source = self.history.index.source
            if taken_in and isinstance(source, StoredIndex):
                source.note_taken_in()
            self.history.add(entry.entry, tuple(writes), taken_in)

    def _put(self, writes: Sequence[Write]) -> None:
        """Put what was written into the state; forgotten values, and writes inside them, become missing values."""
        known = list(skip_uninstalled(writes, self.missing))
        contents = [(write.slot, write.after) for write in known]
        if not self.holes and not self._hidden and not collect_missing_values(contents):
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
                    self.holes[whole] = update_missing_value(self.holes[whole], slot, write.after)
                    continue
            self.state = put_slots(self.state, [(slot, write.after)])
            new = collect_missing_values([(slot, write.after)])
            if slot in new and is_part(slot[-1]):
                new = {whole: make_missing_value(get_slot(self.state, whole), slot)}
            self.holes.update(new)
            self.state = remove_missing_values(self.state, new)

    def _drop_forgotten(self, record: Record) -> None:
        """Stop recording and planning with values that were forgotten, also where they are still in use."""
        gone = set(record.forgotten)
        unread: dict[Slot, Any] = {}
        for slot, (value, ref) in tuple(self._known.items()):
            if ref in gone:
                del self._known[slot]
                if is_unread(value):
                    unread[slot] = Forgotten(frame=value.frame)
                else:
                    self._hidden[slot] = value
        if unread:  # another process forgot them before they were needed here
            self.state, self.holes = remove_missing_values(self.state, unread), {**self.holes, **unread}
        for slot, stored in self._inside().items():
            if slot not in self.holes and any(ref in gone for _, ref in stored):
                content = get_slot(self.state, slot)
                lines = find_hidden_lines(content, ((size, not ref or ref in gone) for size, ref in stored))
                self._hidden[slot] = content if lines is None else lines
        self._first = None
        self.history = self._open_history(self.history.undone)

    def _inside(self) -> dict[Slot, list[tuple[int, Ref]]]:
        """Return the ids of contents inside texts and lists of the last checkpoint, by slot, with their sizes."""
        last = self.store.latest("checkpoint")
        stored = None if last is None else self._find_content(last, "state")
        if stored is None:
            return {}
        parts, nodes = stored.open_tree()
        with guard_against_corruption("a stored state"):
            return collect_inside_refs(nodes, parts)

    def forget(self, refs: Sequence[Ref]) -> Erased:
        """Delete contents permanently; what is in place of them stays known to this process."""
        for contents in self._late:
            contents.pin(refs)
        erased = self.store.forget(refs)
        self.refresh()
        return erased

    def fill(self, actual: State) -> None:
        """Fill missing values with what is really there; what is not there, or does not fit, stays missing."""
        contents = [(slot, fill_from_actual(slot, gone, actual)) for slot, gone in self.holes.items()]
        filled = [(at, new) for at, new in contents if new is not ABSENT and fits_digest(at, self.holes[at], new)]
        held = dict(self.holes)
        self.state = put_slots(self.state, filled)
        for slot, content in filled:
            del self.holes[slot]
            lines = find_blank_lines(held[slot], content)
            self._hidden[slot] = read_stored_value(content) if lines is None else lines

    def list_outside_writes(self, actual: State) -> tuple[Write, ...]:
        """Return what others did: what turns the state, missing values included, into what is really there."""
        from takeback.undo.record import list_writes_between  # noqa: PLC0415 - start-up

        writes = () if actual is self.state else list_writes_between(self.state, actual)
        if not self.holes:
            return writes
        replaced = {write.slot for write in writes}
        gone = (Write(slot, held, ABSENT) for slot, held in self.holes.items() if slot not in replaced)
        return (*gone, *(w._replace(before=self.holes[w.slot]) if w.slot in self.holes else w for w in writes))

    def hide_replacements(self, writes: Iterable[Write]) -> None:
        """Store nothing of what came in place of forgotten values: what was forgotten may stand in it still.

        Of what came in place of values that were never stored, the policy says what is stored.
        """
        for write in writes:
            if write.after is not ABSENT and has_forgotten(write.before) and not find_redacted(write.before):
                self._hidden[write.slot] = read_stored_value(write.after)

    def _append(self, *drafts: Draft) -> Record:
        """Write records down where the journal ends, as it is known here; return the first of them."""
        records = self.store.append(drafts, expect=self.head)
        self.last, self.head = records[-1].seq, records[-1].digest
        return records[0]

    def announce(self, draft: Draft) -> Record:
        """Write a change down ahead of making it."""
        record = self.pending = self._append(draft)
        self._entries += 1
        self.packer.remember_stored()
        return record

    def commit(self, writes: Sequence[Write]) -> Record:
        """Say that the announced change is made; `writes` is what it did."""
        record = self._pending()
        self._append(Draft("commit", {"entry": record.number}))
        self.pending = None
        self._fold(record, writes)
        return record

    def note_step(self, draft: Draft) -> None:
        """Say how far a call of a change has come."""
        self._append(draft)

    def abort(self, reason: str) -> None:
        """Say that the announced change was given up and nothing of it is left."""
        record = self._pending()
        self._append(Draft("abort", {"entry": record.number}, {"reason": make_leaf(reason, "reason")}))
        self.pending = None
        self._drop_given_up(record, load_record_writes(self.store, record))

    def record(self, draft: Draft, writes: Sequence[Write], taken_in: tuple[Write, ...] = ()) -> Record:
        """Announce and commit at once, for a change that is made by saying so; the draft names what it took in."""
        self._entries += 1
        record = self._append(draft, Draft("commit", {"entry": self._entries}))
        self.packer.remember_stored()
        self._fold(record, writes, taken_in)
        return record

    def let_go(self, slots: Iterable[Slot]) -> None:
        """Hold nothing any more of what entries wrote, and of some slots: it is read again when it is needed."""
        with self.mutex:
            for slot in slots:
                self._known.pop(slot, None)
            self.history = self._open_history(self.history.undone)

    def _pending(self) -> Record:
        if self.pending is None:
            raise JournalError(f"nothing is under way in {self.store.location}")
        return self.pending

    def fate(self, record: Record, following: Record | None = None) -> EntryStatus:
        """Return what became of an entry: whether it was made, by the next record that is no call, and is live."""
        if following is None and record.seq < self.last:
            following = self.store.record(record.seq + 1)
            while following.kind == "step" and following.seq < self.last:
                following = self.store.record(following.seq + 1)
        if following is None or following.kind not in {"commit", "abort"}:
            return EntryStatus.PENDING
        if following.kind == "abort":
            return EntryStatus.ABORTED
        if record.kind not in CHANGES:
            return EntryStatus.DONE
        return EntryStatus.UNDONE if record.number in self.history.undone else EntryStatus.LIVE

    def is_checkpoint_due(self) -> bool:
        """Return whether following the journal costs more than writing the state once.

        Also where something was written inside a value that was forgotten: only the state has the order of its parts.
        """
        due = self._followed > max(self._values // VALUES_PER_WRITE, MIN_CHECKPOINT) or self._inside_hidden
        return due and not self.missing

    def checkpoint(self, is_apart: Callable[[bytes], bool] | None = None) -> Record:
        """Write the state down, so that opening does not follow the journal from further back.

        Lines of texts that `is_apart` names are stored apart from those around them.
        """
        require_installed(self.missing)
        state = self.state if not self.holes else put_slots(self.state, self.holes.items())
        self.packer.is_apart = is_apart
        tree = self.packer.state(state)
        self.packer.is_apart = None
        standing: dict[str, Any] = {
            "undone": group_runs(sorted(self.history.undone)),
            "identity": self.identity,
            "entries": self._entries,
            "changes": self._changes,
            "aborted": self._aborted,
            **({"unproved": sorted(self.unproved)} if self.unproved else {}),
        }
        record = self._append(Draft("checkpoint", {}, {"state": tree, "standing": make_leaf(standing, "standing")}))
        self.packer.remember_stored()
        self._values, self._followed, self._inside_hidden = len(tree.parts), 0, False
        return record

    def replay_state(self) -> State:
        """Return the state that all records up to the last known one add up to; forgotten values as they are now."""
        again = Ledger(self.store, until=self.last)
        again.fill(self.state)
        return again.state

    def tally(self) -> tuple[int, int, int]:
        """Count the changes that are live, were taken back, and were aborted."""
        with self.mutex:
            undone = len(self.history.undone)
            return self._changes - undone, undone - self._aborted, self._aborted

    def is_aborted(self, record: Record) -> bool:
        """Return whether a change was announced and given up."""
        return self.fate(record) is EntryStatus.ABORTED

    @property
    def hidden(self) -> tuple[Slot, ...]:
        """Where values that were forgotten are in place."""
        return (*self._hidden, *self.holes)

    def entries(self, *, reverse: bool = True) -> Iterator[Record]:
        """Yield the records that announce changes."""
        return (record for record in self.store.records(reverse=reverse) if record.kind in ENTRY_KINDS)

    def live_values(self) -> dict[str, list[Slot]]:
        """Return the slots of each stored value in use, by its id; after a checkpoint, all of them."""
        places: dict[str, list[Slot]] = {}
        for slot, (value, ref) in self._known.items():
            if read_stored_value(get_slot(self.state, slot)) is value:
                places.setdefault(ref, []).append(slot)
        for slot, stored in self._inside().items():
            if get_slot(self.state, slot) is not ABSENT:
                for ref in {ref for _, ref in stored if ref}:
                    places.setdefault(ref, []).append(slot)
        return places
