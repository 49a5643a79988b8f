"""`takeback apply`, `set`, `add`, `remove`, `edit` and `move`: changes made from a file, or on one line.

A recovery is written for a change on one line. What the clients of a project know about a change, such as a setting
that looks misspelled, is told before it is made, and asked about where a person can be asked.
"""

from __future__ import annotations

import base64
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import typer

from takeback.canonical import parse
from takeback.cli import completion
from takeback.cli.context import ChangeOptions
from takeback.cli.inputs import STDIN, CandidateFile, LanguageOption, name_input, read_bytes, read_json, read_level
from takeback.cli.options import OptionGroup, argument, flag, setting
from takeback.cli.outcomes import CommandOutcome, print_and_exit
from takeback.cli.output import JSON_VALUE, err, out
from takeback.cli.secrets import RevealFlag, require_no_placeholder
from takeback.errors import InputError
from takeback.harness import Applied, Harness, Preview, RefusalReason, Refused, Unchanged
from takeback.harness.apply import is_idle, prepare_line
from takeback.harness.calls import read_approval
from takeback.language import Candidate, read_candidate
from takeback.language.oneline import OneLine, Typed, list_things
from takeback.state import ABSENT, Level, Operation, State
from takeback.verify import Admitted, verify


def apply(
    options: ChangeOptions,
    file: Path = CandidateFile,
    repair: bool = flag("--repair", "If its recovery falls short, look for another; the mutation is not changed."),
    synthesizer: str = setting("--synthesizer", "NAME", "How to find it, as in 'takeback repair'.", "portfolio"),
    force: bool = flag("--force", "Make the change although it is not admitted; its entry says so permanently."),
    no_ties: bool = flag("--no-ties", "Refuse if an earlier entry could no longer be undone on its own."),
    language: str | None = LanguageOption,
    reveal: bool = RevealFlag,
) -> None:
    """Make a change, if it can be undone. It is verified first, and recorded in the journal before it is made.

    A change of one thing needs no file: 'takeback set', 'add', 'remove', 'edit' and 'move' write the candidate.

    Example: `takeback apply change.json -m "longer timeout"`, `takeback apply - --repair < change.json`
    """
    del reveal  # read by its callback
    raw = read_json(file)
    require_no_placeholder(raw, name_input(file))
    level = read_level(language)
    with options.open() as harness:
        repaired = _repair_candidate(raw, file, synthesizer, level, harness) if repair else None
        admitted = None if repaired is None else repaired.admitted
        candidate = read_candidate(raw, name_input(file)) if admitted is None else admitted.candidate
        verdict = verify(candidate, level=level) if admitted is None else admitted.verdict
        with harness.session():
            warnings = _list_doubts(harness, candidate.mutation, harness.state)
            _print_doubts(warnings)
            result: Preview | Applied | Refused | Unchanged
            if is_idle(candidate.mutation, harness.state) and not isinstance(
                harness.preview(candidate, force=force, evidence=verdict), Refused
            ):
                result = Unchanged()
            elif options.plan:
                result = harness.preview(candidate, force=force, allow_ties=not no_ties, evidence=verdict)
            else:
                result = harness.apply(
                    candidate,
                    force=force,
                    note=options.note,
                    by=options.by,
                    allow_ties=not no_ties,
                    evidence=verdict,
                    approval=read_approval(options.approve, options.by),
                )
        if isinstance(result, Unchanged):
            print_and_exit(result, harness, doubts=warnings)
        if repaired is not None and repaired.source != "start" and not isinstance(result, Refused):
            verb = "would be" if options.plan else "was"
            who = f"found by the {repaired.source}, {verdict.grade.value}"
            err.print(f"its recovery {verb} replaced: {who}", style="yellow")
        steps = []
        if isinstance(result, Refused) and result.why is RefusalReason.VERDICT and not repair:
            steps = _list_next_steps(raw, file, options.directory, language, level, harness)
        print_and_exit(result, harness, stat=options.stat, name=name_input(file), steps=steps, doubts=warnings)


class _Repaired(NamedTuple):
    """A candidate with a recovery that is admitted, and who found that: `start` where it was its own."""

    admitted: Admitted
    source: str


