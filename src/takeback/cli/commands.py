"""Finding commands: every module of a package that has a `register` is one, and is added to its group."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules

import typer


def register_all(package: str, path: Iterable[str], group: typer.Typer) -> None:
    """Add the commands of a package to `group`, in the order of their modules' names."""
    for info in sorted(iter_modules(path), key=lambda info: info.name):
        register = getattr(import_module(f"{package}.{info.name}"), "register", None)
        if register is not None:
            register(group)
