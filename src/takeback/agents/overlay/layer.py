"""What a command did on an overlay: a snapshot of a project's names before, and the overlay's upper layer after.

The snapshot holds no contents. A file that was changed so shortly before it was looked at that a later write could
look alike is remembered with a digest too. A whiteout in the layer is a character device 0/0, or an empty file with
an attribute; an opaque folder hides what was below it. Folders that were renamed arrive as copies, files whose times
alone changed are no change. Pipes, sockets, devices and names that cannot be written are listed as left out. Links
are not followed, and nothing outside the layer and the project is read.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

from takeback.adapters.directory import READ_FLAGS, SETTLED, parse_path
from takeback.adapters.roots import PRIVATE
from takeback.errors import UnsafePathError

GIT: Final = ".git"
CHUNK: Final = 1 << 20
OPAQUE: Final = "user.overlay.opaque"
WHITEOUT: Final = "user.overlay.whiteout"
KINDS: Final = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
FileForm = Literal["file", "directory", "link", "other"]
FORMAT: Final = 1
RACY_BYTES: Final = 4 << 20
"""A file larger than this gets no digest: its times must do."""


class NameTraits(NamedTuple):
    """What is known of a name without its content."""

    mode: int
    size: int
    modified: int
    changed: int
    inode: int
    digest: str = ""
    """Of the content, where times alone could not tell a later write."""

    @property
    def form(self) -> FileForm:
        """The kind of thing it is."""
        return name_form(self.mode)

    @property
    def permissions(self) -> int:
        """Its permission bits."""
        return stat.S_IMODE(self.mode)


def name_form(mode: int) -> FileForm:
    """Return the kind of thing that a mode belongs to."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "link" if stat.S_ISLNK(mode) else "other"


