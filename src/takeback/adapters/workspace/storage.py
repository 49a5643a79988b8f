"""How one surface is kept in a workspace: the interface, and surfaces that live in one document each.

A storage reads the surface's value from its file or folder, lists the files that differ between two values,
and renders the change of one into the other. It reads only images and writes nothing. In `routing.toml` a
disabled model (null) is `false`. In `middleware.toml` and `listeners.toml` the order of the tables is the
order of the chain. A surface from outside without a storage of its own is kept as JSON.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from takeback.adapters.directory import Directory
from takeback.adapters.formats.document import Document, DocumentPath, patch_document, reorder_items
from takeback.adapters.formats.toml_document import TomlDocument
from takeback.canonical import encode
from takeback.errors import CannotSplice, HarnessError, InputError, UnsafePathError
from takeback.harness.adapter import Broken
from takeback.harness.images import DirectoryImage, FileChange, FileImage, Image, LinkImage
from takeback.state import SURFACES, Surface
from takeback.state.slots import Slot


@dataclass(slots=True)
class StoredPart:
    """One surface as it was read."""

    value: Any
    images: dict[str, FileImage | None] = field(default_factory=dict)
    """Files whose bytes the value does not tell, as they were read."""
    broken: list[Broken] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Storage(ABC):
    """Where and how one surface is kept. `default` is its place in a fresh workspace, beside the manifest."""

    def __init__(self, surface: str, default: str) -> None:
        self.name = surface
        self.default = default

    @property
    def surface(self) -> Surface:
        """The surface that is kept."""
        return SURFACES[self.name]

    @abstractmethod
    def beginning(self, place: str) -> FileChange:
        """Return the change that makes what a fresh workspace has for the surface."""

    @abstractmethod
    def read(self, directory: Directory, place: str, known: Any) -> StoredPart:
        """Return what is there. Report a file that cannot be read, and keep what `known` has of it."""

    @abstractmethod
    def find_touched_files(self, place: str, before: Any, after: Any) -> Iterator[str]:
        """Return the files in which two values differ."""

    @abstractmethod
    def render(
        self, directory: Directory, place: str, images: dict[str, FileImage | None], before: Any, after: Any
    ) -> Iterator[FileChange]:
        """Yield the changes of files that turn one value, read with `images`, into another."""

    @abstractmethod
    def means(self, place: str, path: str, image: Image | None, value: Any) -> bool:
        """Return whether a file with this image means what the value says."""

    def find_plain_slot(self, place: str, path: str) -> Slot | None:
        """Return the slot that a file holds the whole of, as text or bytes; by default none does."""
        del place, path
        return None

    def same(self, old: Any, new: Any) -> bool:
        """Return whether two values are the same, their order keys included."""
        return old is new or next(self.surface.differing(old, new), None) is None


def describe_broken(path: str, fault: InputError) -> Broken:
    """Return the report of a file that could not be read, from the error."""
    return Broken(path, fault.where, fault.message)


def list_missing_directories(directory: Directory, path: str) -> Iterator[FileChange]:
    """Yield the missing directories above a path, from the top."""
    parts = path.split("/")[:-1]
    for depth in range(1, len(parts) + 1):
        above = "/".join(parts[:depth])
        if directory.look(above) is None:
            yield FileChange(above, None, DirectoryImage())


Identity = tuple[str, str]
"""What tells one table from another: its event, if it has one, and its id."""
KEPT = 3
DEFAULTS = {"priority": 100, "options": {}}


class DocumentStorage(Storage):
    """One document. `heading` is what a fresh one says."""

    def __init__(
        self, surface: str, default: str, heading: str, document: Callable[[bytes, str], Document] = TomlDocument
    ) -> None:
        super().__init__(surface, default)
        self.heading = heading
        self._open = document
        self._documents: dict[bytes, Document] = {}
        self._last: tuple[bytes, Any] | None = None

    def beginning(self, place: str) -> FileChange:
        return FileChange(place, None, FileImage(self.heading.encode()))

    def read(self, directory: Directory, place: str, known: Any) -> StoredPart:
        """Return the document's value; elements that `known` has keep their places. A link is not followed."""
        part = StoredPart(known)
        try:
            linked = isinstance(directory.recall(place), LinkImage)
            image = None if linked else directory.recall_file(place)
        except (HarnessError, UnsafePathError) as fault:
            part.broken.append(describe_broken(place, InputError(place, found=fault.message, expected="a file")))
            return part
        if linked:
            part.strange.append(f"{place}: it is a link, which is not followed; left alone")
        else:
            part.images[place] = image
        content = self.heading.encode() if image is None else image.content
        if self._last is not None and self._last[0] is content and self._last[1] is known:
            return part
        try:
            part.value = self.value(content, str(directory.root / place), known)
        except InputError as fault:
            part.broken.append(describe_broken(place, fault))
            return part
        if self.same(known, part.value):
            part.value = known
            self._last = (content, known)
        return part

    def value(self, content: bytes, where: str, known: Any) -> Any:
        """Return the surface's value in some bytes; raise `InputError` if they are malformed."""
        raw = self.decode(self._document(content, where).value, where)
        return self.surface.transfer_places(self.surface.read(raw, where), known)

    def _document(self, content: bytes, where: str) -> Document:
        """Return the document in some bytes; keep the last few, since a change reads what it just wrote."""
        document = self._documents.get(content)
        if document is None or document.where != where:
            document = self._open(content, where)
            self._keep(document)
        return document

    def _keep(self, document: Document) -> None:
        self._documents[document.data] = document
        while len(self._documents) > KEPT:
            del self._documents[next(iter(self._documents))]

    def find_touched_files(self, place: str, before: Any, after: Any) -> Iterator[str]:
        if not self.same(before, after):
            yield place

    def render(
        self, directory: Directory, place: str, images: dict[str, FileImage | None], before: Any, after: Any
    ) -> Iterator[FileChange]:
        image = images.get(place)
        where = str(directory.root / place)
        data = self.heading.encode() if image is None else image.content
        document = self.edit(self._document(data, where), self.encode(before), self.encode(after))
        self._keep(document)
        edited = document.data
        if not self.same(self.value(edited, where, after), after):
            raise CannotSplice("the edit would not say what it should", where=where)
        if edited != data or image is None:
            yield from list_missing_directories(directory, place)
            yield FileChange(place, image, FileImage(edited, 0o644 if image is None else image.mode))

    def means(self, place: str, path: str, image: Image | None, value: Any) -> bool:
        """Return whether the document means what the value says; a link says nothing, as a missing document."""
        if path != place or not isinstance(image, FileImage | LinkImage | None):
            return False
        try:
            content = image.content if isinstance(image, FileImage) else self.heading.encode()
            return self.same(self.value(content, place, value), value)
        except InputError:
            return False

    def decode(self, raw: Any, where: str) -> Any:
        """Return the surface's JSON from what the document holds."""
        del where
        return raw

    def encode(self, value: Any) -> Any:
        """Return what the document should hold."""
        return self.surface.write(value)

    def edit(self, document: Document, before: Any, after: Any) -> Document:
        """Return the document with only what differs changed."""
        return patch_document(document, before, after)


