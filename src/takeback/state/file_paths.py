"""Where files stand: which slot is the file at a real path, and which path a slot's file has now.

A file's slot is the path where it was first seen, and stays its own when it is moved: then `File.at` says where it
stands. A file that comes to a path whose slot cannot be used (its file moved away, something stands above or
below it, or a step of it looks like the name of a part) gets a spare slot: one name, which no real file can have
because it begins with NUL. People never see that name: a spare slot is called by the path in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from sys import intern
from typing import Final, NamedTuple

from takeback.state import tree
from takeback.state.address import is_part
from takeback.state.file import File
from takeback.state.harness_state import State
from takeback.state.pmap import ABSENT, PMap
from takeback.state.tree import TreePath

FILES: Final = "files"
SPARE: Final = "\0"
"""Begins the only name of a spare slot, and the name of no file."""
KEPT: Final = 4
"""So many values of the surface are remembered with the files in them that moved."""


class _Known:
    """Values that were asked about, the newest first, each with its moved files; replaced as a whole, for threads."""

    values: tuple[tuple[PMap, dict[str, TreePath]], ...] = ()


_known = _Known()


def name_slot(path: TreePath) -> str:
    """Return the real path that a slot of the surface is called by: where its file was first seen."""
    if path and path[0][:1] == SPARE:
        return path[0].partition("/")[2]
    return intern("/".join(path))


def find_current_path(path: TreePath, file: File) -> str:
    """Return where the file of a slot stands; the slot is given without the surface's name."""
    return name_slot(path) if file.at is None else file.at


def list_folders_above(path: str) -> Iterator[str]:
    """Yield the folders that a path lies in, the innermost first, without the root."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def list_place_claims(path: str) -> Iterator[str]:
    """Yield what a file that was moved claims: its path, and every folder it lies in, the root as well.

    A folder ends in a slash. Files that were never moved claim nothing: their slots say where they stand.
    """
    yield path
    yield from (f"{folder}/" for folder in list_folders_above(path))
    yield "/"


def find_moved(files: PMap) -> dict[str, TreePath]:
    """Return the slots of all files that do not stand at their slot's own path, by where they stand.

    What changed since a value that was asked about before is all that is looked at.
    """
    known = _known.values
    for value, moved in known:
        if value is files:
            return moved
    base, moved = known[0] if known else (PMap(), {})
    gone, come = _list_changed_moves(base, files)
    if gone or come:
        moved = {path: slot for path, slot in moved.items() if gone.get(path) != slot} | come
    remember_moved(files, moved)
    return moved


def remember_moved(files: PMap, moved: dict[str, TreePath]) -> None:
    """Note which files of a value were moved, where that is known without a look at all of them."""
    _known.values = ((files, moved), *_known.values[: KEPT - 1])


def _list_changed_moves(before: PMap, after: PMap) -> tuple[dict[str, TreePath], dict[str, TreePath]]:
    """Return the files that stand elsewhere than their slots say and differ between two values, in each of them."""
    sides: tuple[dict[str, TreePath], dict[str, TreePath]] = ({}, {})
    for path, *contents in tree.list_changes(before, after):
        for side, content in zip(sides, contents, strict=True):
            leaves = tree.iter_leaves(content, path)  # one of the two may be a directory
            side.update((leaf.at, slot) for slot, leaf in leaves if isinstance(leaf, File) and leaf.at is not None)
    return sides


def why_elsewhere(files: PMap, path: TreePath) -> str | None:
    """Return why an operation cannot write a path: a file that was moved stands there, or the path's own did."""
    moved = find_moved(files)
    if not moved:
        return None
    file, name = tree.get(files, path), "/".join(path)
    if isinstance(file, File) and file.at is not None:
        return f"the file first seen as {name!r} was moved to {file.at!r}: edit it there, and adopt the change"
    for other in (name, *list_folders_above(name), *(path for path in moved if path.startswith(f"{name}/"))):
        if other in moved:
            first = name_slot(moved[other])
            return f"{other!r} is the file first seen as {first!r}: edit it in place, and adopt the change"
    return None


class FileAt(NamedTuple):
    """A file, its slot within the surface, and where it stands."""

    path: str
    slot: TreePath
    file: File


def find_file(files: PMap, path: str) -> FileAt | None:
    """Return the file that stands at a real path; None where there is none."""
    slot = find_moved(files).get(path, tuple(path.split("/")))
    if any(is_part(step) for step in slot):
        return None
    file = tree.get(files, slot)
    if not isinstance(file, File) or find_current_path(slot, file) != path:
        return None
    return FileAt(path, slot, file)


def find_slot(state: State, path: str) -> tuple[str, ...] | None:
    """Return the slot of the file that stands at a real path; None where there is none."""
    tracked = find_file(state.part(FILES), path)
    return None if tracked is None else (FILES, *tracked.slot)


def list_files(files: PMap) -> Iterator[FileAt]:
    """Yield every file where it stands; directories are not files."""
    for slot, leaf in tree.iter_leaves(files):
        if isinstance(leaf, File):
            yield FileAt(find_current_path(slot, leaf), slot, leaf)


def project_files(state: State) -> Iterator[tuple[str, File]]:
    """Yield the real path of every file, and the file."""
    return ((tracked.path, tracked.file) for tracked in list_files(state.part(FILES)))


def list_paths(state: State) -> dict[str, tuple[str, ...]]:
    """Return the slot of every file by where it stands."""
    return {tracked.path: (FILES, *tracked.slot) for tracked in list_files(state.part(FILES))}


def choose_slot(path: str, *values: PMap) -> TreePath:
    """Return a slot for a new file at a real path: the path itself if it is free in all these values, or a spare one.

    It is not free where anything stands at it, above it or below it, or where a step of it looks like a part.
    """
    own = tuple(map(intern, path.split("/")))
    if not any(is_part(step) for step in own) and all(_is_free(files, own) for files in values):
        return own
    spares = ((f"{SPARE}{number}/{path}",) for number in count(1))
    return next(spare for spare in spares if all(tree.get(files, spare) is ABSENT for files in values))


def _is_free(files: PMap, path: TreePath) -> bool:
    node: object = files
    for name in path:
        if type(node) is not PMap:
            return False
        node = node.get(name, ABSENT)
        if node is ABSENT:
            return True
    return False
