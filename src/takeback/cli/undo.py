"""`takeback undo`, `redo` and `restore`: take entries back, bring them back, go back to a point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from takeback.cli import completion
from takeback.cli.context import (
    AuthorOption,
    DirOption,
    JournalOption,
    NoPagerFlag,
    PathOption,
    PromptOption,
    SessionOption,
    StatFlag,
    make_entries_argument,
    name_for_shell,
    open_harness,
)
from takeback.cli.outcomes import CommandOutcome, print_and_exit
from takeback.cli.output import JsonFlag, err, out
from takeback.cli.secrets import RevealFlag
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.outcomes import Discarded
from takeback.journal import Record
from takeback.present.titles import join_words

if TYPE_CHECKING:
    from takeback.present.entries import Filter

NAMED: Final = 3
"""So many other files of an entry are named."""
TokenOption = typer.Option(None, "--token", metavar="TOKEN", help="Do it only if the plan still has this token.")
BindingPlanFlag = typer.Option(
    False, "--plan", help="Only show what it would do, with a token for exactly this plan."
)
StrictFlag = typer.Option(False, "--strict", help="Refuse if something stays because a later entry wrote it.")
CascadeFlag = typer.Option(False, "--cascade", help="Include the blocking entries.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("undo")(undo)
    app.command("redo")(redo)
    app.command("restore")(restore)


def undo(
    entries: list[str] | None = make_entries_argument(completion.offer_live_entries),
    plan: bool = BindingPlanFlag,
    token: str | None = TokenOption,
    cascade: bool = CascadeFlag,
    strict: bool = StrictFlag,
    over: bool = typer.Option(
        False,
        "--over",
        help="Overwrite what others wrote since in another system; needs the token of a plan made with --over.",
    ),
    salvage: bool = typer.Option(False, "--salvage", help="If captured contents are gone, restore what is left."),
    last: bool = typer.Option(False, "--last", help="Undo the newest live change, without a list to pick from."),
    surface: str = typer.Option(
        "",
        "--surface",
        metavar="NAME",
        help="Every live change of this surface.",
        autocompletion=completion.offer_words(completion.list_surfaces),
    ),
    by: str = typer.Option(
        "",
        "--by",
        metavar="WHO",
        help="Every live change that this person or agent made.",
        autocompletion=completion.offer_people,
    ),
    since: str = typer.Option(
        "", "--since", metavar="TIME", help="Every live change from this time on, or from 2h ago."
    ),
    prompt: str = PromptOption,
    session: str = SessionOption,
    path: str = PathOption,
    only: bool = typer.Option(
        False, "--only", help="With --path: put back only the files that match, as a change of its own."
    ),
    author: str = typer.Option(
        "",
        "--as",
        envvar=["TAKEBACK_BY", "USER"],
        metavar="WHO",
        help="Say who undoes it, for the log.",
        autocompletion=completion.offer_people,
    ),
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    no_pager: bool = NoPagerFlag,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Undo entries, whatever came after them. The result is the history without them.

    Without a name, a terminal shows a list to pick from, with what each undo would change; elsewhere a name or
    `--last` is required, because a shell drops an unquoted `#6` and everything after it. `--last` undoes the newest
    live change; repeated, it goes further back. `--prompt`, `--session`, `--path`, `--surface`, `--by` and `--since`
    undo everything that matches all of them, as one plan.

    `--path` undoes whole entries, including their changes of other files, and says so. With `--only`, just the files
    that match are put back, as a new change that can be undone; with names, those of these entries only.

    A value that a later entry wrote again stays, and the output says so; `--strict` refuses instead.

    Exit code 1 if a later entry blocks it, or if the plan no longer has the given token.

    Example: `takeback undo 6 --plan`, then `takeback undo 6 --token TOKEN`,
    `takeback undo 3f2a91 HEAD~2`, `takeback undo --by reviewer --since 1h --plan`,
    `takeback undo --prompt "make the tests pass" --path 'src/**'`, `takeback undo 14 --path docs --only`
    """
    from takeback.harness.entry_names import build_undo_request, find_last_live  # noqa: PLC0415 - start-up
    from takeback.present.entries import Filter, read_filter  # noqa: PLC0415 - start-up

    del reveal  # read by its callback
    wanted = read_filter(surface=surface, by=by, since=since, prompt=prompt, session=session, path=path)
    given = {"entries": bool(entries), "a filter": wanted != Filter(), "--last": last}
    several = [name for name, present in given.items() if present]
    if len(several) > 1 and not (only and several == ["entries", "a filter"] and wanted == Filter(path=path)):
        names = " ".join(entries or ("7",))
        raise InputError(
            "undo",
            found=" and ".join(several),
            expected="one of them",
            hint=f"'takeback undo {names} --as WHO' says who undoes it; --by chooses the changes that somebody made",
        )
    if only and (not path or salvage or cascade):
        choice = "--only without --path" if not path else "--only with --salvage or --cascade"
        raise InputError("options", found=choice, expected="--path PATTERN --only")
    _require_one_option(plan=plan, token=token is not None, salvage=salvage)
    _require_one_option(cascade=cascade, salvage=salvage)
    _require_one_option(over=over, salvage=salvage)
    _require_approval(over=over, plan=plan, token=token)
    _require_one_option(strict=strict, salvage=salvage)

    named = bool(entries) or wanted != Filter() or last or plan or token is not None
    asked = not (named or salvage or as_json) and _can_ask()

    warnings: list[str] = []

    def answer(harness: Harness) -> CommandOutcome | None:
        if asked:
            from takeback.cli.picker import pick_entries  # noqa: PLC0415 - start-up

            picked = pick_entries(harness, cascade=cascade, strict=strict)
            if picked is None:
                return None
            return harness.undo(*picked.ids, token=picked.token, cascade=picked.cascade, strict=strict, by=author)
        if not named:
            raise _make_name_error("undo", find_last_live(harness.ledger))
        names = tuple(entries or ())
        if wanted != Filter() and not entries:
            from takeback.cli.log import list_live_entries  # noqa: PLC0415 - start-up

            names = list_live_entries(harness, wanted)
        if only:
            return harness.undo_files(
                wanted.matches_path, *names, token=token, planning=plan, strict=strict, by=author
            )
        if path:
            warnings.extend(_list_others(harness, names, wanted))
            _warn_before(() if as_json else warnings)
        if plan:
            return harness.plan(
                lambda ledger: build_undo_request(ledger, names), cascade=cascade, strict=strict, over=over
            )
        if salvage:
            return harness.salvage(*(names or (find_last_live(harness.ledger).id,)), by=author)
        return harness.undo(*names, token=token, cascade=cascade, strict=strict, over=over, by=author)

    _run(
        answer,
        directory,
        journal,
        as_json=as_json,
        stat=stat,
        paged=plan and not no_pager,
        warnings=warnings if as_json else (),
    )


