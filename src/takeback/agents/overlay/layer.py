"""The upper layer of an overlay: which paths a command added, changed and removed, against the snapshot.

A whiteout is a character device 0/0, or an empty file with an attribute; an opaque folder hides what was below it.
Folders that were renamed arrive as copies, files whose times alone changed are no change. Pipes, sockets, devices
and names that cannot be written are listed as left out. Nothing outside the layer and the project is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from takeback.adapters.directory import READ_FLAGS, parse_path
from takeback.adapters.roots import PRIVATE
from takeback.agents.overlay.snapshot import NameTraits, Snapshot, read_traits
from takeback.errors import UnsafePathError

GIT: Final = ".git"
CHUNK: Final = 1 << 20
OPAQUE: Final = "user.overlay.opaque"
WHITEOUT: Final = "user.overlay.whiteout"
KINDS: Final = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


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
