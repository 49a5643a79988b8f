"""Options and arguments of commands; those that several take are one parameter, a frozen dataclass of options.

Typer reads one option per parameter. `expand_groups` gives it a function with an option for each field, behind the
parameters of the command itself; those of a class stand before those of its base.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

import typer

from takeback.cli.output import JsonFlag, out
from takeback.cli.secrets import RevealFlag
from takeback.errors import InputError


def flag(names: str, about: str) -> Any:
    """Return an option without a value; `names` are its names, with a space between."""
    return typer.Option(False, *names.split(), help=about)


def setting(names: str, metavar: str, about: str, default: Any = "", **more: Any) -> Any:
    """Return an option with a value; `more` is what typer takes."""
    return typer.Option(default, *names.split(), metavar=metavar, help=about, **more)


def argument(metavar: str, about: str, default: Any = ..., **more: Any) -> Any:
    """Return an argument, which is required unless it has a default."""
    more = {"show_default": False} | more if default in (None, ...) else more
    return typer.Argument(default, metavar=metavar, help=about, **more)


class OptionGroup:
    """A parameter of a command that stands for several options."""


@dataclass(frozen=True)
class CommonOptions(OptionGroup):
    """What every command takes."""

    as_json: bool = JsonFlag


@dataclass(frozen=True)
class RevealOptions(CommonOptions):
    """What commands take that judge a candidate."""

    reveal: bool = RevealFlag
    """Read by its callback."""


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer reads it; every command takes `--json`, and with it prints no lines."""
    groups: dict[str, tuple[type[OptionGroup], dict[str, Parameter]]] = {}
    parameters: dict[str, Parameter] = {}
    for name, parameter in signature(command, eval_str=True).parameters.items():
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, OptionGroup):
            groups[name] = parameter.annotation, _list_options(parameter.annotation)
        else:
            parameters[name] = parameter.replace(kind=Parameter.KEYWORD_ONLY)
    for _, options in groups.values():
        parameters |= options
    asks_itself = "as_json" in parameters
    parameters |= _list_options(CommonOptions)

    @wraps(command)
    def run(**values: Any) -> None:
        as_json = values["as_json"] if asks_itself else values.pop("as_json")
        for name, (group, options) in groups.items():
            values[name] = group(**{field: values.pop(field) for field in options})
        with out.answer_json(as_json):
            command(**values)

    run.__signature__ = Signature(list(parameters.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return run


def refuse_several(about: str, given: Mapping[str, bool]) -> None:
    """Raise an error where more than one of some options is given."""
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise InputError(about, found=" and ".join(names), expected="one of them")


def _list_options(group: Any) -> dict[str, Parameter]:
    hints, defaults = get_type_hints(group), {field.name: field.default for field in fields(group)}
    names = [name for base in group.__mro__ for name in vars(base).get("__annotations__", ())]
    return {
        name: Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=hints[name])
        for name in names
    }
