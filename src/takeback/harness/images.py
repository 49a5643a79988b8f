"""Images of files: what a file was and what it becomes, byte for byte, as a change record keeps it.

A record of a change lists, for every file it changes, the image before and after. Rolling back, recovering after a
crash and undoing go by them. Records are found by file through the journal's index. How images are stored is
known here and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from takeback.journal import Draft, Leaf, Record, Ref, Store, Stored
from takeback.journal.content import FORGOTTEN, guard_against_corruption
from takeback.journal.record import read_touches
from takeback.journal.store import contents_near
from takeback.state.file import ContentSource, read_source
from takeback.state.slots import format_slot_key

FILE_KEY: Final = "@file"
"""First name of the index key under which a record is found by a file it changed."""
LINKS_KEY: Final = format_slot_key(("@link",))
"""The index key under which records are found that say of anything that it was or is a link."""
IMAGES: Final = "images"
"""In a payload, the files that a record keeps images of; their bytes are contents under the next two names."""
BEFORE: Final = "image_before"
AFTER: Final = "image_after"
MANY_IMAGES: Final = 16
MOST_RECORDS: Final = 16
"""From how many images on a record's files are looked up in a table, and how many such tables are kept."""


class FileImage:
    """A regular file: its bytes and permission bits; its bytes may be read when they are first needed."""

    __slots__ = ("mode", "source")
    source: Final[ContentSource]
    mode: Final[int]

    def __init__(self, content: ContentSource, mode: int = 0o644) -> None:
        self.source = content
        self.mode = mode

    @property
    def content(self) -> bytes:
        """The bytes."""
        return read_source(self.source)

    def with_mode(self, mode: int) -> FileImage:
        """Return the same bytes with other permission bits."""
        return FileImage(self.source, mode)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FileImage):
            return NotImplemented
        return self.mode == other.mode and self.source == other.source

    def __hash__(self) -> int:
        return hash((self.content, self.mode))

    def __repr__(self) -> str:
        return f"FileImage(content={self.content!r}, mode={self.mode})"


@dataclass(frozen=True, slots=True)
class DirectoryImage:
    """A directory, which may hold anything."""

    mode: int = 0o755


@dataclass(frozen=True, slots=True)
class LinkImage:
    """A symbolic link: what is written in it, wherever that leads."""

    target: str


class Unknown:
    """Stands for an image that nobody took."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()
Image = FileImage | DirectoryImage | LinkImage


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a change does to one file or directory; None stands for nothing there."""

    path: str
    before: Image | None
    after: Image | None


@dataclass(frozen=True, slots=True)
class ProjectChange(FileChange):
    """A change of a tracked file of the project: its images follow from the state, and records keep none of them."""


@dataclass(frozen=True, slots=True)
class KeptImage:
    """What a record says of one file: as `FileChange`, but what was there before may be unknown."""

    path: str
    before: Image | Unknown | None
    after: Image | None


def is_same_file(old: Image | Unknown | None, new: Image | None) -> bool:
    """Return whether two images hold the same; permission bits count only where all else is the same."""
    if isinstance(old, FileImage) and isinstance(new, FileImage):
        return old.source == new.source
    if isinstance(old, LinkImage) and isinstance(new, LinkImage):
        return old.target == new.target
    return type(old) is type(new)


def attach_images(draft: Draft, images: Sequence[FileChange | KeptImage]) -> Draft:
    """Return a draft that also keeps images and is indexed by their files."""
    images = [image for image in images if not isinstance(image, ProjectChange)]
    if not images:
        return draft
    keys = [make_file_key(image.path) for image in images]
    keys += (
        [LINKS_KEY]
        if any(isinstance(side, LinkImage) for kept in images for side in (kept.before, kept.after))
        else []
    )
    rows = [[image.path, _encode_form(image.before), _encode_form(image.after)] for image in images]
    payload = {**draft.payload, "touches": [*read_touches(draft.payload), *keys], IMAGES: rows}
    sides = {
        BEFORE: [_image_to_leaf(kept.path, kept.before) for kept in images],
        AFTER: [_image_to_leaf(i.path, i.after) for i in images],
    }
    return replace(draft, payload=payload, contents={**draft.contents, **sides})


def load_images(store: Store, record: Record) -> tuple[KeptImage, ...] | None:
    """Return the images a record keeps; None if any of them was forgotten."""
    images = tuple(_iter_images(store, record))
    return None if None in images else tuple(image for image in images if image is not None)


def _iter_images(
    store: Store, record: Record, only: str | None = None, near: Sequence[bytes] = ()
) -> Iterator[KeptImage | None]:
    """Yield every image of a record or those of one file, None for one that was forgotten."""
    rows = record.images
    with guard_against_corruption(f"record {record.seq}", seq=record.seq):
        befores, afters = record.refs(BEFORE), record.refs(AFTER)
        if not len(rows) == len(befores) == len(afters):
            raise ValueError("images without contents")
        places = range(len(rows)) if only is None else _PLACES.of(record, rows).get(only, ())
        chosen = [(rows[at], befores[at], afters[at]) for at in places]
        refs = (ref for _, before, after in chosen for ref in (before, after) if ref)
        held = contents_near(store, refs, near)
        for (path, old, new), before, after in chosen:
            known = [ref is None or (ref != FORGOTTEN and held[ref] is not None) for ref in (before, after)]
            if not all(known):
                yield None
                continue
            yield KeptImage(path, _decode_image(old, before, held), _decode_image_after(new, after, held))


