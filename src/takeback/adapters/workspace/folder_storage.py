"""Surfaces that live in a folder each: prompts, tools, and sandboxed files.

A prompt is a Markdown file, exactly its text; a tool is a JSON file, spliced when it changes; a sandboxed file is
itself, with its permission bits. Names that cannot be file names are percent-encoded. What is not one of ours (a
link, a file with another ending, a name that is not UTF-8) is not touched, and reported.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, unquote

from takeback.adapters.directory import MAX_NAME, Directory, Found
from takeback.adapters.formats.document import decode_text, patch_document
from takeback.adapters.harness_places import describe_left_alone
from takeback.adapters.workspace.storage import (
    Storage,
    StoredPart,
    describe_broken,
    list_missing_directories,
)
from takeback.canonical import write_pretty
from takeback.errors import CannotSplice, HarnessError, InputError
from takeback.harness.adapter import Broken
from takeback.harness.images import DirectoryImage, FileChange, FileImage, Image, LinkImage
from takeback.state import ABSENT, PMap, tree
from takeback.state.address import is_part
from takeback.state.file import File
from takeback.state.slots import Slot

READABLE = " -_.()@+,="
PERMISSIONS = 0o777


class FolderStorage(Storage):
    """A folder."""

    def beginning(self, place: str) -> FileChange:
        return FileChange(place, None, DirectoryImage())


class NamedStorage(FolderStorage):
    """One file per name."""

    def __init__(self, surface: str, default: str, ending: str) -> None:
        super().__init__(surface, default)
        self.ending = ending
        self._decoded: dict[str, tuple[bytes, Any]] = {}

    def read(self, directory: Directory, place: str, known: PMap) -> StoredPart:
        """Return the contents of every file with the ending."""
        part = StoredPart(known)
        contents: dict[str, Any] = {}
        for item in directory.walk(place, wanted=lambda path: self._name(path, place) is not None, deep=False):
            name = self._name(item.path, place)
            if item.kind == "unreadable":
                part.broken.append(describe_unreadable(directory, item))
                self._keep(contents, known, name, item.path, place)
            elif name is None or item.image is None:
                reason = item.reason or f"it is not a {self.ending} file of this directory; left alone"
                part.strange.append(f"{item.path}: {reason}")
            else:
                part.images[item.path] = item.image
                try:
                    contents[name] = self._content(name, item.path, item.image, directory)
                except InputError as fault:
                    part.broken.append(describe_broken(item.path, fault))
                    self._keep(contents, known, name, item.path, place)
        value = self.surface.transfer_places(PMap(contents), known)
        part.value = known if self.same(known, value) else value
        return part

    @staticmethod
    def _keep(contents: dict[str, Any], known: PMap, name: str | None, path: str, place: str) -> None:
        """Keep the known content of a file that cannot be read."""
        if path == place:
            contents.update(known.items())
        elif name is not None and name in known:
            contents[name] = known[name]

    def _content(self, name: str, path: str, image: FileImage, directory: Directory) -> Any:
        seen = self._decoded.get(path)
        if seen is not None and seen[0] is image.content:
            return seen[1]
        content = self._read_content(name, image.content, str(directory.root / path))
        self._decoded[path] = (image.content, content)
        return content

    def _read_content(self, name: str, raw: bytes, where: str) -> Any:
        whole = self.surface.read({name: self.decode(raw, where)}, where)
        return whole[name]

    def find_touched_files(self, place: str, before: PMap, after: PMap) -> Iterator[str]:
        return (f"{place}/{encode_file_name(name, self.ending)}" for name in self._differing(before, after))

    def _differing(self, before: PMap, after: PMap) -> dict[str, None]:
        return dict.fromkeys(path[0] for path in self.surface.differing(before, after))

    def render(
        self, directory: Directory, place: str, images: dict[str, FileImage | None], before: PMap, after: PMap
    ) -> Iterator[FileChange]:
        """Write and remove the files of names that differ; permission bits stay."""
        for number, name in enumerate(self._differing(before, after)):
            path = f"{place}/{encode_file_name(name, self.ending)}"
            old, new, image = before.get(name, ABSENT), after.get(name, ABSENT), images.get(path)
            if number == 0:
                yield from list_missing_directories(directory, path)
            if new is ABSENT:
                yield FileChange(path, image, None)
                continue
            where = str(directory.root / path)
            data = self.encode(name, old if image is not None else ABSENT, new, image, where)
            if not self._holds(name, data, where, new):
                raise CannotSplice("the edit would not say what it should", where=where)
            yield FileChange(path, image, FileImage(data, 0o644 if image is None else image.mode))

    def means(self, place: str, path: str, image: Image | None, value: PMap) -> bool:
        name = self._name(path, place)
        if isinstance(image, LinkImage):
            return name is not None and name not in value  # a link is left alone: it says nothing
        if name is None or not isinstance(image, FileImage | None):
            return False
        content = value.get(name, ABSENT)
        if image is None or content is ABSENT:
            return image is None and content is ABSENT
        try:
            return self._holds(name, image.content, path, content)
        except InputError:
            return False

    def _holds(self, name: str, data: bytes, where: str, content: Any) -> bool:
        known = PMap({name: content})
        return self.same(
            known, self.surface.transfer_places(PMap({name: self._read_content(name, data, where)}), known)
        )

    def _name(self, path: str, place: str) -> str | None:
        file = path[len(place) + 1 :]
        name = unquote(file.removesuffix(self.ending), errors="strict") if _is_decodable(file) else ""
        return name if file.endswith(self.ending) and name and encode_file_name(name, self.ending) == file else None

    @abstractmethod
    def encode(self, name: str, before: Any, after: Any, image: FileImage | None, where: str) -> bytes:
        """Return a content as the file holds it; in an existing file, with only the difference edited."""

    @abstractmethod
    def decode(self, raw: bytes, where: str) -> Any:
        """Return the content's JSON from the file."""


