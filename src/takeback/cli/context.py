"""The context of the everyday commands: options that name a workspace and its entries, and opening one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from takeback.adapters import open_workspace
from takeback.adapters.manifest import find_root
from takeback.adapters.variables import use_variables
from takeback.cli import completion
from takeback.cli.hints import localize_hints, make_command_line, remember_directory
from takeback.cli.options import CommonOptions, OptionGroup, argument, flag, setting
from takeback.cli.output import err, set_interrupt_message
from takeback.cli.secrets import RevealFlag
from takeback.errors import UntrustedError
from takeback.harness import Harness
from takeback.harness.outcomes import describe_left_out


def find_own_program() -> list[str]:
    """Return the program's name where the shell finds it, otherwise its path."""
    beside = Path(sys.prefix) / "bin" / "takeback"
    named = shutil.which("takeback")
    if named is not None and (not beside.exists() or Path(named).resolve() == beside.resolve()):
        return ["takeback"]
    return [str(beside)] if beside.exists() else [sys.executable, "-P", "-m", "takeback"]


SHORT = 10
SHORT_NUMBERS = 1000
"""Numbers below this have fewer digits than the beginning of an id that is taken for a name."""


def _note_directory(directory: Path) -> Path:
    """Return the directory; messages name it from here on, also where the rest of the line is wrong."""
    remember_directory(directory)
    return directory


DirOption = setting("--dir -C", "DIR", "The workspace.", Path(), show_default="here", callback=_note_directory)
JournalOption = setting(
    "--journal", "PATH|URL", "Use this journal, not the manifest's.", None, envvar="TAKEBACK_JOURNAL"
)
EntryArgument = argument(
    "ENTRY",
    "An entry: its number, the beginning of its id, HEAD~N or @{TIME}.",
    autocompletion=completion.offer_entries,
)
SubjectOption = setting("--subject", "NAME", "Whom contents are about, such as user:42.")
NoteOption = setting("--note -m", "TEXT", "Say why, for the log.")
ByOption = setting(
    "--by",
    "WHO",
    "Say who makes the change, for the log.",
    envvar="TAKEBACK_BY",
    autocompletion=completion.offer_people,
)
AuthorOption = setting(
    "--by",
    "WHO",
    "Say who makes the change, for the log.",
    envvar=["TAKEBACK_BY", "USER"],
    autocompletion=completion.offer_people,
)
"""For changes that whoever types the command makes; what others made, or a program, has `ByOption`."""
StatFlag = flag("--stat", "Show only how many lines were added and removed at each address.")
ApproveOption = setting(
    "--approve", "DIGEST", "Approve what an undo could not take back, such as calls: the candidate's digest."
)
PlanFlag = flag("--plan", "Only show what it would do.")
NoPagerFlag = flag("--no-pager", "Print long output directly, even on a terminal.")


@dataclass(frozen=True)
class WorkspaceOptions(CommonOptions):
    """What commands take that open a workspace."""

    directory: Path = DirOption
    journal: str | None = JournalOption

    @property
    def root(self) -> Path:
        """The directory of the workspace."""
        return find_root(self.directory)

    def open(self, *, looking: bool = False) -> AbstractContextManager[Harness]:
        """Open the workspace; see `open_harness`."""
        return open_harness(self.directory, self.journal, looking=looking)


@dataclass(frozen=True)
class ReadOptions(WorkspaceOptions):
    """What commands take that show contents."""

    reveal: bool = RevealFlag
    """Read by its callback."""


@dataclass(frozen=True)
class ViewOptions(ReadOptions):
    """What commands take that show changes, screen by screen."""

    stat: bool = StatFlag
    no_pager: bool = NoPagerFlag


@dataclass(frozen=True)
class ChoiceOptions(OptionGroup):
    """What chooses entries."""

    surface: str = setting(
        "--surface",
        "NAME",
        "Every change of this surface.",
        autocompletion=completion.offer_words(completion.list_surfaces),
    )
    by: str = setting(
        "--by", "WHO", "Every change that this person or agent made.", autocompletion=completion.offer_people
    )
    since: str = setting("--since", "TIME", "Every change from this time on, such as 2h, today or 'last week'.")
    session: str = setting("--session", "ID", "Every change of the client's session that begins so.")


