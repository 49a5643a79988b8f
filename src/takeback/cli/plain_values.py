"""Values of the command line that need no conversion: texts, paths and numbers as typer would give them.

Typer converts every value with pydantic, whose import takes longer than most commands. Where the result is plain
to see it is given here; typer itself does everything else, and every error.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

_UNKNOWN: Final = object()
_PATH_DEFAULTS: Final = {
    "exists": False,
    "file_okay": True,
    "dir_okay": True,
    "writable": False,
    "readable": True,
    "executable": False,
    "resolve_path": False,
    "allow_dash": False,
    "path_type": None,
}


def use_plain_values(parameters: Iterable[Any]) -> None:
    """Make parameters take plain values as they are; a typer that converts without pydantic is left alone."""
    for parameter in parameters:
        about = getattr(parameter, "type_descriptor", None)
        known = "get_runtime_param" in vars(parameter)
        if about is not None and hasattr(parameter, "get_runtime_param") and not known:
            plain = _PlainValue(about.annotation, about.parameter_info, parameter.get_runtime_param)
            parameter.get_runtime_param = plain.get_self


class _PlainValue(NamedTuple):
    """What typer asks for a parameter's value."""

    annotation: Any
    info: Any
    get_converter: Any

    def get_self(self) -> _PlainValue:
        """Return this, as typer asks for it."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the value as the command gets it."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        plain = self._convert_all(value) if several else self._convert(self.annotation, value)
        return self.get_converter().coerce(value, param=param, ctx=ctx) if plain is _UNKNOWN else plain

    def _convert_all(self, values: Any) -> Any:
        kind = {list[str]: str, list[Path]: Path}.get(self.annotation)
        if kind is None or not isinstance(values, (list, tuple)):
            return _UNKNOWN
        converted = [self._convert(kind, value) for value in values]
        return _UNKNOWN if any(value is _UNKNOWN for value in converted) else converted

    def _convert(self, kind: Any, value: Any) -> Any:
        info = self.info
        if info.parser is not None or getattr(info, "click_type", None) is not None:
            return _UNKNOWN
        if kind is str and type(value) is str:
            return value
        if kind in (int, float) and type(value) is kind and info.min is None and info.max is None:
            return value
        if kind is Path and isinstance(value, (str, Path)) and self._is_plain_path(value):
            return Path(value)
        return _UNKNOWN

    def _is_plain_path(self, value: str | Path) -> bool:
        if any(getattr(self.info, name, usual) != usual for name, usual in _PATH_DEFAULTS.items()):
            return False
        try:
            return os.access(value, os.R_OK) or not os.path.exists(value)
        except ValueError:
            return False
