"""The files of a directory as an adapter changes them, so that nobody's work is lost.

A new file is written aside, synced, and swapped with the old one in one step (`renameat2`; links where the
system has none). What came out of the swap is looked at, and swapped back if it is not what was expected.
It stays beside the new file until the change is complete, so that rolling back is renaming and needs no
space.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from takeback.adapters.directory import (
    MAX_NAME,
    PLAIN_NAME,
    READ_FLAGS,
    SETTLED,
    Directory,
    make_link,
    open_unfollowed,
    parse_path,
    read_reusing,
)
from takeback.adapters.file_replacement import AsideFolder, swap_names, sync_file_system, take_name
from takeback.adapters.harness_places import InnerHarnesses, require_own_place, require_writable_place
from takeback.adapters.last_look import LARGEST_EDIT, MANY, OTHER
from takeback.adapters.look_notes import read_noted_record, write_end, write_look
from takeback.errors import ChangedMeanwhile, HarnessError, TakebackError, UnsafePathError
from takeback.harness.adapter import NotedEdits, OutsideRecords, ProjectFiles
from takeback.harness.calls import CallRules
from takeback.harness.images import (
    DirectoryImage,
    FileChange,
    FileImage,
    Image,
    LinkImage,
    ProjectChange,
    is_same_file,
)
from takeback.journal.failpoint import failpoint
from takeback.state import State
from takeback.state.slots import Slot

OLD = ".edited-meanwhile"
"""Ending of the name under which an edit is kept that came too late to be noticed."""
Traits = tuple[int, int, int]
ASK_SECONDS = 0.02
"""How long, among many changes, the answer that this process may make them is taken to hold."""
PAUSE = 0.005
PATIENCE = 100
"""How often, at most, someone who has a replaced file open for writing is waited for."""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """What one change put in place and what it keeps of what was there."""

    change: FileChange
    aside: str | None = None
    """The name that the file has which was replaced or removed."""
    far: bool = False
    """Whether it lies at the top, and not beside: its own directory may go with it."""
    old: Traits | None = None
    new: Traits | None = None


class _WrittenFile(NamedTuple):
    """A new file that waits to be put in place."""

    change: FileChange
    name: str
    folder: int | None = None
    """The staging folder that it lies in; None: where it will stand."""


class _HeldFolder:
    """The directory of the last change, held open: of many changes in a row most are in the same."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._stack = ExitStack()
        self._parts: tuple[str, ...] | None = None
        self._fd: int | None = None

    def parent(self, parts: tuple[str, ...]) -> AbstractContextManager[int | None]:
        """Return the directory that the last part lies in, opened; None if there is none, which is not held."""
        if self._fd is None or parts[:-1] != self._parts:
            self.close()
            self._fd, self._parts = self._stack.enter_context(self._directory.parent(parts)), parts[:-1]
        return nullcontext(self._fd)

    def close(self) -> None:
        """Let the directory go."""
        self._fd = None
        self._stack.close()


