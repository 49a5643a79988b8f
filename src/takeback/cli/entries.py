"""Entries in lines: the log's table, a line after a format of one's own, and which entries a filter lets through."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from takeback.cli.output import cells, cut, out
from takeback.cli.workspaces import SHORT
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.log import EntryView, view
from takeback.present.entries import summary
from takeback.present.visible import visible

COLUMNS: Final = {"entry": SHORT, "#": 5, "when": 11, "kind": 7, "evidence": 15, "status": 7}
"""Columns before the last one, with the width they have at least."""
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
_AGO: Final = re.compile(r"(\d{1,6})\s*(s|m|h|d|w)")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


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


def read_since(text: str, now: datetime) -> datetime:
    """A time (ISO 8601, UTC unless it says otherwise), or how long ago, such as 90m, 2h or 3d."""
    ago = _AGO.fullmatch(text.strip().removesuffix("ago").strip())
    if ago is not None:
        return now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InputError("--since", found=text, expected="2031-05-27T14:30:00Z, or 90m, 2h, 3d") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def names_in(harness: Harness) -> Callable[[int], str]:
    """What to call an entry that another one names: its note, or the addresses it changed."""

    @lru_cache(maxsize=1024)
    def named(number: int) -> str:
        record = harness.journal.get(number)
        entry = view(harness, record)
        return entry.note or ", ".join(entry.addresses)

    return named


def show_heading() -> None:
    """Print the names of the log's columns."""
    out.print(_row(tuple(COLUMNS), "what")[0], style="bold")


def show_line(entry: EntryView, what: str) -> None:
    """Print an entry on one line. On a terminal the last column, what was done, is cut to fit; elsewhere nothing."""
    grade = f"{entry.grade}, FORCED" if entry.forced else entry.grade
    when = entry.at[5:16].replace("T", " ")
    told = f"{what} (by {entry.by})" if entry.by else what
    line, start = _row((entry.id[:SHORT], str(entry.seq), when, entry.kind, grade, entry.status), told)
    at = start - 2 - max(COLUMNS["status"], len(entry.status))
    end = at + len(entry.status)
    out.print(line[:at], (line[at:end], STYLES.get(entry.status, "")), line[end:])


def _row(cells_before: tuple[str, ...], last: str) -> tuple[str, int]:
    line = "".join(f"{cell:<{width}}  " for cell, width in zip(cells_before, COLUMNS.values(), strict=True))
    shown = visible(last)
    if out.width is not None:
        shown = cut(shown, max(MIN_WHAT, out.width - cells(line)))
    return (line + shown).rstrip(), len(line)


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
