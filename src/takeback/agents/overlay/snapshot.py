"""A snapshot of a project's names: what tells later whether a file is still what it was when a command began.

It holds no contents. A file that was changed so shortly before it was looked at that a later write could look alike
is remembered with a digest too. Links are not followed, other file systems and Takeback's own folder not entered.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
from pathlib import Path
from typing import Final, Literal, NamedTuple

from takeback.adapters.directory import SETTLED
from takeback.adapters.roots import PRIVATE

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