class FilePlace:
    """The files of one directory. `may` is asked right before anything is changed, and raises if nothing may be."""

    def __init__(
        self,
        directory: Directory,
        may: Callable[[], None] = lambda: None,
        *,
        sync: bool = True,
        inner: InnerHarnesses | None = None,
        held: _HeldFolder | None = None,
    ) -> None:
        self._directory = directory
        self._parent = directory.parent if held is None else held.parent
        self._may = may
        self._sync = sync
        """Whether each change is synced by itself."""
        self._inner = inner
        """The harnesses inside this one, where many paths are asked about in a row."""
        self._asked: tuple[str, tuple[str, ...]] | None = None
        """How the last path began at which something of this harness may be; the folders in that."""

    def add_fence(self, may: Callable[[], None]) -> FilePlace:
        """Return the same object, asking `may` before every change."""
        return FilePlace(self._directory, may, sync=self._sync, inner=self._inner)

    @property
    def root(self) -> Path:
        """The directory."""
        return self._directory.root

    def look(self, path: str) -> Image | None:
        """Return the image at a path now."""
        require_writable_place(self._directory.root, path, self._inner)
        return self._directory.look(path)

    def put(self, change: FileChange) -> KeptFile:
        """Make one change, if the file still is what it was before."""
        with self._at(change.path, "write") as (parent, name):
            match change.before, change.after:
                case _, DirectoryImage():
                    return self._make_directory(parent, name, change)
                case DirectoryImage(), None:
                    return self._remove_directory(parent, name, change)
                case _, FileImage() | LinkImage():
                    return self._write(parent, name, change, change.after)
                case _:
                    return self._remove(parent, name, change)

    def put_all(self, changes: Iterable[FileChange], keep: Callable[[KeptFile], None]) -> None:
        """Make many changes in turn, handing each over as it is made; the disk is synced twice, not once a file.

        New files are written aside and synced together before the first one is put in place.
        """
        held, inner = _HeldFolder(self._directory), InnerHarnesses(self._directory.root)
        quick = FilePlace(self._directory, _ask_now_and_then(self._may), sync=False, inner=inner, held=held)
        written: deque[_WrittenFile] = deque()
        staging = AsideFolder(self._directory)
        try:
            for change in changes:
                if isinstance(change.after, FileImage):
                    written.append(quick._write_aside(change, staging))
                    continue
                quick._swap_all(written, keep)
                keep(quick.put(change))
            quick._swap_all(written, keep)
        finally:
            for file in written:
                with suppress(TakebackError), quick._at(file.change.path, "write") as (parent, _):
                    Directory.discard(parent if file.folder is None else file.folder, file.name)
            staging.close()
            held.close()
        sync_file_system(self._directory.descriptor)

    def _write_aside(self, change: FileChange, staging: AsideFolder) -> _WrittenFile:
        """Write the new file of a change beside the old one, or in the staging folder where there is no old one."""
        with self._at(change.path, "write") as (parent, name):
            status = Directory.status(parent, name)
            there = None if status is None else self._require_same(parent, name, change)
            if status is None and change.before is not None:
                raise self._make_change_error(change.path)
            if not isinstance(change.after, FileImage):
                raise TypeError("only a file is written aside")
            folder = staging.find_for(parent) if status is None and isinstance(change, ProjectChange) else None
            if folder is None:
                return _WrittenFile(change, self._temporary(parent, change, change.after, there, status))
            aside = self._directory.temporary(folder, change.after, like=staging.asked, sync=self._sync)
            return _WrittenFile(change, aside, folder)

    def _swap_all(self, written: deque[_WrittenFile], keep: Callable[[KeptFile], None]) -> None:
        """Put files that were written aside in place, once they are on the disk."""
        if written:
            sync_file_system(self._directory.descriptor)
        while written:
            change, aside, folder = written[0]
            with self._at(change.path, "write") as (parent, name):
                keep(self._put_in_place(parent, name, change, aside, folder))
            written.popleft()

    def take_back(self, kept: KeptFile) -> None:
        """Put back what was there, unless someone has changed the file since."""
        with self._at(kept.change.path, "put back") as (parent, name):
            self._may()
            if isinstance(kept.change.after, DirectoryImage):
                if kept.new is not None:
                    _remove_empty(parent, name)
            elif isinstance(kept.change.before, DirectoryImage):
                self._directory.make_in(parent, name, kept.change.before.mode)
            elif kept.new is not None and _read_traits(parent, name) != kept.new:
                if kept.aside is not None:
                    self._let_go(self._keeper(parent, kept), kept.aside, kept.old, name)
            elif kept.aside is None:
                os.unlink(name, dir_fd=parent)
            elif kept.new is None:
                take_name(self._keeper(parent, kept), kept.aside, parent, name)
            else:
                _bring_back(parent, kept.aside, name, kept.new)
            os.fsync(parent)

    def is_unchanged(self, kept: KeptFile) -> bool:
        """Return whether the replaced file is still unchanged."""
        if kept.aside is None:
            return True
        if kept.far:
            with self._directory.faults("look at", kept.change.path):
                return _await_quiet_traits(self._directory.descriptor, kept.aside) == kept.old
        with self._at(kept.change.path, "look at") as (parent, _):
            return _await_quiet_traits(parent, kept.aside) == kept.old

    def _keeper(self, parent: int, kept: KeptFile) -> int:
        return self._directory.descriptor if kept.far else parent

    def settle(self, kept: KeptFile) -> str | None:
        """Let go of the file that was replaced; keep it if someone wrote to it meanwhile."""
        if kept.aside is None:
            return None
        if kept.far:
            name = kept.change.path.rpartition("/")[2]
            with self._directory.faults("settle", kept.change.path):
                return self._let_go(self._directory.descriptor, kept.aside, kept.old, name)
        with self._at(kept.change.path, "settle") as (parent, name):
            late = self._let_go(parent, kept.aside, kept.old, name)
            return None if late is None else kept.change.path.removesuffix(name) + late

    @staticmethod
    def _let_go(parent: int, aside: str, old: Traits | None, name: str) -> str | None:
        if _await_quiet_traits(parent, aside) != old:
            return _keep_edit(parent, aside, name)
        Directory.discard(parent, aside)
        failpoint("file.settled")
        return None

    def _write(self, parent: int, name: str, change: FileChange, image: FileImage | LinkImage) -> KeptFile:
        status = Directory.status(parent, name)
        there = self._require_same(parent, name, change)
        aside = self._temporary(parent, change, image, there, status)
        del there  # a large file is not held while what takes its place is looked at
        return self._put_in_place(parent, name, change, aside)

    def _put_in_place(
        self, parent: int, name: str, change: FileChange, aside: str, folder: int | None = None
    ) -> KeptFile:
        is_new = change.before is None
        source = parent if folder is None else folder
        try:
            new = _read_traits(source, aside)
            self._may()
            if is_new:
                take_name(source, aside, parent, name)
            else:
                aside = _swap_in(parent, aside, name, self._directory.temporary_name())
        except FileExistsError:
            Directory.discard(source, aside)
            raise self._make_change_error(change.path) from None
        except BaseException:
            Directory.discard(source, aside)
            raise
        failpoint("file.renamed")
        if is_new:
            with _undo_on_failure(lambda: os.unlink(name, dir_fd=parent)):
                self._sync_folder(parent)
            return KeptFile(change, new=new)
        with _undo_on_failure(lambda: _bring_back(parent, aside, name, new)):
            # before its content is looked at: who writes after this is noticed later
            old = _read_traits(parent, aside)
            self._require_same(parent, aside, change)
            self._sync_folder(parent)
        return KeptFile(change, aside, far=False, old=old, new=new)

    def _temporary(
        self,
        parent: int,
        change: FileChange,
        image: FileImage | LinkImage,
        there: Image | None,
        status: os.stat_result | None,
    ) -> str:
        """Write the new file or link aside; permission bits that the change leaves alone stay those of the file."""
        if isinstance(image, LinkImage):
            name = self._directory.temporary_name()
            make_link(parent, name, image)
            return name
        mode = image.mode
        if isinstance(there, FileImage) and isinstance(change.before, FileImage) and change.before.mode == mode:
            mode = there.mode
        like = None if isinstance(there, LinkImage) else status
        return self._directory.temporary(parent, FileImage(image.content, mode), like=like, sync=self._sync)

    def _remove(self, parent: int, name: str, change: FileChange) -> KeptFile:
        if self._require_same(parent, name, change) is None:
            return KeptFile(change)
        aside, top = self._directory.temporary_name(), self._directory.descriptor
        far = True
        self._may()
        try:
            os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=top)
        except OSError:
            far = False
            os.rename(name, aside, src_dir_fd=parent, dst_dir_fd=parent)
        failpoint("file.removed")
        keeper = top if far else parent
        with _undo_on_failure(lambda: take_name(keeper, aside, parent, name)):
            old = _read_traits(keeper, aside)
            self._require_same(keeper, aside, change)
            self._sync_folder(parent)
        return KeptFile(change, aside, far=far, old=old)

    def _sync_folder(self, folder: int) -> None:
        if self._sync:
            os.fsync(folder)

    def _make_directory(self, parent: int, name: str, change: FileChange) -> KeptFile:
        mode = change.after.mode if isinstance(change.after, DirectoryImage) else 0o755
        self._may()
        made = self._directory.make_in(parent, name, mode, sync=self._sync)
        return KeptFile(change, new=_read_traits(parent, name) if made else None)

    def _remove_directory(self, parent: int, name: str, change: FileChange) -> KeptFile:
        self._may()
        if _remove_empty(parent, name):
            failpoint("directory.removed")
            self._sync_folder(parent)
        return KeptFile(change)

    def _require_same(self, parent: int, name: str, change: FileChange) -> Image | None:
        """Return the image of a name; refuse it if it is not the one before the change."""
        before = change.before
        there = self._image(parent, name, before.content if isinstance(before, FileImage) else b"")
        if not is_same_file(there, change.before):
            raise self._make_change_error(change.path)
        return there

    @staticmethod
    def _image(parent: int, name: str, known: bytes) -> Image | None:
        fd = open_unfollowed(parent, name)
        if not isinstance(fd, int):
            return fd
        try:
            status = os.fstat(fd)
            if stat.S_ISDIR(status.st_mode):
                return DirectoryImage(stat.S_IMODE(status.st_mode))
            if not stat.S_ISREG(status.st_mode):
                raise UnsafePathError(f"{name} is not a regular file")
            with open(fd, "rb", closefd=False) as file:
                return FileImage(read_reusing(file, known), stat.S_IMODE(status.st_mode))
        finally:
            os.close(fd)

    def _make_change_error(self, path: str) -> ChangedMeanwhile:
        return ChangedMeanwhile(f"{self._directory.root / path} was changed by someone else just now")

    def _parse_own(self, path: str) -> tuple[str, ...]:
        """Return the components of a path at which something of this harness may be; refuse any other."""
        name = path.rpartition("/")[2]
        above = path[: len(path) - len(name)]
        if self._asked and above == self._asked[0] and len(path) <= MAX_NAME and PLAIN_NAME.fullmatch(name):
            return (*self._asked[1], name)  # no plain name is one that only Takeback or version control may have
        parts = parse_path(path)
        require_writable_place(self._directory.root, path, self._inner)
        plain = self._inner is not None and self._inner.find_repository_above(path) is None
        self._asked = (above, parts[:-1]) if plain else None
        return parts

    @contextmanager
    def _at(self, path: str, verb: str) -> Iterator[tuple[int, str]]:
        parts = self._parse_own(path)
        self._directory.drop(path)
        with self._directory.faults(verb, path), self._parent(parts) as parent:
            if parent is None:
                raise HarnessError(f"cannot {verb} {self._directory.root / path}: its directory is not there")
            try:
                yield parent, parts[-1]
            except IsADirectoryError:
                raise UnsafePathError(f"{self._directory.root / path} is a directory") from None


