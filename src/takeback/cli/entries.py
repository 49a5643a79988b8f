"""Entries in lines: the log's table, a line after a format of one's own, and what a filter leaves to take back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from takeback.cli.output import cells, cut, out
from takeback.cli.workspaces import SHORT
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.log import EntryView, log
from takeback.present.filters import Filter, names_in
from takeback.present.visible import visible

COLUMNS: Final = {"entry": SHORT, "#": 5, "when": 11, "kind": 7, "evidence": 15, "status": 7}
"""Columns before the last one, with the width they have at least."""
NARROW: Final = {"entry": SHORT, "#": 3, "when": 11, "evidence": 8, "status": 7}
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


def live_entries(harness: Harness, wanted: Filter) -> tuple[str, ...]:
    """The ids of live changes that a filter lets through, newest first; an error if there are none."""
    found = tuple(entry.id for entry in wanted.admitted(log(harness), names_in(harness)) if entry.status == "live")
    if not found:
        raise InputError(
            "undo", found="no live change that passes", expected="at least one; 'takeback log' lists them"
        )
    return found


def _columns() -> Mapping[str, int]:
    return NARROW if out.width is not None and out.width < WIDE else COLUMNS


def show_heading(indent: int = 0) -> None:
    """Print the names of the log's columns, which begin so far to the right."""
    out.print(_row({name: name for name in COLUMNS}, "what", " " * indent)[0], style="bold")


def show_line(entry: EntryView, what: str, graph: str = "") -> None:
    """Print an entry on one line, with its part of the graph before it.

    On a terminal the last column, what was done, is cut to fit; elsewhere nothing.
    """
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
    line, start = _row(shown, told, graph)
    at = start - 2 - max(COLUMNS["status"], len(entry.status))
    end = at + len(entry.status)
    out.print(line[:at], (line[at:end], STYLES.get(entry.status, "")), line[end:])


def _row(shown: Mapping[str, str], last: str, before: str = "") -> tuple[str, int]:
    line = before + "".join(f"{shown[name]:<{width}}  " for name, width in _columns().items())
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