@dataclass(frozen=True)
class FilterOptions(ChoiceOptions):
    """What chooses entries, with the calls that made them."""

    prompt: str = setting(
        "--prompt", "TEXT", "Every change made under a prompt that contains this, or has this number."
    )
    path: str = setting(
        "--path", "PATTERN", "Every change of a file that matches, such as 'src/**'; a folder means all in it."
    )


@dataclass(frozen=True)
class ChangeOptions(WorkspaceOptions):
    """What commands take that make a change."""

    plan: bool = PlanFlag
    approve: str = ApproveOption
    note: str = NoteOption
    by: str = AuthorOption
    stat: bool = StatFlag


def make_entries_argument(completion: completion.Completion) -> Any:
    """Return the argument for entries that a command takes, with the completions the shell offers."""
    return argument(
        "ENTRY", "Entries: numbers, beginnings of ids, HEAD~N or @{TIME}.", None, autocompletion=completion
    )


def name_for_shell(number: int, identity: str) -> str:
    """Return the name of an entry that no shell changes and that means no other entry."""
    return str(number) if number < SHORT_NUMBERS else identity[:SHORT]


def find_key_file() -> str | None:
    """Return where TAKEBACK_KEYS says that the keys of a sealed journal are."""
    return os.environ.get("TAKEBACK_KEYS") or None


@contextmanager
def open_harness(
    directory: Path, journal: str | None, *, hold: bool = False, looking: bool = False
) -> Iterator[Harness]:
    """Open the workspace; print what recovery had to finish.

    A workspace that is not trusted is refused, unless the command is only `looking`: then it is only read.
    """
    from takeback.harness.calls_environment import use_call_environment  # noqa: PLC0415 - start-up

    use_call_environment(os.environ)
    use_variables(os.environ)
    remember_directory(directory)
    root = find_root(directory)
    try:
        harness = open_workspace(root, journal=journal, keys=find_key_file(), hold=hold)
    except UntrustedError as fault:
        if not looking:
            raise
        harness = open_workspace(root, journal=journal, keys=find_key_file(), hold=False, readonly=True)
        err.print(f"{fault.message}: it is only shown", style="yellow")
        err.print(f"  {fault.hint}", style="cyan")

    def note(outcome: Any, asked: Any) -> None:
        from takeback.present.attempts import note_refusal  # noqa: PLC0415 - only where there is one

        note_refusal(harness, outcome, asked)

    harness.listeners.on_refusal = note
    try:
        recovered = harness.recovered
        if recovered.fault:
            err.print(f"could not finish the change that a killed process left: {recovered.fault}")
        elif recovered.entry is not None:
            done = "gave up" if recovered.given_up else "finished"
            err.print(f"{done} entry {recovered.entry.id[:SHORT]}, which a killed process had left unfinished")
        if harness.doubt:
            err.print(localize_hints(harness.doubt), style="yellow")
        before = harness.ledger.last
        try:
            yield harness
        except KeyboardInterrupt:
            set_interrupt_message(_describe_interruption(harness, before))
            raise
    finally:
        harness.close()


def print_left_out(harness: Harness) -> None:
    """Say which surfaces are not in a state that is shown, because they are not installed."""
    left_out = describe_left_out(harness.ledger.missing)
    if left_out:
        err.print(left_out, style="yellow")


def _describe_interruption(harness: Harness, before: int) -> str:
    """Return what is true when a command is interrupted that opened a workspace whose journal ended at `before`."""
    ledger = harness.ledger
    if ledger.pending is not None:
        return f"a change was unfinished: the next command finishes it, or {make_command_line('recover')}"
    if ledger.last == before:
        return "nothing was changed; you can run the same command again"
    entry = next(ledger.entries())
    undo = make_command_line("undo", entry.id[:SHORT])
    return f"entry {entry.id[:SHORT]} was made and is complete; to undo it: {undo}"
