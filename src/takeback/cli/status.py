"""`takeback status`: how a workspace stands, and the tracking of the project's own files."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from takeback.adapters.look_notes import note_calm_status
from takeback.adapters.roots import find_root
from takeback.adapters.trust_record import is_trusted
from takeback.cli.changes import changes_to_json, show_changes
from takeback.cli.context import SHORT, ViewOptions
from takeback.cli.hints import localize_hints
from takeback.cli.line_breaks import cut_at_word
from takeback.cli.options import flag
from takeback.cli.outcomes import fault_to_json, open_to_json, show_broken, show_open
from takeback.cli.output import emit, finish, out
from takeback.harness.outcomes import Status
from takeback.present.plans import find_outside_writes
from takeback.present.summary import Summary, summarize_since
from takeback.present.titles import format_count
from takeback.present.visible import escape_invisible
from takeback.state import State
from takeback.track.cache import BadCacheError
from takeback.track.database import TRACK, TrackError
from takeback.track.rules import DEFAULT_SETTINGS
from takeback.track.store import TrackStats, TrackStore
from takeback.undo import SlotChange

MOST: Final = 3
"""So many entries that loosened permissions, or whose check failed, are named; 'takeback show' has the rest."""


def status(
    options: ViewOptions, everything: bool = flag("--all", "Also read every record that is bound in other systems.")
) -> None:
    """Show the status of a workspace. Exit code 1 if anything needs attention.

    These are changes made outside Takeback, temporary files of a killed process, and anything unavailable. Writes by
    others in other systems do not count; only --all, or a plan that touches them, reads them.

    Example: `takeback status`
    """
    with options.open(looking=True) as harness:
        project = harness.status()
        note_calm_status(harness, project)
        state = harness.state
        summary = summarize_since(harness)
        outside, unread = find_outside_writes(harness) if everything else ((), ())
    tracking = _find_tracking(options.directory)
    if options.as_json:
        emit(
            _to_json(project)
            | {"since_yesterday": summary.to_json()}
            | ({} if tracking is None else {"tracking": stats_to_json(tracking)})
            | ({"outside": changes_to_json(outside), "unread": list(unread)} if everything else {})
        )
    else:
        with out.page_output(allowed=not options.no_pager):
            _show_summary(summary)
            _show(project, state, stat=options.stat)
            if everything:
                _show_outside(outside, unread, state, stat=options.stat)
            if tracking is not None:
                show_tracking(tracking)
    finish(yes=project.clean and not unread)


def _show_outside(outside: tuple[SlotChange, ...], unread: tuple[str, ...], state: State, *, stat: bool) -> None:
    for line in unread:
        out.print(f"! {line}", style="yellow")
    if outside:
        out.print("written by others in other systems since (an undo keeps this and says so):")
        show_changes(outside, lambda: state, stat=stat)
    elif not unread:
        out.print("other systems: no record differs from the journal")


def _show_summary(summary: Summary) -> None:
    """Print how the harness fared: what happened, what is looser and since which entry, and what to look at first."""
    ask = "" if summary.suspect is None else f"; undo {summary.suspect}?"
    out.print(f"{summary.describe()}{ask}", style="bold yellow" if ask else "bold")
    for number, what in summary.loosened[:MOST]:
        first, *more = what.split("; ")
        rest = f", and {len(more)} more" if more else ""
        room = None if out.width is None else out.width - len(f"  #{number}: {rest}")
        out.print(f"  #{number}: {first if room is None else cut_at_word(first, room)}{rest}", style="yellow")
    if len(summary.loosened) > MOST:
        out.print(f"  and {len(summary.loosened) - MOST} more that loosened permissions", style="yellow")
    for number in summary.failed[:MOST]:
        out.print(f"  #{number}: its check failed", style="red")
    if summary.suspect is not None:
        out.print(localize_hints(f"  'takeback undo {summary.suspect} --plan' shows what undoing it would do"))
    if summary.refused:
        out.print(localize_hints("  'takeback log --refused' lists what was refused, and why"))


def _to_json(project: Status) -> dict[str, object]:
    return {
        "clean": project.clean,
        "head": project.head,
        "live": project.entries,
        "undone": project.undone,
        "aborted": project.aborted,
        "pending": project.pending.id if project.pending else None,
        "drift": changes_to_json(project.drift),
        "leftovers": list(project.leftovers),
        "problems": list(project.problems),
        "broken": [fault_to_json(fault) for fault in project.broken],
        "layout": list(project.layout),
        "notes": list(project.notes),
        **open_to_json(project.open),
    }


def _show(project: Status, state: State, *, stat: bool) -> None:
    aborted = f", {project.aborted} given up" if project.aborted else ""
    out.print(f"{project.entries} live, {project.undone} undone{aborted}, head {project.head[:SHORT]}")
    if project.drift:
        out.print(localize_hints("changed outside Takeback ('takeback adopt' records it as an entry):"))
        show_changes(project.drift, lambda: state, stat=stat)
    for path in project.layout:
        out.print(localize_hints(f"only layout or comments of {path} changed ('takeback adopt' records it)"))
    show_broken(project.broken)
    show_open(project.open)
    for problem in (*project.problems, *project.leftovers):
        out.print(f"! {problem}", style="yellow")
    for note in project.notes:
        out.print(note)


SHOWN: Final = 5
UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
STEP: Final = 1024


def _find_tracking(directory: Path) -> TrackStats | None:
    """Return how tracking stands in the project that a directory lies in; None where nothing is tracked."""
    root = find_root(directory)
    if not (root / TRACK).exists() or not is_trusted(str(root)):
        return None
    try:
        with TrackStore.open(root, os.environ) as store:
            return store.stats()
    except (TrackError, BadCacheError, sqlite3.Error) as fault:
        out.print(f"! {fault}: the next look begins anew", style="yellow")
        return None


def stats_to_json(stats: TrackStats) -> dict[str, Any]:
    """Return how tracking stands as JSON."""
    return asdict(stats) | {"settings": dict(stats.settings)}


def show_tracking(stats: TrackStats) -> None:
    """Print how tracking stands."""
    by = "as git would" if stats.in_git else "all but the folders of other programs (no git repository)"
    out.print(f"tracked: {format_count(stats.files, 'file')}, {by}; {stats.kept_by_git} kept by git alone")
    stored, whole = _format_size(stats.stored_bytes), _format_size(stats.database_bytes)
    out.print(
        f"  {format_count(stats.contents, 'content')} stored, {stored} ({whole} on disk, "
        f"{_format_size(stats.growth_per_day)} a day){', sealed' if stats.sealed else ''}"
    )
    for name, value in stats.settings.items():
        if value != DEFAULT_SETTINGS[name]:
            out.print(f"  {name}: {value}")
    if stats.rows:
        out.print(f"  {format_count(stats.rows, 'row')} to be settled")
    if stats.secrets:
        out.print(f"  secrets seen, not kept: {_list_some(stats.secrets)}")
    if stats.unkept:
        out.print(f"  {format_count(stats.unkept, 'other file')} seen, not kept")
    if stats.nested:
        out.print(f"  projects inside, left out: {_list_some(stats.nested)}")


def _format_size(size: int) -> str:
    value, unit = float(size), 0
    while value >= STEP and unit < len(UNITS) - 1:
        value, unit = value / STEP, unit + 1
    return f"{value:.0f} {UNITS[unit]}" if not unit else f"{value:.1f} {UNITS[unit]}"


def _list_some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(escape_invisible(name) for name in names[:SHOWN]) + more
