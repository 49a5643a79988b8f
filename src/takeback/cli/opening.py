"""What the everyday commands share: which workspace, opening it, and how entries and changes are printed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.text import Text

from takeback.cli.output import err, out
from takeback.harness import Adopted, Harness, Refused, Stale, Undone, Why
from takeback.harness.log import EntryView, change_json
from takeback.harness.workspace import open_workspace
from takeback.journal.encoding import encode
from takeback.state.slots import slot_title
from takeback.undo import Blocked, Gone, Plan, SlotChange, Write

SHORT = 10
WIDTH = 70
MIN_WHAT = 12

DirOption = typer.Option(Path(), "--dir", "-C", metavar="DIR", help="The workspace.", show_default="here")
JournalOption = typer.Option(
    None, "--journal", envvar="TAKEBACK_JOURNAL", metavar="PATH|URL", help="Another journal than the manifest's."
)
EntryArgument = typer.Argument(..., metavar="ENTRY", help="Beginning of an entry's id, #number, or HEAD.")
EntriesArgument = typer.Argument(None, metavar="ENTRY...", help="Beginnings of ids, #numbers, or HEAD.")
TokenOption = typer.Option(None, "--token", help="Do it only if the plan is still the one with this token.")
PlanFlag = typer.Option(False, "--plan", help="Only show what it would do, with a token that binds.")
CascadeFlag = typer.Option(False, "--cascade", help="Take along the entries that block.")

MARKS = {"live": "green", "undone": "yellow", "aborted": "red", "pending": "red", "done": "dim"}


def key_file() -> str | None:
    """Where TAKEBACK_KEYS says that the keys of a sealed journal are."""
    return os.environ.get("TAKEBACK_KEYS") or None


@contextmanager
def opened(directory: Path, journal: str | None, *, hold: bool = False) -> Iterator[Harness]:
    """The workspace, opened; what recovery had to finish is told."""
    harness = open_workspace(directory, journal=journal, keys=key_file(), hold=hold)
    try:
        told = harness.recovered
        if told.entry is not None:
            err.print(f"finished entry {told.entry.id[:SHORT]}, which a killed process had left under way")
        yield harness
    finally:
        harness.close()


def show_changes(changes: Iterable[SlotChange | Write]) -> None:
    """Print changes, one slot a line or two."""
    for change in changes:
        plain = change_json(change)
        if plain["existed"]:
            out.print(f"  [red]-[/] {_line(plain['address'], plain['before'])}")
        if plain["exists"]:
            out.print(f"  [green]+[/] {_line(plain['address'], plain['after'])}")


def _line(address: str, content: Any) -> str:
    text = encode(content) if not isinstance(content, str) else repr(content)
    text = text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
    return escape(f"{address} = {text}")


def show_log(entries: Iterable[EntryView]) -> None:
    """Print entries, one a line. Where the terminal is narrow only the last column, what was done, is cut."""
    rows = [("entry", "#", "when", "kind", "evidence", "status", "what")]
    for entry in entries:
        what = entry.note or ", ".join(entry.addresses[:2]) + (" …" if len(entry.addresses) > 2 else "")  # noqa: PLR2004
        grade = f"{entry.grade}, FORCED" if entry.forced else entry.grade
        rows.append(
            (
                entry.id[:SHORT],
                str(entry.seq),
                entry.at[5:16].replace("T", " "),
                entry.kind,
                grade,
                entry.status,
                " ".join(what.split()),
            )
        )
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    room = max(MIN_WHAT, out.width - sum(widths) - 2 * len(widths))
    for row in rows:
        line = Text(style="bold" if row is rows[0] else "")
        for cell, width in zip(row, widths, strict=False):
            line.append(cell.ljust(width + 2), style=MARKS.get(cell, ""))
        last = Text(row[-1])
        last.truncate(room, overflow="ellipsis")
        line.append_text(last)
        line.rstrip()
        out.print(line)


def plan_json(plan: Plan, harness: Harness) -> dict[str, Any]:
    """A plan as JSON; `ids` names the entries behind the numbers."""
    return {
        "token": plan.token,
        "off": list(plan.off),
        "on": list(plan.on),
        "ids": {str(number): harness.journal.get(number).id for number in (*plan.off, *plan.on)},
        "changes": [change_json(change) for change in plan.changes],
    }


def outcome_json(outcome: object, harness: Harness) -> dict[str, Any]:
    """Any answer of plan, undo, redo or restore as JSON."""
    match outcome:
        case Undone():
            return {"result": "done", "entry": outcome.entry.id, **plan_json(outcome.plan, harness)}
        case Adopted():
            changes = [change_json(change) for change in outcome.changes]
            return {"result": "salvaged", "entry": outcome.entry.id, "changes": changes}
        case Plan():
            return {"result": "plan", **plan_json(outcome, harness)}
        case Blocked():
            ids = {str(number): harness.journal.get(number).id for number, _ in outcome.reasons}
            together = plan_json(outcome.together, harness) if isinstance(outcome.together, Plan) else None
            return {
                "result": "blocked",
                "off": list(outcome.off),
                "on": list(outcome.on),
                "ids": ids,
                "reasons": {str(number): why for number, why in outcome.reasons},
                "together": together,
            }
        case Gone():
            slots = [slot_title(slot) for slot in outcome.slots]
            return {"result": "witness gone", "slots": slots, "left": [change_json(c) for c in outcome.left]}
        case Stale():
            return {"result": "stale", "given": outcome.given, "now": plan_json(outcome.plan, harness)}
        case Refused():
            return refused_json(outcome)
        case _:
            raise TypeError(f"not an outcome: {outcome!r}")


def refused_json(refused: Refused) -> dict[str, Any]:
    """A refusal as JSON."""
    return {
        "result": "refused",
        "why": refused.why.value,
        "message": refused.message,
        "verdict": refused.verdict.to_json() if refused.verdict else None,
        "drift": [change_json(change) for change in refused.drift],
        "ties": ties_json(refused.ties),
    }


def ties_json(ties: Mapping[int, str]) -> dict[str, str]:
    """Entries tied to a change, and why."""
    return {str(number): why for number, why in sorted(ties.items())}


def show_outcome(outcome: object, harness: Harness) -> bool:
    """Print any answer of plan, undo, redo or restore; whether it was done or can be."""
    match outcome:
        case Undone():
            out.print(f"done: entry {outcome.entry.id[:SHORT]} ({outcome.entry.kind})")
            show_changes(outcome.plan.changes)
        case Adopted():
            out.print(f"put back what was left: entry {outcome.entry.id[:SHORT]}")
            show_changes(outcome.changes)
        case Plan():
            out.print(f"would take back {_names(outcome.off, harness)}, bring back {_names(outcome.on, harness)}:")
            show_changes(outcome.changes)
            out.print(f"  token {outcome.token}", highlight=False)
        case Blocked():
            _show_blocked(outcome, harness)
        case Gone():
            for slot in outcome.slots:
                out.print(f"the witness is gone: what {slot_title(slot)} should get was forgotten", markup=False)
            if outcome.left:
                out.print("what could still be put back, with --salvage, as a change of its own:")
                show_changes(outcome.left)
        case Stale():
            out.print(f"stale: the plan is now {outcome.plan.token}, not {outcome.given}; nothing was changed")
            show_changes(outcome.plan.changes)
        case Refused():
            show_refused(outcome)
        case _:
            raise TypeError(f"not an outcome: {outcome!r}")
    return isinstance(outcome, Undone | Plan | Adopted)


def _show_blocked(outcome: Blocked, harness: Harness) -> None:
    out.print("blocked: nothing was changed")
    for number, why in outcome.reasons:
        out.print(f"  {harness.journal.get(number).id[:SHORT]} (#{number}): {why}", markup=False, highlight=False)
    if isinstance(outcome.together, Plan):
        verb = "take back" if outcome.off else "bring back"
        out.print(f"with --cascade, {verb} {_names(outcome.entries, harness)} as well:")
        show_changes(outcome.together.changes)


def show_refused(refused: Refused) -> None:
    """Print why nothing was changed."""
    out.print(f"refused: {refused.message}", markup=False)
    if refused.why is Why.DRIFT:
        show_changes(refused.drift)
        out.print("  next: 'takeback adopt' makes this an entry of its own", style="cyan")


def _names(numbers: Iterable[int], harness: Harness) -> str:
    return ", ".join(harness.journal.get(number).id[:SHORT] for number in numbers) or "nothing"
