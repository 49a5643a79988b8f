"""What other packages add: commands, pages and tasks, found through entry points when they are asked for.

`takeback.commands` names a mapping of commands, `takeback.pages` a function that opens pages over a folder,
`takeback.tasks` the tasks that `propose` and `evolve` can be asked to solve. `takeback-lab` brings all three.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from takeback.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

COMMANDS_GROUP: Final = "takeback.commands"
PAGES_GROUP: Final = "takeback.pages"
TASKS_GROUP: Final = "takeback.tasks"
LAB: Final = "takeback-lab"
LAB_COMMANDS: Final = ("lab", "bench", "torture", "tasks", "states", "model")
"""Commands that `takeback-lab` brings."""


class ListedCommand(NamedTuple):
    """A command: the module that has it, and what it does."""

    module: str
    summary: str
    function: str = ""
    """The function, where it is not called as the command is."""


@dataclass(frozen=True, slots=True)
class ExtraPages:
    """Pages that another package adds to the browser's: routes below a path, with templates of their own."""

    title: str
    path: str
    routes: Sequence[Any]
    templates: str
    """The package whose `templates` folder holds them."""
    source: Any = field(default=None, repr=False)
    """What the pages show."""


def find_entry_points(group: str, name: str | None = None) -> Iterable[EntryPoint]:
    """Return the entry points of a group, or those of it with a name."""
    if not _is_group_named(group):
        return ()
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import, and seldom needed

    return entry_points(group=group) if name is None else entry_points(group=group, name=name)


def _is_group_named(group: str) -> bool:
    """Return whether an installed package may name a group; yes where files alone do not tell."""
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    return any(_is_named_in(folder or os.curdir, group.encode()) for folder in sys.path)


def _is_named_in(folder: str, group: bytes) -> bool:
    try:
        names = os.listdir(folder)
    except OSError:
        return os.path.isfile(folder)
    for name in names:
        if name.lower().endswith("-info"):
            try:
                with open(f"{folder}/{name}/entry_points.txt", "rb") as file:
                    if group in file.read():
                        return True
            except OSError:
                continue
        elif name.lower().endswith(".egg"):
            return True
    return False


def make_missing_package_error(what: str) -> MissingExtraError:
    """Return the error that says which package brings something."""
    return MissingExtraError(f"{what} comes with {LAB}, which is not installed", hint="pip install 'takeback[lab]'")


@cache
def find_extra_commands() -> Mapping[str, ListedCommand]:
    """Return the commands of other packages by name."""
    commands: dict[str, ListedCommand] = {}
    for point in sorted(find_entry_points(COMMANDS_GROUP), key=lambda point: point.name):
        commands |= {name: ListedCommand(*listed) for name, listed in _load(point).items()}
    return commands


def open_pages(name: str, folder: Path) -> ExtraPages:
    """Open the pages called `name` over a folder."""
    open_folder: Callable[[Path], ExtraPages] = _load_named(PAGES_GROUP, name)
    return open_folder(folder)


def load_tasks() -> Any:
    """Return the module that knows the tasks of the lab."""
    return _load_named(TASKS_GROUP, "lab")


def _load_named(group: str, name: str) -> Any:
    for point in find_entry_points(group, name):
        return _load(point)
    raise make_missing_package_error(f"{name!r} of {group}" if name != "lab" else "what belongs to the lab")


def _load(point: EntryPoint) -> Any:
    try:
        return point.load()
    except (ImportError, AttributeError) as fault:
        raise InputError(
            f"the entry point {point.name} of {point.group}",
            found=str(fault),
            expected="something that can be loaded",
        ) from fault