def _repair_candidate(raw: Any, file: Path, synthesizer: str, level: Level, harness: Harness) -> _Repaired | None:
    from takeback.cli.repair import open_synthesizer  # noqa: PLC0415 - start-up
    from takeback.repair.attempt import build_attempt  # noqa: PLC0415
    from takeback.repair.loop import (  # noqa: PLC0415
        Settings,
        make_judge,
    )

    if not isinstance(raw, dict):
        raise InputError(name_input(file), found=raw, expected="a candidate as a JSON object")
    start = build_attempt(raw)
    if start.mutation is None and start.rejected is not None:
        raise InputError(name_input(file), found=start.rejected.detail, expected="a mutation that can be read")
    with open_synthesizer(synthesizer) as opened:
        judge = make_judge("proof", level, harness.state)
        done = opened.method(start, judge, Settings(level=level), harness.state)
    if done.admitted is None:
        return None
    return _Repaired(Admitted(done.admitted, done.verdict), str(done.source))


def _list_next_steps(
    raw: Any, file: Path, directory: Path, language: str | None, level: Level, harness: Harness
) -> list[str]:
    with_recovery = _repair_candidate(raw, file, "oracle", level, harness)
    if file == STDIN:
        return ["run it again with --repair, which finds a proved recovery"] if with_recovery else []
    words = ["takeback", "apply", str(file), "--repair"]
    words += ["--language", language] if language else []
    words += ["--dir", str(directory)] if directory != Path() else []
    if with_recovery:
        return [f"for a proved recovery: {shlex.join(words)}"]
    return [f"ask a model for a recovery: {shlex.join([*words, '--synthesizer', 'local'])}"]


KeyArgument = argument(
    "NAME", 'Its name, as in an address: a.b in config["a.b"].', autocompletion=completion.offer_names
)
FromOption = setting("--from", "FILE", "Take the value from a file, or from - (stdin).", None)
TextOption = setting("--text", "TEXT", "The value, always taken as text.", None)
PriorityOption = setting("--priority", "N", "Put a middleware where this priority belongs.", None)


def _make_thing_argument(verb: str) -> Any:
    return argument(
        "THING",
        f"What: {', '.join(list_things(verb))}.",
        autocompletion=completion.offer_words(completion.make_thing_lister(verb)),
    )


def _make_value_argument(metavar: str, what: str) -> Any:
    return argument(metavar, what, None)


@dataclass(frozen=True)
class ValueOptions(OptionGroup):
    """The value of a thing, given in one of several ways."""

    value: str | None = _make_value_argument("VALUE", "The value: JSON if it is JSON, else text.")
    text: str | None = TextOption
    json_value: str | None = typer.Option(
        None, JSON_VALUE, metavar="JSON", help="The value as JSON; '--json' followed by JSON means the same."
    )
    source: Path | None = FromOption
    mode: str | None = setting("--mode", "MODE", "The mode of a file, such as 0755.", None)

    def choose(self) -> Any:
        """Return the value that was given; ABSENT where none was."""
        given = {"VALUE": self.value, "--text": self.text, JSON_VALUE: self.json_value, "--from": self.source}
        names = [name for name, value in given.items() if value is not None]
        if len(names) > 1:
            raise InputError("value", found=" and ".join(names), expected="one of them")
        if self.json_value is not None:
            return parse(self.json_value, "--json")
        if self.source is None:
            return _parse_typed(self.value) if self.text is None else self.text
        content = read_bytes(self.source)
        try:
            return Typed(content.decode())
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(content).decode()}


@dataclass(frozen=True)
class PlaceOptions(OptionGroup):
    """Where in an order a thing goes."""

    index: int | None = setting("--index", "N", "Put it at this position, counted from 0.", None, min=0)
    before: str | None = setting(
        "--before", "OTHER", "Put it before this one.", None, autocompletion=completion.offer_names
    )
    after: str | None = setting(
        "--after", "OTHER", "Put it after this one.", None, autocompletion=completion.offer_names
    )

    def to_fields(self) -> dict[str, Any]:
        """Return the fields of a one-line change."""
        return {"index": self.index, "before": _parse_typed(self.before), "after": _parse_typed(self.after)}


def set_value(
    options: ChangeOptions,
    value: ValueOptions,
    place: PlaceOptions,
    thing: str = _make_thing_argument("set"),
    key: str = KeyArgument,
) -> None:
    """Set one thing to a value, or change one item of a list. An undo brings the old value back.

    NAME+ adds an item to a list in config, NAME- removes one; a backslash before the sign makes it part of the name.
    A value in config is read as JSON if it is JSON; a prompt, route or file is taken as text.

    Example: `takeback set config permissions.allow+ 'Bash(npm test:*)'`,
    `takeback set prompt reviewer --from new.md`, `takeback set routing default_model small-1`
    """
    _make_change(OneLine("set", thing, key, value.choose(), mode=value.mode, **place.to_fields()), options)


