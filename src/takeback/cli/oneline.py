"""`takeback set`, `add`, `remove`, `edit` and `move`: one-line changes, with a recovery that is written for them."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from takeback.canonical import parse
from takeback.cli import completing
from takeback.cli.doubts import doubts_of, is_wanted, tell_doubts
from takeback.cli.inputs import read_bytes
from takeback.cli.outcomes import CommandOutcome, conclude
from takeback.cli.output import JSON_VALUE, JsonFlag, out
from takeback.cli.workspaces import AuthorOption, DirOption, JournalOption, NoteOption, PlanFlag, StatFlag, opened
from takeback.errors import InputError, TakebackError
from takeback.harness import Harness, Refused, Unchanged
from takeback.harness.adapter import Spoken
from takeback.harness.drift import Footing, put_changes, refuse_drift
from takeback.harness.idle import is_idle
from takeback.language.oneline import OneLine, Typed
from takeback.language.oneline_program import Translate, program_of, things
from takeback.state import ABSENT, State
from takeback.synthesize import oracle

_SAID = {verb: ", ".join(things(verb)) for verb in ("set", "add", "remove", "edit", "move")}
KeyArgument = typer.Argument(
    ...,
    metavar="NAME",
    help='Its name, as in an address: a.b in config["a.b"].',
    autocompletion=completing.names,
)
ValueArgument = typer.Argument(
    None, metavar="VALUE", help="The value: JSON if it is JSON, else text.", show_default=False
)
TextOption = typer.Option(None, "--text", metavar="TEXT", help="The value, as text whatever it looks like.")
JsonValueOption = typer.Option(
    None, JSON_VALUE, metavar="JSON", help="The value, as JSON; --json followed by JSON means the same."
)
FromOption = typer.Option(None, "--from", metavar="FILE", help="Take the value from a file, or from - (stdin).")
IndexOption = typer.Option(None, "--index", min=0, metavar="N", help="Put it at this position, counted from 0.")
BeforeOption = typer.Option(
    None, "--before", metavar="OTHER", help="Put it before this one.", autocompletion=completing.names
)
AfterOption = typer.Option(
    None, "--after", metavar="OTHER", help="Put it after this one.", autocompletion=completing.names
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


def _thing(verb: str) -> Any:
    return typer.Argument(
        ...,
        metavar="THING",
        help=f"What: {_SAID[verb]}.",
        show_default=False,
        autocompletion=completing.one_of(completing.things(verb)),
    )


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("set")(set_value)
    app.command("add")(add)
    app.command("remove")(remove)
    app.command("edit")(edit)
    app.command("move")(move)


def set_value(
    thing: str = _thing("set"),
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
    note: str = NoteOption,
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Set one thing to a value, or change one item of a list. What was there comes back with an undo.

    NAME+ adds an item to a list in config, NAME- removes one; a backslash before the sign makes it part of the name.
    A value in config is read as JSON if it is JSON, a prompt, route or file is text as it stands.

    Example: `takeback set config permissions.allow+ 'Bash(npm test:*)'`,
    `takeback set prompt reviewer --from new.md`, `takeback set routing default_model small-1`
    """
    line = OneLine(
        "set",
        thing,
        key,
        _value(value, text, json_value, source),
        mode=mode,
        index=index,
        before=_typed(before),
        after=_typed(after),
    )
    _make(line, _How(directory, journal, note, by, plan, stat, as_json))


