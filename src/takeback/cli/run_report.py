"""What a command did on an overlay, for people and as JSON: lines of each file, or counts by folder above a bound."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from takeback.adapters.directory import READ_FLAGS
from takeback.agents.overlay.layer import Layer, LayerChange, show_path
from takeback.agents.overlay.runs import OverlayRun
from takeback.agents.overlay.snapshot import NameTraits
from takeback.agents.overlay.transfer import Kept
from takeback.cli.display import show_difference
from takeback.cli.output import out
from takeback.present.diffs import LONGEST, Difference, Sheet, compare_sheets, make_file_sheet
from takeback.present.titles import format_count

MOST_FILES: Final = 40
"""Files whose lines are shown; of more, only counts."""
MOST_LINES: Final = 400
"""Lines that are shown in all."""
MOST_FOLDERS: Final = 20
MOST_NAMES: Final = 10
DEPTH: Final = 2
"""Names of a path that make a folder of the summary."""
MARKS: Final = {"added": "+", "removed": "-", "changed": "~", "mode": "m"}


def compare_change(run: OverlayRun, change: LayerChange) -> Difference:
    """Return what a command did to one path."""
    address = show_path(change.path)
    notes: tuple[str, ...] = ()
    if change.form == "directory":
        before, after = change.before, change.after
        if before is not None and after is not None:
            notes = (f"mode {before.permissions:04o} -> {after.permissions:04o}",)
        else:
            notes = ("the folder is made",) if before is None else ("the folder goes",)
        return compare_sheets(address, None, None, *notes)
    old, new = (
        _make_sheet(place / change.path, traits)
        for place, traits in ((run.root, change.before), (run.upper, change.after))
    )
    return compare_sheets(address, old, new)


def _make_sheet(place: Path, traits: NameTraits | None) -> Sheet | None:
    if traits is None:
        return None
    mode = f"{traits.permissions:04o}" if traits.form == "file" else ""
    try:
        if traits.form == "link":
            return _make_line(f"link to {show_path(os.readlink(place))}")
        if traits.size <= LONGEST:
            file = os.open(place, READ_FLAGS)
            with open(file, "rb") as content:
                return make_file_sheet(content.read(LONGEST + 1), mode)
    except OSError as fault:
        return _make_line(f"(cannot be read: {fault.strerror})", mode)
    return _make_line(f"({traits.size:,} bytes, changed at {traits.modified})", mode)


def _make_line(text: str, mode: str = "") -> Sheet:
    return Sheet((f"{text}\n",), inline=text, mode=mode)


def show_changes(run: OverlayRun, changes: Sequence[LayerChange], *, stat: bool) -> None:
    """Print what a command did: lines up to a bound, above it counts by folder."""
    if len(changes) > MOST_FILES:
        _show_folders(changes)
    else:
        differences = [compare_change(run, change) for change in changes]
        many = sum(len(hunk.lines) for difference in differences for hunk in difference.hunks) > MOST_LINES
        for change, difference in zip(changes, differences, strict=True):
            if stat or many:
                out.print(f"  {MARKS[change.kind]} {difference.address}{_format_lines(difference)}")
            else:
                show_difference(difference)
    out.print(summarize_changes(changes), style="bold")


def _format_lines(difference: Difference) -> str:
    return f"  +{difference.added} -{difference.removed}" if difference.hunks else ""


def _show_folders(changes: Sequence[LayerChange]) -> None:
    folders: dict[str, Counter[str]] = {}
    for change in changes:
        folder = "/".join(change.path.split("/")[:-1][:DEPTH])
        folders.setdefault(folder, Counter())[change.kind] += 1
    largest = sorted(folders.items(), key=lambda item: -item[1].total())
    for folder, counts in largest[:MOST_FOLDERS]:
        out.print(f"  {show_path(folder) or '.'}/  {_format_counts(counts)}")
    if len(largest) > MOST_FOLDERS:
        out.print(f"  and {format_count(len(largest) - MOST_FOLDERS, 'more folder')}")


def _format_counts(counts: Counter[str]) -> str:
    words = {"mode": "with other permission bits"}
    return ", ".join(f"{counts[kind]:,} {words.get(kind, kind)}" for kind in MARKS if counts[kind])


def summarize_changes(changes: Sequence[LayerChange]) -> str:
    """Return in one line how much a command did."""
    if not changes:
        return "the command changed nothing in the project"
    of = format_count(len(changes), "path")
    return f"{of}: {_format_counts(Counter(change.kind for change in changes))}"


def show_names(title: str, paths: Sequence[str]) -> None:
    """Print some of many paths below a title."""
    out.print(f"{title}:", style="yellow")
    for path in paths[:MOST_NAMES]:
        out.print(f"  {show_path(path)}")
    if len(paths) > MOST_NAMES:
        out.print(f"  and {len(paths) - MOST_NAMES:,} more")


def layer_to_json(run: OverlayRun, layer: Layer) -> dict[str, Any]:
    """Return what a command did as JSON; lines are counted for as many files as would be shown."""
    counted = len(layer.changes) <= MOST_FILES
    rows: list[dict[str, Any]] = []
    for change in layer.changes:
        difference = compare_change(run, change) if counted and change.form != "directory" else None
        lines = {} if difference is None else {"lines_added": difference.added, "lines_removed": difference.removed}
        rows.append({"path": show_path(change.path), "change": change.kind, "form": change.form, **lines})
    return {
        "changes": rows,
        "counts": dict(Counter(change.kind for change in layer.changes)),
        "left_out": [{"path": show_path(path.path), "reason": path.reason} for path in layer.left_out],
    }


def result_to_json(kept: Kept | None) -> dict[str, Any]:
    """Return what became of the changes as JSON."""
    if kept is None:
        return {"entry": None, "entries": [], "recorded": [], "untracked": [], "conflicts": [], "warnings": []}
    entries = [{"seq": entry.entry, "id": entry.id} for entry in kept.recorded.entries]
    return {
        "entry": next(iter(entries), None),
        "entries": entries,
        "recorded": sorted(map(show_path, kept.recorded.paths)),
        "untracked": [show_path(path) for path in list_untracked(kept)],
        "conflicts": [
            {
                "path": show_path(conflict.path),
                "reason": conflict.reason,
                "left": None if conflict.left is None else show_path(str(conflict.left)),
            }
            for conflict in kept.conflicts
        ],
        "warnings": list(kept.recorded.warnings),
    }


def list_untracked(kept: Kept) -> list[str]:
    """Return the files that are in the project now and in no entry."""
    return [
        change.path
        for change in kept.changes
        if change.path not in kept.recorded.paths and change.form != "directory"
    ]
