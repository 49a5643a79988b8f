"""Files inside one directory, which nothing can lead out of.

Every component of a path is opened relative to its parent's descriptor without following links, so that a
link swapped in at any moment is refused, not followed. A file that was read is not read again while its
size, times and inode stay the same, unless it changed so shortly before it was read that a later change
could look alike.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Final, NamedTuple

from takeback.adapters.harness_places import is_inner_harness, why_no_place
from takeback.adapters.last_look import measure_file
from takeback.errors import HarnessError, UnsafePathError
from takeback.harness.images import DirectoryImage, FileImage, Image, LinkImage
from takeback.journal.failpoint import failpoint


class Signature(NamedTuple):
    """What tells, without reading it, that a file is the one that was read."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int
    mode: int


class ReadFile(NamedTuple):
    """A file that was read, and when."""

    signature: Signature
    at: int
    image: FileImage


def make_signature(status: os.stat_result) -> Signature:
    """Return the signature of a file."""
    return Signature(
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode
    )


class LookTrail:
    """What was looked at since a look began."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        """Paths that were asked for, there or not."""
        self.listed: set[str] = set()
        """Folders that were listed."""
        self.began = 0
        """When the look began, in nanoseconds; 0 where none has."""

    def begin(self) -> None:
        """Begin a look."""
        self.asked.clear()
        self.listed.clear()
        self.began = time.time_ns()


CHUNK: Final = 1 << 20


def read_reusing(file: BufferedReader, known: bytes) -> bytes:
    """Return all bytes of a file; where they equal the known ones, those, without a second copy."""
    if len(known) < CHUNK:
        return file.read()
    expected = memoryview(known)
    at = 0
    while (chunk := file.read(CHUNK)) and expected[at : at + len(chunk)] == chunk:
        at += len(chunk)
    if not chunk and at == len(known):
        return known
    file.seek(0)
    return file.read()


def read_small(fd: int, size: int) -> bytes | None:
    """Return all of a file that is as long as its status says; None, with nothing read, where it is not."""
    content = os.read(fd, size + 1)
    if len(content) == size:
        return content
    os.lseek(fd, 0, os.SEEK_SET)
    return None


READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def open_unfollowed(parent: int, name: str) -> int | LinkImage | None:
    """Return a descriptor of what has a name, a link as it is written, or None if nothing has it."""
    try:
        return os.open(name, READ_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        link = read_link(parent, name) if error.errno == errno.ELOOP else None
        if link is None:
            raise
        return link


def read_link(parent: int, name: str) -> LinkImage | None:
    """Return the link that has a name, as it is written; None if what has it is none."""
    try:
        return LinkImage(os.readlink(name, dir_fd=parent))
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOENT}:
            return None
        raise


def make_link(parent: int, name: str, image: LinkImage) -> None:
    """Make a link; where root makes it, with the owner of the directory."""
    os.symlink(image.target, name, dir_fd=parent)
    if os.geteuid() == 0:
        owner = os.fstat(parent)
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=parent, follow_symlinks=False)


TEMPORARY = re.compile(r"\.takeback-tmp-([0-9a-z]{12})-[0-9a-f]{16}")
PLAIN_NAME = re.compile(r"[0-9A-Za-z_-][0-9A-Za-z_.-]{0,99}")
"""A name that cannot be wrong in any way."""
MAX_NAME = 255
MAX_PATH = 4000
MAX_DEPTH = 100
SETTLED = 2_000_000_000
"""How long before it was read, in nanoseconds, a file must have been changed for its times to be trusted."""
DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
ROOT_USER = 0


@dataclass(frozen=True, slots=True)
class Found:
    """One thing met on a walk: a `file`, a `directory`, another `harness`, something `other` or `unreadable`."""

    path: str
    kind: str
    image: FileImage | None = None
    reason: str = ""
    """Why it is unreadable, or left alone."""


def parse_path(path: str) -> tuple[str, ...]:
    """Return the components of a relative path; raise `UnsafePathError` if it is unsafe."""
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
    """One directory, held open. `tag` is part of the name of every temporary file made here."""

    def __init__(self, root: str | os.PathLike[str], *, tag: str = "") -> None:
        self.root = Path(root)
        self.mark(tag)
        self._seen: dict[str, ReadFile] = {}
        self._recalled: dict[str, Image | None] = {}
        self._settled: dict[str, tuple[tuple[int, ...], FileImage]] = {}
        self.trail = LookTrail()
        self.met: list[str] = []
        """Temporaries under the tag that walks have come across."""
        try:
            self._fd = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise HarnessError(f"cannot open the directory {self.root}: {error.strerror}") from error

    def mark(self, tag: str) -> None:
        """Make temporaries under a tag from here on."""
        self.tag = (tag + "0" * 12)[:12]

    @property
    def descriptor(self) -> int:
        """The directory's own descriptor."""
        return self._fd

    def close(self) -> None:
        """Let go of the directory; once more does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def read(self, path: str) -> FileImage | None:
        """Return the file at `path`; None if nothing is there."""
        return self._demand_file(path, self.look(path))

    def _demand_file(self, path: str, image: Image | None) -> FileImage | None:
        if image is not None and not isinstance(image, FileImage):
            kind = "a link, which is not followed" if isinstance(image, LinkImage) else "not a regular file"
            raise UnsafePathError(f"{self.root / path} is {kind}")
        return image

    def begin_reading(self) -> None:
        """Begin to read the directory: what `recall` gives from here on was looked at once since."""
        self._recalled.clear()
        self.trail.begin()

    def recall(self, path: str) -> Image | None:
        """Return what was at `path` when the present reading came to it; what is there now if it did not."""
        try:
            return self._recalled[path]
        except KeyError:
            image = self._recalled[path] = self.look(path)
            return image

    def recall_file(self, path: str) -> FileImage | None:
        """Return the file that `recall` finds; None if nothing is there. Anything else is refused."""
        image = self._recalled.get(path)
        if type(image) is FileImage:
            return image
        return self._demand_file(path, self.recall(path))

    def recall_all(self, paths: Iterable[str]) -> None:
        """Look at many paths, each folder being opened once; one that cannot be looked at says so when recalled."""
        folders: dict[str, list[str]] = {}
        for path in paths:
            above, _, name = path.rpartition("/")
            if path not in self._recalled:
                folders.setdefault(above, []).append(name)
        for above, names in folders.items():
            begin = f"{above}/" if above else ""
            with suppress(OSError, HarnessError, UnsafePathError):
                parse_path(begin + names[0])
                with self.open(tuple(above.split("/")) if above else ()) as parent:
                    if parent is not None:
                        self._recall_names(parent, begin, names)

    def _recall_names(self, parent: int, begin: str, names: Iterable[str]) -> None:
        """Look at names in one folder; a settled file that is as it was is not opened."""
        settled, seen, asked = self._settled, self._seen, self.trail.asked
        for name in names:
            path = begin + name
            if path in settled and path not in seen:
                sign, image = settled[path]
                try:
                    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
                except OSError:
                    status = None
                if status is not None and measure_file(status) == sign:
                    asked.add(path)
                    self._recalled[path] = image
                    continue
            self._recall_in(parent, name, path)

    def _recall_in(self, parent: int, name: str, path: str) -> None:
        with suppress(OSError, HarnessError, UnsafePathError):
            if not PLAIN_NAME.fullmatch(name) or len(path) > MAX_NAME:
                parse_path(path)
            self.trail.asked.add(path)
            self._recalled[path] = self._image(parent, name, path)

    def drop(self, path: str) -> None:
        """Recall nothing of a path any more: it is about to be written."""
        self._recalled.pop(path, None)

    def look(self, path: str) -> Image | None:
        """Return the file, directory or link at `path`; None if nothing is there. Refuse anything else."""
        parts = parse_path(path)
        self.trail.asked.add(path)
        with self.faults("read", path), self.parent(parts) as parent:
            return None if parent is None else self._image(parent, parts[-1], path)

    def _image(self, parent: int, name: str, path: str) -> Image | None:
        opened = open_unfollowed(parent, name)
        if not isinstance(opened, int):
            return opened
        try:
            status = os.fstat(opened)
            if stat.S_ISDIR(status.st_mode):
                return DirectoryImage(stat.S_IMODE(status.st_mode))
            if not stat.S_ISREG(status.st_mode):
                raise UnsafePathError(f"{self.root / path} is not a regular file")
            return self.find_known_image(path, make_signature(status)) or self._read(opened, path, status.st_size)
        finally:
            os.close(opened)

    def find_known_image(self, path: str, now: Signature) -> FileImage | None:
        """Return a file's image if it was read before and cannot have changed since."""
        seen = self._seen.get(path)
        if seen is None or seen.signature != now or seen.at - max(now.modified, now.changed) < SETTLED:
            return None
        return seen.image

    def _read(self, fd: int, path: str, size: int) -> FileImage:
        at = time.time_ns()
        seen = self._seen.get(path)
        content = read_small(fd, size) if size < CHUNK else None
        if content is None:
            with open(fd, "rb", closefd=False) as file:
                content = read_reusing(file, b"" if seen is None else seen.image.content)
        status = os.fstat(fd)
        mode = stat.S_IMODE(status.st_mode)
        if seen is not None and seen.image.mode == mode and seen.image.content == content:
            image = seen.image
        else:
            image = FileImage(content, mode)
        if len(content) == status.st_size:
            self._seen[path] = ReadFile(make_signature(status), at, image)
        return image

    def signature_read(self, path: str) -> tuple[int, ...] | None:
        """Return the signature (of `last_look`) that a file had when it was read; None if it was not read whole."""
        seen = self._seen.get(path)
        if seen is not None:
            sign = seen.signature
            return (sign.size, sign.modified, sign.changed, sign.inode, sign.mode)
        settled = self._settled.get(path)
        return settled[0] if settled is not None and self._recalled.get(path) is settled[1] else None

    def image_read(self, path: str) -> FileImage | None:
        """Return a file as it was read; None if it was not read whole."""
        seen = self._seen.get(path)
        return None if seen is None else seen.image

    def take_settled(self, files: dict[str, tuple[tuple[int, ...], FileImage]]) -> None:
        """Take files for what a look found in them long after they changed, while they have these signatures."""
        self._settled = files

    def share(self, path: str, content: bytes) -> None:
        """Hold a file's bytes, where they were read, as the equal ones that someone else holds."""
        seen = self._seen.get(path)
        if seen is not None and seen.image.content is not content:
            image = FileImage(content, seen.image.mode)
            self._seen[path] = seen._replace(image=image)
            if path in self._recalled:
                self._recalled[path] = image

    def walk(
        self, path: str, *, wanted: Callable[[str], bool] = lambda _: True, deep: bool = True
    ) -> Iterator[Found]:
        """Yield everything below `path`, without temporaries and without following links; read `wanted` files.

        Report what cannot be read as found, without raising; with `deep` false, enter no directories.
        """
        waiting = [path]
        while waiting:
            folder = waiting.pop()
            below: list[str] = []
            for item in self._list(folder, wanted):
                yield item
                if item.kind == "directory" and deep:
                    below.append(item.path)
            waiting += reversed(below)

    def _list(self, folder: str, wanted: Callable[[str], bool]) -> Iterator[Found]:
        self.trail.listed.add(folder)
        try:
            parts = parse_path(folder)
            with self.open(parts) as fd:
                entries = [] if fd is None else sorted(os.scandir(fd), key=lambda entry: entry.name)
                yield from self._entries(fd or 0, folder, entries, wanted)
        except UnsafePathError as fault:
            yield Found(folder, "unreadable", reason=fault.message)
        except OSError as error:
            yield Found(folder, "unreadable", reason=error.strerror or str(error))

    def own_temporaries(self, path: str) -> list[str]:
        """Return the temporaries with this directory's tag in one directory; none if it cannot be listed."""
        try:
            with self.open(parse_path(path) if path else ()) as fd:
                names = [] if fd is None else os.listdir(fd)
        except (OSError, UnsafePathError):
            return []
        return [f"{path}/{name}" if path else name for name in names if self.is_own_temporary(name)]

    def _entries(
        self, fd: int, folder: str, entries: list[os.DirEntry[str]], wanted: Callable[[str], bool]
    ) -> Iterator[Found]:
        for entry in entries:
            path = f"{folder}/{entry.name}"
            if TEMPORARY.fullmatch(entry.name):
                if self.is_own_temporary(entry.name):
                    self.met.append(path)
                continue
            if not _is_writable(entry.name):
                shown = f"{folder}/{os.fsencode(entry.name).decode('utf-8', 'backslashreplace')}"
                yield Found(shown, "other", reason="its name is not UTF-8; left alone")
            elif (why := why_no_place(entry.name)) is not None:
                yield Found(path, "other", reason=f"{why}; left alone")
            elif entry.is_dir(follow_symlinks=False):
                if is_inner_harness(os.fspath(self.root), path):
                    yield Found(path, "harness")
                    continue
                deep = path.count("/") > MAX_DEPTH or len(path.encode()) > MAX_PATH
                kind, reason = ("other", "it lies too deep; left alone") if deep else ("directory", "")
                yield Found(path, kind, reason=reason)
            elif entry.is_file(follow_symlinks=False):
                yield self._file(fd, entry, path, wanted)
            else:
                yield Found(path, "other", reason="it is neither a file nor a directory; left alone")

    def _file(self, fd: int, entry: os.DirEntry[str], path: str, wanted: Callable[[str], bool]) -> Found:
        if not wanted(path):
            return Found(path, "file")
        try:
            self.trail.asked.add(path)
            known = self.find_known_image(path, make_signature(entry.stat(follow_symlinks=False)))
            image = known or self._image(fd, entry.name, path)
        except OSError as error:
            return Found(path, "unreadable", reason=error.strerror or str(error))
        if not isinstance(image, FileImage):
            return Found(path, "unreadable", reason="it was changed just now")
        self._recalled[path] = image
        return Found(path, "file", image)

    def write(self, path: str, image: FileImage, *, sync: bool = True) -> None:
        """Put a file of Takeback's own in place, whole or not at all.

        Without `sync`, a failing machine may lose it, though never a killed process.
        """
        parts = parse_path(path)
        with self.faults("write", path), self.parent(parts) as parent:
            if parent is None:
                raise HarnessError(f"cannot write {self.root / path}: its directory is not there")
            temporary = self.temporary(parent, image, like=self.status(parent, parts[-1]), sync=sync)
            try:
                os.rename(temporary, parts[-1], src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                self.discard(parent, temporary)
                raise
            failpoint("file.renamed")
            if sync:
                os.fsync(parent)

    def temporary(self, parent: int, image: FileImage, *, like: os.stat_result | None, sync: bool = True) -> str:
        """Write a temporary file with an image and the owner of another (or of the directory); its name."""
        name = self.temporary_name()
        fd = os.open(name, CREATE_FLAGS, 0o600, dir_fd=parent)
        try:
            failpoint("file.temp.created")
            try:
                rest = memoryview(image.content)
                while rest:
                    rest = rest[os.write(fd, rest) :]
                if os.geteuid() == ROOT_USER:
                    owner = os.fstat(parent) if like is None else like
                    os.fchown(fd, owner.st_uid, owner.st_gid)
                os.fchmod(fd, image.mode)
                if sync:
                    os.fsync(fd)
            finally:
                os.close(fd)
            failpoint("file.temp.written")
        except BaseException:
            self.discard(parent, name)
            raise
        return name

    def temporary_name(self) -> str:
        """Return a fresh name that only temporaries of this directory have."""
        return f".takeback-tmp-{self.tag}-{secrets.token_hex(8)}"

    def is_own_temporary(self, name: str) -> bool:
        """Return whether a name belongs to a temporary with this directory's tag."""
        match = TEMPORARY.fullmatch(name) if name.startswith(".") else None
        return match is not None and match[1] == self.tag

    @staticmethod
    def discard(parent: int, name: str) -> None:
        """Remove a temporary, if it is there."""
        with suppress(OSError):
            os.unlink(name, dir_fd=parent)

    def discard_at(self, path: str) -> None:
        """Remove the temporary at a path, if it is there."""
        parts = tuple(path.split("/"))
        with self.faults("remove", path), self.parent(parts) as parent:
            if parent is not None:
                self.discard(parent, parts[-1])

    @staticmethod
    def status(parent: int, name: str) -> os.stat_result | None:
        """Return the status of a name, of a link itself; None if nothing has the name."""
        try:
            return os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def require_plain(self, path: str) -> None:
        """Refuse a path that leads over a link, for what can only be opened by name."""
        place = self.root
        for part in Path(path).parts:
            place /= part
            if place.is_symlink():
                raise UnsafePathError(f"{place} is a link, which is not followed")

    def make(self, path: str, mode: int = 0o755) -> tuple[str, ...]:
        """Make a directory and those above it; returns the ones that were missing."""
        made: list[str] = []
        parts = parse_path(path)
        with self.faults("make directory", path):
            for depth in range(1, len(parts) + 1):
                with self.parent(parts[:depth]) as parent:
                    if parent is None:
                        raise HarnessError(f"cannot make {self.root / path}: a directory vanished")
                    if self.make_in(parent, parts[depth - 1], mode if depth == len(parts) else 0o755):
                        made.append("/".join(parts[:depth]))
        return tuple(made)

    def make_in(self, parent: int, name: str, mode: int, *, sync: bool = True) -> bool:
        """Make a directory; whether it was missing. A link, or a file, in its place is an error."""
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
        except FileExistsError:
            with _close_after(os.open(name, DIRECTORY_FLAGS, dir_fd=parent)):
                return False
        with _close_after(os.open(name, DIRECTORY_FLAGS, dir_fd=parent)) as fd:
            if os.geteuid() == ROOT_USER:
                above = os.fstat(parent)
                os.fchown(fd, above.st_uid, above.st_gid)
            os.fchmod(fd, mode)
        failpoint("directory.created")
        if sync:
            os.fsync(parent)
        return True

    @contextmanager
    def parent(self, parts: tuple[str, ...]) -> Iterator[int | None]:
        """Open the directory that the last part lies in and yield its descriptor; None if there is none."""
        with self.open(parts[:-1]) as fd:
            yield fd

    @contextmanager
    def open(self, parts: tuple[str, ...]) -> Iterator[int | None]:
        """Open the directory at `parts` and yield its descriptor; None if there is none."""
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
    def faults(self, verb: str, path: str) -> Iterator[None]:
        """Turn the system's errors into ours."""
        try:
            yield
        except OSError as error:
            place = self.root / path
            if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                raise UnsafePathError(
                    f"cannot {verb} {place}: a part of the path is a link or a file, not a directory"
                ) from error
            raise HarnessError(f"cannot {verb} {place}: {error.strerror}") from error


@contextmanager
def _close_after(fd: int) -> Iterator[int]:
    try:
        yield fd
    finally:
        os.close(fd)


def _is_writable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
