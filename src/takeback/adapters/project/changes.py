"""The changes of real files that turn one recorded state of a project into another.

A tracked file is wholly in the state: content, mode, link target, path. So its images are not kept in records: they
follow from the states. A folder is made where a file needs it, and goes with the last file that was in it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from takeback.harness.images import DirectoryImage, FileImage, Image, LinkImage, ProjectChange
from takeback.state import PMap, State
from takeback.state.file import File
from takeback.state.file_paths import find_current_path
from takeback.state.surfaces.files import PROJECT

Paths = tuple[str, ...]


def list_project_changes(before: State, after: State) -> tuple[ProjectChange, ...]:
    """Return the changes of files and folders that turn one state into another, in writing order.

    What goes, goes first, and folders with it, deepest first; then folders are made, and then files.
    """
    old_part, new_part = before.part(PROJECT), after.part(PROJECT)
    if old_part is new_part:
        return ()
    there: dict[str, Image] = {}
    wanted: dict[str, Image] = {}
    for slot, old, new in _find_differing_files(old_part, new_part, ()):
        if old is not None:
            there[find_current_path(slot, old)] = make_image(old)
        if new is not None:
            wanted[find_current_path(slot, new)] = make_image(new)
    gone = [ProjectChange(path, image, None) for path, image in sorted(there.items()) if path not in wanted]
    come = [
        ProjectChange(path, there.get(path), image)
        for path, image in sorted(wanted.items())
        if there.get(path) != image
    ]
    made = _list_folders(change.path for change in come)
    left = [path for path in _list_folders(change.path for change in gone) if path not in made]
    folders = [ProjectChange(path, None, DirectoryImage()) for path in made]
    return (*gone, *(ProjectChange(path, DirectoryImage(), None) for path in reversed(left)), *folders, *come)


def make_image(file: File) -> FileImage | LinkImage:
    """Return what a file of the state is on disk."""
    if stat.S_ISLNK(file.mode):
        return LinkImage(os.fsdecode(file.content))
    return FileImage(file.content, file.mode)


def _find_differing_files(
    old_part: object, new_part: object, path: Paths
) -> Iterator[tuple[Paths, File | None, File | None]]:
    """Yield the slots whose files differ between two trees, and what they are in each."""
    if old_part is new_part:
        return
    if isinstance(old_part, PMap) and isinstance(new_part, PMap):
        for name, old, new in old_part.candidates(new_part):
            yield from _find_differing_files(old, new, (*path, name))
        return
    for leaf_path, leaf in _iter_files(old_part, path):
        yield leaf_path, leaf, new_part if leaf_path == path and isinstance(new_part, File) else None
    for leaf_path, leaf in _iter_files(new_part, path):
        if not (leaf_path == path and isinstance(old_part, File)):
            yield leaf_path, None, leaf


def _iter_files(node: object, path: Paths) -> Iterator[tuple[Paths, File]]:
    if isinstance(node, File):
        yield path, node
    elif isinstance(node, PMap):
        for name, inner in node.items():
            yield from _iter_files(inner, (*path, name))


def _list_folders(paths: Iterable[str]) -> list[str]:
    """Return the folders that some paths lie in, the outer ones first."""
    folders: dict[str, None] = {}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders[folder] = None
            folder = folder.rpartition("/")[0]
    return sorted(folders)
