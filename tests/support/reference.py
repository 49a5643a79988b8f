"""docs/reference.md, made from the commands and the public API as they are: `python -m tests.support.reference`.

Names, purposes, options, defaults and examples come from the command line's own declarations, signatures and
sentences from the package, so that the page cannot drift; a test compares the two.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import takeback
from takeback.cli.program import list_all_commands, load_command

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"
HEAD = """# Reference

`make docs` generates this page from the program; edit the commands' help or the docstrings, not this page.

## Commands

Every command takes `--json` (one JSON object on stdout, messages on stderr) and `--help`. Exit codes: 0 for yes or
done,
1 for no (rejected, blocked, falls short), 2 for bad input or a fault, with a message that names the file, the place
in it, what was found and what was expected; 130 if it was interrupted. Once a change is made the exit code is 0,
even if the output cannot be written.

Control and invisible characters are printed as escapes, so that the terminal never interprets them. Output longer
than the terminal goes through `TAKEBACK_PAGER`, `PAGER` or `less`; into a pipe nothing is cut. `NO_COLOR` works.
"""
EXITS = {
    "takeback verify": "0 admitted, 1 not admitted, 2 the candidate or an option cannot be read.",
    "takeback prove": "0 proved, 1 refuted or rejected, 2 the candidate cannot be read.",
    "takeback oracle": "0 a recovery was built, 1 the language has none, 2 the candidate cannot be read.",
}
SHOWN = "0 shown, even if there is nothing to show, 2 bad input or a fault."
EXITS |= {
    f"takeback {name}": SHOWN for name in ("diff", "export", "log", "show", "schema", "states", "tasks", "tasks show")
}
EXITS |= {
    "takeback status": "0 nothing needs attention, 1 something does, 2 bad input or a fault.",
    "takeback doctor": "0 everything is good, 1 something is bad, 2 bad input or a fault.",
    "takeback run": "0 the command ended with 0, and what it did was kept or dropped, 1 the command failed or "
    "something was not kept, 2 bad input, no such command, no overlay, or a fault.",
    "takeback undo": "0 done or planned, 1 blocked, stale or refused, 2 bad input or a fault.",
}
DONE = "0 yes or done, 1 no, 2 bad input or a fault."
API_HEAD = """## Python

These names are the public API (`from takeback import ...`); everything else may change without notice.

| name | what it is |
|---|---|
"""


def commands() -> dict[str, Any]:
    """Every command by its full name."""
    found = {name: load_command(name) for name in list_all_commands()}
    return dict(sorted(_below(found, "takeback")))


def _below(commands: dict[str, Any], above: str) -> Iterator[tuple[str, Any]]:
    for name, command in commands.items():
        if hasattr(command, "commands"):
            if command.invoke_without_command:
                yield f"{above} {name}", command
            yield from _below(command.commands, f"{above} {name}")
        else:
            yield f"{above} {name}", command


def page() -> str:
    """The whole page."""
    sections = [_section(title, command) for title, command in commands().items()]
    return "\n".join([HEAD, *sections, API_HEAD.rstrip("\n"), *_api(), ""])


def _section(title: str, command: Any) -> str:
    told = inspect.cleandoc(command.help or "")
    purpose, _, example = told.partition("Example:")
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [
        parameter
        for parameter in command.params
        if parameter.param_type_name == "option" and "--json" not in parameter.opts and not parameter.hidden
    ]
    shown = " ".join([title, *map(_placeholder, arguments)])
    lines = [f"### `{shown}`", "", " ".join(purpose.split()), ""]
    rows = [(f"`{argument.metavar or argument.name}`", "", getattr(argument, "help", "")) for argument in arguments]
    rows += [(_spelled(option), _default(option), option.help or "") for option in options]
    if rows:
        lines += ["| option | default | meaning |", "|---|---|---|"]
        lines += [f"| {name} | {default} | {' '.join((told or '').split())} |" for name, default, told in rows]
        lines.append("")
    examples = [f"`{' '.join(one.split())}`" for one in re.findall(r"`(takeback [^`]*)`", example)]
    lines += [f"Example: {', '.join(examples)}", "", f"Exit codes: {EXITS.get(title, DONE)}", ""]
    return "\n".join(lines)


def _placeholder(argument: Any) -> str:
    name = argument.metavar or argument.name
    name = f"{name}..." if argument.nargs == -1 else name
    return name if argument.required else f"[{name}]"


def _spelled(option: Any) -> str:
    return ", ".join(f"`{name}`" for name in sorted((*option.opts, *option.secondary_opts), key=len, reverse=True))


def _default(option: Any) -> str:
    default = option.default
    plain = isinstance(default, str | int | float) and not isinstance(default, bool)
    return f"`{default}`" if plain and default != "" else ""


def _api() -> list[str]:
    rows = []
    for name in sorted(set(takeback.__all__) - {"__version__"}):
        found = getattr(takeback, name)
        told = (inspect.getdoc(found) or "").split("\n\n")[0]
        shown = name
        if inspect.isfunction(found):
            shown += f"({', '.join(_parameters(found))})"
        rows.append(f"| `{shown}` | {' '.join(told.split())} |")
    return rows


def _parameters(function: Any) -> Iterator[str]:
    star = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            yield f"**{name}"
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            star = True
            yield "*"
        default = parameter.default
        shown = getattr(default, "value", default)
        plain = shown is None or isinstance(shown, str | int | float)
        yield name if default is parameter.empty else f"{name}={shown!r}" if plain else f"{name}=..."


if __name__ == "__main__":
    PAGE.write_text(page())
