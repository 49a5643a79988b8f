"""The surfaces that live in a directory each: prompts, tools, and sandboxed files.

A prompt is a Markdown file, exactly its text; a tool is a JSON file; a sandboxed file is itself, with its
permission bits. Names that cannot be file names are percent-encoded. What is not one of ours (a link, a file
with another ending) is left alone and reported.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

from takeback.canonical import parse
from takeback.errors import HarnessError, InputError
from takeback.harness.directory import MAX_NAME, Directory, FileImage
from takeback.state import ABSENT, SURFACES, PMap, tree
from takeback.state.file import File
from takeback.state.values import thaw

READABLE = " -_.()@+,="
PERMISSIONS = 0o777


class Folder(ABC):
    """How one surface is kept in a directory."""

    surface: str

    @abstractmethod
    def read(self, directory: Directory, place: str) -> tuple[Any, tuple[str, ...]]:
        """The surface's value, and what is in the directory that is not ours."""

    @abstractmethod
    def write(self, directory: Directory, place: str, before: Any, after: Any) -> None:
        """Change files from one value to another."""


class NamedFolder(Folder):
    """One file a name."""

    ending: str

    def read(self, directory: Directory, place: str) -> tuple[PMap, tuple[str, ...]]:
        """Every file with the ending."""
        contents: dict[str, Any] = {}
        strange: list[str] = []
        for found in directory.walk(place):
            name = self._name(found.path[len(place) + 1 :]) if found.kind == "file" else None
            image = directory.read(found.path) if name is not None else None
            if name is None or image is None:
                strange.append(f"{found.path} is not a {self.ending} file of this directory; left alone")
            else:
                contents[name] = self.decode(image.content, str(directory.root / found.path))
        return SURFACES[self.surface].read(contents, str(directory.root / place)), tuple(strange)

    def write(self, directory: Directory, place: str, before: PMap, after: PMap) -> None:
        """Write and remove the files of names that differ; permission bits stay."""
        for (name,) in SURFACES[self.surface].differing(before, after):
            path = f"{place}/{file_name(name, self.ending)}"
            content, there = after.get(name, ABSENT), directory.read(path)
            if not self._holds(there, before.get(name, ABSENT), path):
                raise HarnessError(f"{directory.root / path} was changed by someone else just now")
            if content is ABSENT:
                directory.remove(path)
            else:
                mode = 0o644 if there is None else there.mode
                directory.write(path, FileImage(self.encode(content), mode))

    def _holds(self, image: FileImage | None, content: Any, where: str) -> bool:
        if image is None or content is ABSENT:
            return image is None and content is ABSENT
        surface = SURFACES[self.surface]
        return surface.alike(surface.slot_from_json(self.decode(image.content, where), (where,)), content)

    def _name(self, file: str) -> str | None:
        name = unquote(file.removesuffix(self.ending))
        return name if file.endswith(self.ending) and name and file_name(name, self.ending) == file else None

    @abstractmethod
    def encode(self, content: Any) -> bytes:
        """A content as the file holds it."""

    @abstractmethod
    def decode(self, raw: bytes, where: str) -> Any:
        """The content's JSON from the file."""


class PromptFolder(NamedFolder):
    """Markdown files."""

    surface = "prompts"
    ending = ".md"

    def encode(self, content: str) -> bytes:
        """The text."""
        return content.encode()

    def decode(self, raw: bytes, where: str) -> str:
        """The text."""
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise InputError(where, found="bytes that are not UTF-8", expected="UTF-8 text") from None


class ToolFolder(NamedFolder):
    """JSON files."""

    surface = "tools"
    ending = ".json"

    def encode(self, content: PMap) -> bytes:
        """The record, indented."""
        return (json.dumps(thaw(content), indent=2, ensure_ascii=False) + "\n").encode()

    def decode(self, raw: bytes, where: str) -> Any:
        """The record."""
        return parse(raw, where)


class FilesFolder(Folder):
    """Any files, with their permission bits, and directories."""

    surface = "files"

    def read(self, directory: Directory, place: str) -> tuple[PMap, tuple[str, ...]]:
        """Everything that is a file or a directory."""
        root: dict[str, Any] = {}
        strange: list[str] = []
        for found in directory.walk(place):
            path = found.path[len(place) + 1 :].split("/")
            node = root
            for name in path[:-1]:
                node = node[name]
            if found.kind == "directory":
                node[path[-1]] = {}
            elif found.kind == "file" and (image := directory.read(found.path)) is not None:
                node[path[-1]] = File(image.content, image.mode & PERMISSIONS)
            else:
                strange.append(f"{found.path} is neither a file nor a directory; left alone")
        return _frozen(root), tuple(strange)

    def write(self, directory: Directory, place: str, before: PMap, after: PMap) -> None:
        """Remove what goes, write what comes, make and remove directories with it."""
        paths = sorted(SURFACES["files"].differing(before, after))
        for path in paths:
            for gone, file in _files(tree.get(before, path), path):
                if not isinstance(tree.get(after, gone), File):
                    target = f"{place}/{'/'.join(gone)}"
                    _demand(directory, target, file)
                    directory.remove(target)
        for gone in sorted(_directories(before, paths) - _directories(after, paths), key=len, reverse=True):
            directory.remove_directory(f"{place}/{'/'.join(gone)}")
        for made in sorted(_directories(after, paths) - _directories(before, paths), key=len):
            directory.make_directory(f"{place}/{'/'.join(made)}")
        for path in paths:
            for here, file in _files(tree.get(after, path), path):
                there = tree.get(before, here)
                if there != file:
                    target = f"{place}/{'/'.join(here)}"
                    _demand(directory, target, there if isinstance(there, File) else None)
                    directory.write(target, FileImage(file.content, file.mode))


FOLDERS: tuple[Folder, ...] = (PromptFolder(), ToolFolder(), FilesFolder())


def _demand(directory: Directory, target: str, file: File | None) -> None:
    """Refuse to touch what is not, or no longer, what it was taken for; also a link that was put in the way."""
    image = directory.read(target)
    found = None if image is None else File(image.content, image.mode & PERMISSIONS)
    if found != file:
        raise HarnessError(f"{directory.root / target} was changed by someone else just now")


def file_name(name: str, ending: str) -> str:
    """The file a name is kept in."""
    encoded = quote(name, safe=READABLE)
    if encoded.startswith((".", " ")):
        encoded = quote(encoded[0], safe="").replace(".", "%2E") + encoded[1:]
    if len(encoded + ending) > MAX_NAME:
        raise HarnessError(f"the name {name[:40]!r}… is too long for a file")
    return encoded + ending


def _files(node: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], File]]:
    if isinstance(node, File):
        yield path, node
    elif type(node) is PMap:
        for name, below in node.items():
            yield from _files(below, (*path, name))


def _directories(part: PMap, paths: list[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Directories at, above and below some paths."""
    found: set[tuple[str, ...]] = set()
    for path in paths:
        found.update(path[:depth] for depth in range(1, len(path)) if type(tree.get(part, path[:depth])) is PMap)
        found.update(_inner(tree.get(part, path), path))
    return found


def _inner(node: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if type(node) is PMap:
        yield path
        for name, below in node.items():
            yield from _inner(below, (*path, name))


def _frozen(node: dict[str, Any]) -> PMap:
    return PMap({name: _frozen(item) if isinstance(item, dict) else item for name, item in node.items()})