def read_traits(status: os.stat_result) -> NameTraits:
    """Return the traits that a status tells."""
    return NameTraits(status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def digest_file(file: int) -> str:
    """Return the digest of an open file from where it stands."""
    with open(file, "rb", closefd=False) as content:
        return hashlib.file_digest(content, "blake2b").hexdigest()[:40]


class Snapshot:
    """The names of a project, folder by folder; the folder at the top has the empty name."""

    def __init__(self, folders: dict[str, dict[str, NameTraits]]) -> None:
        self._folders = folders

    def find(self, path: str) -> NameTraits | None:
        """Return the traits of a path; None if nothing was there."""
        above, _, name = path.rpartition("/")
        return self._folders.get(above, {}).get(name)

    def list_names(self, folder: str) -> tuple[str, ...]:
        """Return the names in a folder."""
        return tuple(self._folders.get(folder, ()))

    def list_below(self, folder: str) -> list[tuple[str, NameTraits]]:
        """Return everything below a folder, what is inside another thing before that."""
        names: list[tuple[str, NameTraits]] = []
        waiting = [folder]
        while waiting:
            current = waiting.pop()
            for name, traits in self._folders.get(current, {}).items():
                path = f"{current}/{name}" if current else name
                names.append((path, traits))
                if traits.form == "directory":
                    waiting.append(path)
        return names[::-1]

    def renew(self, path: str, now: NameTraits) -> None:
        """Note that a thing which is what it was has another time of its last change, since it was moved and back."""
        above, _, name = path.rpartition("/")
        known = self.find(path)
        if known is not None and now == known._replace(changed=now.changed, digest=""):
            self._folders[above][name] = known._replace(changed=now.changed)

    def __len__(self) -> int:
        return sum(map(len, self._folders.values()))

    def save(self, place: Path) -> None:
        """Write it to a file."""
        place.write_text(json.dumps({"format": FORMAT, "folders": self._folders}), encoding="ascii")

    @classmethod
    def load(cls, place: Path) -> Snapshot:
        """Read it from a file that this user's Takeback wrote."""
        saved = json.loads(place.read_text(encoding="ascii"))
        if saved["format"] != FORMAT:
            raise ValueError(f"format {saved['format']}")
        return cls(
            {
                folder: {name: NameTraits(*row) for name, row in names.items()}
                for folder, names in saved["folders"].items()
            }
        )


def take_snapshot(root: Path) -> tuple[Snapshot, int]:
    """Return the snapshot of a project, and how many of its things another user or group owns."""
    top = os.stat(root)
    now, owner = time.time_ns(), (os.geteuid(), os.getegid())
    folders: dict[str, dict[str, NameTraits]] = {}
    waiting, foreign = [""], 0
    while waiting:
        folder = waiting.pop()
        names = folders[folder] = {}
        try:
            entries = os.scandir(root / folder)
        except OSError:
            continue  # the command cannot read it either
        with entries:
            for entry in entries:
                if not folder and entry.name == PRIVATE:
                    continue
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                names[entry.name] = _sharpen(read_traits(status), entry, now)
                foreign += (status.st_uid, status.st_gid) != owner
                if stat.S_ISDIR(status.st_mode) and status.st_dev == top.st_dev:
                    waiting.append(f"{folder}/{entry.name}" if folder else entry.name)
    return Snapshot(folders), foreign


def _sharpen(traits: NameTraits, entry: os.DirEntry[str], now: int) -> NameTraits:
    """Add a digest to traits that a write right after this look would not change."""
    fresh = now - max(traits.modified, traits.changed) < SETTLED
    if not fresh or traits.form != "file" or traits.size > RACY_BYTES:
        return traits
    try:
        file = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return traits
    try:
        return traits._replace(digest=digest_file(file))
    finally:
        os.close(file)


@dataclass(frozen=True, slots=True)
class LayerChange:
    """What a command did to one path of the project."""

    path: str
    before: NameTraits | None
    """What was there when the command began; None for nothing."""
    after: NameTraits | None
    """What the command left there; None for nothing."""
    same_content: bool = False
    """Whether only permission bits differ."""

    @property
    def kind(self) -> Literal["added", "changed", "removed", "mode"]:
        """What happened, in a word."""
        if self.before is None:
            return "added"
        if self.after is None:
            return "removed"
        return "mode" if self.same_content else "changed"

    @property
    def form(self) -> str:
        """What it is, or was: a file, directory or link."""
        traits = self.after or self.before
        return "other" if traits is None else traits.form

    @property
    def of_git(self) -> bool:
        """Whether it lies in git's own folder, here or in an inner repository."""
        return GIT in self.path.split("/")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A path that the command wrote and that is not taken over, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Layer:
    """All that a command did."""

    changes: tuple[LayerChange, ...]
    left_out: tuple[LeftOut, ...]


def read_layer(upper: Path, root: Path, snapshot: Snapshot) -> Layer:
    """Return what the upper layer says that a command did to a project."""
    changes: list[LayerChange] = []
    left_out: list[LeftOut] = []
    for item in _Reader(upper, root, snapshot).walk():
        if isinstance(item, LayerChange):
            changes.append(item)
        else:
            left_out.append(item)
    return Layer(tuple(sorted(changes, key=lambda change: change.path)), tuple(left_out))


class _Reader:
    """Walks the upper layer."""

    def __init__(self, upper: Path, root: Path, snapshot: Snapshot) -> None:
        self._upper, self._root, self._snapshot = upper, root, snapshot
        self._waiting: list[tuple[str, bool]] = [("", False)]
        """Folders to be read, and whether they hide what was below them."""

    def walk(self) -> Iterator[LayerChange | LeftOut]:
        """Yield what is found, in no particular order."""
        while self._waiting:
            folder, opaque = self._waiting.pop()
            place = self._upper / folder
            names: set[str] = set()
            for entry in _list_folder(place):
                path = f"{folder}/{entry.name}" if folder else entry.name
                names.add(entry.name)
                yield from self._read_entry(path, entry, opaque=opaque)
            for name in self._snapshot.list_names(folder) if opaque else ():
                if name not in names:
                    yield from self._remove(f"{folder}/{name}" if folder else name)

    def _read_entry(self, path: str, entry: os.DirEntry[str], *, opaque: bool) -> Iterator[LayerChange | LeftOut]:
        status = entry.stat(follow_symlinks=False)
        before = self._snapshot.find(path)
        why = _why_left_out(path)
        if why is not None:
            yield LeftOut(path, why)
        elif _is_whiteout(entry.path, status):
            yield from self._remove(path)
        elif stat.S_IFMT(status.st_mode) in KINDS:
            yield LeftOut(path, f"it is {KINDS[stat.S_IFMT(status.st_mode)]}")
        elif stat.S_ISDIR(status.st_mode):
            yield from self._read_folder(path, entry.path, before, read_traits(status), opaque=opaque)
        else:
            yield from self._read_file(path, before, read_traits(status))

    def _read_folder(
        self, path: str, place: str, before: NameTraits | None, after: NameTraits, *, opaque: bool
    ) -> Iterator[LayerChange]:
        merged = before is not None and before.form == "directory"
        if before is not None and not merged:
            yield LayerChange(path, before, None)
        if not merged:
            yield LayerChange(path, None, after)
        elif before is not None and before.permissions != after.permissions:
            yield LayerChange(path, before, after, same_content=True)
        self._waiting.append((path, merged and (opaque or _is_opaque(place))))

    def _read_file(self, path: str, before: NameTraits | None, after: NameTraits) -> Iterator[LayerChange]:
        if before is not None and before.form == "directory":
            yield from self._remove(path)
            before = None
        same = before is not None and before.form == after.form and self._has_same_content(path, before, after)
        if not same:
            yield LayerChange(path, before, after)
        elif before is not None and after.form == "file" and before.permissions != after.permissions:
            yield LayerChange(path, before, after, same_content=True)

    def _remove(self, path: str) -> Iterator[LayerChange]:
        before = self._snapshot.find(path)
        if before is None:
            return
        for below, traits in self._snapshot.list_below(path) if before.form == "directory" else ():
            yield LayerChange(below, traits, None)
        yield LayerChange(path, before, None)

    def _has_same_content(self, path: str, before: NameTraits, after: NameTraits) -> bool:
        if before.size != after.size:
            return False
        new, old = self._upper / path, self._root / path
        with suppress(OSError):
            if after.form == "link":
                return os.readlink(new) == os.readlink(old)
            return _has_same_bytes(old, new)
        return False


def _list_folder(place: Path) -> list[os.DirEntry[str]]:
    """Return what is in a folder of the layer, also where the command took away the right to read it."""
    try:
        with os.scandir(place) as entries:
            return list(entries)
    except PermissionError:
        mode = stat.S_IMODE(os.lstat(place).st_mode)
        os.chmod(place, mode | stat.S_IRWXU)
        with os.scandir(place) as entries:
            return list(entries)


def _has_same_bytes(old: Path, new: Path) -> bool:
    old_file = os.open(old, READ_FLAGS)
    try:
        with open(old_file, "rb", closefd=False) as before, open(new, "rb") as after:
            while (chunk := before.read(CHUNK)) == after.read(CHUNK):
                if not chunk:
                    return True
    finally:
        os.close(old_file)
    return False


def _is_whiteout(place: str, status: os.stat_result) -> bool:
    if stat.S_ISCHR(status.st_mode):
        return status.st_rdev == 0
    return stat.S_ISREG(status.st_mode) and status.st_size == 0 and _read_attribute(place, WHITEOUT) is not None


def _is_opaque(place: str) -> bool:
    return _read_attribute(place, OPAQUE) == b"y"


def _read_attribute(place: str, name: str) -> bytes | None:
    try:
        return os.getxattr(place, name, follow_symlinks=False)
    except OSError:
        return None


def _why_left_out(path: str) -> str | None:
    """Return why a path cannot be taken over, whatever is there."""
    if PRIVATE in path.split("/"):
        return "it is Takeback's own"
    try:
        parse_path(path)
    except UnsafePathError as fault:
        return fault.message.partition("is refused: ")[2] or fault.message
    return None


def show_path(path: str) -> str:
    """Return a path as text, with bytes that are not UTF-8 as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
