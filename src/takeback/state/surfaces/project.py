"""The project's own files, as far as they were changed since tracking began. Content, mode and link target count.

A surface of its own, because a client's files keep their meaning elsewhere; to people it is `files["path"]` all the
same. It has no operations: what is here was recorded, and is taken back by slots. Registered where a project is
tracked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from takeback.state import tree
from takeback.state.file import File
from takeback.state.file_paths import find_current_path
from takeback.state.harness_state import State
from takeback.state.pmap import EMPTY, PMap
from takeback.state.slots import Slot, find_containing_slot, get_slot
from takeback.state.surface import SURFACES, register
from takeback.state.surfaces.files import FilesSurface
from takeback.state.tree import TreePath

PROJECT: Final = "project"
SHOWN: Final = "files"
"""What it is called where people read it."""


class ProjectSurface(FilesSurface):
    """Path → file, for files of a project that is tracked."""

    name = PROJECT
    kinds = ()

    def slot_title(self, path: TreePath) -> str:
        return SURFACES[SHOWN].slot_title(path)


def view_changed_files(before: State, after: State, slots: Iterable[Slot]) -> tuple[State, State]:
    """Return two states of a project with only some of its files, as `files` at the paths where they stand.

    A path that a file left and another took stands for both: that is how a program sees it.
    """
    chosen = dict.fromkeys(find_containing_slot(slot) for slot in slots if slot[0] == PROJECT)
    return _view_files(before, chosen), _view_files(after, chosen)


def _view_files(state: State, slots: Iterable[Slot]) -> State:
    files: PMap = EMPTY
    for slot in slots:
        file = get_slot(state, slot)
        if isinstance(file, File):
            files = tree.put(files, tuple(find_current_path(slot[1:], file).split("/")), file.with_frame(file.mode))
    return State({SHOWN: files})


def install_project_surface() -> None:
    """Register the surface, once."""
    if PROJECT not in SURFACES:
        register(ProjectSurface())
