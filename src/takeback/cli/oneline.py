"""`takeback set`, `add`, `remove`, `edit` and `move`: one-line changes, with a recovery that is written for them."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from takeback.canonical import parse
from takeback.cli import completion
from takeback.cli.context import (
    ApproveOption,
    AuthorOption,
    DirOption,
    JournalOption,
    NoteOption,
    PlanFlag,
    StatFlag,
    open_harness,
)
from takeback.cli.doubts import ask_if_wanted, list_doubts, print_doubts
from takeback.cli.outcomes import CommandOutcome, print_and_exit
from takeback.cli.output import JSON_VALUE, JsonFlag, out
from takeback.errors import InputError
from takeback.harness import Harness, Refused
from takeback.harness.apply import prepare_line
from takeback.harness.calls import read_approval
from takeback.language import Candidate
from takeback.language.oneline import OneLine, Typed, list_things
from takeback.state import ABSENT

_SAID = {verb: ", ".join(list_things(verb)) for verb in ("set", "add", "remove", "edit", "move")}
KeyArgument = typer.Argument(
    ...,
    metavar="NAME",
    help='Its name, as in an address: a.b in config["a.b"].',
    autocompletion=completion.offer_names,
)
ValueArgument = typer.Argument(
    None, metavar="VALUE", help="The value: JSON if it is JSON, else text.", show_default=False
)
TextOption = typer.Option(None, "--text", metavar="TEXT", help="The value, always taken as text.")
JsonValueOption = typer.Option(
    None, JSON_VALUE, metavar="JSON", help="The value as JSON; '--json' followed by JSON means the same."
)
FromOption = typer.Option(None, "--from", metavar="FILE", help="Take the value from a file, or from - (stdin).")
IndexOption = typer.Option(None, "--index", min=0, metavar="N", help="Put it at this position, counted from 0.")
BeforeOption = typer.Option(
    None, "--before", metavar="OTHER", help="Put it before this one.", autocompletion=completion.offer_names
)
AfterOption = typer.Option(
    None, "--after", metavar="OTHER", help="Put it after this one.", autocompletion=completion.offer_names
)
PriorityOption = typer.Option(None, "--priority", metavar="N", help="Put a middleware where this priority belongs.")
ModeOption = typer.Option(None, "--mode", metavar="MODE", help="The mode of a file, such as 0755.")


@dataclass(frozen=True, slots=True)
class _How:
    """What the commands have in common."""

    directory: Path
    journal: str | None
    note: str
    by: str
    plan: bool
    stat: bool
    as_json: bool
    approve: str


def _make_thing_argument(verb: str) -> Any:
    return typer.Argument(
        ...,
        metavar="THING",
        help=f"What: {_SAID[verb]}.",
        show_default=False,
        autocompletion=completion.offer_words(completion.make_thing_lister(verb)),
    )


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("set")(set_value)
    app.command("add")(add)
    app.command("remove")(remove)
    app.command("edit")(edit)
    app.command("move")(move)


def set_value(
    thing: str = _make_thing_argument("set"),
    key: str = KeyArgument,
    value: str | None = ValueArgument,
    text: str | None = TextOption,
    json_value: str | None = JsonValueOption,
    source: Path | None = FromOption,
    mode: str | None = ModeOption,
    index: int | None = IndexOption,
    before: str | None = BeforeOption,
    after: str | None = AfterOption,
    plan: bool = PlanFlag,
    approve: str = ApproveOption,
    note: str = NoteOption,
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Set one thing to a value, or change one item of a list. An undo brings the old value back.

    NAME+ adds an item to a list in config, NAME- removes one; a backslash before the sign makes it part of the name.
    A value in config is read as JSON if it is JSON; a prompt, route or file is taken as text.

    Example: `takeback set config permissions.allow+ 'Bash(npm test:*)'`,
    `takeback set prompt reviewer --from new.md`, `takeback set routing default_model small-1`
    """
    line = OneLine(
        "set",
        thing,
        key,
        _choose_value(value, text, json_value, source),
        mode=mode,
        index=index,
        before=_parse_typed(before),
        after=_parse_typed(after),
    )
    _make_change(line, _How(directory, journal, note, by, plan, stat, as_json, approve))