def add(
    thing: str = _thing("add"),
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
    note: str = NoteOption,
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Add one thing that is not there yet.

    Example: `takeback add tool search --json '{"description": "Search the web."}'`,
    `takeback add middleware trace '{"handler": "trace:run"}' --before auth`
    """
    line = OneLine(
        "add",
        thing,
        key,
        _value(value, text, json_value, source),
        mode=mode,
        index=index,
        before=_typed(before),
        after=_typed(after),
        priority=priority,
    )
    _make(line, _How(directory, journal, note, by, plan, stat, as_json))


def remove(
    thing: str = _thing("remove"),
    key: str = KeyArgument,
    value: str | None = typer.Argument(
        None, metavar="ITEM", help="An item of a list in config, or a callback of an event.", show_default=False
    ),
    text: str | None = TextOption,
    plan: bool = PlanFlag,
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
    line = OneLine("remove", thing, key, _value(value, text, None, None))
    _make(line, _How(directory, journal, note, by, plan, stat, as_json))


def edit(
    thing: str = _thing("edit"),
    key: str = KeyArgument,
    old: str | None = typer.Option(None, "--old", metavar="TEXT", help="The text to replace; it must be there once."),
    new: str | None = typer.Option(None, "--new", metavar="TEXT", help="What to put in its place."),
    append: str | None = typer.Option(
        None, "--append", metavar="TEXT", help="Add this on lines of its own at the end."
    ),
    plan: bool = PlanFlag,
    note: str = NoteOption,
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Edit a text in one place. Only the lines it touches are the entry's: others are edited and undone separately.

    Example: `takeback edit prompt system --old 'Use tabs.' --new 'Use spaces.'`,
    `takeback edit prompt system --append 'No emoji.'`
    """
    line = OneLine("edit", thing, key, old=old, new=new, append=append)
    _make(line, _How(directory, journal, note, by, plan, stat, as_json))


def move(
    thing: str = _thing("move"),
    key: str = KeyArgument,
    value: str | None = typer.Argument(
        None, metavar="TO", help="Where a file should go; which callback of an event.", show_default=False
    ),
    index: int | None = IndexOption,
    before: str | None = BeforeOption,
    after: str | None = AfterOption,
    priority: int | None = PriorityOption,
    plan: bool = PlanFlag,
    note: str = NoteOption,
    by: str = AuthorOption,
    directory: Path = DirOption,
    journal: str | None = JournalOption,
    stat: bool = StatFlag,
    as_json: bool = JsonFlag,
) -> None:
    """Move one thing, as it is.

    Example: `takeback move middleware trace --before auth`, `takeback move file notes.md docs/notes.md`
    """
    value_of = _value(value, None, None, None)
    line = OneLine(
        "move",
        thing,
        key,
        value_of,
        index=index,
        before=_typed(before),
        after=_typed(after),
        priority=priority,
    )
    _make(line, _How(directory, journal, note, by, plan, stat, as_json))


def _make(line: OneLine, how: _How) -> None:
    with opened(how.directory, how.journal) as harness:
        outcome, warnings = _outcome(line, harness, how)
        if outcome is None:
            out.print("nothing was changed")
            raise typer.Exit(1)
        conclude(outcome, harness, as_json=how.as_json, stat=how.stat, name=line.where, doubts=warnings)


def _outcome(line: OneLine, harness: Harness, how: _How) -> tuple[CommandOutcome | None, tuple[str, ...]]:
    """Work the change out from the state and make it, with the journal held meanwhile; None if it is not wanted."""
    with harness.held() as state:
        if isinstance(state, Refused):
            return state, ()
        try:
            program = program_of(line, state, _translating(harness, state))
        except InputError:
            refused = _refuse_drift(line, harness, state)
            if refused is None:
                raise
            return refused, ()
        candidate = oracle(program, nominal=state)
        if is_idle(program, state):
            preview = harness.preview(candidate)
            return preview if isinstance(preview, Refused) else Unchanged(), ()
        warnings = doubts_of(harness, program, state)
        tell_doubts(warnings, as_json=how.as_json)
        if how.plan:
            return harness.preview(candidate), warnings
        if not is_wanted(warnings, as_json=how.as_json):
            return None, warnings
        return harness.apply(candidate, note=how.note, by=how.by), warnings


def _refuse_drift(line: OneLine, harness: Harness, state: State) -> Refused | None:
    """Return a refusal where a line makes sense for things as they are, but not for what is recorded."""
    drift = harness.status().drift
    try:
        actual = put_changes(state, drift)
        program_of(line, actual, _translating(harness, actual))
    except TakebackError:
        return None
    return refuse_drift(Footing(state, state, drift))


def _translating(harness: Harness, state: State) -> Translate | None:
    """What makes a value as the surface has it of one as the client's own file would say it."""
    adapter = harness.adapter
    if not isinstance(adapter, Spoken):
        return None
    return lambda surface, key, value: adapter.understood(surface, key, value, state)


def _typed(text: str | None) -> Any:
    return ABSENT if text is None else Typed(text)


def _value(value: str | None, text: str | None, json_value: str | None, source: Path | None) -> Any:
    """The one value that was given, in one of four ways; ABSENT if none was."""
    given = {"VALUE": value, "--text": text, JSON_VALUE: json_value, "--from": source}
    names = [name for name, one in given.items() if one is not None]
    if len(names) > 1:
        raise InputError("value", found=" and ".join(names), expected="one of them")
    if value is not None:
        return Typed(value)
    if json_value is not None:
        return parse(json_value, "--json")
    if source is None:
        return ABSENT if text is None else text
    content = read_bytes(source)
    try:
        return Typed(content.decode())
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}
