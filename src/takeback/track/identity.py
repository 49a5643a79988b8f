"""Files keep their identity: a new look at some paths of a project becomes a state in which each file is the same.

A file that moved keeps its slot and its lines, and stands elsewhere. A file that is new gets a slot of its own.
Lines that are still there keep theirs; what is no text, a link, and a file that is too long are taken as a whole.
The writes of the change are `undo.record.list_writes_between` of the two states.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from takeback.errors import HarnessError
from takeback.state import State, tree
from takeback.state.file import File
from takeback.state.file_paths import (
    FILES,
    SPARE,
    FileAt,
    choose_slot,
    find_current_path,
    find_file,
    find_slot,
    list_paths,
    project_files,
)
from takeback.state.pmap import PMap
from takeback.track.renames import FileVersion, find_renames

MOST_BYTES: Final = 1 << 20
MOST_LINES: Final = 20_000


class Taken(NamedTuple):
    """The state with a change taken in, and what there is to say about it."""

    state: State
    moved: tuple[tuple[str, str], ...] = ()
    """Files that stand elsewhere now: from where, to where."""
    ambiguous: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Paths of files that went, each with those of equal ones that came: which one it is, nobody can tell."""
    coarse: tuple[str, ...] = ()
    """Files of which some stretch was too long to be compared line by line, or that are too long altogether."""
    unlooked: int = 0
    """So many files went and came that they were not compared: none of them counts as moved unless it is equal."""


def take_changes(state: State, deltas: Iterable[FileVersion]) -> Taken:
    """Return the state with new versions of some real paths, each file keeping its identity.

    `before` must be what the state has at the path; a difference raises `HarnessError`.
    """
    deltas = [delta for delta in deltas if delta.before is not None or delta.after is not None]
    files: PMap = state.part(FILES)
    known = {delta.path: _require_known(files, delta) for delta in deltas}
    renames = find_renames(deltas)
    moved = dict(renames.moved)
    arrived = set(moved.values())
    after = {delta.path: delta.after for delta in deltas}
    coarse: list[str] = []
    new: PMap = files
    placed: list[tuple[FileAt, str, File]] = []
    fresh: list[str] = []
    for path, there in known.items():
        stays = there is not None and path not in moved and path not in arrived and after[path] is not None
        target = moved.get(path, path if stays else None)
        if there is not None and target is not None:
            placed.append((there, target, after[target]))  # type: ignore[arg-type]
        elif there is not None:
            new = tree.drop(new, there.slot)
        if not stays and path not in arrived and after[path] is not None:
            fresh.append(path)
    for there, target, version in placed:
        content, rough = _merge(there.file, version)
        coarse += [target] if rough else []
        new = tree.put(new, there.slot, place_file(there.slot, target, content, version.mode))
    for path in fresh:
        came, slot = after[path], choose_slot(path, files, new)
        if came is not None:
            new = tree.put(new, slot, place_file(slot, path, came.whole(), came.mode))
    result = state if new is files else State.of({**state.parts, FILES: new})
    return Taken(result, renames.moved, renames.twins, tuple(coarse), renames.unlooked)


def place_file(slot: tuple[str, ...], path: str, file: File, mode: int) -> File:
    """Return a file of a slot (within the surface) as it stands at a real path."""
    own = slot[0][:1] != SPARE and path == "/".join(slot)
    return file.with_frame(mode if own else (mode, path))


def _require_known(files: PMap, version: FileVersion) -> FileAt | None:
    there = find_file(files, version.path)
    if (there is None) != (version.before is None):
        stands = "no file" if there is None else "a file"
        expected = "none" if version.before is None else "one"
        raise HarnessError(
            f"the state has {stands} at {version.path!r}, and the change was made where there was {expected}",
            hint="take in what stood there before the change first",
        )
    return there


def _merge(known: File, fresh: File) -> tuple[File, bool]:
    """Return a file's new content with the identities of lines that are still there, and whether that is coarse."""
    if known.with_frame(fresh.frame) == fresh:
        return known, False
    if known.kind or fresh.kind:
        return fresh.whole(), False
    sides = (known.content, fresh.content)
    if any(b"\0" in side for side in sides):
        return fresh.whole(), False
    text, old = fresh.parts(), known.parts()
    if text is None or old is None:
        return fresh.whole(), False
    if any(len(side) > MOST_BYTES or side.count(b"\n") > MOST_LINES for side in sides):
        return fresh.whole(), True
    revised = old.revise_aligned(text.whole())
    return (fresh.whole(), False) if revised is None else (known.replace_parts(revised[0]), revised[1].coarse)


__all__ = [
    "FileVersion",
    "Taken",
    "find_current_path",
    "find_slot",
    "list_paths",
    "place_file",
    "project_files",
    "take_changes",
]
