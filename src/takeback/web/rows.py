"""The entries of a harness and the harnesses themselves as rows of lists, read from the journal once and kept.

A page of rows reads no more of the journal than it shows; what can change later is asked of the ledger when
a row is shown. A journal without its contents is followed record by record, its chain checked. A harness's
row never fails: what cannot be looked at says why, so that one broken journal does not hide the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final

from takeback.errors import JournalCorruptError, TakebackError
from takeback.harness import Harness
from takeback.harness.entry_log import EntryView, iter_entries, view_entry, view_record
from takeback.harness.ledger import CHANGES, TOGGLES, has_admitted_recovery
from takeback.journal import ENTRY_KINDS, ROOT, Record
from takeback.present.entries import EntryNamer, Filter, make_entry_namer, summarize_entry
from takeback.present.search_index import Headline, SearchIndex, load_headline
from takeback.secret_mask import is_revealing, reveal_secrets

if TYPE_CHECKING:
    from takeback.web.shelf import Shown


PAGE: Final = 50
MOST: Final = 200
"""So many new rows are told at once."""
NONE: Final = Filter()
LOOSE: Final = Filter(loose=True)
NO_HEADLINE: Final = Headline()


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One entry and what it did, in a line."""

    entry: EntryView
    masked: str
    clear: str
    """The same with secrets, for a person who asked for them."""
    headline: Headline = NO_HEADLINE
    """What changed, by its first line."""

    @property
    def day(self) -> str:
        """The day on which it was made, UTC."""
        return self.entry.at[:10]

    @property
    def prompt(self) -> str:
        """What a person asked for when it was made, where that is known."""
        origin = self.entry.origin
        return origin.get("prompt", "") if origin.get("prompt_number") else ""

    @property
    def what(self) -> str:
        """What it did, as it may be shown now."""
        return self.clear if is_revealing() else self.masked

    @property
    def undoable(self) -> bool:
        """Whether it can be chosen, among others, to be taken back."""
        return self.entry.status == "live" or self.entry.kind in {"undo", "redo", "restore"}

    @property
    def action(self) -> str:
        """What can be done about it alone: `undo`, `redo`, or nothing."""
        return find_action(self.entry)

    @property
    def unsaid(self) -> tuple[str, ...]:
        """Addresses it touched that the line does not name."""
        return tuple(address for address in self.entry.addresses if address not in self.what)


@dataclass(frozen=True, slots=True)
class NamedEntry:
    """An entry in a list, and why it is there."""

    id: str
    number: int
    what: str
    why: str = ""


def name_entries(harness: Harness, numbers: Iterable[int | tuple[int, str]]) -> list[NamedEntry]:
    """Return entries, each by its number or with why it is there, by their notes or what they changed."""
    named = make_entry_namer(harness)
    pairs = ((number, "") if isinstance(number, int) else number for number in numbers)
    return [NamedEntry(harness.journal.get(number).id, number, named(number), why) for number, why in pairs]


