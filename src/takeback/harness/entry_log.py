"""Entries as people look at them: each change with its evidence and status."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from takeback.errors import InputError
from takeback.harness.adapter import FileAdapter, SharedFiles
from takeback.harness.images import paths_of
from takeback.harness.ledger import EntryStatus
from takeback.harness.outcomes import skip_uninstalled
from takeback.harness.records import (
    PENDING,
    describe_unknown_content,
    list_addresses,
    load_call,
    load_candidate_json,
    load_record_writes,
    with_evidence,
)
from takeback.journal import ENTRY_KINDS, Record
from takeback.state import ABSENT, SURFACES, State
from takeback.state.address import PATH, make_part_name
from takeback.state.chain import Link
from takeback.state.file_paths import name_slot
from takeback.state.forgotten import has_forgotten
from takeback.state.slots import (
    Slot,
    describe_slot,
    find_containing_slot,
    find_differing_slots,
    get_slot,
    put_slots,
)
from takeback.state.values import thaw
from takeback.undo import Plan, SlotChange, Write

if TYPE_CHECKING:
    from takeback.harness.harness import Harness

NOT_YET: Final = "it is not proved yet; a command that may write to the journal proves it"
"""Why a change has no evidence that was too large to be proved while it was recorded."""
BEFORE: Final = "it was recorded by a version of Takeback that did not prove such changes"


NOTHING_SAID: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class EntryView:
    """One entry of the log."""

    seq: int
    """Its number: `#seq` names it."""
    id: str
    kind: str
    at: str
    status: str
    """`live`, `undone`, `done` (for what takes back and brings back), `aborted` or `pending`."""
    grade: str
    """Evidence grade of a change: proved, sampled, refuted or declared; empty where there is none."""
    forced: bool
    """Whether it was made although it was not admitted."""
    addresses: tuple[str, ...]
    note: str
    by: str
    """Who made it, where that was said."""
    off: tuple[int, ...]
    on: tuple[int, ...]
    ambiguous: tuple[str, ...] = ()
    """Addresses of what was adopted of which the versions allow several readings."""
    files: tuple[str, ...] = ()
    """Files whose bytes it keeps."""
    mutation: tuple[Mapping[str, Any], ...] = ()
    """The operations of an applied change, as in its candidate."""
    effect: tuple[str, ...] = ()
    """When the client notices it, where that is known."""
    layout: tuple[str, ...] = ()
    """Files that changed in nothing that the state says: comments, formatting, permission bits."""
    check: Mapping[str, Any] | None = None
    """What a check said of an applied change before it was made, where one was asked for."""
    origin: Mapping[str, str] = field(default_factory=dict)
    """Where a recorded change comes from: client, session, prompt, tool."""
    stat: Mapping[str, int] = field(default_factory=dict)
    """Of a change of the project's files: how many files, and how many lines came and went."""
    unkept: tuple[tuple[str, str], ...] = ()
    """Files that changed and cannot be taken back, because no content of them was kept, and why."""
    moved: tuple[tuple[str, str], ...] = ()
    """Files that were moved: from where, and to where."""
    readers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Who else loads its files, by path, where that is known."""
    unproved: str = ""
    """Why a recorded change has no evidence; empty where it has, or needs none."""
    effects: str = "reversible"
    """The class of its effects, beside the grade: reversible, compensable or irreversible."""
    stays: tuple[Mapping[str, str], ...] = ()
    """Calls of it that stay made, each with what answers it."""
    approval: Mapping[str, Any] | None = None
    """Who approved what stays: digest, by, at, stays."""

    @property
    def recorded(self) -> bool:
        """Whether others made the change, and it was recorded: what is proved of it was proved afterwards."""
        return self.kind == "adopt"

    @property
    def number(self) -> int:
        """Its number, as people see it: `#14`."""
        return self.seq

    def __repr__(self) -> str:
        more = f" and {len(self.addresses) - 1} more" if len(self.addresses) > 1 else ""
        what = f", {self.addresses[0][:60]}{more}" if self.addresses else ""
        return f"EntryView(#{self.seq} {self.kind} {self.id[:10]}, {self.status}{what})"

    def to_json(self) -> dict[str, Any]:
        """Return the entry as JSON."""
        return {
            "seq": self.seq,
            "id": self.id,
            "kind": self.kind,
            "at": self.at,
            "status": self.status,
            "grade": self.grade or None,
            "class": self.effects,
            "stays": [dict(item) for item in self.stays],
            **({"approval": dict(self.approval)} if self.approval else {}),
            "recorded": self.recorded,
            "unproved": self.unproved or None,
            "forced": self.forced,
            "addresses": list(self.addresses),
            "note": self.note,
            "by": self.by or None,
            "off": list(self.off),
            "on": list(self.on),
            "ambiguous": list(self.ambiguous),
            "files": list(self.files),
            "effect": list(self.effect),
            "layout": list(self.layout),
            "check": None if self.check is None else dict(self.check),
            "origin": dict(self.origin),
            "stat": dict(self.stat),
            "unkept": [{"path": path, "why": why} for path, why in self.unkept],
            "moved": [{"from": old, "to": new} for old, new in self.moved],
            "readers": {path: list(names) for path, names in self.readers.items()},
        }


def iter_entries(harness: Harness) -> Iterator[EntryView]:
    """Yield entries, newest first; none while another thread is half way through a change."""
    harness.prove_recorded()
    entries = _iter_views(harness)
    while True:
        with harness.ledger.mutex:
            entry = next(entries, None)
        if entry is None:
            return
        yield entry


def _iter_views(harness: Harness) -> Iterator[EntryView]:
    following: Record | None = None
    for record in harness.journal.records(reverse=True):
        if record.kind in ENTRY_KINDS:
            yield view_entry(harness, record, harness.ledger.fate(record, following))
        following = following if record.kind == "step" else record


def view_entry(harness: Harness, record: Record, fate: EntryStatus | None = None) -> EntryView:
    """Return the view of one entry."""
    if record.unproved:
        harness.prove_recorded()
    status = (harness.ledger.fate(record) if fate is None else fate).value
    candidate = load_candidate_json(harness.journal, record) if record.kind == "apply" else None
    call = load_call(harness.journal, record) if record.kind == "adopt" else {}
    mutation = tuple((candidate or {}).get("mutation", ()))
    seen = view_record(with_evidence(harness.journal, record), status, mutation, call)
    readers = map_readers(harness, seen.files, {address.partition("[")[0] for address in seen.addresses})
    return replace(seen, readers=readers) if readers else seen


def map_plan_readers(harness: Harness, plan: Plan) -> dict[str, tuple[str, ...]]:
    """Return who else loads the files that a plan changes, by path."""
    adapter = harness.adapter
    touched = adapter.find_touched_files(plan.before, plan.state) if isinstance(adapter, FileAdapter) else ()
    surfaces = {change.slot[0] for change in plan.changes}
    return map_readers(harness, dict.fromkeys((*touched, *plan.layout)), surfaces)


def map_readers(harness: Harness, paths: Iterable[str], surfaces: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return who else loads some files of which some surfaces change, by path; nothing of those nobody else loads."""
    adapter = harness.adapter
    if not isinstance(adapter, SharedFiles):
        return {}
    return {path: names for path in paths if (names := adapter.list_other_readers(path, surfaces))}


