"""What a harness answered, in words, as JSON and as an exit code: the one place where outcomes are told.

The union is closed: an outcome that is missing here does not pass mypy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, assert_never

import typer

from takeback.cli.changes import changes_json, show_changes
from takeback.cli.output import emit, err, out, settle
from takeback.cli.verdicts import show_verdict
from takeback.cli.workspaces import SHORT
from takeback.harness import Adopted, Applied, Harness, Refused, Stale, Undone, Why
from takeback.harness.log import changes_of, state_before
from takeback.state.slots import slot_title
from takeback.undo import Blocked, Gone, Plan

Outcome = Applied | Adopted | Undone | Plan | Blocked | Gone | Stale | Refused


def exit_code(outcome: Outcome) -> int:
    """0 for done or can be done, 1 for no."""
    match outcome:
        case Applied() | Adopted() | Undone() | Plan():
            return 0
        case Blocked() | Gone() | Stale() | Refused():
            return 1
        case _:
            assert_never(outcome)


def conclude(outcome: Outcome, harness: Harness, *, as_json: bool, stat: bool = False, name: str = "") -> NoReturn:
    """Tell an outcome and end the command. What was done is settled before anything is told about it."""
    code = exit_code(outcome)
    if isinstance(outcome, Applied | Adopted | Undone):
        settle(code)
    if as_json:
        emit(outcome_json(outcome, harness))
    else:
        show_outcome(outcome, harness, stat=stat, name=name)
    raise typer.Exit(code)


def outcome_json(outcome: Outcome, harness: Harness) -> dict[str, Any]:
    """Any outcome as JSON."""
    match outcome:
        case Applied():
            return {
                "result": "applied",
                "entry": outcome.entry.id,
                "forced": outcome.forced,
                "verdict": outcome.verdict.to_json(),
                "ties": _ties_json(outcome.ties),
                "changes": changes_json(changes_of(harness, outcome.entry)),
            }
        case Adopted():
            result = "salvaged" if outcome.entry.kind == "salvage" else "adopted"
            return {"result": result, "entry": outcome.entry.id, "changes": changes_json(outcome.changes)}
        case Undone():
            return {"result": "done", "entry": outcome.entry.id, **_plan_json(outcome.plan, harness)}
        case Plan():
            return {"result": "plan", **_plan_json(outcome, harness)}
        case Blocked():
            return {
                "result": "blocked",
                "off": list(outcome.off),
                "on": list(outcome.on),
                "ids": _ids(harness, (number for number, _ in outcome.reasons)),
                "reasons": {str(number): why for number, why in outcome.reasons},
                "together": _plan_json(outcome.together, harness) if isinstance(outcome.together, Plan) else None,
            }
        case Gone():
            slots = [slot_title(slot) for slot in outcome.slots]
            return {"result": "witness gone", "slots": slots, "left": changes_json(outcome.left)}
        case Stale():
            return {"result": "stale", "given": outcome.given, "now": _plan_json(outcome.plan, harness)}
        case Refused():
            return {
                "result": "refused",
                "why": outcome.why.value,
                "message": outcome.message,
                "verdict": outcome.verdict.to_json() if outcome.verdict else None,
                "drift": changes_json(outcome.drift),
                "ties": _ties_json(outcome.ties),
            }
        case _:
            assert_never(outcome)


def show_outcome(outcome: Outcome, harness: Harness, *, stat: bool = False, name: str = "") -> None:
    """Print any outcome; `name` is what a verdict is about."""
    match outcome:
        case Applied():
            _show_applied(outcome, harness, stat=stat)
        case Adopted():
            verb = "put back what was left" if outcome.entry.kind == "salvage" else "adopted"
            out.print(f"{verb}: entry {outcome.entry.id[:SHORT]}")
            show_changes(outcome.changes, lambda: state_before(harness, outcome.entry), stat=stat)
        case Undone():
            done = _toggled(outcome.plan, harness, "took back", "brought back")
            out.print(f"done: {done}; entry {outcome.entry.id[:SHORT]}")
            show_changes(outcome.plan.changes, lambda: state_before(harness, outcome.entry), stat=stat)
        case Plan():
            out.print(f"would {_toggled(outcome, harness, 'take back', 'bring back')}:")
            show_changes(outcome.changes, lambda: harness.state, stat=stat)
            out.print(f"token {outcome.token}")
        case Blocked():
            _show_blocked(outcome, harness, stat=stat)
        case Gone():
            for slot in outcome.slots:
                out.print(f"the witness is gone: what {slot_title(slot)} should get was forgotten")
            if outcome.left:
                out.print("what could still be put back, with --salvage, as a change of its own:")
                show_changes(outcome.left, lambda: harness.state, stat=stat)
        case Stale():
            out.print(f"stale: the plan is now {outcome.plan.token}, not {outcome.given}; nothing was changed")
            show_changes(outcome.plan.changes, lambda: harness.state, stat=stat)
        case Refused():
            _show_refused(outcome, harness, name, stat=stat)
        case _:
            assert_never(outcome)


def _show_refused(refused: Refused, harness: Harness, name: str, *, stat: bool) -> None:
    if refused.why is Why.VERDICT and refused.verdict is not None:
        show_verdict(refused.verdict, name)
        return
    out.print(f"refused: {refused.message}")
    if refused.why is Why.DRIFT:
        show_changes(refused.drift, lambda: harness.state, stat=stat)
        out.print("next: 'takeback adopt' records this as an entry", style="cyan")


def _show_applied(applied: Applied, harness: Harness, *, stat: bool) -> None:
    forced = ", FORCED" if applied.forced else ""
    if applied.forced:
        err.print("forced: this change is not admitted, and its entry says so permanently", style="red")
    out.print(f"applied: entry {applied.entry.id[:SHORT]} ({applied.verdict.grade.value}{forced})")
    show_changes(changes_of(harness, applied.entry), lambda: state_before(harness, applied.entry), stat=stat)
    for number, why in sorted(applied.ties.items()):
        tied = _named(number, harness)
        out.print(f"note: {tied} can now be taken back only together with this ({why} without it)")


def _show_blocked(blocked: Blocked, harness: Harness, *, stat: bool) -> None:
    out.print("blocked: nothing was changed")
    for number, why in blocked.reasons:
        out.print(f"  {_named(number, harness)}: {why}")
    if isinstance(blocked.together, Plan):
        verb = "take back" if blocked.off else "bring back"
        out.print(f"with --cascade, {verb} {_names(blocked.entries, harness)} as well:")
        show_changes(blocked.together.changes, lambda: harness.state, stat=stat)


def _plan_json(plan: Plan, harness: Harness) -> dict[str, Any]:
    """A plan as JSON; `ids` names the entries behind the numbers."""
    return {
        "token": plan.token,
        "off": list(plan.off),
        "on": list(plan.on),
        "ids": _ids(harness, (*plan.off, *plan.on)),
        "changes": changes_json(plan.changes),
    }


def _ids(harness: Harness, numbers: Iterable[int]) -> dict[str, str]:
    return {str(number): harness.journal.get(number).id for number in numbers}


def _ties_json(ties: Mapping[int, str]) -> dict[str, str]:
    return {str(number): why for number, why in sorted(ties.items())}


def _toggled(plan: Plan, harness: Harness, off: str, on: str) -> str:
    told = [f"{verb} {_names(found, harness)}" for verb, found in ((off, plan.off), (on, plan.on)) if found]
    return ", ".join(told) or f"{off} nothing"


def _names(numbers: Iterable[int], harness: Harness) -> str:
    return ", ".join(_named(number, harness) for number in numbers)


def _named(number: int, harness: Harness) -> str:
    return f"{harness.journal.get(number).id[:SHORT]} (#{number})"