def paths_of(record: Record) -> Iterator[str]:
    """Yield the paths of the images that a record keeps; reads no bytes."""
    with guard_against_corruption(f"record {record.seq}", seq=record.seq):
        yield from (str(row[0]) for row in record.images)


def images_with_links(store: Store, record: Record) -> Iterator[KeptImage]:
    """Yield the images of a record's files that were links before or after it; other files are not read."""
    for path in _list_links(record):
        yield from (image for image in _iter_images(store, record, path) if image is not None)


def _list_links(record: Record) -> tuple[str, ...]:
    """Return the files that were links before or after a record, each once."""
    with guard_against_corruption(f"record {record.seq}", seq=record.seq):
        linked = (path for path, *forms in record.images if any(form and form[0] == "l" for form in forms))
        return tuple(dict.fromkeys(linked))


class _ImagePlaces:
    """Where each file's images stand in records that keep those of many files, worked out once for each record."""

    def __init__(self) -> None:
        self._by_record: dict[str, dict[str, list[int]]] = {}

    def of(self, record: Record, rows: Sequence[Any]) -> Mapping[str, Sequence[int]]:
        """Return the positions by path; a record's digest says all that is in it."""
        places = self._by_record.get(record.digest)
        if places is None:
            places = {}
            for at, row in enumerate(rows):
                places.setdefault(row[0], []).append(at)
            if len(rows) >= MANY_IMAGES:
                while len(self._by_record) >= MOST_RECORDS:
                    self._by_record.pop(next(iter(self._by_record)), None)
                self._by_record[record.digest] = places
        return places


_PLACES: Final = _ImagePlaces()


def iter_image_refs(record: Record, paths: Container[str]) -> Iterator[Ref]:
    """Yield the contents in which a record keeps the bytes of some files."""
    for name in (BEFORE, AFTER):
        pairs = zip(record.images, record.refs(name), strict=False)
        yield from (ref for row, ref in pairs if ref and row[0] in paths)


def load_file_changes(store: Store, record: Record) -> tuple[FileChange, ...] | None:
    """Return the images of a record as changes; None unless every image before is known."""
    kept = load_images(store, record)
    if kept is None:
        return None
    return tuple(
        FileChange(image.path, image.before, image.after) for image in kept if not isinstance(image.before, Unknown)
    )


def iter_images_at(store: Store, path: str) -> Iterator[tuple[Record, KeptImage]]:
    """Yield what records say of one file, newest first."""
    for number in dict.fromkeys(reversed(store.touching(make_file_key(path)))):
        record = store.get(number)
        for image in reversed(tuple(_iter_images(store, record, path))):
            if image is not None:
                yield record, image


def iter_modes_at(store: Store, path: str) -> Iterator[tuple[Record, int | None]]:
    """Yield the permission bits that records left one file with, newest first, None where no file; reads no bytes."""
    for number in dict.fromkeys(reversed(store.touching(make_file_key(path)))):
        record = store.get(number)
        rows = record.images
        with guard_against_corruption(f"record {record.seq}", seq=record.seq):
            forms = [rows[at][2] for at in _PLACES.of(record, rows).get(path, ())]
            modes = [form[1] if form is not None and form[0] == "f" else None for form in forms]
        yield from ((record, mode) for mode in reversed(modes))


def list_recorded_links(store: Store) -> Iterator[str]:
    """Yield the paths of which any record says that a link stood there; reads no bytes."""
    records = (store.get(number) for number in dict.fromkeys(store.touching(LINKS_KEY)))
    yield from dict.fromkeys(path for record in records for path in _list_links(record))


def load_image(
    store: Store, record: Record, path: str, near: Sequence[Image | None] = ()
) -> KeptImage | Unknown | None:
    """Return what a record says of one file: None if nothing, UNKNOWN if it was forgotten."""
    images = tuple(
        _iter_images(
            store, record, path, [near_image.content for near_image in near if isinstance(near_image, FileImage)]
        )
    )
    return next((image for image in images if image is not None), UNKNOWN) if images else None


def index_files(draft: Draft, paths: Iterable[str]) -> Draft:
    """Return a draft that is also indexed by some files, whether it changes them or not."""
    touches = [*read_touches(draft.payload), *(make_file_key(path) for path in paths)]
    return replace(draft, payload={**draft.payload, "touches": touches})


def make_file_key(path: str) -> str:
    """Return the index key of a file."""
    return format_slot_key((FILE_KEY, path))


def _encode_form(image: Image | Unknown | None) -> Any:
    if image is None or isinstance(image, Unknown):
        return None if image is None else "?"
    if isinstance(image, LinkImage):
        return ["l", 0]
    return ["d" if isinstance(image, DirectoryImage) else "f", image.mode]


def _image_to_leaf(path: str, image: Image | Unknown | None) -> Leaf | None:
    if isinstance(image, LinkImage):
        return Leaf(os.fsencode(image.target), f"link {path}")
    return Leaf(image.content, f"file {path}") if isinstance(image, FileImage) else None


def _decode_image(form: Any, ref: Ref | None, held: Mapping[Ref, Stored | None]) -> Image | Unknown | None:
    return UNKNOWN if form == "?" else _decode_image_after(form, ref, held)


def _decode_image_after(form: Any, ref: Ref | None, held: Mapping[Ref, Stored | None]) -> Image | None:
    if form is None:
        return None
    kind, mode = form
    if kind == "d":
        return DirectoryImage(mode)
    stored = held[ref or ""]
    if stored is None:
        raise ValueError("an image without bytes")
    if kind == "l":
        return LinkImage(os.fsdecode(stored.data))
    return FileImage(stored.data, mode)
