"""Files inside one directory, which nothing can lead out of and which are never half written.

Every component of a path is opened relative to its parent's descriptor without following links, so that a
link swapped in at any moment is refused, not followed. A write goes to a temporary file beside its target,
is synced and renamed into place, and the directory is synced after it. Permission bits are set exactly.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from takeback.errors import HarnessError, UnsafePathError
from takeback.journal.failpoint import failpoint

TEMPORARY = re.compile(r"\.takeback-tmp-[0-9a-f]{16}")
MAX_NAME = 255
MAX_PATH = 4000
DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class FileImage:
    """A regular file: its bytes and permission bits."""

    content: bytes
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Found:
    """One thing met on a walk: `kind` is `file`, `directory` or `other` (a link, a socket, a device)."""

    path: str
    kind: str


def split_path(path: str) -> tuple[str, ...]:
    """The components of a relative path, or `UnsafePathError` saying what is wrong with it."""
    reason = None
    parts = tuple(path.split("/"))
    if not path or path.startswith("/"):
        reason = "it must be relative and not empty"
    elif "\0" in path:
        reason = "it contains a NUL character"
    elif any(part in {"", ".", ".."} for part in parts):
        reason = "it has an empty, '.' or '..' component"
    elif len(os.fsencode(path)) > MAX_PATH or any(len(os.fsencode(part)) > MAX_NAME for part in parts):
        reason = f"it is too long (at most {MAX_NAME} bytes a name, {MAX_PATH} in all)"
    elif any(TEMPORARY.fullmatch(part) for part in parts):
        reason = "names beginning with .takeback-tmp- are Takeback's own"
    if reason:
        shown = path if len(path) <= MAX_NAME else path[:40] + "…"
        raise UnsafePathError(f"path {shown!r} is refused: {reason}")
    return parts


class Directory:
    """One directory, held open."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        try:
            self._fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise HarnessError(f"cannot open the directory {self.root}: {error.strerror}") from error

    def close(self) -> None:
        """Let go of the directory."""
        os.close(self._fd)

    def read(self, path: str) -> FileImage | None:
        """The file at `path`; None if nothing is there."""
        parts = split_path(path)
        with self._faults("read", path), self._parent(parts) as parent:
            if parent is None:
                return None
            try:
                fd = os.open(parts[-1], READ_FLAGS, dir_fd=parent)
            except FileNotFoundError:
                return None
            with os.fdopen(fd, "rb") as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise UnsafePathError(f"{self.root / path} is not a regular file")
                return FileImage(file.read(), stat.S_IMODE(status.st_mode))

    def write(self, path: str, image: FileImage, *, sync: bool = True) -> tuple[str, ...]:
        """Put a file in place, whole or not at all; returns the directories that had to be made.

        Without `sync`, a failing machine may lose it, though never a killed process.
        """
        parts = split_path(path)
        with self._faults("write", path):
            made = self._make(parts[:-1])
            with self._parent(parts) as parent:
                if parent is None:
                    raise HarnessError(f"cannot write {self.root / path}: its directory vanished")
                self._write_in(parent, parts[-1], image, sync=sync)
        return made

    def _write_in(self, parent: int, name: str, image: FileImage, *, sync: bool) -> None:
        temporary = f".takeback-tmp-{secrets.token_hex(8)}"
        fd = os.open(temporary, CREATE_FLAGS, 0o600, dir_fd=parent)
        try:
            failpoint("file.temp.created")
            with os.fdopen(fd, "wb") as file:
                file.write(image.content)
                file.flush()
                os.fchmod(file.fileno(), image.mode)
                if sync:
                    os.fsync(file.fileno())
            failpoint("file.temp.written")
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=parent)
            raise
        failpoint("file.renamed")
        if sync:
            os.fsync(parent)

    def demand_plain(self, path: str) -> None:
        """Refuse a path below the directory on which a link stands, for what can only be opened by name."""
        place = self.root
        for part in Path(path).parts:
            place /= part
            if place.is_symlink():
                raise UnsafePathError(f"{place} is a link, which is not followed")

    def remove(self, path: str) -> bool:
        """Remove a file; whether it was there. A directory is refused."""
        parts = split_path(path)
        with self._faults("remove", path), self._parent(parts) as parent:
            if parent is None:
                return False
            try:
                os.unlink(parts[-1], dir_fd=parent)
            except FileNotFoundError:
                return False
            failpoint("file.removed")
            os.fsync(parent)
            return True

    def make_directory(self, path: str) -> tuple[str, ...]:
        """Make a directory and those above it; returns the ones that were missing."""
        with self._faults("make directory", path):
            return self._make(split_path(path))

    def remove_directory(self, path: str) -> bool:
        """Remove a directory if it is there and empty; whether it was removed."""
        parts = split_path(path)
        with self._faults("remove directory", path), self._parent(parts) as parent:
            if parent is None:
                return False
            try:
                os.rmdir(parts[-1], dir_fd=parent)
            except OSError as error:
                if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT}:
                    return False
                raise
            failpoint("directory.removed")
            os.fsync(parent)
            return True

    def walk(self, path: str = "") -> Iterator[Found]:
        """Everything below `path`, in order of names, links not followed, temporaries left out."""
        for found in self._walk(path):
            if not TEMPORARY.fullmatch(found.path.rpartition("/")[2]):
                yield found

    def leftovers(self) -> tuple[str, ...]:
        """Temporary files that a killed process left behind."""
        return tuple(f.path for f in self._walk("") if TEMPORARY.fullmatch(f.path.rpartition("/")[2]))

    def sweep(self) -> tuple[str, ...]:
        """Remove leftovers; only while no other process is writing."""
        found = self.leftovers()
        for path in found:
            with self._faults("remove", path), self._parent(tuple(path.split("/"))) as parent:
                if parent is not None:
                    os.unlink(path.rpartition("/")[2], dir_fd=parent)
        return found

    def _walk(self, path: str) -> Iterator[Found]:
        parts = split_path(path) if path else ()
        with self._faults("list", path or "."), self._open(parts) as fd:
            entries = [] if fd is None else sorted(os.scandir(fd), key=lambda entry: entry.name)
            kinds = [(entry.name, _kind(entry)) for entry in entries]
        for name, kind in kinds:
            below = f"{path}/{name}" if path else name
            yield Found(below, kind)
            if kind == "directory":
                yield from self._walk(below)

    def _make(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        made: list[str] = []
        for depth in range(1, len(parts) + 1):
            with self._parent(parts[:depth]) as parent:
                if parent is None:
                    raise HarnessError(f"cannot make {self.root.joinpath(*parts)}: a directory vanished")
                try:
                    os.mkdir(parts[depth - 1], 0o755, dir_fd=parent)
                except FileExistsError:
                    continue
                failpoint("directory.created")
                os.fsync(parent)
                made.append("/".join(parts[:depth]))
        return tuple(made)

    @contextmanager
    def _parent(self, parts: tuple[str, ...]) -> Iterator[int | None]:
        with self._open(parts[:-1]) as fd:
            yield fd

    @contextmanager
    def _open(self, parts: tuple[str, ...]) -> Iterator[int | None]:
        """A descriptor of the directory at `parts`, None if there is none."""
        fd = os.dup(self._fd)
        try:
            for part in parts:
                try:
                    below = os.open(part, DIRECTORY_FLAGS, dir_fd=fd)
                except FileNotFoundError:
                    os.close(fd)
                    fd = -1
                    break
                os.close(fd)
                fd = below
            yield fd if fd >= 0 else None
        finally:
            if fd >= 0:
                os.close(fd)

    @contextmanager
    def _faults(self, verb: str, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            place = self.root / path
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                raise UnsafePathError(
                    f"cannot {verb} {place}: a part of the path is a link or a file, not a directory"
                ) from error
            raise HarnessError(f"cannot {verb} {place}: {error.strerror}") from error


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_dir(follow_symlinks=False):
        return "directory"
    return "file" if entry.is_file(follow_symlinks=False) else "other"
