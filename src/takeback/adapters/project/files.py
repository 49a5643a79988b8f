"""The tracked files of one project: what was captured becomes entries, what is taken back is put on disk.

Stands beside an adapter, which keeps the client's own files. Whatever happens to a tracked file is in an entry before
any command looks at the journal, so that tracked files never drift. A tracked file is wholly in the state: content,
mode, link target, path. So its images are not kept in records: they follow from two states. A folder is made where a
file needs it, and goes with the last file that was in it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from takeback.adapters.directory import Directory, open_unfollowed
from takeback.adapters.file_replacement import sweep_aside
from takeback.errors import HarnessError, UnsafePathError
from takeback.harness.adapter import Adapter
from takeback.harness.engine import Engine
from takeback.harness.images import DirectoryImage, FileChange, FileImage, Image, LinkImage, ProjectChange
from takeback.journal import Record
from takeback.state import PMap, State
from takeback.state.file import File
from takeback.state.file_paths import find_current_path
from takeback.state.slots import Slot, put_slots
from takeback.state.surfaces.files import PROJECT

if TYPE_CHECKING:
    from takeback.track.store import TrackStore


class TrackedFiles:
    """The project's own files, followed by captures."""

    surface = PROJECT

    def __init__(self, directory: Directory, store: TrackStore) -> None:
        self._directory = directory
        self.store = store
        self._settling = False
        self.settled: list[Record] = []

    def has_path(self, path: str) -> bool:
        """Tell whether a file or folder is tracked, whether it is there or not."""
        return self.store.has_path(path.rstrip("/"))

    def settle(self, engine: Engine) -> None:
        """Look at the project once more, and make an entry of every row that waits."""
        from takeback.adapters.project.settle import settle_rows  # noqa: PLC0415 - start-up
        from takeback.track.call import Call  # noqa: PLC0415 - start-up
        from takeback.track.capture import capture_found  # noqa: PLC0415 - start-up

        if self._settling:
            return
        self._settling = True
        try:
            with engine.get_lock():
                self._sweep()
                capture_found(self.store.root, Call(""), {"PATH": os.defpath})
                self.settled += settle_rows(engine, self.store)
        finally:
            self._settling = False

    def list_changes(self, before: State, after: State) -> Sequence[FileChange]:
        """Return the changes of files and folders, without folders that are made or gone already."""
        changes = list_project_changes(before, after)
        return tuple(change for change in changes if not self._is_done(change))

    def _is_done(self, change: FileChange) -> bool:
        if isinstance(change.after, DirectoryImage):
            return self._is_folder(change.path)
        return isinstance(change.before, DirectoryImage) and not self._is_folder(change.path)

    def _is_folder(self, path: str) -> bool:
        return isinstance(self._look(path), DirectoryImage)

    def _look(self, path: str) -> Image | None:
        try:
            return self._directory.look(path)
        except (HarnessError, UnsafePathError):
            return None

    def read_files(self, state: State, wanted: Mapping[Slot, Any]) -> State:
        """Return a state with some files as they are on disk, where they are files; a journal may know no content."""
        files: list[tuple[Slot, File]] = []
        for slot, known in wanted.items():
            frame = getattr(known, "frame", None)
            if slot[0] != PROJECT or frame is None:
                continue
            blank = File(b"").with_frame(frame)
            image = self._look(find_current_path(slot[1:], blank))
            if isinstance(image, FileImage):
                files.append((slot, File(image.content).with_frame(frame)))
        return put_slots(state, files)

    def forget(self, matches: Callable[[bytes], bool]) -> int:
        """Drop captured contents that match."""
        return self.store.forget(matches)

    def list_standing(self, matches: Callable[[bytes], bool]) -> tuple[str, ...]:
        """Return the files that match as they stand."""
        return tuple(path for path in sorted(self.store.list_paths()) if self._is_match(path, matches))

    def _is_match(self, path: str, matches: Callable[[bytes], bool]) -> bool:
        parts = tuple(path.split("/"))
        with suppress(OSError), self._directory.parent(parts) as parent:
            opened = None if parent is None else open_unfollowed(parent, parts[-1])
            if isinstance(opened, int):
                try:
                    with open(opened, "rb", closefd=False) as file:
                        return stat.S_ISREG(os.fstat(opened).st_mode) and matches(file.read())
                finally:
                    os.close(opened)
            return isinstance(opened, LinkImage) and matches(os.fsencode(opened.target))
        return False

    def note_owned(self, adapter: Adapter) -> None:
        """Have captures leave to the clients what they declare, and what their files were seen to bring in."""
        from takeback.adapters.clients.adapter import ClientAdapter  # noqa: PLC0415 - start-up
        from takeback.adapters.project_files import list_owned  # noqa: PLC0415 - start-up

        if isinstance(adapter, ClientAdapter):
            paths, patterns = list_owned(member.client for member in adapter.members)
            self.store.set_owned([*paths, *(path for path, _ in adapter.list_remembered_files())], patterns)

    def note_writing(self, changes: Iterable[FileChange]) -> None:
        """Note where files are about to be written, so that what a killed process leaves there is found."""
        self.store.note_writing(change.path.rpartition("/")[0] for change in changes)

    def note_written(self, changes: Iterable[FileChange]) -> None:
        """Note what was written here, so that the next look takes it for nobody's change."""
        paths = [change.path for change in changes]
        if paths:
            self.store.note_written(paths)
        self._sweep()

    def _sweep(self) -> None:
        """Remove the temporary files that a killed process left where it wrote; the journal's lock is held."""
        folders = self.store.list_writing()
        if folders:
            sweep_aside(self._directory)
        for folder in ("", *folders) if folders else ():
            for path in self._directory.own_temporaries(folder):
                self._directory.discard_at(path)
        self.store.note_writing(())

    def close(self) -> None:
        """Let the store go."""
        self.store.close()


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
    return FileImage(file.source, file.mode)


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