class TextStorage(NamedStorage):
    """A text per file."""

    def find_plain_slot(self, place: str, path: str) -> Slot | None:
        name = self._name(path, place)
        return None if name is None else (self.name, name)

    def encode(self, name: str, before: Any, after: Any, image: FileImage | None, where: str) -> bytes:
        del before, image, where
        return str(self.surface.write(PMap({name: after}))[name]).encode()

    def decode(self, raw: bytes, where: str) -> str:
        return decode_text(raw, where)


class JsonFolderStorage(NamedStorage):
    """A JSON file per name."""

    def encode(self, name: str, before: Any, after: Any, image: FileImage | None, where: str) -> bytes:
        """Return the record as bytes: indented in a new file, spliced into an existing one."""
        from takeback.adapters.formats.json_document import UnambiguousJsonDocument  # noqa: PLC0415 - start-up

        new = self.surface.write(PMap({name: after}))[name]
        if image is None:
            return (write_pretty(new) + "\n").encode()
        return patch_document(
            UnambiguousJsonDocument(image.content, where), self.surface.write(PMap({name: before}))[name], new
        ).data

    def decode(self, raw: bytes, where: str) -> Any:
        from takeback.adapters.formats.json_document import UnambiguousJsonDocument  # noqa: PLC0415 - start-up

        return UnambiguousJsonDocument(raw, where).value


