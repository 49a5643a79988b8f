"""Outcomes of a harness in words, as JSON and as an exit code; a plan in lines, each with its style.

The union is closed: an outcome that is missing here does not pass mypy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, assert_never

import typer

from takeback.cli.changes import changes_to_json, show_changes
from takeback.cli.context import SHORT
from takeback.cli.display import describe_grade, show_verdict
from takeback.cli.hints import localize_hints
from takeback.cli.output import commit_exit_code, emit, err, out
from takeback.errors import KEYS_HINT
from takeback.harness import Adopted, Applied, Harness, Preview, RefusalReason, Refused, Stale, Undone
from takeback.harness.adapter import Broken
from takeback.harness.entry_log import describe_unproved, map_plan_readers, map_readers, view_entry
from takeback.harness.images import paths_of
from takeback.harness.missing_values import describe_unkept
from takeback.harness.outcomes import Discarded, Unchanged
from takeback.harness.records import with_evidence
from takeback.journal import Record
from takeback.present.entries import describe_readers
from takeback.present.warnings import describe_gone, list_unheeded, weigh_entry, weigh_plan, weigh_preview
from takeback.state.slots import describe_slot
from takeback.undo import Blocked, Gone, Plan, SlotChange, Write

if TYPE_CHECKING:
    from takeback.harness.calls_steps import OpenStep
    from takeback.harness.drift import Footing

SEVERAL = "cannot be told exactly from the two versions; it was recorded as shown"
UNKEPT: Final = 20
"""So many files that stay as they are, because they were not kept, a plan names."""
Styled = tuple[str, str]
"""A text and its style."""


def list_plan_notes(plan: Plan, harness: Harness, *, done: bool = False) -> Iterator[Styled]:
    """Yield what there is to say of a plan beside its changes."""
    from takeback.present.plans import (  # noqa: PLC0415 - start-up
        describe_kept,
        describe_plan_outside,
        describe_repeats,
        why_kept,
    )

    for path in plan.layout:
        yield f"{path}: comments, formatting or permission bits", ""
    effect = ", ".join(harness.effect_of(plan))
    if effect:
        yield f"takes effect: {effect}", ""
    yield from ((line, "") for line in describe_readers(map_plan_readers(harness, plan)))
    for reason in weigh_plan(harness, plan):
        yield f"looser: {reason}", "yellow"
    for line in (*describe_kept(plan, done=done), *describe_repeats(plan, harness.ledger.history.index, done=done)):
        yield line, "yellow"
    unkept = _list_unkept(plan, harness)
    for number, path, why in unkept[:UNKEPT]:
        yield f"stays as it is: {path}, which {describe_entry(number, harness)} changed too ({why})", "yellow"
    if len(unkept) > UNKEPT:
        more = f"and {len(unkept) - UNKEPT} more files that were not kept"
        yield f"{more}: 'takeback show ENTRY --json' names them", "yellow"
    for number in dict.fromkeys(
        overwritten.entry for overwritten in plan.kept if why_kept(harness, overwritten.entry)
    ):
        yield f"#{number} was written later in another system: --over overwrites it", "yellow"
    yield from ((line, "yellow") for line in describe_plan_outside(harness, plan))
    for number in plan.unadmitted:
        how = _why_unadmitted(harness, harness.journal.get(number))
        yield f"note: {describe_entry(number, harness)} has no admitted recovery: it was {how}", "yellow"
    for number, address in _find_ambiguous(plan, harness):
        yield f"note: what {describe_entry(number, harness)} did to {address} {SEVERAL}", "yellow"
    if not done:
        yield from _list_drift_notes(harness.drift_beside(plan))


def _list_unkept(plan: Plan, harness: Harness) -> list[tuple[int, str, str]]:
    """Return what entries of a plan changed and what stays as it is, because its content was not kept; and why."""
    numbers = (*plan.off, *plan.on)
    return [(number, path, why) for number in numbers for path, why in harness.journal.get(number).unkept]


def _list_drift_notes(footing: Footing) -> Iterator[Styled]:
    """Yield the drift beside a change: where it writes, and elsewhere."""
    from takeback.harness.drift import refuse_drift  # noqa: PLC0415 - start-up
    from takeback.present.plans import describe_elsewhere  # noqa: PLC0415 - start-up

    refused = refuse_drift(footing)
    if refused is not None:
        yield localize_hints(f"it would be refused now: {refused.message}"), "red"
    for line in describe_elsewhere(footing.elsewhere, footing.unread):
        yield localize_hints(line), "yellow"


def _why_unadmitted(harness: Harness, record: Record) -> str:
    match record.kind:
        case "apply":
            return "forced" if record.is_forced else "approved, as something of it stays"
        case "salvage":
            return "a part of another undo"
        case _:
            if record.unproved:
                harness.prove_recorded()
            return f"made outside Takeback, and {describe_unproved(with_evidence(harness.journal, record))}"


def _find_ambiguous(plan: Plan, harness: Harness) -> Iterator[tuple[int, str]]:
    """Yield entries of a plan that were adopted from versions which allow several readings, and where."""
    for number in (*plan.off, *plan.on):
        yield from ((number, address) for address in harness.journal.get(number).ambiguous)


def describe_toggle(plan: Plan, harness: Harness, off: str, on: str) -> str:
    """Return which entries a plan takes back and brings back, with the given verbs."""
    phrases = [
        f"{verb} {list_entry_names(entries, harness)}"
        for verb, entries in ((off, plan.off), (on, plan.on))
        if entries
    ]
    return ", ".join(phrases) or f"{off} nothing"


def list_entry_names(numbers: Iterable[int], harness: Harness) -> str:
    """Return entries, listed."""
    return ", ".join(describe_entry(number, harness) for number in numbers)


def describe_entry(number: int, harness: Harness) -> str:
    """Return an entry, by id and number."""
    return f"{harness.journal.get(number).id[:SHORT]} (#{number})"


LOOSENS: Final = "it loosens permissions or removes a guard; nothing was changed"
UNCHANGED: Final = "unchanged: the harness is already so; no entry was made"
STAYS: Final = "changes made outside Takeback stay: 'takeback status' shows them, 'takeback discard' reverts them"


CommandOutcome = (
    Unchanged | Applied | Preview | Adopted | Undone | Plan | Blocked | Gone | Stale | Refused | Discarded
)


def choose_exit_code(outcome: CommandOutcome) -> int:
    """Return 0 for done or possible, 1 for no."""
    match outcome:
        case Applied() | Undone() if outcome.open:
            return 1
        case Unchanged() | Applied() | Preview() | Adopted() | Undone() | Plan() | Discarded():
            return 0
        case Blocked() | Gone() | Stale() | Refused():
            return 1
        case _:
            assert_never(outcome)


def print_and_exit(
    outcome: CommandOutcome,
    harness: Harness,
    *,
    stat: bool = False,
    name: str = "",
    steps: Sequence[str] = (),
    looser: Sequence[str] = (),
    warnings: Sequence[str] = (),
    doubts: Sequence[str] | None = None,
) -> NoReturn:
    """Print an outcome and end the command; the exit code is committed before anything is printed.

    `name` is what a verdict is about, `steps` what to try next, `looser` what files that were put back loosen,
    `warnings` what else there is to know, `doubts` what was reported before the change was made.
    """
    code = choose_exit_code(outcome)
    if isinstance(outcome, Applied | Adopted | Undone | Discarded):
        commit_exit_code(code)
    if out.for_json:
        answer = outcome_to_json(outcome, harness)
        put_back = {"looser": list(looser)} if isinstance(outcome, Discarded) else {}
        known = [*warnings, *(doubts or ())]
        more = {"next": list(steps)} if steps else {}
        more |= {"warnings": known} if known or doubts is not None else {}
        emit({**answer, **put_back, **more})
    else:
        show_outcome(outcome, harness, stat=stat, name=name)
        _show_looser(looser)
        for reason in list_unheeded(outcome, harness):
            out.print(f"! {reason}", style="yellow")
        for warning in warnings:
            err.print(f"note: {warning}", style="yellow")
        for step in steps:
            out.print(f"  next, {step}", style="cyan")
    raise typer.Exit(code)


def outcome_to_json(outcome: CommandOutcome, harness: Harness) -> dict[str, Any]:
    """Return any outcome as JSON."""
    from takeback.present.plans import list_kept_json, outside_to_json  # noqa: PLC0415 - start-up

    match outcome:
        case Unchanged():
            drift = {"drift": changes_to_json(outcome.drift)} if outcome.drift else {}
            return {"result": "unchanged", "entry": None, "changes": [], **drift}
        case Applied():
            return {
                "result": "applied",
                "entry": outcome.entry.id,
                "forced": outcome.forced,
                "verdict": outcome.verdict.to_json(),
                "ties": _ties_to_json(outcome.ties),
                "changes": changes_to_json(outcome.writes),
                "looser": weigh_entry(harness, outcome),
                "effect": list(outcome.entry.effect),
                "unheeded": list_unheeded(outcome, harness),
                **({"irreversible": list(outcome.unkept)} if outcome.unkept else {}),
                **open_to_json(outcome.open),
            }
        case Preview():
            return {
                "result": "plan",
                "verdict": outcome.verdict.to_json(),
                "candidate": outcome.candidate.to_json(),
                "paths": list(outcome.paths),
                **outside_to_json(harness, (write.slot for write in outcome.changes)),
                "ties": _ties_to_json(outcome.ties),
                "changes": changes_to_json(outcome.changes),
                **({"irreversible": list(outcome.unkept)} if outcome.unkept else {}),
                "looser": weigh_preview(harness, outcome),
                "unheeded": list_unheeded(outcome, harness),
                "drift": _drift_to_json(outcome.drift, outcome.elsewhere),
            }
        case Adopted():
            result = "salvaged" if outcome.entry.kind == "salvage" else "adopted"
            changes = changes_to_json(outcome.changes, harness.state)
            seen = view_entry(harness, outcome.entry)
            return {
                "result": result,
                "entry": outcome.entry.id,
                "grade": seen.grade or None,
                "unproved": seen.unproved or None,
                "ambiguous": list(outcome.ambiguous),
                "coarse": list(outcome.coarse),
                "changes": changes,
                "layout": list(outcome.layout),
                "looser": weigh_entry(harness, outcome),
                "effect": list(outcome.entry.effect),
                "unheeded": list_unheeded(outcome, harness),
            }
        case Undone():
            answer = _plan_to_json(outcome.plan, harness, done=True)
            return {"result": "done", "entry": outcome.entry.id, **answer, **open_to_json(outcome.open)}
        case Plan():
            footing = harness.drift_beside(outcome)
            drift = _drift_to_json(footing.touched, footing.elsewhere)
            return {"result": "plan", **_plan_to_json(outcome, harness), "drift": drift}
        case Blocked():
            return {
                "result": "blocked",
                "off": list(outcome.off),
                "on": list(outcome.on),
                "ids": _list_ids(harness, (number for number, _ in outcome.reasons)),
                "reasons": {str(number): why for number, why in outcome.reasons},
                "together": _plan_to_json(outcome.together, harness) if isinstance(outcome.together, Plan) else None,
            }
        case Gone():
            slots = [describe_slot(slot, harness.state) for slot in outcome.slots]
            sealed = (
                {"sealed": {describe_slot(slot): seal for slot, seal in outcome.sealed}} if outcome.sealed else {}
            )
            return {
                "result": "witness gone",
                "slots": slots,
                **sealed,
                "left": changes_to_json(outcome.left, harness.state),
            }
        case Stale():
            return {"result": "stale", "given": outcome.given, "now": _plan_to_json(outcome.plan, harness)}
        case Refused():
            return {
                "result": "refused",
                "why": outcome.why.value,
                "message": outcome.message,
                "verdict": outcome.verdict.to_json() if outcome.verdict else None,
                "drift": changes_to_json(outcome.drift),
                "broken": [fault_to_json(fault) for fault in outcome.broken],
                "ties": _ties_to_json(outcome.ties),
                "kept": list_kept_json(outcome.plan, done=False) if outcome.plan else [],
            }
        case Discarded():
            return {"result": "discarded", "entry": outcome.entry.id, "paths": list(outcome.paths)}
        case _:
            assert_never(outcome)


def _drift_to_json(touched: Iterable[SlotChange], elsewhere: Iterable[SlotChange]) -> dict[str, Any]:
    return {"in_the_way": changes_to_json(touched), "elsewhere": changes_to_json(elsewhere)}


def open_to_json(steps: Sequence[OpenStep]) -> dict[str, Any]:
    """Return what is open and what is in doubt, as JSON; nothing where nothing is."""
    if not steps:
        return {}
    return {
        "open": [step.to_json() for step in steps if not step.is_doubt],
        "doubt": [step.to_json() for step in steps if step.is_doubt],
    }


def show_open(steps: Sequence[OpenStep]) -> None:
    """Print what is open, each with the way out."""
    for step in steps:
        out.print(localize_hints(f"! {step.describe()}"), style="yellow")


def fault_to_json(fault: Broken) -> dict[str, str]:
    """Return a file that cannot be read, as JSON."""
    return {"path": fault.path, "where": fault.where, "message": fault.message}


def show_broken(faults: Iterable[Broken]) -> None:
    """Print which files cannot be read, and what puts each back."""
    for fault in faults:
        out.print(localize_hints(f"! {fault} ('takeback discard {fault.path}' puts it back)"), style="yellow")


def show_outcome(outcome: CommandOutcome, harness: Harness, *, stat: bool = False, name: str = "") -> None:
    """Print any outcome; `name` is what a verdict is about."""
    match outcome:
        case Unchanged():
            _show_unchanged(outcome)
        case Applied():
            _show_applied(outcome, harness, stat=stat)
        case Preview():
            _show_preview(outcome, harness, stat=stat)
        case Adopted():
            _show_adopted(outcome, harness, stat=stat)
        case Undone():
            _show_headline(outcome.plan, done=True)
            done = describe_toggle(outcome.plan, harness, "took back", "brought back")
            out.print(f"{'open' if outcome.open else 'done'}: {done}; entry {outcome.entry.id[:SHORT]}")
            show_plan(outcome.plan, harness, stat=stat, done=True)
            show_open(outcome.open)
        case Plan():
            _show_headline(outcome, done=False)
            out.print(f"would {describe_toggle(outcome, harness, 'take back', 'bring back')}:")
            show_plan(outcome, harness, stat=stat)
            out.print(f"token {outcome.token}")
        case Blocked():
            _show_blocked(outcome, harness, stat=stat)
        case Gone():
            _show_gone(outcome, harness, stat=stat)
        case Stale():
            out.print(f"stale: the plan is now {outcome.plan.token}, not {outcome.given}; nothing was changed")
            _show_headline(outcome.plan, done=False)
            show_plan(outcome.plan, harness, stat=stat)
        case Refused():
            _show_refused(outcome, harness, name, stat=stat)
        case Discarded():
            out.print(f"restored: entry {outcome.entry.id[:SHORT]}; undoing it brings the discarded contents back")
            out.print("\n".join(f"  {path}" for path in outcome.paths))
        case _:
            assert_never(outcome)


_NEXT = {
    RefusalReason.STATE: "'takeback show HEAD --state' shows the state that the change meets; correct the change",
    RefusalReason.REAL: "'takeback status' shows what is in the way; remove that, then run the same command again",
    RefusalReason.UNSTORED: "'takeback help things' shows what a change can name",
    RefusalReason.UNSAYABLE: "correct the change and try it with --plan; 'takeback help things' shows how to name it",
    RefusalReason.TIED: "without --no-ties the change is made; 'takeback log --graph' draws what depends on what",
}
"""What to do about a refusal whose message names no command."""


def _show_refused(refused: Refused, harness: Harness, name: str, *, stat: bool) -> None:
    from takeback.present.plans import describe_kept  # noqa: PLC0415 - start-up

    if refused.why is RefusalReason.VERDICT and refused.verdict is not None:
        show_verdict(refused.verdict, name)
        return
    out.print(localize_hints(f"refused: {refused.message}"))
    if refused.why is RefusalReason.DRIFT:
        show_changes(refused.drift, lambda: harness.state, stat=stat)
        out.print(
            localize_hints("next: 'takeback adopt' records this as an entry, 'takeback discard' reverts it"),
            style="cyan",
        )
    if refused.plan is not None:
        for line in describe_kept(refused.plan, done=False):
            out.print(f"  {line}")
        out.print("next: without --strict the rest is undone and this stays; --plan shows it", style="cyan")
    elif refused.why in _NEXT and "'takeback " not in refused.message:
        out.print(localize_hints(f"next: {_NEXT[refused.why]}"), style="cyan")


def _show_adopted(adopted: Adopted, harness: Harness, *, stat: bool) -> None:
    verb = "put back, as a change of its own" if adopted.entry.kind == "salvage" else "adopted"
    seen = view_entry(harness, adopted.entry)
    out.print(f"{verb}: entry {adopted.entry.id[:SHORT]}{f' ({seen.grade})' if seen.grade else ''}")
    show_changes(adopted.changes, lambda: adopted.before, stat=stat)
    for path in adopted.layout:
        out.print(f"{path}: comments, formatting or permission bits")
    _show_looser(weigh_entry(harness, adopted))
    _show_effect(adopted.entry.effect)
    _show_readers(harness, paths_of(adopted.entry), adopted.changes)
    if seen.unproved:
        out.print(f"note: no recovery was proved for it, because {seen.unproved}", style="yellow")
    for address in adopted.ambiguous:
        out.print(f"note: what was done to {address} {SEVERAL}", style="yellow")
    for address in adopted.coarse:
        out.print(f"note: a stretch of {address} was too long to compare and counts as replaced", style="yellow")


def _show_unchanged(outcome: Unchanged) -> None:
    out.print(UNCHANGED)
    if outcome.drift:
        out.print(localize_hints(STAYS), style="yellow")


def _show_gone(gone: Gone, harness: Harness, *, stat: bool) -> None:
    for sentence in describe_gone(gone):
        out.print(f"captured contents are gone: {sentence}" if sentence != KEYS_HINT else f"  {sentence}")
    if gone.left:
        out.print("what --salvage could still restore, as a new change:")
        show_changes(gone.left, lambda: harness.state, stat=stat)


def _show_applied(applied: Applied, harness: Harness, *, stat: bool) -> None:
    approved = ", approved" if not applied.forced and not applied.verdict.admitted else ""
    forced = ", FORCED" if applied.forced else approved
    if applied.forced:
        err.print("forced: this change is not admitted, and its entry says so permanently", style="red")
    out.print(f"applied: entry {applied.entry.id[:SHORT]} ({describe_grade(applied.verdict)}{forced})")
    if applied.unkept:
        out.print(describe_unkept(applied.unkept), style="yellow")
    show_changes(applied.writes, lambda: applied.before, stat=stat)
    show_open(applied.open)
    _show_looser(weigh_entry(harness, applied))
    _show_effect(applied.entry.effect)
    _show_readers(harness, paths_of(applied.entry), applied.writes)
    for number, why in sorted(applied.ties.items()):
        tied = describe_entry(number, harness)
        out.print(f"note: {tied} can now be undone only together with this ({why} without it)")


def _show_preview(preview: Preview, harness: Harness, *, stat: bool) -> None:
    from takeback.harness.drift import Footing  # noqa: PLC0415 - start-up
    from takeback.present.plans import describe_outside  # noqa: PLC0415 - start-up

    forced = "" if preview.verdict.admitted else ", NOT ADMITTED"
    files = f" in {', '.join(preview.paths)}" if preview.paths else ""
    out.print(f"would change this{files} ({describe_grade(preview.verdict)}{forced}):")
    if preview.unkept:
        out.print(describe_unkept(preview.unkept), style="yellow")
    show_changes(preview.changes, lambda: preview.before, stat=stat)
    _show_looser(weigh_preview(harness, preview))
    _show_readers(harness, preview.paths, preview.changes)
    for number, why in sorted(preview.ties.items()):
        out.print(
            f"note: {describe_entry(number, harness)} could then be undone only together with this ({why} without it)"
        )
    for line in describe_outside(harness, (write.slot for write in preview.changes)):
        out.print(line, style="yellow")
    footing = Footing(preview.before, preview.before, preview.drift, preview.elsewhere)
    for text, style in _list_drift_notes(footing):
        out.print(text, style=style)


def _show_blocked(blocked: Blocked, harness: Harness, *, stat: bool) -> None:
    out.print("blocked: nothing was changed")
    for number, why in blocked.reasons:
        out.print(f"  {describe_entry(number, harness)}: {why}")
    if isinstance(blocked.together, Plan):
        verb = "take back" if blocked.off else "bring back"
        out.print(f"with --cascade, {verb} {list_entry_names(blocked.entries, harness)} as well:")
        show_plan(blocked.together, harness, stat=stat)


def _show_looser(reasons: Iterable[str]) -> None:
    for reason in reasons:
        out.print(f"looser: {reason}", style="yellow")


def show_loosening() -> None:
    """Print that a change was not made because of what it loosens, and how it is."""
    out.print(LOOSENS, style="yellow")
    out.print("  next, if you want that: the same command with --loosen", style="cyan")


def _show_headline(plan: Plan, *, done: bool) -> None:
    from takeback.present.plans import make_headline  # noqa: PLC0415 - start-up

    first = make_headline(plan, done=done)
    if first is not None:
        out.print(first, style="yellow")


def show_plan(plan: Plan, harness: Harness, *, stat: bool, done: bool = False) -> None:
    """Print what a plan changes and keeps, and which of its entries are not like others."""
    show_changes(plan.changes, lambda: plan.before, stat=stat)
    for text, style in list_plan_notes(plan, harness, done=done):
        out.print(text, style=style)


def _show_effect(effect: Iterable[str]) -> None:
    effects = ", ".join(effect)
    if effects:
        out.print(f"takes effect: {effects}")


def _show_readers(harness: Harness, paths: Iterable[str], changes: Iterable[SlotChange | Write]) -> None:
    surfaces = {change.slot[0] for change in changes}
    for line in describe_readers(map_readers(harness, dict.fromkeys(paths), surfaces)):
        out.print(line)


def _plan_to_json(plan: Plan, harness: Harness, *, done: bool = False) -> dict[str, Any]:
    from takeback.present.plans import (  # noqa: PLC0415 - start-up
        list_kept_json,
        list_repeats_json,
        plan_outside_to_json,
        why_kept,
    )

    return {
        "token": plan.token,
        "off": list(plan.off),
        "on": list(plan.on),
        "ids": _list_ids(harness, (*plan.off, *plan.on, *(overwritten.entry for overwritten in plan.kept))),
        "visible": plan.visible,
        "kept": [kept | why_kept(harness, kept["entry"]) for kept in list_kept_json(plan, done=done)],
        **plan_outside_to_json(harness, plan),
        "unkept": [{"entry": number, "path": path, "why": why} for number, path, why in _list_unkept(plan, harness)],
        "twice": list_repeats_json(plan, harness.ledger.history.index, done=done),
        "unadmitted": list(plan.unadmitted),
        "ambiguous": [{"entry": number, "slot": address} for number, address in _find_ambiguous(plan, harness)],
        "changes": changes_to_json(plan.changes, *((plan.state, plan.before) if done else (plan.before, plan.state))),
        "layout": list(plan.layout),
        "looser": weigh_plan(harness, plan),
        "effect": list(harness.effect_of(plan)),
        "readers": {path: list(names) for path, names in map_plan_readers(harness, plan).items()},
    }


def _list_ids(harness: Harness, numbers: Iterable[int]) -> dict[str, str]:
    return {str(number): harness.journal.get(number).id for number in numbers}


def _ties_to_json(ties: Mapping[int, str]) -> dict[str, str]:
    return {str(number): why for number, why in sorted(ties.items())}
