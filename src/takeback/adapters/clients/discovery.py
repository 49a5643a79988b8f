"""Finds a client's files: by name in any folder, below its own folders, and through imports.

A file that is reached through a link is the link's target, if that lies inside the directory; otherwise it
is reported and left alone. Folders that hold other people's files, or another harness, are not entered.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from takeback.adapters.directory import TEMPORARY
from takeback.adapters.harness_places import InnerHarnesses, describe_owner, why_no_place
from takeback.adapters.manifest import PRIVATE

FOREIGN = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "venv", "__pycache__", ".tox", ".cache"})
MOST_FOLDERS = 20_000
MOST_BELOW = 20_000
"""How many folders are looked into at most, for instruction files and below a client's own folder."""


class SeenFile(NamedTuple):
    """A file: the path it has, the path of the file itself, and if it is left alone, why."""

    path: str
    real: str
    outside: str = ""
    inner: str = ""
    """The folder with a harness of its own that it belongs to."""


class Finder:
    """Looks into one directory."""

    def __init__(self, root: Path, listed: set[str] | None = None) -> None:
        self.root = root
        self._listed: set[str] = set() if listed is None else listed
        """Folders in which something was looked for."""
        self._real = os.path.realpath(root)
        self.inner = InnerHarnesses(root)
        self.limits: list[str] = []

    def one(self, path: str) -> SeenFile | None:
        """Return the file or link at a path; None if there is neither."""
        place = self.root / path
        self._listed.add(os.path.dirname(path))
        if not os.path.lexists(place):
            return None
        return self._look_at(path)

    def _look_at(self, path: str) -> SeenFile:
        return self._classify_file(path, os.path.realpath(self.root / path))

    def _classify_file(self, path: str, real: str) -> SeenFile:
        inside = os.path.relpath(real, self._real)
        why = why_no_place(path) or (why_no_place(inside) if not inside.startswith("..") else None)
        if why is not None:
            return SeenFile(path, path, why)
        inner = self.inner.find_above(path) or (None if inside.startswith("..") else self.inner.find_above(inside))
        if inner is not None:
            return SeenFile(path, path, describe_owner(self.root, inner), inner)
        if real == os.path.join(self._real, path) and not os.path.islink(real):
            return SeenFile(path, path)
        if inside == ".." or inside.startswith("../"):
            return SeenFile(path, path, f"it is a link that leads out of the directory, to {real}")
        self._listed.add(os.path.dirname(inside))
        if not os.path.lexists(real) or os.path.islink(real):
            return SeenFile(path, path, "it is a link that leads nowhere")
        return SeenFile(path, inside)

    def leads(self, path: str, target: str) -> SeenFile:
        """Return the file that a link at a path would lead to."""
        above = os.path.dirname(self.root / path)
        return self._classify_file(path, os.path.realpath(os.path.join(above, target)))

    def below(self, folder: str) -> Iterator[SeenFile]:
        """Yield every file below a folder."""
        seen = self.one(folder)
        if seen is None or seen.outside or not (self.root / folder).is_dir():
            if seen is not None and seen.outside:
                yield seen
            return
        yield from self._walk(folder, frozenset(), MOST_BELOW)

    def below_all(self, folder: str) -> Iterator[SeenFile]:
        """Yield every file below a folder, or below all whose names begin as it does, where it ends in a star."""
        if not folder.endswith("*"):
            yield from self.below(folder)
            return
        above, _, start = folder.removesuffix("*").rpartition("/")
        self._listed.add(above)
        try:
            names = sorted(os.listdir(self.root / above))
        except OSError:
            return
        for name in names:
            if name.startswith(start) and (self.root / above / name).is_dir():
                yield from self.below(f"{above}/{name}" if above else name)

    def find_named_files(self, names: frozenset[str]) -> Iterator[SeenFile]:
        """Yield every file with one of these names, in any folder that belongs to the project."""
        yield from self._walk("", FOREIGN, MOST_FOLDERS, names)

    def beside(self, ending: str) -> Iterator[SeenFile]:
        """Yield the files at the top that have an ending."""
        self._listed.add("")
        for name in sorted(os.listdir(self.root)):
            if name.endswith(ending) and not (self.root / name).is_dir():
                yield self._look_at(name)

    def _walk(
        self, folder: str, foreign: frozenset[str], most: int, names: frozenset[str] | None = None
    ) -> Iterator[SeenFile]:
        waiting, looked = [folder], 0
        plain = not folder or os.path.realpath(self.root / folder) == os.path.join(self._real, folder)
        while waiting:
            current = waiting.pop()
            self._listed.add(current)
            looked += 1
            if looked > most:
                self.limits.append(f"{folder or '.'}: more than {most} folders; not all were looked into")
                return
            try:
                entries = sorted(os.scandir(self.root / current), key=lambda entry: entry.name)
            except OSError as error:
                if names is None:
                    yield SeenFile(current, current, f"it cannot be read: {error.strerror}")
                continue
            if current and any(entry.name == PRIVATE for entry in entries) and self.inner.is_one(current):
                continue
            below: list[str] = []
            for entry in entries:
                path = f"{current}/{entry.name}" if current else entry.name
                name = entry.name
                if why_no_place(name) is not None or (name[0] == "." and TEMPORARY.fullmatch(name)):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if name not in foreign:
                        below.append(path)
                elif names is None or name in names:
                    linked = entry.is_symlink()
                    if not (linked and self._is_folder(entry)):
                        yield self._look_at(path) if linked or not plain else SeenFile(path, path)
            waiting += reversed(below)

    @staticmethod
    def _is_folder(entry: os.DirEntry[str]) -> bool:
        try:
            return entry.is_dir()
        except OSError:
            return False

    def matching(self, pattern: str) -> Iterator[SeenFile]:
        """Yield the files that match a pattern of paths, such as `docs/*.md` or a plain path."""
        pattern = pattern.removeprefix("./")
        if pattern.startswith(("/", "~", "../")) or "/../" in pattern or "://" in pattern or not pattern:
            return
        if not any(char in pattern for char in "*?["):
            seen = self.one(pattern)
            if seen is not None and (seen.outside or (self.root / pattern).is_file()):
                yield seen
            return
        fixed = pattern.split("*", 1)[0].split("?", 1)[0].split("[", 1)[0].rpartition("/")[0]
        for seen in self._walk(fixed, FOREIGN, MOST_FOLDERS) if why_no_place(fixed) is None else ():
            if matches_pattern(seen.path, pattern):
                yield seen


def matches_pattern(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern; `**` stands for any folders, `*` stays inside one."""
    return _match_parts(path.split("/"), pattern.split("/"))


def _match_parts(parts: list[str], patterns: list[str]) -> bool:
    if not patterns:
        return not parts
    if patterns[0] == "**":
        return any(_match_parts(parts[at:], patterns[1:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], patterns[0]) and _match_parts(parts[1:], patterns[1:])