class TreeStorage(FolderStorage):
    """Any files, with their permission bits, and directories."""

    def find_plain_slot(self, place: str, path: str) -> Slot | None:
        return (self.name, *path[len(place) + 1 :].split("/"))

    def read(self, directory: Directory, place: str, known: PMap) -> StoredPart:
        part = StoredPart(known)
        root: dict[str, Any] = {}
        for item in directory.walk(place):
            self._take(item, place, root, known, part, directory)
        value = self.surface.transfer_places(_freeze_tree(root), known)
        part.value = known if self.same(known, value) else value
        return part

    def _take(
        self, item: Found, place: str, root: dict[str, Any], known: PMap, part: StoredPart, directory: Directory
    ) -> None:
        path = tuple(item.path[len(place) + 1 :].split("/")) if item.path != place else ()
        if item.kind == "unreadable":
            part.broken.append(describe_unreadable(directory, item))
            there = tree.get(known, path) if path else known
            if there is not ABSENT:
                _put_node(root, path, there)
        elif item.kind == "harness":
            there = tree.get(known, path)
            if there is not ABSENT:
                part.notes.append(describe_left_alone(item.path))
                _put_node(root, path, there)
        elif item.kind == "directory":
            _put_node(root, path, {})
        elif item.image is not None:
            old = tree.get(known, path)
            new = File(item.image.content, item.image.mode & PERMISSIONS)
            same = old == new
            if same and old.holds_bytes:
                directory.share(item.path, old.content)
            elif same:
                old.share(item.image.content)
            _put_node(root, path, old if same else new)
        else:
            part.strange.append(f"{item.path}: {item.reason}")

    def find_touched_files(self, place: str, before: PMap, after: PMap) -> Iterator[str]:
        return (change.path for change in self._changes(None, place, before, after, lambda _: None))

    def render(
        self,
        directory: Directory | None,
        place: str,
        images: dict[str, FileImage | None],
        before: PMap,
        after: PMap,
    ) -> Iterator[FileChange]:
        """Remove what goes, make and remove directories with it, write what comes."""
        del images
        return self._changes(directory, place, before, after, _make_image)

    def _changes(
        self,
        directory: Directory | None,
        place: str,
        before: PMap,
        after: PMap,
        image: Callable[[File | None], FileImage | None],
    ) -> Iterator[FileChange]:
        paths = sorted({_find_file_path(path) for path in self.surface.differing(before, after)})
        old, new = (_list_leaves(part, paths) for part in (before, after))
        for path, leaf in sorted(old.items(), key=lambda item: item[0]):
            if leaf is not None and not isinstance(new.get(path), File):
                yield FileChange(_join_path(place, path), image(leaf), None)
        gone = [path for path, leaf in old.items() if leaf is None and new.get(path, ABSENT) is not None]
        for path in sorted(gone, key=len, reverse=True):
            yield FileChange(_join_path(place, path), _make_directory_image(directory, _join_path(place, path)), None)
        if directory is not None and new:
            yield from list_missing_directories(directory, f"{place}/x")
        made = [path for path, leaf in new.items() if leaf is None and old.get(path, ABSENT) is not None]
        for path in sorted(made, key=len):
            yield FileChange(_join_path(place, path), None, DirectoryImage())
        for path, leaf in sorted(new.items(), key=lambda item: item[0]):
            if leaf is not None and old.get(path) != leaf:
                yield FileChange(_join_path(place, path), image(old.get(path)), image(leaf))

    def means(self, place: str, path: str, image: Image | None, value: PMap) -> bool:
        node = tree.get(value, tuple(path[len(place) + 1 :].split("/")))
        if isinstance(node, File):
            return isinstance(image, FileImage) and image.mode == node.mode and node.reads_as(image.content)
        return isinstance(image, DirectoryImage) if type(node) is PMap else isinstance(image, LinkImage | None)


def encode_file_name(name: str, ending: str) -> str:
    """Return the name of the file that holds a name."""
    encoded = quote(name, safe=READABLE)
    if encoded.startswith((".", " ")):
        encoded = quote(encoded[0], safe="").replace(".", "%2E") + encoded[1:]
    if len(encoded + ending) > MAX_NAME:
        raise HarnessError(f"the name {name[:40]!r}… is too long for a file")
    return encoded + ending


def describe_unreadable(directory: Directory, item: Found) -> Broken:
    """Return the report of a file or directory that the system does not let us read."""
    return Broken(item.path, str(directory.root / item.path), f"cannot read: {item.reason}")


def _is_decodable(file: str) -> bool:
    try:
        unquote(file, errors="strict")
    except UnicodeDecodeError:
        return False
    return True


def _find_file_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the file that a slot, perhaps one line of it, lies in."""
    return tuple(name for name in path if not is_part(name))


def _join_path(place: str, path: tuple[str, ...]) -> str:
    return f"{place}/{'/'.join(path)}"


def _make_image(leaf: File | None) -> FileImage | None:
    return None if leaf is None else FileImage(leaf.content, leaf.mode)


def _make_directory_image(directory: Directory | None, path: str) -> DirectoryImage:
    there = None if directory is None else directory.look(path)
    return there if isinstance(there, DirectoryImage) else DirectoryImage()


def _list_leaves(part: PMap, paths: list[tuple[str, ...]]) -> dict[tuple[str, ...], File | None]:
    """Return files at and below some paths, and directories (None) at, above and below them."""
    leaves: dict[tuple[str, ...], File | None] = {}
    for path in paths:
        for depth in range(1, len(path)):
            if type(tree.get(part, path[:depth])) is PMap:
                leaves[path[:depth]] = None
        leaves.update(_list_below(tree.get(part, path), path))
    return leaves


def _list_below(node: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], File | None]]:
    if isinstance(node, File):
        yield path, node
    elif type(node) is PMap:
        yield path, None
        for name, below in node.items():
            yield from _list_below(below, (*path, name))


def _put_node(root: dict[str, Any], path: tuple[str, ...], node: Any) -> None:
    if not path:
        root.update(node.items())
        return
    level = root
    for name in path[:-1]:
        level = level[name]
    level[path[-1]] = node


def _freeze_tree(node: dict[str, Any]) -> PMap:
    return PMap({name: _freeze_tree(item) if isinstance(item, dict) else item for name, item in node.items()})
