"""`takeback status`: how a workspace stands."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import typer

from takeback.adapters.calm_look import note_calm_status
from takeback.cli.changes import changes_to_json, show_changes
from takeback.cli.context import SHORT, DirOption, JournalOption, NoPagerFlag, StatFlag, open_harness
from takeback.cli.hints import localize_hints
from takeback.cli.line_breaks import cut_at_word
from takeback.cli.open_calls import open_to_json, show_open
from takeback.cli.outcomes import fault_to_json, show_broken
from takeback.cli.output import JsonFlag, emit, finish, out
from takeback.cli.secrets import RevealFlag
from takeback.cli.track_status import find_tracking, show_tracking, stats_to_json
from takeback.harness.outcomes import Status
from takeback.present.outside import find_outside_writes
from takeback.present.summary import Summary, summarize_since
from takeback.state import State
from takeback.undo import SlotChange

MOST: Final = 3
"""So many entries that loosened permissions, or whose check failed, are named; 'takeback show' has the rest."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("status")(status)


def status(
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    everything: bool = typer.Option(False, "--all", help="Also read every record that is bound in other systems."),
    stat: bool = StatFlag,
    no_pager: bool = NoPagerFlag,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Show the status of a workspace. Exit code 1 if anything needs attention.

    These are changes made outside Takeback, temporary files of a killed process, and anything unavailable. Writes by
    others in other systems do not count; only --all, or a plan that touches them, reads them.

    Example: `takeback status`
    """
    del reveal  # read by its callback
    with open_harness(directory, journal, looking=True) as harness:
        project = harness.status()
        note_calm_status(harness, project)
        state = harness.state
        summary = summarize_since(harness)
        outside, unread = find_outside_writes(harness) if everything else ((), ())
    tracking = find_tracking(directory)
    if as_json:
        emit(
            _to_json(project)
            | {"since_yesterday": summary.to_json()}
            | ({} if tracking is None else {"tracking": stats_to_json(tracking)})
            | ({"outside": changes_to_json(outside), "unread": list(unread)} if everything else {})
        )
    else:
        with out.page_output(allowed=not no_pager):
            _show_summary(summary)
            _show(project, state, stat=stat)
            if everything:
                _show_outside(outside, unread, state, stat=stat)
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
