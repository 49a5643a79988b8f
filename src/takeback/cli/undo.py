"""`takeback undo`, `redo` and `restore`: take entries back, bring them back, go back to a point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import typer

from takeback.cli.opening import (
    CascadeFlag,
    DirOption,
    EntriesArgument,
    JournalOption,
    PlanFlag,
    TokenOption,
    opened,
    outcome_json,
    show_outcome,
)
from takeback.cli.output import JsonFlag, emit, finish
from takeback.errors import InputError
from takeback.harness import Adopted, Harness, Undone
from takeback.harness.requests import redo_request, restore_request, undo_request
from takeback.undo import Plan


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("undo")(undo)
    app.command("redo")(redo)
    app.command("restore")(restore)


def undo(
    entries: list[str] | None = EntriesArgument,
    plan: bool = PlanFlag,
    token: str | None = TokenOption,
    cascade: bool = CascadeFlag,
    salvage: bool = typer.Option(False, "--salvage", help="If the witness is gone, put back what is left of it."),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Take entries back, whatever came after: the result is the history without them. 1 if blocked or stale.

    Example: `takeback undo 3f2a91 --plan`, then `takeback undo 3f2a91 --token TOKEN`
    """
    if not entries:
        raise InputError("undo", found="no entry", expected="at least one; 'takeback log' lists them")
    names = tuple(entries)
    _demand_one(plan=plan, token=token is not None, salvage=salvage)
    _demand_one(cascade=cascade, salvage=salvage)

    def answer(harness: Harness) -> object:
        if plan:
            return harness.plan(lambda ledger: undo_request(ledger, names), cascade=cascade)
        if salvage:
            return harness.salvage(*names)
        return harness.undo(*names, token=token, cascade=cascade)

    _run(answer, directory, journal, as_json=as_json)


def redo(
    entries: list[str] | None = EntriesArgument,
    plan: bool = PlanFlag,
    token: str | None = TokenOption,
    cascade: bool = CascadeFlag,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Bring back entries that were taken back; without names, those of the last undo in force.

    Example: `takeback redo --dir agent`
    """
    names = tuple(entries or ())
    _demand_one(plan=plan, token=token is not None)

    def answer(harness: Harness) -> object:
        if plan:
            return harness.plan(lambda ledger: redo_request(ledger, names), cascade=cascade)
        return harness.redo(*names, token=token, cascade=cascade)

    _run(answer, directory, journal, as_json=as_json)


def restore(
    to: str = typer.Option(
        ...,
        "--to",
        metavar="ENTRY|TIME",
        help="The entry right after which things should be, or a time (ISO 8601, UTC).",
    ),
    plan: bool = PlanFlag,
    token: str | None = TokenOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    as_json: bool = JsonFlag,
) -> None:
    """Go back, or forward again, to how things were right after an entry, or at a time. This can be undone as well.

    Example: `takeback restore --to 3f2a91 --dir agent`, or `--to 2031-05-27T14:30:00Z`
    """
    _demand_one(plan=plan, token=token is not None)

    def answer(harness: Harness) -> object:
        return harness.plan(lambda ledger: restore_request(ledger, to)) if plan else harness.restore(to, token=token)

    _run(answer, directory, journal, as_json=as_json)


def _demand_one(**options: bool) -> None:
    """Refuse options of which one would be ignored beside the other."""
    given = [f"--{name}" for name, present in options.items() if present]
    if len(given) > 1:
        raise InputError("options", found=" and ".join(given), expected="one of them")


def _run(answer: Callable[[Harness], object], directory: Path, journal: str | None, *, as_json: bool) -> None:
    with opened(directory, journal) as harness:
        outcome = answer(harness)
        if as_json:
            emit(outcome_json(outcome, harness))
            yes = isinstance(outcome, Undone | Plan | Adopted)
        else:
            yes = show_outcome(outcome, harness)
    finish(yes=yes)
