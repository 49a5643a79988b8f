"""The entries of one harness as rows of a list, read from the journal once and kept, newest first.

A page of rows reads no more of the journal than it shows; what was read stays, so that scrolling and filtering do not
read it again. What can change later (whether an entry is live) is asked of the ledger when a row is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Final

from takeback.harness import Harness
from takeback.harness.ledger import TOGGLES
from takeback.harness.log import EntryView, log, view
from takeback.journal import ENTRY_KINDS, Record
from takeback.present.entries import EntryNamer, summary
from takeback.present.filters import Filter, names_in
from takeback.present.secrets import is_revealing, revealing

PAGE: Final = 50
MOST: Final = 200
"""So many new rows are told at once."""
NONE: Final = Filter()


@dataclass(frozen=True, slots=True)
class EntryRow:
    """One entry and what it did, in a line."""

    entry: EntryView
    masked: str
    clear: str
    """The same with secrets, for a person who asked for them."""

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
        return action(self.entry)

    @property
    def unsaid(self) -> tuple[str, ...]:
        """Addresses it touched that the line does not name."""
        return tuple(address for address in self.entry.addresses if address not in self.what)


class EntryRows:
    """What the journal of one harness has, as rows."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self._named = names_in(harness)
        self._recent: list[EntryRow] = []
        self._earlier: list[EntryRow] = []
        self._open: Record | None = None
        self._last = harness.ledger.last
        newest = next((record.entry for record in harness.ledger.entries()), 0)
        self._source = (entry for entry in log(harness) if entry.status != "pending" and entry.seq <= newest)

    def refresh(self) -> tuple[EntryRow, ...]:
        """Take in what was appended since; returns the rows that are new, oldest first."""
        self._harness.ledger.refresh()
        found: list[EntryRow] = []
        for record in self._harness.journal.records(self._last + 1):
            if record.kind in ENTRY_KINDS:
                self._open = record
            elif record.kind in {"commit", "abort"} and self._open is not None:
                fate = self._harness.ledger.fate(self._open, record)
                found.append(self._row(view(self._harness, self._open, fate)))
                self._open = None
            self._last = record.seq
        self._recent += found
        return tuple(found)

    def page(
        self, wanted: Filter = NONE, before: int | None = None, size: int = PAGE
    ) -> tuple[list[EntryRow], int | None]:
        """EntryRows that pass, from `before` on downwards, and the number to go on from; None at the end."""
        self.refresh()
        below = (row for row in self._all() if before is None or row.entry.seq < before)
        passing = (row for row in below if wanted.passes(row.entry, row.what))
        found = list(islice(passing, size + 1))
        more = found[size - 1].entry.seq if len(found) > size else None
        return [self.now(row) for row in found[:size]], more

    def now(self, row: EntryRow) -> EntryRow:
        """A row with what has become of its entry by now."""
        if row.entry.status not in {"live", "undone"}:
            return row
        status = "undone" if row.entry.seq in self._harness.ledger.history.undone else "live"
        return row if status == row.entry.status else replace(row, entry=replace(row.entry, status=status))

    def newest(self) -> int:
        """The number of the newest entry."""
        return next((row.entry.seq for row in self._all()), 0)

    def after(self, number: int) -> tuple[list[EntryRow], list[EntryRow]]:
        """EntryRows of entries after one, newest first, and rows read before that they changed the standing of."""
        fresh = list(islice(takewhile(lambda row: row.entry.seq > number, self._all()), MOST))
        toggled = {other for row in fresh for other in (*row.entry.off, *row.entry.on) if other <= number}
        others = [row for row in (*self._recent, *self._earlier) if row.entry.seq in toggled]
        return [self.now(row) for row in fresh], [self.now(row) for row in others]

    def people(self) -> list[str]:
        """Who made the entries read so far."""
        return sorted({row.entry.by for row in (*self._recent, *self._earlier)} - {""})

    def _all(self) -> Iterator[EntryRow]:
        """Every row, newest first; reads on in the journal where that is needed."""
        yield from reversed(self._recent)
        yield from self._earlier
        for entry in self._source:
            self._earlier.append(self._row(entry))
            yield self._earlier[-1]

    def _row(self, entry: EntryView) -> EntryRow:
        return row_of(entry, self._named)


def action(entry: EntryView) -> str:
    """What can be done about an entry: `undo`, `redo`, or nothing."""
    if entry.status == "undone":
        return "redo"
    done = entry.kind in {*TOGGLES, "discard"} and entry.status == "done"
    return "undo" if entry.status == "live" or done else ""


def line_of(entry: EntryView, named: EntryNamer) -> str:
    """What an entry did, without when it takes effect: pages say that beside it."""
    return summary(replace(entry, effect=()), named)


def row_of(entry: EntryView, named: EntryNamer) -> EntryRow:
    """Return the row of an entry, with its line as it is shown with secrets and without them."""
    lines: list[str] = []
    for clear in (False, True):
        with revealing(wanted=clear):
            lines.append(line_of(entry, named))
    return EntryRow(replace(entry, mutation=()), *lines)
