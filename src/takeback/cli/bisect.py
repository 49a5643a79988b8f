"""`takeback bisect`: which entries broke the agent."""

from __future__ import annotations

import typer

from takeback.agents.scratch_copy import require_copyable_journal, search_breakage
from takeback.cli import completion
from takeback.cli.context import ReadOptions, name_for_shell, open_harness
from takeback.cli.hints import make_command_line
from takeback.cli.options import setting
from takeback.cli.outcomes import print_and_exit
from takeback.cli.output import answer, err, finish, out
from takeback.harness import Harness, Refused
from takeback.harness.bisect import Bisection, LiveEntries
from takeback.present.entries import make_entry_namer
from takeback.present.titles import format_count


def find(
    options: ReadOptions,
    test: str = setting(
        "--test", "CMD", "The command that decides by its exit code: 0 works, 125 cannot tell, any other broken.", ...
    ),
    good: str | None = setting(
        "--good",
        "ENTRY",
        "An entry after which it still worked.",
        None,
        show_default="the beginning",
        autocompletion=completion.offer_entries,
    ),
    seconds: float = typer.Option(300.0, "--seconds", min=0.1, help="How long one run of the command may take."),
) -> None:
    """Find the entry that broke the agent, or the smallest set of entries, by leaving entries out.

    The command runs in a scratch copy of the harness, from which some entries are left out; the harness itself is not
    changed. A command that takes too long counts as broken. Exit code 1 if no entry is to blame, because the command
    works now or failed before all of them.

    Example: `takeback bisect --test 'make check'`, `takeback bisect --good 12 --test ./health.sh`
    """
    root = options.root
    require_copyable_journal(root, options.journal)
    with open_harness(root, options.journal) as harness:
        bisection = search_breakage(harness, root, test, _tell_trial, good=good, seconds=seconds)
        if isinstance(bisection, Refused):
            print_and_exit(bisection, harness)
        _tell(bisection, harness)
    finish(yes=bool(bisection.entries))


def _tell_trial(live: LiveEntries, entries: tuple[int, ...], broken: bool | None) -> None:
    word = {True: "broken", False: "works", None: "cannot tell"}[broken]
    err.print(f"with {len(live)} of {len(entries)} entries: {word}")


def _tell(bisection: Bisection, harness: Harness) -> None:
    named = make_entry_namer(harness)
    names = [name_for_shell(entry, harness.journal.get(entry).id) for entry in bisection.entries]
    undo = ["takeback", "undo", *names] if names else []
    entries = [
        {"seq": entry, "id": harness.journal.get(entry).id, "what": named(entry)} for entry in bisection.entries
    ]
    answer({"entries": entries, "tests": bisection.tests, "reason": bisection.reason, "undo": undo})
    if not bisection.entries:
        out.print(f"no entry to blame after {format_count(bisection.tests, 'test')}: {bisection.reason}")
        return
    several = "" if len(bisection.entries) == 1 else "; all of these together cause it, so undoing one is enough"
    out.print(f"found after {format_count(bisection.tests, 'test')}{several}:", style="bold")
    for entry in bisection.entries:
        out.print(f"  #{entry}  {named(entry)}")
    out.print(f"to undo it: {make_command_line('undo', *undo[2:])}")
