"""Records of other systems beside the files of a harness: looked at where a change touches them, changed by fields.

Others write there all the time. Before a change or an undo, the records it touches are looked at: one that the
journal never knew is taken in, and what others have written since becomes an entry of its own, so that an undo
keeps it and says so. Records and files are one transaction as far as that goes: each is written only over what is
known, and what was written is put back where something fails.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import ChangedMeanwhile, TakebackError
from takeback.harness.adapter import OutsideRecord, OutsideRecords, Place
from takeback.harness.file_transaction import FileTransaction, Left
from takeback.harness.images import FileChange
from takeback.harness.records import draft_change, make_taken_in_key
from takeback.journal.failpoint import failpoint
from takeback.state import ABSENT, SURFACES, State
from takeback.state.slots import Slot, describe_slot, format_slot_key, get_slot
from takeback.state.surfaces.external import EXTERNAL
from takeback.state.values import thaw
from takeback.undo import SlotChange, Write

if TYPE_CHECKING:
    from takeback.harness.engine import Engine
    from takeback.journal import Record, Store

OUTSIDE: Final = "outside"
"""Who wrote what was found written in another system."""
NO_ISOLATION: Final = (
    "there is no isolation between systems: others may see this half made, and one part put back before another"
)


def list_record_changes(before: State, after: State) -> tuple[OutsideRecord, ...]:
    """Return what turns the records of one state into those of another, by fields."""
    if EXTERNAL not in SURFACES:
        return ()
    old, new = before.part(EXTERNAL), after.part(EXTERNAL)
    fields: dict[str, list[str]] = {}
    for path in SURFACES[EXTERNAL].differing(old, new) if old is not new else ():
        fields.setdefault(path[0], []).extend(path[1:])
    return tuple(
        OutsideRecord(key, _take(old.get(key, ABSENT), names), _take(new.get(key, ABSENT), names))
        for key, names in sorted(fields.items())
    )


def _take(record: Any, names: Sequence[str]) -> dict[str, Any] | None:
    if record is ABSENT:
        return None
    chosen = names or list(record)
    return {name: ABSENT if (item := record.get(name, ABSENT)) is ABSENT else thaw(item) for name in chosen}


def absorb_outside(engine: Engine, slots: Iterable[Slot]) -> Record | None:
    """Look at the records that some slots are of; take in what is new to the journal, record what others wrote.

    A slot that is a whole record is compared as a whole, one that is a field only there.
    """
    records = engine.external
    touched: dict[str, set[str]] = {}
    for slot in slots:
        if slot[0] == EXTERNAL:
            touched.setdefault(slot[1], set()).add(slot[2] if len(slot) > 2 else "")  # noqa: PLR2004
    if records is None or not touched or engine.journal.readonly:
        return None
    ledger = engine.ledger
    fresh: list[Write] = []
    written: list[Write] = []
    for key, fields in sorted(touched.items()):
        there = _look(records, key)
        if get_slot(ledger.state, (EXTERNAL, key)) is ABSENT and there is not ABSENT and _is_fresh(engine, key):
            fresh.append(Write((EXTERNAL, key), ABSENT, there))
        else:
            written += _compare_record(ledger.state, key, fields, there)
    if not fresh and not written:
        return None
    number = ledger.next_entry
    writes = ledger.history.with_parents(tuple(written), tuple(fresh), number)
    note = "written in another system" if written else "taken in from another system, as it was"
    about = {"note": note, "by": OUTSIDE, "unproved": "others wrote it, in another system"}
    draft = draft_change("adopt", writes, about, packer=ledger.packer, taken_in=fresh)
    record = ledger.record(draft, writes, tuple(fresh))
    engine.look_anew()
    engine.note()
    return record


def _look(records: OutsideRecords, key: str) -> Any:
    raw = records.look(key)
    return ABSENT if raw is None else SURFACES[EXTERNAL].slot_from_json(raw, (key,))


def _compare_record(state: State, key: str, fields: Collection[str], there: Any) -> list[Write]:
    """Return what a record has of others: as a whole where no field is named, or where it came or went."""
    surface, slot = SURFACES[EXTERNAL], (EXTERNAL, key)
    known: Any = get_slot(state, slot)
    if "" in fields or known is ABSENT or there is ABSENT:
        both = known is not ABSENT and there is not ABSENT
        return [] if known is there or (both and surface.equivalent(known, there)) else [Write(slot, known, there)]
    pairs = ((name, known.get(name, ABSENT), there.get(name, ABSENT)) for name in sorted(fields))
    return [Write((*slot, name), a, b) for name, a, b in pairs if not surface.equivalent(a, b)]


def list_outside_writes(records: OutsideRecords, state: State) -> tuple[tuple[SlotChange, ...], tuple[str, ...]]:
    """Return what others wrote to every record that a state knows, by fields, and why some could not be read.

    Nothing is recorded: a plan does that for what it touches.
    """
    changes: list[SlotChange] = []
    unread: list[str] = []
    for key, known in sorted(state.part(EXTERNAL).items()):
        try:
            there = _look(records, key)
        except TakebackError as fault:
            unread.append(f"{describe_slot((EXTERNAL, key))} could not be read: {fault.message}")
            continue
        fields = {*known, *(() if there is ABSENT else there)}
        changes += (SlotChange(*write[:3]) for write in _compare_record(state, key, fields, there))
    return tuple(changes), tuple(unread)


def _is_fresh(engine: Engine, key: str) -> bool:
    """Tell whether the journal has never heard of a record."""
    touching, slot = engine.ledger.store.touching, (EXTERNAL, key)
    keys = (format_slot_key(slot), make_taken_in_key(slot))
    return not any(touching(key) or touching(key, below=True) for key in keys)


def list_touched_slots(engine: Engine, entries: Iterable[int]) -> list[Slot]:
    """Return the records and fields that some entries wrote."""
    if engine.external is None:
        return []
    writes = engine.ledger.history.index.writes
    return [write.slot for entry in entries for write in writes(entry) if write.slot[0] == EXTERNAL]


def is_outside(record: Record) -> bool:
    """Tell whether an entry is what others wrote in another system."""
    return record.kind == "adopt" and record.by == OUTSIDE


def find_overwriting(engine: Engine, off: Iterable[int], on: Iterable[int]) -> tuple[int, ...]:
    """Return the live entries of others that wrote, later, where some entries wrote in other systems."""
    index, store, undone = engine.ledger.history.index, engine.ledger.store, engine.ledger.history.undone
    entries: set[int] = set()
    for entry in {*off, *on}:
        for slot in list_touched_slots(engine, [entry]):
            around = (*index.at(slot), *index.at(slot[:2]), *index.below(slot))
            entries |= {version.entry for version in around if version.entry > entry and version.entry not in undone}
    return tuple(sorted(number for number in entries if is_outside(store.get(number))))


class RecordTransaction(FileTransaction):
    """A change of files and of records of other systems: all of it or, as far as nobody else writes, none."""

    def __init__(self, place: Place, store: Store, records: OutsideRecords, wanted: Sequence[OutsideRecord]) -> None:
        super().__init__(place, store)
        self._records = records
        self._wanted = wanted
        self._done: list[OutsideRecord] = []

    def run(self, changes: Sequence[FileChange]) -> None:
        """Change the files, then the records."""
        super().run(changes)
        if self._wanted:
            failpoint("record.begin")
        self._records.put(self._wanted, self._note_done)

    def _note_done(self, change: OutsideRecord) -> None:
        self._done.append(change)
        failpoint("record.written")

    def roll_back(self) -> None:
        while self._done:
            self._records.take_back(self._done.pop())
            failpoint("record.back")
        super().roll_back()

    def inspect_leftovers(self) -> Left:
        left = super().inspect_leftovers()
        leftovers = [(change.key, self._records.is_applied(change)) for change in self._wanted]
        return left._replace(
            ours=(*left.ours, *(key for key, made in leftovers if made is True)),
            theirs=(*left.theirs, *(key for key, made in leftovers if made is None)),
        )


def has_begun_outside(records: OutsideRecords, changes: Sequence[OutsideRecord]) -> bool:
    """Tell whether any record was changed already."""
    return any(records.is_applied(change) is True for change in changes)


def complete_outside(records: OutsideRecords, changes: Sequence[OutsideRecord]) -> tuple[str, ...]:
    """Bring every record to what it should become; return those that others have written, left alone."""
    foreign: list[str] = []
    for change in changes:
        made = records.is_applied(change)
        if made is None:
            foreign.append(change.key)
        elif made is False:
            try:
                records.put([change], lambda _: failpoint("record.written"))
            except ChangedMeanwhile:
                foreign.append(change.key)
    return tuple(foreign)