def view_record(
    record: Record, status: str, mutation: tuple[Mapping[str, Any], ...] = (), call: Mapping[str, str] = NOTHING_SAID
) -> EntryView:
    """Return the view of an entry from its record; its operations, command and prompt are contents, and are given."""
    return EntryView(
        seq=record.entry,
        id=record.id,
        kind=record.kind,
        at=record.created_at,
        status=status,
        grade=(record.evidence or {}).get("grade", ""),
        effects=(record.evidence or {}).get("class", "reversible"),
        stays=tuple((record.evidence or {}).get("stays", ())),
        approval=record.approval,
        forced=record.is_forced,
        addresses=list_addresses(record),
        note=record.note,
        by=record.by,
        off=record.off,
        on=record.on,
        ambiguous=record.ambiguous,
        files=tuple(dict.fromkeys((*paths_of(record), *record.paths))),
        mutation=mutation,
        effect=record.effect,
        layout=record.reformatted,
        check=record.check,
        origin={**record.origin, **call},
        stat=record.stat,
        unkept=record.unkept,
        moved=record.moved,
        unproved=describe_unproved(record),
    )


def describe_unproved(record: Record) -> str:
    """Return why a change that others made has no evidence, for people; empty for any other."""
    if record.kind != "adopt" or record.evidence is not None:
        return ""
    return NOT_YET if record.unproved == PENDING else record.unproved or BEFORE


def load_entry_writes(harness: Harness, record: Record) -> tuple[Write, ...]:
    """Return what an entry did to each slot."""
    return load_record_writes(harness.journal, record)


class PastPoint(NamedTuple):
    """A state of the past, from which one can go further back."""

    state: State
    seq: int
    """The last record that it takes in."""
    settled: bool
    """Whether the record after that made what it announced."""


