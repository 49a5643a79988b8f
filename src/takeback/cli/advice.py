"""The next step after an error: a command line that works, for every message that names none.

The parser tells this module which command is running. An unknown command gets the one it looks like, a missing option
or argument the command's own example, and whatever else names no command line the way to the command's help.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

PROGRAM: Final = "takeback"
_NAMED: Final = re.compile(r"\btakeback (?:[a-z]|--help)")
"""A command line in a message."""
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
    _Running.examples = examples_in(text)
    _Running.commands = commands or {}


def forget_command() -> None:
    """Start a run in which no command is known yet."""
    _Running.words, _Running.examples, _Running.commands = (), (), {}


def examples_in(text: str | None) -> tuple[str, ...]:
    """Return the command lines that a help text ends with."""
    _, _, example = (text or "").partition("Example:")
    return tuple(" ".join(line.split()) for line in example.split("`")[1::2])


def quote_line(line: str) -> str:
    """Return a command line as messages show one."""
    return f"`{line}`" if "'" in line else f"'{line}'"


def add_next_step(message: str, fault: Exception, commands: Iterable[str]) -> str:
    """Return the message of an error, ending with a command line that works; `commands` are those of the program."""
    if _NAMED.search(message):
        return message
    kind, words = type(fault).__name__, " ".join((PROGRAM, *_Running.words))
    help_line = quote_line(f"{words} --help")
    if kind == "UsageError" and message.startswith("No such command"):
        return f"{message}\n  {_suggest(message, commands)}"
    if kind in _MISSING and _Running.examples:
        return f"{message}\n  for example {quote_line(_Running.examples[0])}; {help_line} shows every option"
    return f"{message}\n  {help_line} shows {'its options and examples' if _Running.words else 'the commands'}"


def _suggest(message: str, commands: Iterable[str]) -> str:
    """Return the commands that an unknown one looks like, and how all are listed."""
    from takeback.language.near import near  # noqa: PLC0415 - start-up

    words = " ".join((PROGRAM, *_Running.words))
    wanted = message.partition("'")[2].rpartition("'")[0]
    found = near(wanted, _Running.commands if _Running.words else commands)
    meant = f"did you mean {' or '.join(quote_line(f'{words} {name}') for name in found)}? " if found else ""
    return f"{meant}{quote_line(f'{words} --help')} lists the commands"