class RoutingStorage(DocumentStorage):
    """Key = model, or `false` for one that is explicitly disabled."""

    def decode(self, raw: Any, where: str) -> Any:
        """Return the value with null for false."""
        for key, value in raw.items():
            if value is True:
                raise InputError(f"{where}: {key}", found=True, expected="a model's name, or false to disable it")
        return {key: None if value is False else value for key, value in raw.items()}

    def encode(self, value: Any) -> Any:
        """Return the value with false for null."""
        return {key: False if model is None else model for key, model in self.surface.write(value).items()}


class TablesStorage(DocumentStorage):
    """`[[name]]` tables in the order of one chain, or of one chain per event."""

    def __init__(self, surface: str, default: str, heading: str, table: str, *, events: bool = False) -> None:
        super().__init__(surface, default, heading)
        self._table = table
        self._events = events

    def decode(self, raw: Any, where: str) -> Any:
        """Return the tables, in order; by event where they have one."""
        _require_only(raw, self._table, where)
        tables = raw.get(self._table, [])
        if not self._events:
            return tables
        events: dict[str, list[Any]] = {}
        for at, table in enumerate(tables):
            if not isinstance(table, dict) or not isinstance(table.get("event"), str):
                raise InputError(f"{where}: {self._table}[{at}]", found=table, expected="a table with an event")
            record = {key: value for key, value in table.items() if key != "event"}
            events.setdefault(table["event"], []).append(record)
        return events

    def encode(self, value: Any) -> Any:
        """Return the records as tables."""
        plain = self.surface.write(value)
        if not self._events:
            return plain
        return [{"event": event, **record} for event in sorted(plain) for record in plain[event]]

    def edit(self, document: Document, before: Any, after: Any) -> Document:
        """Remove, add, move and edit whole tables; those of other events stay in place."""
        path: DocumentPath = (self._table,)
        old, new = ({_read_identity(table): table for table in tables} for tables in (before, after))
        listed = document.get(path)
        present = [_read_identity(table) for table in listed] if isinstance(listed, list) else []
        gone = [name for name in present if name not in new]
        if gone == present and gone:
            document, present = document.remove(path), []
        for name in gone if present else ():
            document = document.remove((*path, present.index(name)))
            present.remove(name)
        order = _arrange_tables(present, list(new))
        document = reorder_items(document, path, [present.index(name) for name in order])
        for name, table in new.items():
            if name in order:
                document = patch_document(document, old[name], table, (*path, order.index(name)))
            else:
                at = _find_room(order, name, list(new))
                document = document.insert((*path, at), _drop_defaults(table))
                order.insert(at, name)
        return document


