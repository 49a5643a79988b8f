"""Entries in lines: the log's table, a line after a format of one's own, and which entries a filter lets through."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from takeback.cli.output import cells, cut, out
from takeback.cli.workspaces import SHORT
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.log import EntryView, log, view
from takeback.harness.times import read_time
from takeback.language.near import suggestion
from takeback.present.entries import deeds, summary
from takeback.present.visible import visible
from takeback.state import SURFACES
from takeback.verify import Grade

COLUMNS: Final = {"entry": SHORT, "#": 5, "when": 11, "kind": 7, "evidence": 15, "status": 7}
"""Columns before the last one, with the width they have at least."""
NARROW: Final = {"entry": SHORT, "#": 5, "when": 11, "evidence": 8, "status": 7}
"""The same on a terminal that is narrower than `WIDE`, so that what was done has room."""
WIDE: Final = 110
MIN_WHAT: Final = 12
STYLES: Final = {"live": "green", "undone": "yellow", "aborted": "red", "pending": "red", "done": "dim"}
FIELDS: Final[Mapping[str, Callable[[EntryView], str]]] = {
    "id": lambda entry: entry.id,
    "short": lambda entry: entry.id[:SHORT],
    "number": lambda entry: str(entry.seq),
    "at": lambda entry: entry.at,
    "kind": lambda entry: entry.kind,
    "status": lambda entry: entry.status,
    "grade": lambda entry: entry.grade,
    "forced": lambda entry: "forced" if entry.forced else "",
    "by": lambda entry: entry.by,
    "note": lambda entry: entry.note,
    "addresses": lambda entry: ", ".join(entry.addresses),
}
_FIELD: Final = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which entries to list."""

    text: str = ""
    surface: str = ""
    by: str = ""
    grade: str = ""
    since: datetime | None = None

    def admitted(self, entries: Iterable[EntryView], named: Callable[[int], str]) -> Iterator[EntryView]:
        """Entries that pass, of entries newest first; ends at the first that is too old."""
        for entry in entries:
            if self.since is not None and datetime.fromisoformat(entry.at) < self.since:
                return
            if self._passes(entry, named):
                yield entry

    def _passes(self, entry: EntryView, named: Callable[[int], str]) -> bool:
        if self.surface and not any(re.split(r"[\[ ]", one)[0] == self.surface for one in entry.addresses):
            return False
        if self.by and entry.by != self.by:
            return False
        if self.grade and self.grade not in {entry.grade, "forced" if entry.forced else ""}:
            return False
        words = f"{entry.id} {entry.kind} {entry.by} {summary(entry, named)}".casefold()
        return self.text.casefold() in words


def read_filter(text: str = "", *, surface: str = "", by: str = "", grade: str = "", since: str = "") -> Filter:
    """The filter that options name, or an error that lists what there is."""
    grades = [*(one.value for one in Grade), "forced"]
    if surface and surface not in SURFACES:
        hint = suggestion(surface, SURFACES)
        raise InputError("--surface", found=surface, expected=f"one of {', '.join(SURFACES)}", hint=hint)
    if grade and grade not in grades:
        raise InputError("--grade", found=grade, expected=f"one of {', '.join(grades)}")
    return Filter(text, surface, by, grade, read_time(since, datetime.now(UTC), "--since") if since else None)


def live_entries(harness: Harness, wanted: Filter) -> tuple[str, ...]:
    """The ids of live changes that a filter lets through, newest first; an error if there are none."""
    found = tuple(entry.id for entry in wanted.admitted(log(harness), names_in(harness)) if entry.status == "live")
    if not found:
        raise InputError(
            "undo", found="no live change that passes", expected="at least one; 'takeback log' lists them"
        )
    return found


def names_in(harness: Harness) -> Callable[[int], str]:
    """What to call an entry that another one names: its note, or the addresses it changed."""

    @lru_cache(maxsize=1024)
    def named(number: int) -> str:
        record = harness.journal.get(number)
        entry = view(harness, record)
        return entry.note or deeds(entry)

    return named


def _columns() -> Mapping[str, int]:
    return NARROW if out.width is not None and out.width < WIDE else COLUMNS


def show_heading() -> None:
    """Print the names of the log's columns."""
    out.print(_row({name: name for name in COLUMNS}, "what")[0], style="bold")


def show_line(entry: EntryView, what: str) -> None:
    """Print an entry on one line. On a terminal the last column, what was done, is cut to fit; elsewhere nothing."""
    told = f"{what} (by {entry.by})" if entry.by else what
    grade = entry.grade if not entry.forced else "FORCED" if _columns() is NARROW else f"{entry.grade}, FORCED"
    shown = {
        "entry": entry.id[:SHORT],
        "#": str(entry.seq),
        "when": entry.at[5:16].replace("T", " "),
        "kind": entry.kind,
        "evidence": grade,
        "status": entry.status,
    }
    line, start = _row(shown, told)
    at = start - 2 - max(COLUMNS["status"], len(entry.status))
    end = at + len(entry.status)
    out.print(line[:at], (line[at:end], STYLES.get(entry.status, "")), line[end:])


def _row(shown: Mapping[str, str], last: str) -> tuple[str, int]:
    line = "".join(f"{shown[name]:<{width}}  " for name, width in _columns().items())
    told = visible(last)
    if out.width is not None:
        told = cut(told, max(MIN_WHAT, out.width - cells(line)))
    return (line + told).rstrip(), len(line)


def checked_format(template: str) -> str:
    """The template, if it names only fields there are."""
    for name in _FIELD.findall(template):
        if name not in {*FIELDS, "what"}:
            expected = ", ".join(f"{{{field}}}" for field in (*FIELDS, "what"))
            raise InputError("--format", found=f"{{{name}}}", expected=f"some of {expected}")
    return template


def formatted(template: str, entry: EntryView, what: str) -> str:
    """An entry after a template."""
    values = {"what": what, **{name: field(entry) for name, field in FIELDS.items()}}
    return _FIELD.sub(lambda found: values[found[1]], template)
