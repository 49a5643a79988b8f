"""`takeback undo`, `redo` and `restore`: take entries back, bring them back, go back to a point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import typer

from takeback.cli import completion
from takeback.cli.context import AuthorOption, FilterOptions, ViewOptions, make_entries_argument, name_for_shell
from takeback.cli.options import argument, flag, refuse_several, setting
from takeback.cli.outcomes import CommandOutcome, print_and_exit
from takeback.cli.output import err, out
from takeback.errors import InputError
from takeback.harness import Harness
from takeback.harness.outcomes import Discarded
from takeback.journal import Record
from takeback.present.titles import join_words

if TYPE_CHECKING:
    from takeback.present.entries import Filter

NAMED: Final = 3
"""So many other files of an entry are named."""


@dataclass(frozen=True)
class PlanOptions(ViewOptions):
    """What commands take that plan what they do."""

    plan: bool = flag("--plan", "Only show what it would do, with a token for exactly this plan.")
    token: str | None = setting("--token", "TOKEN", "Do it only if the plan still has this token.", None)
    strict: bool = flag("--strict", "Refuse if something stays because a later entry wrote it.")

    @property
    def is_bound(self) -> bool:
        """Whether it is only planned, or bound to a plan: then nobody is asked."""
        return self.plan or self.token is not None

    def refuse_both_ways(self, *, salvage: bool = False) -> None:
        """Refuse a plan, a token and what is left of contents together."""
        refuse_several("options", {"--plan": self.plan, "--token": self.token is not None, "--salvage": salvage})


@dataclass(frozen=True)
class ToggleOptions(PlanOptions):
    """What commands take that entries depend on."""

    cascade: bool = flag("--cascade", "Include the blocking entries.")

    @property
    def how(self) -> dict[str, bool]:
        """What undo and redo have in common."""
        return {"cascade": self.cascade, "strict": self.strict}


def undo(
    options: ToggleOptions,
    wanted: FilterOptions,
    entries: list[str] | None = make_entries_argument(completion.offer_live_entries),
    over: bool = flag(
        "--over", "Overwrite what others wrote since in another system; needs the token of a plan made with --over."
    ),
    salvage: bool = flag("--salvage", "If captured contents are gone, restore what is left."),
    last: bool = flag("--last", "Undo the newest live change, without a list to pick from."),
    only: bool = flag("--only", "With --path: put back only the files that match, as a change of its own."),
    author: str = setting(
        "--as",
        "WHO",
        "Say who undoes it, for the log.",
        envvar=["TAKEBACK_BY", "USER"],
        autocompletion=completion.offer_people,
    ),
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

    chosen = read_filter(**vars(wanted))
    given = {"entries": bool(entries), "a filter": chosen != Filter(), "--last": last}
    several = [name for name, present in given.items() if present]
    if len(several) > 1 and not (only and several == ["entries", "a filter"] and chosen == Filter(path=wanted.path)):
        names = " ".join(entries or ("7",))
        hint = f"'takeback undo {names} --as WHO' says who undoes it; --by chooses the changes that somebody made"
        raise InputError("undo", found=" and ".join(several), expected="one of them", hint=hint)
    _require_sense(options, wanted, over=over, salvage=salvage, only=only)
    named = bool(several) or options.is_bound
    asked = not (named or salvage or options.as_json) and _can_ask()
    how = options.how
    warnings: list[str] = []

    def answer(harness: Harness) -> CommandOutcome | None:
        if asked:
            from takeback.cli.picker import pick_entries  # noqa: PLC0415 - start-up

            picked = pick_entries(harness, **how)
            if picked is None:
                return None
            return harness.undo(*picked.ids, token=picked.token, **how | {"cascade": picked.cascade}, by=author)
        if not named:
            raise _make_name_error("undo", find_last_live(harness.ledger))
        names = tuple(entries or ())
        if chosen != Filter() and not entries:
            from takeback.cli.log import list_live_entries  # noqa: PLC0415 - start-up

            names = list_live_entries(harness, chosen)
        if only:
            matches, planning = chosen.matches_path, options.plan
            return harness.undo_files(
                matches, *names, token=options.token, planning=planning, strict=options.strict, by=author
            )
        if wanted.path:
            warnings.extend(_list_others(harness, names, chosen))
            _warn_before(() if options.as_json else warnings)
        if options.plan:
            return harness.plan(lambda ledger: build_undo_request(ledger, names), **how, over=over)
        if salvage:
            return harness.salvage(*(names or (find_last_live(harness.ledger).id,)), by=author)
        return harness.undo(*names, token=options.token, **how, over=over, by=author)

    _run(answer, options, warnings)


def _require_sense(options: ToggleOptions, wanted: FilterOptions, *, over: bool, salvage: bool, only: bool) -> None:
    """Refuse options that do not go together; what others wrote is written over only by a plan that somebody saw."""
    if only and (not wanted.path or salvage or options.cascade):
        choice = "--only without --path" if not wanted.path else "--only with --salvage or --cascade"
        raise InputError("options", found=choice, expected="--path PATTERN --only")
    options.refuse_both_ways(salvage=salvage)
    for name, given_too in {"--cascade": options.cascade, "--over": over, "--strict": options.strict}.items():
        refuse_several("options", {name: given_too, "--salvage": salvage})
    if over and not options.plan and options.token is None:
        raise InputError(
            "--over",
            found="no token",
            expected="the token of the plan",
            hint="'takeback undo ENTRY --over --plan' shows what it would write over, and the token",
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
    options: ToggleOptions,
    entries: list[str] | None = make_entries_argument(completion.offer_undone_entries),
    last: bool = flag("--last", "Redo the latest active undo, without asking."),
    by: str = AuthorOption,
) -> None:
    """Bring back entries that were undone. Without a name, a terminal shows what the latest active undo would bring
    back, and asks; elsewhere a name or `--last` is required, because
    a shell drops an unquoted `#6` and everything after it.

    Example: `takeback redo 6`, `takeback redo --last`
    """
    from takeback.harness.entry_names import build_redo_request, resolve_entry_ref  # noqa: PLC0415 - start-up

    names = tuple(entries or ())
    refuse_several("redo", {"entries": bool(names), "--last": last})
    options.refuse_both_ways()
    named = bool(names) or last or options.is_bound
    asked = not (named or options.as_json) and _can_ask()
    how = options.how

    def answer(harness: Harness) -> CommandOutcome | None:
        if asked:
            from takeback.cli.picker import confirm_redo  # noqa: PLC0415 - start-up

            seen = confirm_redo(harness, **how)
            return None if seen is None else harness.redo(token=seen, **how, by=by)
        if not named:
            _, _, meant = build_redo_request(harness.ledger, ())
            raise _make_name_error("redo", resolve_entry_ref(harness.ledger, meant[0]))
        if options.plan:
            return harness.plan(lambda ledger: build_redo_request(ledger, names), **how)
        return harness.redo(*names, token=options.token, **how, by=by)

    _run(answer, options)


def restore(
    options: PlanOptions,
    point: str = argument(
        "POINT", "The entry or the time whose state to restore.", "", autocompletion=completion.offer_entries
    ),
    to: str = setting(
        "--to",
        "ENTRY|TIME",
        "The same: an entry, or a time (ISO 8601, UTC; 2h ago; yesterday).",
        autocompletion=completion.offer_entries,
    ),
    by: str = AuthorOption,
) -> None:
    """Go back, or forward again, to the state after an entry or at a time. A restore can be undone as well.

    Example: `takeback restore 6`, `takeback restore --to yesterday`, or
    `takeback restore --to 2031-05-27T14:30:00Z`
    """
    from takeback.harness.entry_names import build_restore_request  # noqa: PLC0415 - start-up

    options.refuse_both_ways()
    if bool(point) == bool(to):
        given = "two points" if to else "neither an entry nor a time"
        hint = "for example 'takeback restore 6', or 'takeback restore --to yesterday'"
        raise InputError("restore", found=given, expected="an entry or a time", hint=hint)
    goal = point or to

    def answer(harness: Harness) -> CommandOutcome:
        if options.plan:
            return harness.plan(lambda ledger: build_restore_request(ledger, goal), strict=options.strict)
        return harness.restore(goal, token=options.token, strict=options.strict, by=by)

    _run(answer, options)


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
    answer: Callable[[Harness], CommandOutcome | None], options: PlanOptions, warnings: Sequence[str] = ()
) -> None:
    from takeback.present.warnings import read_actual, weigh_states  # noqa: PLC0415 - start-up

    with options.open() as harness:
        outcome = answer(harness)
        if outcome is None:
            out.print("nothing was undone")
            raise typer.Exit(1)
        looser = weigh_states(harness, harness.state, read_actual(harness)) if isinstance(outcome, Discarded) else ()
        known = warnings if options.as_json else ()
        with out.page_output(allowed=options.plan and not options.no_pager):
            print_and_exit(outcome, harness, stat=options.stat, looser=looser, warnings=known)


def _can_ask() -> bool:
    from takeback.cli.picker import can_ask  # noqa: PLC0415 - start-up

    return can_ask()
