"""Hints that work when copied: commands that name the workspace, and the next step after an error.

The parser reports which command is running. An unknown command gets the one it looks like, a missing option
or argument the command's own example, and any other message without a command line the way to the command's
help.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from takeback.errors import InputError

ELSEWHERE: Final = frozenset(
    {
        "bench",
        "demo",
        "evolve",
        "gate",
        "help",
        "hook",
        "init",
        "lab",
        "model",
        "oracle",
        "propose",
        "prove",
        "repair",
        "schema",
        "states",
    }
    | {"check-proof", "tasks", "torture", "trust", "verify", "web", "witness"}
)
"""Commands that take no `--dir`, or mean something else by it."""
_HINT: Final = re.compile(r"'takeback ([a-z-]+)((?: [^'\n]*)?)'|`takeback ([a-z-]+)((?: [^`\n]*)?)`")


class _Workspace:
    """The workspace that the running command was given; nothing where it is found from here."""

    words: tuple[str, ...] = ()


def remember_directory(directory: Path) -> None:
    """Remember which workspace the command was given."""
    _Workspace.words = () if directory == Path() else ("-C", str(directory))


def make_command_line(*words: str) -> str:
    """Return a command line for the same workspace."""
    return shlex.join(["takeback", *words, *_Workspace.words])


def localize_hints(text: str) -> str:
    """Return a text with hints for the same workspace."""
    return _HINT.sub(_complete_hint, text) if _Workspace.words else text


def _complete_hint(match: re.Match[str]) -> str:
    command, rest = (match[1], match[2]) if match[1] else (match[3], match[4])
    if command in ELSEWHERE or rest.endswith("--help"):
        return match[0]
    more = shlex.join(_Workspace.words)
    said, dashes, values = rest.partition(" -- ")
    whole = f"takeback {command}{said} {more}{dashes}{values}"
    return f"`{whole}`" if "'" in whole else f"'{whole}'"


PROGRAM: Final = "takeback"
_NAMED: Final = re.compile(r"\btakeback (?:[a-z]|--help)")
"""A command line in a message."""
_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_MISSING: Final = frozenset({"MissingParameter", "BadOptionUsage", "BadArgumentUsage"})
"""What click, and typer's own copy of click, raises for a line that lacks something."""


class _Running:
    """The command that is running: its words, and the examples of its help."""

    words: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    commands: Mapping[str, object] = {}


def begin_command(words: Iterable[str], text: str | None, commands: Mapping[str, object] | None = None) -> None:
    """Remember which command is running; `commands` are those below it, where it is a group."""
    _Running.words = tuple(words)
    _Running.examples = find_examples(text)
    _Running.commands = commands or {}


def forget_command() -> None:
    """Start a run in which no command is known yet."""
    _Running.words, _Running.examples, _Running.commands = (), (), {}


def find_examples(text: str | None) -> tuple[str, ...]:
    """Return the command lines that a help text ends with."""
    _, _, example = (text or "").partition("Example:")
    return tuple(" ".join(line.split()) for line in example.split("`")[1::2])


def _quote_line(line: str) -> str:
    return f"`{line}`" if "'" in line else f"'{line}'"


def add_next_step(message: str, fault: Exception, commands: Iterable[str]) -> str:
    """Return the message of an error, ending with a command line that works; `commands` are those of the program."""
    if _NAMED.search(message):
        return message
    kind, words = type(fault).__name__, " ".join((PROGRAM, *_Running.words))
    help_line = _quote_line(f"{words} --help")
    if kind == "UsageError" and message.startswith("No such command"):
        return f"{message}\n  {_suggest(message, commands)}"
    if _Running.examples and (kind in _MISSING or isinstance(fault, InputError)):
        return f"{message}\n  for example {_quote_line(_choose_example(message))}; {help_line} shows every option"
    return f"{message}\n  {help_line} shows {'its options and examples' if _Running.words else 'the commands'}"


def _choose_example(message: str) -> str:
    """Return the example that has an option which a message names; the first where none has."""
    options = set(_OPTION.findall(message))
    fitting = (line for line in _Running.examples if options & set(_OPTION.findall(line)))
    return next(fitting, _Running.examples[0])


def _suggest(message: str, commands: Iterable[str]) -> str:
    from takeback.language.suggestions import find_near_names  # noqa: PLC0415 - start-up

    words = " ".join((PROGRAM, *_Running.words))
    wanted = message.partition("'")[2].rpartition("'")[0]
    near = find_near_names(wanted, _Running.commands if _Running.words else commands)
    meant = f"did you mean {' or '.join(_quote_line(f'{words} {name}') for name in near)}? " if near else ""
    return f"{meant}{_quote_line(f'{words} --help')} lists the commands"