def _ask_now_and_then(may: Callable[[], None]) -> Callable[[], None]:
    """Return a question that is asked at once, and then again after so long at the earliest."""
    asked = 0.0

    def ask() -> None:
        nonlocal asked
        if time.monotonic() - asked > ASK_SECONDS:
            may()
            asked = time.monotonic()

    return ask


@contextmanager
def _undo_on_failure(put_back: Callable[[], None]) -> Iterator[None]:
    """Put back what was just moved if what follows fails: nobody else knows of it yet."""
    try:
        yield
    except (OSError, TakebackError):
        put_back()
        raise


def _swap_in(parent: int, new: str, name: str, spare: str) -> str:
    """Put a new file in another's place; return the name that the other has now."""
    if swap_names(parent, new, name):
        return new
    os.link(name, spare, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
    os.rename(new, name, src_dir_fd=parent, dst_dir_fd=parent)
    return spare


def _bring_back(parent: int, aside: str, name: str, new: Traits | None) -> None:
    """Put a file back; remove what we had put there, unless someone wrote to it at this very moment."""
    if not swap_names(parent, aside, name):
        os.rename(aside, name, src_dir_fd=parent, dst_dir_fd=parent)
    elif _await_quiet_traits(parent, aside) == new:
        os.unlink(aside, dir_fd=parent)
    else:
        _keep_edit(parent, aside, name)


def _keep_edit(parent: int, aside: str, name: str) -> str:
    """Keep an edit that came at the wrong moment, under a name that says so; returns the name."""
    kept = name + OLD
    with suppress(FileExistsError):
        take_name(parent, aside, parent, kept)
        return kept
    kept = f"{name}{OLD}-{aside[-16:]}"
    take_name(parent, aside, parent, kept)
    return kept


def _await_writers(parent: int, name: str) -> None:
    """Give whoever opened a file for writing, before it was taken aside, a moment to finish.

    A lease is granted only while nobody has the file open for writing; where there are none, there is no waiting.
    """
    try:
        fd = os.open(name, READ_FLAGS, dir_fd=parent)
    except OSError:
        return
    try:
        for _ in range(PATIENCE):
            try:
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except OSError as error:
                if error.errno != errno.EAGAIN:
                    return
                time.sleep(PAUSE)
            else:
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
                return
    finally:
        os.close(fd)


def _await_quiet_traits(parent: int, name: str) -> Traits | None:
    """Return the traits of a file taken aside, once nobody writes to it any more."""
    _await_writers(parent, name)
    return _read_traits(parent, name)


def _read_traits(parent: int, name: str) -> Traits | None:
    """Return what changes when someone writes to a file, but not when it is renamed."""
    status = Directory.status(parent, name)
    return None if status is None else (status.st_ino, status.st_size, status.st_mtime_ns)


def _remove_empty(parent: int, name: str) -> bool:
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError as error:
        if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT}:
            return False
        raise
    return True