class EntryRows:
    """What the journal of one harness has, as rows."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self._named = make_entry_namer(harness)
        self.index = SearchIndex(harness)
        self._known: dict[int, EntryRow] = {}
        self._recent: list[EntryRow] = []
        self._earlier: list[EntryRow] = []
        self._open: Record | None = None
        self._last = harness.ledger.last
        newest = next((record.entry for record in harness.ledger.entries()), 0)
        self._source = (entry for entry in iter_entries(harness) if entry.status != "pending" and entry.seq <= newest)

    def refresh(self) -> None:
        """Take in what was appended since."""
        self._harness.ledger.refresh()
        for record in self._harness.journal.records(self._last + 1):
            if record.kind in ENTRY_KINDS:
                self._open = record
            elif record.kind in {"commit", "abort"} and self._open is not None:
                fate = self._harness.ledger.fate(self._open, record)
                self._recent.append(build_row(view_entry(self._harness, self._open, fate), self._named))
                self._open = None
            self._last = record.seq

    def page(
        self, wanted: Filter = NONE, before: int | None = None, size: int = PAGE
    ) -> tuple[list[EntryRow], int | None]:
        """Return the rows that pass, from `before` downwards, and the number to go on from; None at the end."""
        self.refresh()
        if wanted in (NONE, LOOSE):
            page = list(islice((row for row in self._all() if before is None or row.entry.seq < before), size + 1))
        else:
            numbers = self.index.find(wanted, before=before, limit=size + 1)
            page = [row for row in map(self._read, numbers) if row.entry.status != "pending"]
        more = page[size - 1].entry.seq if len(page) > size else None
        return self._tell_headlines([self.now(row) for row in page[:size]]), more

    def pick(self, rows: list[EntryRow], wanted: Filter) -> list[EntryRow]:
        """Return those of some rows that pass."""
        if wanted in (NONE, LOOSE) or not rows:
            return self._tell_headlines(rows)
        oldest = min(row.entry.seq for row in rows)
        passing = {number for number in self.index.find(wanted, limit=MOST) if number >= oldest}
        return self._tell_headlines([row for row in rows if row.entry.seq in passing])

    def _tell_headlines(self, rows: list[EntryRow]) -> list[EntryRow]:
        """Return rows with their headlines; the index has them masked, as far as it has come."""
        headlines = {} if is_revealing() else self.index.headlines(row.entry.seq for row in rows)
        return [replace(row, headline=headlines.get(row.entry.seq) or self._load_headline(row)) for row in rows]

    def _load_headline(self, row: EntryRow) -> Headline:
        return load_headline(self._harness, self._harness.journal.get(row.entry.seq))

    def _read(self, number: int) -> EntryRow:
        row = self._known.get(number)
        if row is None:
            row = build_row(view_entry(self._harness, self._harness.journal.get(number)), self._named)
            self._known[number] = row
        return row

    def now(self, row: EntryRow) -> EntryRow:
        """Return a row with the present status of its entry."""
        if row.entry.status not in {"live", "undone"}:
            return row
        status = "undone" if row.entry.seq in self._harness.ledger.history.undone else "live"
        return row if status == row.entry.status else replace(row, entry=replace(row.entry, status=status))

    def newest(self) -> int:
        """Return the number of the newest entry."""
        return next((row.entry.seq for row in self._all()), 0)

    def after(self, number: int) -> tuple[list[EntryRow], list[EntryRow]]:
        """Return rows of entries after one, newest first, and older rows whose status they changed."""
        fresh = list(islice(takewhile(lambda row: row.entry.seq > number, self._all()), MOST))
        toggled = {other for row in fresh for other in (*row.entry.off, *row.entry.on) if other <= number}
        others = [row for row in (*self._recent, *self._earlier) if row.entry.seq in toggled]
        return [self.now(row) for row in fresh], [self.now(row) for row in others]

    def _all(self) -> Iterator[EntryRow]:
        """Yield every row, newest first; read on in the journal where needed."""
        yield from reversed(self._recent)
        yield from self._earlier
        for entry in self._source:
            self._earlier.append(build_row(entry, self._named))
            yield self._earlier[-1]


def find_action(entry: EntryView) -> str:
    """Return what can be done about an entry: `undo`, `redo`, or nothing."""
    if entry.status == "undone":
        return "redo"
    done = entry.kind in {*TOGGLES, "discard"} and entry.status == "done"
    return "undo" if entry.status == "live" or done else ""


def describe_entry(entry: EntryView, named: EntryNamer) -> str:
    """Return what an entry did, without when it takes effect: pages show that beside it."""
    return summarize_entry(replace(entry, effect=(), readers={}), named)


def build_row(entry: EntryView, named: EntryNamer) -> EntryRow:
    """Return the row of an entry, with its line as it is shown with secrets and without them, the prompt apart."""
    lines: list[str] = []
    unasked = replace(entry, origin={name: value for name, value in entry.origin.items() if name != "prompt"})
    for clear in (False, True):
        with reveal_secrets(wanted=clear):
            lines.append(describe_entry(unasked, named))
    return EntryRow(replace(entry, mutation=()), lines[0], lines[1])


class JournalTally:
    """How one journal stands, as far as it was followed."""

    def __init__(self) -> None:
        self.last = 0
        self.head = ROOT
        self.identity = ""
        self.entries = 0
        self.newest: Record | None = None
        """The last entry that was settled."""
        self.pending: Record | None = None
        """An entry that was announced, and is neither made nor given up."""
        self._aborted: set[int] = set()
        self._undone: set[int] = set()
        self._doubtful: set[int] = set()

    @property
    def unadmitted(self) -> int:
        """How many live changes have no admitted recovery: forced, or recorded and not proved."""
        return len(self._doubtful - self._undone - self._aborted)

    def follow(self, records: Iterable[Record]) -> None:
        """Take in what was appended; refuses a record that does not follow the one before."""
        for record in records:
            if record.seq != self.last + 1 or record.prev != self.head:
                raise JournalCorruptError(f"record {record.seq} does not follow record {self.last}", seq=record.seq)
            self.last, self.head = record.seq, record.digest
            if record.kind in ENTRY_KINDS:
                self.pending = record
                self.entries += 1
            elif record.kind in {"commit", "abort"} and self.pending is not None:
                self._settle(self.pending, made=record.kind == "commit")
            elif record.kind == "evidence" and "candidate" in record.contents:
                self._doubtful -= {record.about}

    def _settle(self, entry: Record, *, made: bool) -> None:
        self.pending, self.newest = None, entry
        if not made:
            self._aborted.add(entry.entry)
        elif entry.kind == "genesis":
            self.identity = entry.identity
        elif entry.kind in CHANGES and not has_admitted_recovery(entry):
            self._doubtful.add(entry.entry)
        elif entry.kind in TOGGLES:
            self._undone.update(entry.off)
            self._undone.difference_update(entry.on)

    def view(self, record: Record) -> EntryView:
        """Return an entry of the journal for people, without the operations in its contents."""
        return view_record(record, self._status(record))

    def _status(self, record: Record) -> str:
        if record.entry in self._aborted:
            return "aborted"
        if record.seq > self.last or (self.pending is not None and record.seq == self.pending.seq):
            return "pending"
        if record.kind not in CHANGES:
            return "done"
        return "undone" if record.entry in self._undone else "live"


PENDING: Final = "a change is in progress, or its process died; the next command finishes it"


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last entry, in a line."""

    what: str
    at: str
    by: str