class JsonStorage(DocumentStorage):
    """Any surface, as the JSON it reads and writes."""

    def __init__(self, surface: str, default: str = "") -> None:
        from takeback.adapters.formats.json_document import UnambiguousJsonDocument  # noqa: PLC0415 - start-up

        super().__init__(surface, default or f"{surface}.json", "", UnambiguousJsonDocument)
        self.heading = encode(self.surface.write(self.surface.empty)) + "\n"


def _arrange_tables(present: list[Identity], wanted: list[Identity]) -> list[Identity]:
    """Return tables in the wanted order within each event; every event keeps the positions of its tables."""
    queues: dict[str, list[Identity]] = {}
    for name in wanted:
        if name in present:
            queues.setdefault(name[0], []).append(name)
    return [queues[event].pop(0) for event, _ in present]


def _find_room(order: list[Identity], name: Identity, wanted: list[Identity]) -> int:
    """Return the position of a new table: behind the one before it in its event, else before the next, else last."""
    event = [key for key in wanted if key[0] == name[0]]
    at = event.index(name)
    if at:
        return order.index(event[at - 1]) + 1
    following = next((character for character in event[1:] if character in order), None)
    return len(order) if following is None else order.index(following)


def _read_identity(table: Any) -> Identity:
    return table.get("event", ""), table["id"]


def _drop_defaults(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in DEFAULTS or value != DEFAULTS[key]}


def _require_only(raw: dict[str, Any], name: str, where: str) -> None:
    other = next((key for key in raw if key != name), None)
    if other is not None:
        raise InputError(f"{where}: {other}", found=f"the key {other!r}", expected=f"only [[{name}]] tables")
    if not isinstance(raw.get(name, []), list):
        raise InputError(f"{where}: {name}", found=raw[name], expected=f"[[{name}]] tables")
