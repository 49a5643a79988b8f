"""Which entries to list: by surface, by whom, by evidence, by time, by a text in what is told of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.log import EntryView, view
from takeback.harness.times import read_time
from takeback.language.near import suggestion
from takeback.present.entries import EntryNamer, deeds, summary
from takeback.present.secrets import is_revealing, revealing
from takeback.state import SURFACES
from takeback.verify import Grade

GRADES = (*(one.value for one in Grade), "forced")
"""What to ask for: an evidence grade, or what was made although it was not admitted."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries to list."""

    text: str = ""
    surface: str = ""
    by: str = ""
    grade: str = ""
    since: datetime | None = None

    def admitted(self, entries: Iterable[EntryView], named: EntryNamer) -> Iterator[EntryView]:
        """Return entries that pass, each judged by its own time: a clock may have been set back."""
        for entry in entries:
            if self.since is not None and datetime.fromisoformat(entry.at) < self.since:
                continue
            if self.passes(entry, summary(entry, named) if self.text else ""):
                yield entry

    def passes(self, entry: EntryView, what: str) -> bool:
        """Whether an entry passes, whenever it was made; `what` is what it did, in a line."""
        if self.surface and not any(re.split(r"[\[ ]", one)[0] == self.surface for one in entry.addresses):
            return False
        if self.by and entry.by != self.by:
            return False
        if self.grade and self.grade not in {entry.grade, "forced" if entry.forced else ""}:
            return False
        words = f"{entry.id} #{entry.seq} {entry.kind} {entry.by} {what}".casefold()
        return self.text.casefold() in words


def read_filter(text: str = "", *, surface: str = "", by: str = "", grade: str = "", since: str = "") -> Filter:
    """The filter that options name, or an error that lists what there is."""
    if surface and surface not in SURFACES:
        hint = suggestion(surface, SURFACES)
        raise InputError("--surface", found=surface, expected=f"one of {', '.join(SURFACES)}", hint=hint)
    if grade and grade not in GRADES:
        raise InputError("--grade", found=grade, expected=f"one of {', '.join(GRADES)}")
    return Filter(text, surface, by, grade, read_time(since, datetime.now(UTC), "--since") if since else None)


def names_in(harness: Harness) -> EntryNamer:
    """What to call an entry that another one names: its note, or the addresses it changed."""

    @lru_cache(maxsize=1024)
    def told(number: int, clear: bool) -> str:
        record = harness.journal.get(number)
        entry = view(harness, record)
        with revealing(wanted=clear):
            return entry.note or deeds(entry)

    return lambda number: told(number, is_revealing())
