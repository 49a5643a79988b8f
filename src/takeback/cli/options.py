"""Options that several commands take, as one parameter: a frozen dataclass whose fields are options.

Typer reads one option per parameter. `expand_groups` gives it a function with an option for each field, behind the
parameters of the command itself; those of a class stand before those of its base.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

from takeback.cli.output import JsonFlag
from takeback.cli.secrets import RevealFlag
from takeback.errors import InputError


class OptionGroup:
    """A parameter of a command that stands for several options."""


@dataclass(frozen=True)
class Options(OptionGroup):
    """What every command takes."""

    as_json: bool = JsonFlag


@dataclass(frozen=True)
class RevealOptions(Options):
    """What commands take that judge a candidate."""

    reveal: bool = RevealFlag
    """Read by its callback."""


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer reads it; one without groups is returned as it is."""
    groups: dict[str, tuple[type[OptionGroup], dict[str, Parameter]]] = {}
    parameters: dict[str, Parameter] = {}
    for name, parameter in signature(command, eval_str=True).parameters.items():
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, OptionGroup):
            groups[name] = parameter.annotation, _list_options(parameter.annotation)
        else:
            parameters[name] = parameter.replace(kind=Parameter.KEYWORD_ONLY)
    if not groups:
        return command
    for _, options in groups.values():
        parameters |= options

    @wraps(command)
    def run(**values: Any) -> None:
        made = {
            name: group(**{field: values.pop(field) for field in options})
            for name, (group, options) in groups.items()
        }
        command(**made, **values)

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
