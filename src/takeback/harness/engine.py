"""The engine under a harness: lock, record drift, finish what a crash left, announce, change, commit.

A change of files goes by images. It is announced with the image of every file before and after; then each
file is replaced, if it is still what it was; then the journal says that it is done. After a crash, a change
of which anything was made is finished, and one of which nothing was made is aborted. A write that fails is
rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from takeback.errors import KEYS_HINT, ChangedMeanwhile, HarnessError, JournalError, LostLock, TakebackError
from takeback.harness.adapter import (
    Adapter,
    Broken,
    Effects,
    FileAdapter,
    Leftovers,
    LiveAdapter,
    NotedEdits,
    Notes,
    NotExpressible,
    OutsideRecord,
    OutsideRecords,
    ProjectFiles,
    Reading,
    Resources,
    SelfWriting,
    TracksFormatting,
)
from takeback.harness.images import (
    FileChange,
    KeptImage,
    LinkImage,
    ProjectChange,
    attach_images,
    load_file_changes,
)
from takeback.harness.ledger import Ledger
from takeback.harness.missing_values import list_unkept_files
from takeback.harness.outcomes import Adopted, Recovered
from takeback.harness.records import load_record_writes
from takeback.journal import Draft, Record, Store
from takeback.journal.failpoint import failpoint
from takeback.journal.store import MISSING_HINT, describe_missing_journal, explain_cut, has_record_with_id
from takeback.lazy_names import load_later
from takeback.state import ABSENT, State
from takeback.state.slots import Slot, find_differing_slots, get_slot, put_slots
from takeback.undo import SlotChange, Write

if TYPE_CHECKING:
    from takeback.harness import calls_steps, external, file_transaction, forget
    from takeback.harness.calls import CallRules
    from takeback.harness.calls_steps import OpenStep
    from takeback.harness.file_transaction import FileTransaction
    from takeback.journal import memory
else:
    calls_steps, external, file_transaction, forget = load_later(
        globals(), "takeback.harness", "calls_steps external file_transaction forget"
    )
    (memory,) = load_later(globals(), "takeback.journal", "memory")

LOCK_SECONDS = 60.0
FINISHED_LATER = "the change is announced in the journal: 'takeback recover' finishes it once that is fixed"
NO_NOTE = (
    "the note of how far the journal has come (.takeback/HEAD) is missing or damaged, so it is unknown whether "
    "the journal, which ends at record {last}, was cut short or is an old copy. 'takeback log' shows its entries; if "
    "the newest is there, 'takeback recover' writes the note again, otherwise 'takeback restore-journal FILE' puts a "
    "backup in its place"
)
"""What is said where nothing tells how far a journal had come."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found when the harness was entered."""

    drift: tuple[SlotChange, ...]
    """What someone else changed."""
    broken: tuple[Broken, ...]
    actual: State
    strange: tuple[str, ...] = ()
    unfinished: str = ""
    """Why a change that a killed process left could not be finished; only told to those who just look."""
    notes: tuple[str, ...] = ()


