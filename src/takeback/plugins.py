"""What other packages add: commands, pages and tasks, found through entry points when they are asked for.

`takeback.commands` names a mapping of commands, `takeback.pages` a function that opens pages over a folder,
`takeback.tasks` the tasks that `propose` and `evolve` can be asked to solve. `takeback-lab` brings all three.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Final, NamedTuple

from takeback.errors import InputError, MissingExtraError

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


def make_missing_package_error(what: str) -> MissingExtraError:
    """Return the error that says which package brings something."""
    return MissingExtraError(f"{what} comes with {LAB}, which is not installed", hint="pip install 'takeback[lab]'")


@cache
def find_extra_commands() -> Mapping[str, ListedCommand]:
    """Return the commands of other packages by name."""
    commands: dict[str, ListedCommand] = {}
    for point in sorted(entry_points(group=COMMANDS_GROUP), key=lambda point: point.name):
        commands |= {name: ListedCommand(*listed) for name, listed in _load(point).items()}
    return commands


def open_pages(name: str, folder: Path) -> ExtraPages:
    """Open the pages called `name` over a folder."""
    open_folder: Callable[[Path], ExtraPages] = _load_named(PAGES_GROUP, name)
    return open_folder(folder)


def load_tasks(name: str = "lab") -> Any:
    """Return the module that knows the tasks of the lab."""
    return _load_named(TASKS_GROUP, name)


def _load_named(group: str, name: str) -> Any:
    for point in entry_points(group=group, name=name):
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
