"""The project's own files, as far as they were changed since tracking began. Content, mode and link target count.

A surface of its own, because a client's files keep their meaning elsewhere; to people it is `files["path"]` all the
same. It has no operations: what is here was recorded, and is taken back by slots. Registered where a project is
tracked.
"""

from __future__ import annotations

from typing import Final

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
        """Return what people call a slot of it."""
        return SURFACES[SHOWN].slot_title(path)


def install_project_surface() -> None:
    """Register the surface, once."""
    if PROJECT not in SURFACES:
        register(ProjectSurface())