@dataclass(frozen=True, slots=True)
class HarnessRow:
    """One row of the list of harnesses."""

    name: str
    where: str = ""
    link: str = ""
    """Where more of it is shown; empty if nowhere."""
    here: bool = True
    """Whether its directory was given: only then can drift be known, and anything be changed."""
    identity: str = ""
    head: str = ""
    entries: int | None = None
    drift: int | None = None
    """How many things were changed outside Takeback; None if that is not known."""
    unadmitted: int | None = None
    last: LastChange | None = None
    problems: tuple[str, ...] = ()
    """What needs attention; empty if all is well."""
    notes: tuple[str, ...] = ()
    """What is to be known and needs nothing done."""


def build_harness_row(shown: Shown) -> HarnessRow:
    """Return the row of a harness in a directory."""
    link, where = f"/{shown.number}/", shown.where
    try:
        with shown.lock:
            drift = shown.count_drifted()
            status = shown.harness.status()
            shown.tally.follow(shown.harness.journal.records(shown.tally.last + 1))
            newest, _ = shown.rows.page(size=1)
    except TakebackError as fault:
        return HarnessRow(shown.name, where, link, problems=(fault.message,))
    problems = (*(str(fault) for fault in status.broken), *status.problems, *status.leftovers)
    if status.pending is not None:
        problems = (PENDING, *problems)
    columns = describe_tally(shown.tally)
    if newest:
        columns["last"] = LastChange(newest[0].what, newest[0].entry.at, newest[0].entry.by)
    return HarnessRow(shown.name, where, link, drift=drift, problems=problems, notes=status.notes, **columns)


def describe_tally(tally: JournalTally) -> dict[str, Any]:
    """Return what a journal says about itself, as columns."""
    newest = None if tally.newest is None else tally.view(tally.newest)
    last = None if newest is None else LastChange(describe_entry(newest, lambda _: ""), newest.at, newest.by)
    columns = ("identity", "head", "entries", "unadmitted")
    return {**{name: getattr(tally, name) for name in columns}, "last": last}