def _list_others(harness: Harness, names: Iterable[str], wanted: Filter) -> Iterator[str]:
    """Yield which entries that are chosen by their files changed other files too."""
    from takeback.harness.entry_names import resolve_entry  # noqa: PLC0415 - start-up
    from takeback.harness.toggle import list_others  # noqa: PLC0415 - start-up

    for name in names:
        record = resolve_entry(harness.ledger, name)
        others = list_others(record, wanted.matches_path)
        if others:
            shown = [*others[:NAMED], f"{len(others) - NAMED} more"] if len(others) > NAMED else others
            does = "does" if len(others) == 1 else "do"
            line = f"#{record.entry} also changed {join_words(shown)}, which {does} not match"
            yield f"{line}; that is undone too"


def _warn_before(warnings: Iterable[str]) -> None:
    lines = tuple(warnings)
    for warning in lines:
        err.print(f"note: {warning}", style="yellow")
    if lines:
        err.print("  --only puts back just the files that match", style="cyan")


def redo(
    entries: list[str] | None = make_entries_argument(completion.offer_undone_entries),
    plan: bool = BindingPlanFlag,
    token: str | None = TokenOption,
    cascade: bool = CascadeFlag,
    strict: bool = StrictFlag,
    last: bool = typer.Option(False, "--last", help="Redo the latest active undo, without asking."),
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    no_pager: bool = NoPagerFlag,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Bring back entries that were undone. Without a name, a terminal shows what the latest active undo would bring
    back, and asks; elsewhere a name or `--last` is required, because
    a shell drops an unquoted `#6` and everything after it.

    Example: `takeback redo 6`, `takeback redo --last`
    """
    from takeback.cli.picker import can_ask, confirm_redo  # noqa: PLC0415 - start-up
    from takeback.harness.entry_names import build_redo_request, resolve_entry_ref  # noqa: PLC0415 - start-up

    del reveal  # read by its callback
    names = tuple(entries or ())
    if names and last:
        raise InputError("redo", found="entries and --last", expected="one of them")
    _require_one_option(plan=plan, token=token is not None)
    named = bool(names) or last or plan or token is not None
    asked = not (named or as_json) and can_ask()

    def answer(harness: Harness) -> CommandOutcome | None:
        if asked:
            seen = confirm_redo(harness, cascade=cascade, strict=strict)
            return None if seen is None else harness.redo(token=seen, cascade=cascade, strict=strict, by=by)
        if not named:
            _, _, meant = build_redo_request(harness.ledger, ())
            raise _make_name_error("redo", resolve_entry_ref(harness.ledger, meant[0]))
        if plan:
            return harness.plan(lambda ledger: build_redo_request(ledger, names), cascade=cascade, strict=strict)
        return harness.redo(*names, token=token, cascade=cascade, strict=strict, by=by)

    _run(answer, directory, journal, as_json=as_json, stat=stat, paged=plan and not no_pager)


def restore(
    point: str = typer.Argument(
        "",
        metavar="POINT",
        help="The entry or the time whose state to restore.",
        autocompletion=completion.offer_entries,
    ),
    to: str = typer.Option(
        "",
        "--to",
        metavar="ENTRY|TIME",
        help="The same: an entry, or a time (ISO 8601, UTC; 2h ago; yesterday).",
        autocompletion=completion.offer_entries,
    ),
    plan: bool = BindingPlanFlag,
    token: str | None = TokenOption,
    strict: bool = StrictFlag,
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    no_pager: bool = NoPagerFlag,
    reveal: bool = RevealFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Go back, or forward again, to the state after an entry or at a time. A restore can be undone as well.

    Example: `takeback restore 6`, `takeback restore --to yesterday`, or
    `takeback restore --to 2031-05-27T14:30:00Z`
    """
    from takeback.harness.entry_names import build_restore_request  # noqa: PLC0415 - start-up

    del reveal  # read by its callback
    _require_one_option(plan=plan, token=token is not None)
    if bool(point) == bool(to):
        given = "two points" if to else "neither an entry nor a time"
        hint = "for example 'takeback restore 6', or 'takeback restore --to yesterday'"
        raise InputError("restore", found=given, expected="an entry or a time", hint=hint)
    goal = point or to

    def answer(harness: Harness) -> CommandOutcome:
        if plan:
            return harness.plan(lambda ledger: build_restore_request(ledger, goal), strict=strict)
        return harness.restore(goal, token=token, strict=strict, by=by)

    _run(answer, directory, journal, as_json=as_json, stat=stat, paged=plan and not no_pager)


def _require_one_option(**options: bool) -> None:
    given = [f"--{name}" for name, present in options.items() if present]
    if len(given) > 1:
        raise InputError("options", found=" and ".join(given), expected="one of them")


def _require_approval(*, over: bool, plan: bool, token: str | None) -> None:
    """Refuse to write over what others wrote, unless someone has seen the plan for it."""
    if over and not plan and token is None:
        raise InputError(
            "--over",
            found="no token",
            expected="the token of the plan",
            hint="'takeback undo ENTRY --over --plan' shows what it would write over, and the token",
        )


def _make_name_error(command: str, meant: Record) -> InputError:
    """Return the error for a request without a name where nobody can be asked, with both ways to name one."""
    name = name_for_shell(meant.entry, meant.id)
    return InputError(
        command,
        found="no entry",
        expected="an entry's name, or --last; a shell drops an unquoted #6 and everything after it",
        hint=f"'takeback {command} {name}' and 'takeback {command} --last' mean the newest one",
    )


def _run(
    answer: Callable[[Harness], CommandOutcome | None],
    directory: Path,
    journal: str | None,
    *,
    as_json: bool,
    stat: bool,
    paged: bool,
    warnings: Sequence[str] = (),
) -> None:
    from takeback.present.warnings import read_actual, weigh_states  # noqa: PLC0415 - start-up

    with open_harness(directory, journal) as harness:
        outcome = answer(harness)
        if outcome is None:
            out.print("nothing was undone")
            raise typer.Exit(1)
        looser = weigh_states(harness, harness.state, read_actual(harness)) if isinstance(outcome, Discarded) else ()
        with out.page_output(allowed=paged):
            print_and_exit(outcome, harness, as_json=as_json, stat=stat, looser=looser, warnings=warnings)


def _can_ask() -> bool:
    from takeback.cli.picker import can_ask  # noqa: PLC0415 - start-up

    return can_ask()