class Engine:
    """Journal and adapter of one harness."""

    def __init__(self, adapter: Adapter, journal: Store) -> None:
        self.adapter = adapter
        self.journal = journal
        self.ledger = Ledger(journal)
        lock = journal.lock(LOCK_SECONDS)
        self._lock = lock if getattr(lock, "reentrant", False) else None
        """The journal's lock, where one may be entered any number of times."""
        self.doubt = ""
        """Why it is not known whether the journal is all that was written; empty where it is."""
        self._calm = Inspection((), (), self.ledger.state)
        self._calm_reading: Reading | None = None
        """The last reading that was as the journal says, which `_calm` tells: an adapter may give it again."""
        self._depth = 0
        """How many sessions are entered, one in the other; the lock is held while it is counted."""
        self._inspection: tuple[str, Inspection] | None = None
        """What the session found, and where the journal ended then."""
        self.tell: Callable[[Adopted], object] = lambda _: None
        """Is told what was taken in that a client wrote itself."""
        self.files = adapter if isinstance(adapter, FileAdapter) else None
        self.durable = self.files is not None or not _is_in_memory(journal)
        """Whether what is done here outlives the process; then an undo has the time to be checked by its recovery."""
        self.live = adapter if isinstance(adapter, LiveAdapter) else None
        self.notes = adapter if isinstance(adapter, Notes) else None
        self.resources = adapter if isinstance(adapter, Resources) else None
        self.leftovers = adapter if isinstance(adapter, Leftovers) else None
        self.effects = adapter if isinstance(adapter, Effects) else None
        self.writers = adapter if isinstance(adapter, SelfWriting) else None
        self.formatted = adapter if isinstance(adapter, TracksFormatting) else None
        self.project: ProjectFiles | None = getattr(adapter, "project", None)
        self.call_rules: CallRules | None = getattr(adapter, "calls", None)
        self.external: OutsideRecords | None = getattr(adapter, "external", None)
        self.waiting: NotedEdits | None = getattr(adapter, "waiting", None)

    def get_lock(self) -> AbstractContextManager[None]:
        """Return the lock that keeps every other process and thread out while it is entered."""
        return self.journal.lock(LOCK_SECONDS) if self._lock is None else self._lock

    @contextmanager
    def session(self) -> Iterator[None]:
        """Keep every other process and thread out, and carry what the first look finds through all that follows.

        Files are read once: whoever writes one looks whether it still is what was read. What is in this process can
        be changed by it at any time, and is read at every look.
        """
        with self.get_lock():
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if not self._depth:
                    self._inspection = None

    def carry(self, look: Inspection) -> Inspection:
        """Take a look for what the session found, as long as the journal ends where it ends now."""
        if self._depth and self.files is not None:
            self._inspection = (self.ledger.head, look)
        return look

    def look_anew(self) -> None:
        """Let go of what the session found: someone else has changed files meanwhile."""
        self._inspection = None

    def open(self, start: State | Reading | None, about: dict[str, Any], *, begin: bool) -> Recovered:
        """Begin an empty journal, refuse one that is not ours or not whole, and finish what is unfinished."""
        self.ledger.require_identity(about.get("identity", self.ledger.identity))
        self._require_whole_journal()
        if not self.ledger.begun:
            if not begin:
                raise JournalError(describe_missing_journal(self.journal.location), hint=MISSING_HINT)
            self._begin(start, about)
            self.note()
        if self.journal.readonly:
            if self.files is None or self.ledger.hidden:
                self._read()
            return Recovered(None)
        try:
            recovered = self.finish()
        except LostLock:
            raise
        except TakebackError as fault:
            return Recovered(self.ledger.pending, fault=str(fault))
        with self.get_lock():
            self._settle()
            recovered = replace(recovered, open=self.retry_open_calls())
        self._read_at_opening()
        return recovered if recovered.entry is None else replace(recovered, swept=self.sweep())

    def _read_at_opening(self) -> None:
        """Read what is there where opening needs it; files are otherwise read by the first look."""
        if self.files is not None and not self.doubt and not self.ledger.hidden:
            return
        reading = self._read()
        if self.doubt and not any(self.ledger.tally()) and reading.state == self.ledger.state and not reading.broken:
            self.note_anew()  # begun, and killed before its note: nothing that could be lost was ever written
        self._forget_copies()

    def _read(self) -> Reading:
        """Return what is really there, and fill missing values of the journal's state from it."""
        reading = self.adapter.read(self.ledger.state)
        if self.ledger.holes:
            there = reading.state
            self.ledger.fill(there if self.project is None else self.project.read_files(there, self.ledger.holes))
            reading = self.adapter.read(self.ledger.state)
        return reading

    def read_actual(self, known: State) -> State:
        """Return what is really there of what the journal says, of which `known` may lack some."""
        actual = self.adapter.read(known).state
        if self.project is None:
            return actual
        missing = {
            slot: content
            for slot in find_differing_slots(known, self.ledger.state)
            if (content := get_slot(self.ledger.state, slot)) is not ABSENT
        }
        return self.project.read_files(actual, missing)

    def _list_secret_files(self) -> tuple[str, ...]:
        if self.files is None or not self.ledger.hidden:
            return ()
        return forget.find_files_in_use(self.ledger, self.files.find_touched_files)

    def _forget_copies(self, paths: tuple[str, ...] = ()) -> None:
        """Keep no bytes of files that hold or held a forgotten value, beyond the change that needs them."""
        paths = (*paths, *self._list_secret_files())
        if paths:
            from takeback.harness.forget import forget_file_copies  # noqa: PLC0415 - start-up

            forget_file_copies(self.ledger, dict.fromkeys(paths))

    def sweep(self) -> tuple[str, ...]:
        """Remove what a killed process left."""
        if self.leftovers is None:
            return ()
        self.adapter.read(self.ledger.state)
        return self._sweep_leftovers(self.leftovers)

    def _sweep_leftovers(self, leftovers: Leftovers) -> tuple[str, ...]:
        """Remove leftovers, if this process still holds the lock: otherwise they may be another's, in mid-write."""
        if not leftovers.leftovers():
            return ()
        file_transaction.require_lock_held(self.journal)
        return leftovers.sweep()

    def _begin(self, start: State | Reading | None, about: dict[str, Any]) -> None:
        """Write the first state, and every file whose bytes it does not determine."""
        first = start if isinstance(start, Reading) else self.adapter.read(State() if start is None else start)
        for fault in first.broken:
            raise HarnessError(f"{fault} (a harness cannot begin with an unreadable file)")
        images: list[KeptImage] = []
        if self.files is not None:
            images = [KeptImage(path, None, image) for path, image in self.files.list_remembered_files()]
        if self.formatted is not None:
            links = ((path, image) for path, image in self.formatted.list_formatted() if isinstance(image, LinkImage))
            images += [KeptImage(path, None, image) for path, image in links]
        self.ledger.begin(start if isinstance(start, State) else first.state, about, images)
        if self.ledger.capture is not None:
            self._forget_copies(list_unkept_files(self.ledger.capture, images))

    def _require_whole_journal(self) -> None:
        """Refuse a journal that ends before what was noted of it: it was cut, or is an old copy."""
        noted = None if self.notes is None else self.notes.read_noted_record()
        if noted is None:
            self.doubt = NO_NOTE.format(last=self.ledger.last) if self.notes is not None and self.ledger.begun else ""
            return
        if not has_record_with_id(self.journal, *noted):
            raise explain_cut(self.journal.location, self.ledger.last, noted)

    def look(self, *, reading: bool = False) -> Inspection:
        """Record drift of the client and finish what is unfinished, inside the lock; return what was found.

        With `reading`, a change that cannot be finished is reported instead of raised.
        """
        ledger = self.ledger
        ledger.refresh()
        if self._inspection is not None and self._inspection[0] == ledger.head:
            return self._inspection[1]
        unfinished = ""
        if ledger.pending is not None and not self.journal.readonly:
            try:
                self.finish()
            except TakebackError as fault:
                if not reading or isinstance(fault, LostLock):
                    raise
                unfinished = str(fault)
        self._settle(unfinished)
        seen = self._read() if ledger.holes else self.adapter.read(ledger.state)
        known = ledger.state
        if self.project is not None and not self.journal.readonly:
            self.project.note_owned(self.adapter)
        if self.leftovers is not None and not unfinished and not self.journal.readonly:
            self._sweep_leftovers(self.leftovers)
        if seen is not self._calm_reading or known is not self._calm.actual or unfinished or ledger.holes:
            compared = self._compare_reading(seen, unfinished)
            return compared if unfinished else self.carry(compared)
        return self.carry(self._calm)

    def _settle(self, unfinished: str = "") -> None:
        """Make entries of what hooks captured, unless a change is still under way."""
        if unfinished or self.journal.readonly:
            return
        if self.project is not None:
            self.project.settle(self)
        if self.waiting is not None and not self.doubt:
            self.waiting.settle(self)

    def _compare_reading(self, reading: Reading, unfinished: str) -> Inspection:
        ledger = self.ledger
        known = ledger.state
        state, broken, strange, notes = reading
        if state is known and not broken and not strange and not unfinished and not ledger.holes:
            self._calm, self._calm_reading = Inspection((), (), known, notes=notes), reading
            return self._calm
        writes = ledger.list_outside_writes(reading.state)
        drift = tuple(SlotChange(write.slot, write.before, write.after) for write in writes)
        return Inspection(drift, reading.broken, reading.state, reading.strange, unfinished, reading.notes)

    def render_changes(self, before: State, after: State) -> tuple[FileChange, ...] | NotExpressible:
        """Return which files change, and how, when what was read becomes another; none without files."""
        return () if self.files is None else self.files.render(before, after)

    def effect_of(self, slots: Iterable[Slot]) -> tuple[str, ...]:
        """Return when a change of some slots is noticed by whatever loads the harness; empty if not known."""
        adapter = self.effects
        own = [slot for slot in slots if self.project is None or slot[0] != self.project.surface]
        return () if adapter is None else tuple(sorted({adapter.effect(slot) for slot in own}))

    def prepare(self, before: State, after: State) -> str | None:
        """Take what a change needs that only a process can hold, or say why not."""
        return None if self.resources is None else self.resources.prepare(before, after)

    def make(
        self, draft: Draft, writes: Sequence[Write], real: tuple[State, State], changes: Sequence[FileChange]
    ) -> Record:
        """Announce, change the real things, commit; files are changed without an interrupt in between.

        `real` is what is there and what is to be there: the journal's states, except where others changed something.
        """
        before, after = real
        secret = (*self._list_secret_files(), *list_unkept_files(self.ledger.capture, changes))
        if self.live is not None:
            drifted = before is not self.ledger.state
            entry = self.ledger.record(draft, writes)
            self.live.write(before, after)
            if drifted:
                self.adapter.read(self.ledger.state)
        elif self.files is not None:
            file_transaction.require_unchanged(self.files.place, changes)
            if self.project is not None:
                self.project.note_writing(change for change in changes if isinstance(change, ProjectChange))
            with file_transaction.defer_sigint():
                entry = self.ledger.announce(attach_images(self.calls.attach(draft, writes), changes))
                del draft  # may be large, and is not needed while files are written
                failpoint("change.announced")
                self._change_files(self.files, entry, writes, changes, self.list_records(before, after))
                self._note_project(changes)
        else:
            raise TypeError(f"the adapter {self.adapter.name!r} can be read but not changed")
        if self.resources is not None:
            self.resources.hold(after)
        if self.notes is not None:
            own = (change for change in changes if not isinstance(change, ProjectChange))
            self.notes.note_recorded((change.path, change.after) for change in own)
        self.tidy(secret)
        return entry

    def tidy(self, paths: tuple[str, ...] = ()) -> None:
        """Do after a change what keeps the journal small and clean, and note how far it has come.

        `paths` are files that held a forgotten value before the change.
        """
        with suppress(JournalError):  # the change is made, whatever becomes of what only saves work later
            if self.ledger.is_checkpoint_due():
                self.ledger.checkpoint()
            self._forget_copies(paths)
        self.note()

    def list_records(self, before: State, after: State) -> tuple[OutsideRecord, ...]:
        """Return which records of other systems change, and how, when one state becomes another."""
        if self.external is None:
            return ()
        return external.list_record_changes(before, after)

    def _begin_transaction(self, adapter: FileAdapter, records: Sequence[OutsideRecord]) -> FileTransaction:
        if self.external is None or not records:
            return file_transaction.FileTransaction(adapter.place, self.journal)
        return external.RecordTransaction(adapter.place, self.journal, self.external, records)

    def _change_files(
        self,
        adapter: FileAdapter,
        entry: Record,
        writes: Sequence[Write],
        changes: Sequence[FileChange],
        records: Sequence[OutsideRecord],
    ) -> None:
        writing = self._begin_transaction(adapter, records)
        try:
            writing.run(changes)
            writing.require_untouched()
        except LostLock:
            raise
        except TakebackError as fault:
            self._give_up(writing, fault)
        failpoint("change.written")
        self._make_calls(entry, writes, writing)
        try:
            self.ledger.commit(writes)
        except JournalError as fault:
            if not self._is_uncommitted(entry):
                raise HarnessError(
                    f"{fault.message}; the files are changed, but the journal may not say so",
                    hint="the change is announced: the next command checks it and finishes it",
                ) from fault
            self._give_up(writing, fault)
        failpoint("change.settled")
        with suppress(HarnessError):  # what is not let go now is swept later
            writing.settle()

    @cached_property
    def calls(self) -> calls_steps.CallSteps:
        """The calls that changes of this harness make."""
        return calls_steps.CallSteps(self.ledger, self.call_rules)

    def _make_calls(self, entry: Record, writes: Sequence[Write], writing: FileTransaction) -> None:
        """Make the calls of a change whose files are written; one that is refused has all of it given up."""
        if not entry.steps:
            return
        try:
            self.calls.run(entry, writes)
        except calls_steps.CallRefused as fault:
            self._give_up(writing, fault, partial(self.calls.run_back, entry, writes))

    def _finish_calls(
        self, record: Record, writes: Sequence[Write], changes: Sequence[FileChange]
    ) -> Recovered | None:
        """Go on with the calls of a change that a killed process left; return what was done where it is given up."""
        if not record.steps or self.files is None:
            return None
        if not self.calls.is_going_back(record):
            with suppress(calls_steps.CallRefused):
                self.calls.run(record, writes)
                return None
        back = [replace(row, before=row.after, after=row.before) for row in reversed(changes)]
        made = [
            OutsideRecord(change.key, change.wanted, change.known) for change in self._list_announced_records(writes)
        ]
        kept = self._complete(self.files, back, made)
        self.calls.run_back(record, writes)
        failpoint("recovery.written")
        self.ledger.abort("a call of it was refused")
        self.note()
        return Recovered(record, kept, given_up=True)

    def _note_project(self, changes: Sequence[FileChange]) -> None:
        if self.project is not None:
            self.project.note_written(change for change in changes if isinstance(change, ProjectChange))

    def _is_uncommitted(self, entry: Record) -> bool:
        """Return whether the journal can be read and surely does not say that a change is done."""
        try:
            head = self.journal.head()
        except TakebackError:
            return False
        return head is not None and head.digest in {entry.digest, self.ledger.head}

    def _give_up(
        self,
        writing: FileTransaction,
        fault: TakebackError,
        answer_calls: Callable[[], None] = lambda: None,
    ) -> None:
        """Put back what was already changed and say so; if that fails too, recovery will finish the change."""
        file_transaction.require_lock_held(self.journal)
        later = partial(HarnessError, where=fault.where, hint=FINISHED_LATER)
        try:
            writing.roll_back()
            left = writing.inspect_leftovers()
        except LostLock:
            raise
        except TakebackError as second:
            file_transaction.require_lock_held(self.journal)
            raise later(f"{fault.message}; putting things back failed as well ({second.message})") from fault
        if left.ours:
            both = f"{', '.join(left.ours)} could not be restored and already contains the change"
            raise later(f"{fault.message}; {both}") from fault
        answer_calls()
        with suppress(JournalError):  # nothing of the change is there, so that the next process gives it up
            self.ledger.abort(fault.message)
        if isinstance(fault, ChangedMeanwhile):
            raise fault
        theirs = ", ".join(left.theirs)
        kept = f"; {theirs} was changed by someone else in the meantime and is not touched" if theirs else ""
        message = f"{fault.message}{kept}; nothing was changed"
        raise HarnessError(message, where=fault.where, hint=fault.hint) from fault

    def finish(self) -> Recovered:
        """Finish an announced change, leaving alone what someone else changed since, or give it up if not begun."""
        record = self.ledger.pending
        if record is None:
            return Recovered(None)
        failpoint("recovery.begun")
        writes = load_record_writes(self.journal, record)
        kept: tuple[str, ...] = ()
        changes: tuple[FileChange, ...] = ()
        if self.files is not None:
            file_changes = load_file_changes(self.journal, record)
            if file_changes is None:
                raise HarnessError(
                    f"entry #{record.entry} was announced and not finished, and the file contents it kept "
                    f"cannot be read: "
                    "they were forgotten, or their key is missing; nothing was changed",
                    hint=f"{KEYS_HINT}; 'takeback restore-journal FILE' puts a backup of the journal in its place",
                )
            changes = file_changes
            if self.project is not None:
                after = put_slots(self.ledger.state, [(write.slot, write.after) for write in writes])
                changes = (*changes, *self.project.list_changes(self.ledger.state, after))
            records = self._list_announced_records(writes)
            begun = file_transaction.has_begun(self.files.place, changes) or self._has_begun_records(records)
            if (changes or records or record.steps) and not begun and not self.calls.has_begun(record):
                self.ledger.abort("its process died before it changed anything")
                self.note()
                return Recovered(record, given_up=True)
            if not self.calls.is_going_back(record):
                kept = self._complete(self.files, changes, records)
            given_up = self._finish_calls(record, writes, changes)
            if given_up is not None:
                return given_up
        failpoint("recovery.written")
        self.ledger.commit(writes)
        self._note_project(changes)
        self.note()
        return Recovered(record, kept)

    def list_open_calls(self) -> tuple[OpenStep, ...]:
        """Return what keeps entries open; nothing where no calls are declared."""
        return () if self.call_rules is None else self.calls.list_open()

    def retry_open_calls(self, *, now: bool = False) -> tuple[OpenStep, ...]:
        """Try again what keeps entries open, where it is due or wanted now; return what still does."""
        if not self.list_open_calls():
            return ()
        left = self.calls.retry_open(now=now)
        self.note()
        return left

    def _list_announced_records(self, writes: Sequence[Write]) -> tuple[OutsideRecord, ...]:
        after = put_slots(self.ledger.state, [(write.slot, write.after) for write in writes])
        records = self.list_records(self.ledger.state, after) if self.external is not None else ()
        if self.external is None and any(write.slot[0] == "external" for write in writes):
            raise HarnessError(
                "an announced change of another system's records cannot be finished: no bindings are declared",
                hint="put [bindings] back into takeback.toml as it was; nothing was changed",
            )
        return records

    def _has_begun_records(self, records: Sequence[OutsideRecord]) -> bool:
        return self.external is not None and external.has_begun_outside(self.external, records)

    def _complete(
        self, adapter: FileAdapter, changes: Sequence[FileChange], records: Sequence[OutsideRecord]
    ) -> tuple[str, ...]:
        kept = file_transaction.complete_changes(adapter.place, self.journal, changes)
        return kept if self.external is None else (*kept, *external.complete_outside(self.external, records))

    def note(self) -> None:
        """Remember, apart from the journal, how far it has come; not while a person has to decide about that."""
        if self.notes is not None and not self.doubt:
            self.notes.note(self.ledger.last, self.ledger.head)

    def note_anew(self) -> None:
        """Take the end of the journal for what was written, and note it."""
        self.doubt = ""
        self.note()


def _is_in_memory(journal: Store) -> bool:
    return isinstance(journal, memory.MemoryStore)
