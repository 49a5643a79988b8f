"""Names and modules that are imported when they are first asked for, so that a command loads only what it uses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from typing import Any


def load_on_demand(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names are in the modules of it that `homes` says, by spaces."""
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return load


class LaterModule:
    """Stands for a module among another one's names until something of it is used; then the module itself does."""

    def __init__(self, names: dict[str, Any], package: str, name: str) -> None:
        self._names, self._package, self._name = names, package, name

    def __getattr__(self, wanted: str) -> Any:
        module = self._names[self._name] = import_module(f"{self._package}.{self._name}")
        return getattr(module, wanted)


def load_later(names: dict[str, Any], package: str, modules: str) -> list[LaterModule]:
    """Return what stands for some modules of a package, listed by spaces, among the names of the module that asks."""
    return [LaterModule(names, package, name) for name in modules.split()]