class Rewind:
    """States of the past, worked out from the present: each later entry is taken back once, newest first."""

    def __init__(self, harness: Harness, begin: PastPoint | None = None, until: int = 1) -> None:
        """Begin at the present, or at a point of the past and without going further back than to a record."""
        self._harness = harness
        start = PastPoint(harness.state, harness.ledger.last, settled=False) if begin is None else begin
        self._state, last, self._settled = start
        self._left: Iterator[Record]
        if begin is None:
            self._left = (record for record in harness.journal.records(reverse=True) if record.seq <= last)
        else:
            self._left = reversed(list(islice(harness.journal.records(until), last - until + 1)))
        self._next = next(self._left, None)
        self._known: dict[int, tuple[Write, ...]] = {}

    def note_writes(self, record: Record, writes: tuple[Write, ...]) -> None:
        """Take what a record wrote, which was read already and is to be taken back next."""
        self._known = {record.seq: writes}

    def mark(self, seq: int) -> PastPoint:
        """Go back to right after a record that is not newer than those asked about before; return where that is."""
        return PastPoint(self._back_to(seq + 1), seq, self._settled)

    def after(self, entry: Record) -> State:
        """Return the state right after an entry, which must not be newer than those asked about before."""
        return self._back_to(entry.seq + 1)

    def before(self, entry: Record) -> State:
        """Return the state right before an entry."""
        return self._back_to(entry.seq)

    def _back_to(self, seq: int) -> State:
        while self._next is not None and self._next.seq >= seq:
            record, self._next = self._next, next(self._left, None)
            if record.kind in ENTRY_KINDS and self._settled:
                self._take_back(record)
            self._settled = record.kind == "commit" or (self._settled and record.kind == "step")
        return self._state

    def _take_back(self, record: Record) -> None:
        known = self._known.get(record.seq)
        written = load_entry_writes(self._harness, record) if known is None else known
        writes = tuple(skip_uninstalled(written, self._harness.ledger.missing))
        if any(has_forgotten(write.before) for write in writes):
            raise InputError(
                "entry",
                found=f"{record.id[:12]}, of which contents were forgotten",
                expected="entries from which the state can still be worked out",
            )
        self._state = put_slots(self._state, [(write.slot, write.before) for write in reversed(writes)])


def rebuild_state_after(harness: Harness, entry: Record) -> State:
    """Return the state right after an entry."""
    return Rewind(harness).after(entry)


def rebuild_state_before(harness: Harness, entry: Record) -> State:
    """Return the state right before an entry."""
    return Rewind(harness).before(entry)


def diff_states(before: State, after: State) -> tuple[SlotChange, ...]:
    """Return what differs between two states, slot by slot."""
    slots = find_differing_slots(before, after)
    return tuple(SlotChange(slot, get_slot(before, slot), get_slot(after, slot)) for slot in slots)


def content_to_json(slot: Slot, content: Any) -> Any:
    """Return content for people: its JSON, null for nothing, and a word for what was forgotten."""
    if content is ABSENT:
        return None
    if has_forgotten(content):
        return describe_unknown_content(slot, content)
    if isinstance(content, Link):
        at_home = slot[-1] == make_part_name(PATH) and content.record is None
        return name_slot(slot[1:-1]) if at_home else thaw(content.record)
    return SURFACES[slot[0]].describe(content)


def _has_place(content: Any) -> bool:
    return isinstance(content, Link)


def is_moved(change: SlotChange | Write) -> bool:
    """Return whether an element of a chain has another position now."""
    both = _has_place(change.before) and _has_place(change.after)
    return both and bool(change.before.place != change.after.place)


def slot_to_json(slot: Slot, *states: State) -> dict[str, Any]:
    """Return a slot as JSON: an address, and which part of its value it is, if it is one."""
    whole = find_containing_slot(slot)
    title = describe_slot(whole)
    part = {} if whole is slot else {"part": describe_slot(slot).removeprefix(title).strip()}
    return {"address": describe_slot(whole, *states), **part}


def change_to_json(change: SlotChange | Write, *states: State) -> dict[str, Any]:
    """Return a change of one slot as JSON; absence differs from null, and a move within a chain is marked.

    A file that was moved is named by where it stands in the first state that has it.
    """
    return {
        **slot_to_json(change.slot, *states),
        "before": content_to_json(change.slot, change.before),
        "after": content_to_json(change.slot, change.after),
        "existed": change.before is not ABSENT,
        "exists": change.after is not ABSENT,
        **({"moved": True} if is_moved(change) else {}),
    }