def add(
    thing: str = _make_thing_argument("add"),
    key: str = KeyArgument,
    value: str | None = ValueArgument,
    text: str | None = TextOption,
    json_value: str | None = JsonValueOption,
    source: Path | None = FromOption,
    mode: str | None = ModeOption,
    index: int | None = IndexOption,
    before: str | None = BeforeOption,
    after: str | None = AfterOption,
    priority: int | None = PriorityOption,
    plan: bool = PlanFlag,
    approve: str = ApproveOption,
    note: str = NoteOption,
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Add one thing that does not exist yet.

    Example: `takeback add tool search --json '{"description": "Search the web."}'`,
    `takeback add middleware trace '{"handler": "trace:run"}' --before auth`
    """
    line = OneLine(
        "add",
        thing,
        key,
        _choose_value(value, text, json_value, source),
        mode=mode,
        index=index,
        before=_parse_typed(before),
        after=_parse_typed(after),
        priority=priority,
    )
    _make_change(line, _How(directory, journal, note, by, plan, stat, as_json, approve))


def remove(
    thing: str = _make_thing_argument("remove"),
    key: str = KeyArgument,
    value: str | None = typer.Argument(
        None, metavar="ITEM", help="An item of a list in config, or a callback of an event.", show_default=False
    ),
    text: str | None = TextOption,
    plan: bool = PlanFlag,
    approve: str = ApproveOption,
    note: str = NoteOption,
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Remove one thing, or one item of it.

    Example: `takeback remove tool search`, `takeback remove config permissions.allow 'Bash(npm test:*)'`
    """
    line = OneLine("remove", thing, key, _choose_value(value, text, None, None))
    _make_change(line, _How(directory, journal, note, by, plan, stat, as_json, approve))


def edit(
    thing: str = _make_thing_argument("edit"),
    key: str = KeyArgument,
    old: str | None = typer.Option(
        None, "--old", metavar="TEXT", help="The text to replace; it must occur exactly once."
    ),
    new: str | None = typer.Option(None, "--new", metavar="TEXT", help="What to put in its place."),
    append: str | None = typer.Option(
        None, "--append", metavar="TEXT", help="Add this on lines of its own at the end."
    ),
    plan: bool = PlanFlag,
    approve: str = ApproveOption,
    note: str = NoteOption,
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Edit a text in one place.

    The entry covers only the lines it touches; other lines can be edited and undone separately.

    Example: `takeback edit prompt system --old 'Use tabs.' --new 'Use spaces.'`,
    `takeback edit prompt system --append 'No emoji.'`
    """
    line = OneLine("edit", thing, key, old=old, new=new, append=append)
    _make_change(line, _How(directory, journal, note, by, plan, stat, as_json, approve))


def move(
    thing: str = _make_thing_argument("move"),
    key: str = KeyArgument,
    value: str | None = typer.Argument(
        None, metavar="TO", help="The new path of a file, or the callback of an event.", show_default=False
    ),
    index: int | None = IndexOption,
    before: str | None = BeforeOption,
    after: str | None = AfterOption,
    priority: int | None = PriorityOption,
    plan: bool = PlanFlag,
    approve: str = ApproveOption,
    note: str = NoteOption,
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Move one thing without changing it.

    Example: `takeback move middleware trace --before auth`, `takeback move file notes.md docs/notes.md`
    """
    value_of = _choose_value(value, None, None, None)
    line = OneLine(
        "move",
        thing,
        key,
        value_of,
        index=index,
        before=_parse_typed(before),
        after=_parse_typed(after),
        priority=priority,
    )
    _make_change(line, _How(directory, journal, note, by, plan, stat, as_json, approve))


def _make_change(line: OneLine, how: _How) -> None:
    with open_harness(how.directory, how.journal) as harness:
        outcome, warnings = _work_out(line, harness, how)
        if outcome is None:
            out.print("nothing was changed")
            raise typer.Exit(1)
        print_and_exit(outcome, harness, as_json=how.as_json, stat=how.stat, name=line.where, doubts=warnings)


def _work_out(line: OneLine, harness: Harness, how: _How) -> tuple[CommandOutcome | None, tuple[str, ...]]:
    """Work the change out from the state and make it, with the journal held meanwhile; None if it is not wanted."""
    with harness.held() as state:
        if isinstance(state, Refused):
            return state, ()
        candidate = prepare_line(harness, line, state)
        if not isinstance(candidate, Candidate):
            return candidate, ()
        warnings = list_doubts(harness, candidate.mutation, state)
        print_doubts(warnings, as_json=how.as_json)
        if how.plan:
            return harness.preview(candidate), warnings
        if not ask_if_wanted(warnings, as_json=how.as_json):
            return None, warnings
        approval = read_approval(how.approve, how.by)
        return harness.apply(candidate, note=how.note, by=how.by, approval=approval), warnings


def _parse_typed(text: str | None) -> Any:
    return ABSENT if text is None else Typed(text)


def _choose_value(value: str | None, text: str | None, json_value: str | None, source: Path | None) -> Any:
    given = {"VALUE": value, "--text": text, JSON_VALUE: json_value, "--from": source}
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise InputError("value", found=" and ".join(names), expected="one of them")
    if value is not None:
        return Typed(value)
    if json_value is not None:
        return parse(json_value, "--json")
    if source is None:
        return ABSENT if text is None else text
    from takeback.cli.inputs import read_bytes  # noqa: PLC0415 - start-up

    content = read_bytes(source)
    try:
        return Typed(content.decode())
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