class FilesAdapter:
    """The files of one directory."""

    project: ProjectFiles | None = None
    """The project's own files, where they are tracked."""
    calls: CallRules | None = None
    """Which calls changes may make, where the manifest declares any."""
    external: OutsideRecords | None = None
    """Records of other systems, where the manifest declares bindings."""
    waiting: NotedEdits | None = None
    """Edits that hooks noted and that are not entries yet."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._place = FilePlace(directory)
        self._leftovers: tuple[str, ...] = ()
        self._recorded: dict[str, FileImage] = {}
        """Small files that an entry since the last note recorded, as it has them."""
        self._opened_at: tuple[str, State] | None = None
        """Where the journal ended when it was opened, and the state there, until files are read."""
        self._is_settled = False
        """Whether a look note told which files need not be read."""

    @property
    def place(self) -> FilePlace:
        """Where the files are put."""
        return self._place

    def image(self, path: str) -> Image | None:
        """Return a file as it is now."""
        require_own_place(self._directory.root, path)
        return self._directory.recall(path)

    def leftovers(self) -> tuple[str, ...]:
        """Return temporary files that a killed process of this harness left, as last seen."""
        return self._leftovers

    def sweep(self) -> tuple[str, ...]:
        """Remove them."""
        removed, self._leftovers = self._leftovers, ()
        for path in removed:
            self._directory.discard_at(path)
        return removed

    def note(self, seq: int, digest: str) -> None:
        """Write the note to a small file; it is not synced, since it may lag behind but never runs ahead."""
        with suppress(HarnessError):
            write_end(self._directory, f"{seq} {digest}\n", self._recorded)
        self._recorded.clear()

    def note_recorded(self, images: Iterable[tuple[str, Image | None]]) -> None:
        """Take files for what the journal says of them, for the next note; large ones are looked at instead."""
        for path, image in images:
            self._recorded.pop(path, None)
            if isinstance(image, FileImage) and len(image.content) <= LARGEST_EDIT:
                self._recorded[path] = image

    def read_noted_record(self) -> tuple[int, str] | None:
        """Return the content of the small file; None if it is missing or damaged. Refuse a link."""
        return read_noted_record(self._directory)

    def open_at(self, seq: int, digest: str, state: State) -> None:
        """Take a state for that at the end of the journal, so that files which a look settled are not read again."""
        if not self._is_settled:
            self._opened_at = (f"{seq} {digest}\n", state)

    def needs_look_note(self) -> bool:
        """Return whether a look note would save reading many files and there was none when they were read."""
        return len(self._directory.trail.asked) >= MANY and not self._is_settled

    def note_look(self, seq: int, digest: str, *, wait: bool = False) -> None:
        """Note what the last look rested on, for hooks; call it only if the files were as the journal says.

        What is uncertain, because something is too fresh or has changed meanwhile, is not noted. With `wait`, hooks
        of a harness of many files may have edits wait for the next command.
        """
        if self.read_noted_record() == (seq, digest):
            with suppress(HarnessError):
                write_look(self._directory, SETTLED, self.find_edit_kind if wait else None)

    def find_edit_kind(self, path: str) -> str:
        """Return what a file is to a hook that notes edits: by default one that has to be understood."""
        del path
        return OTHER

    def find_plain_slot(self, path: str, state: State) -> Slot | None:
        """Return the slot that a file holds the whole of, as text or bytes; None for any other."""
        del path, state
        return None

    def close(self) -> None:
        """Let the directory go."""
        if self.project is not None:
            self.project.close()
        if self.external is not None:
            self.external.close()
        self._directory.close()
