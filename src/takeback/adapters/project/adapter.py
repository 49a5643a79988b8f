"""A project without a client that Takeback knows: nothing but its own files, which are tracked."""

from __future__ import annotations

from collections.abc import Iterable

from takeback.adapters.directory import Directory
from takeback.adapters.files_adapter import FilesAdapter
from takeback.adapters.manifest import Manifest
from takeback.harness.adapter import Reading
from takeback.harness.images import FileChange, FileImage, Image
from takeback.state import State
from takeback.state.surfaces.project import PROJECT


class ProjectAdapter(FilesAdapter):
    """No files of its own: what is tracked stands beside it."""

    name = "project"
    surfaces = frozenset({PROJECT})

    def read(self, known: State) -> Reading:
        """Return what is known: tracked files are recorded before anybody looks."""
        self._leftovers = tuple(self._directory.own_temporaries(""))
        return Reading(known)

    def render(self, before: State, after: State) -> tuple[FileChange, ...]:
        """Return no change."""
        del before, after
        return ()

    def touched(self, before: State, after: State) -> tuple[str, ...]:
        """Return no file."""
        del before, after
        return ()

    def means(self, path: str, image: Image | None, state: State) -> bool:
        """Return that no file means anything here."""
        del path, state
        return image is None

    def list_remembered_files(self) -> Iterable[tuple[str, FileImage]]:
        """Return no file."""
        return ()

    def owns(self, path: str) -> bool:
        """Return that no path is the adapter's own."""
        del path
        return False


def open_adapter(directory: Directory, manifest: Manifest, *, hold: bool) -> ProjectAdapter:
    """Return the adapter of a project."""
    del manifest, hold
    return ProjectAdapter(directory)