def add(
    options: ChangeOptions,
    value: ValueOptions,
    place: PlaceOptions,
    thing: str = _make_thing_argument("add"),
    key: str = KeyArgument,
    priority: int | None = PriorityOption,
) -> None:
    """Add one thing that does not exist yet.

    Example: `takeback add tool search --json '{"description": "Search the web."}'`,
    `takeback add middleware trace '{"handler": "trace:run"}' --before auth`
    """
    line = OneLine("add", thing, key, value.choose(), mode=value.mode, priority=priority, **place.to_fields())
    _make_change(line, options)


def remove(
    options: ChangeOptions,
    thing: str = _make_thing_argument("remove"),
    key: str = KeyArgument,
    value: str | None = _make_value_argument("ITEM", "An item of a list in config, or a callback of an event."),
    text: str | None = TextOption,
) -> None:
    """Remove one thing, or one item of it.

    Example: `takeback remove tool search`, `takeback remove config permissions.allow 'Bash(npm test:*)'`
    """
    _make_change(OneLine("remove", thing, key, ValueOptions(value, text, None, None).choose()), options)


def edit(
    options: ChangeOptions,
    thing: str = _make_thing_argument("edit"),
    key: str = KeyArgument,
    old: str | None = setting("--old", "TEXT", "The text to replace; it must occur exactly once.", None),
    new: str | None = setting("--new", "TEXT", "What to put in its place.", None),
    append: str | None = setting("--append", "TEXT", "Add this on lines of its own at the end.", None),
) -> None:
    """Edit a text in one place.

    The entry covers only the lines it touches; other lines can be edited and undone separately.

    Example: `takeback edit prompt system --old 'Use tabs.' --new 'Use spaces.'`,
    `takeback edit prompt system --append 'No emoji.'`
    """
    _make_change(OneLine("edit", thing, key, old=old, new=new, append=append), options)


def move(
    options: ChangeOptions,
    place: PlaceOptions,
    thing: str = _make_thing_argument("move"),
    key: str = KeyArgument,
    value: str | None = _make_value_argument("TO", "The new path of a file, or the callback of an event."),
    priority: int | None = PriorityOption,
) -> None:
    """Move one thing without changing it.

    Example: `takeback move middleware trace --before auth`, `takeback move file notes.md docs/notes.md`
    """
    line = OneLine("move", thing, key, _parse_typed(value), priority=priority, **place.to_fields())
    _make_change(line, options)


def _parse_typed(text: str | None) -> Any:
    return ABSENT if text is None else Typed(text)


def _make_change(line: OneLine, options: ChangeOptions) -> None:
    with options.open() as harness:
        outcome, warnings = _work_out(line, harness, options)
        if outcome is None:
            out.print("nothing was changed")
            raise typer.Exit(1)
        print_and_exit(outcome, harness, stat=options.stat, name=line.where, doubts=warnings)


def _work_out(
    line: OneLine, harness: Harness, options: ChangeOptions
) -> tuple[CommandOutcome | None, tuple[str, ...]]:
    """Work the change out from the state and make it, with the journal held meanwhile; None if it is not wanted."""
    with harness.held() as state:
        if isinstance(state, Refused):
            return state, ()
        candidate = prepare_line(harness, line, state)
        if not isinstance(candidate, Candidate):
            return candidate, ()
        warnings = _list_doubts(harness, candidate.mutation, state)
        _print_doubts(warnings)
        if options.plan:
            return harness.preview(candidate), warnings
        if not _is_wanted(warnings):
            return None, warnings
        approval = read_approval(options.approve, options.by)
        return harness.apply(candidate, note=options.note, by=options.by, approval=approval), warnings


def _list_doubts(harness: Harness, mutation: Iterable[Operation], state: State) -> tuple[str, ...]:
    kinds: Sequence[str] = getattr(harness.adapter, "kinds", ())
    if not kinds:
        return ()
    from takeback.adapters.clients.setting_names import find_doubts  # noqa: PLC0415 - start-up

    return find_doubts(kinds, mutation, state)


def _print_doubts(doubts: Sequence[str]) -> None:
    if not out.for_json:
        for doubt in doubts:
            err.print(f"warning: {doubt}", style="yellow")


def _is_wanted(doubts: Sequence[str]) -> bool:
    """Ask whether a doubtful change is wanted, where a person can be asked; elsewhere it is."""
    if not doubts or out.for_json:
        return True
    from takeback.cli.picker import can_ask  # noqa: PLC0415 - start-up

    if not can_ask():
        return True
    out.write("make it anyway? y or n: ")
    out.flush()
    return sys.stdin.readline().strip().casefold() in {"y", "yes"}
