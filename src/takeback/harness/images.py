"""Images of files: what a file was and what it becomes, byte for byte, as a change record keeps it.

A record of a change lists, for every file it changes, the image before and after. Rolling back, recovering after a
crash and undoing go by them. Records are found by file through the journal's index. How images are stored is
known here and nowhere else.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from takeback.journal import Draft, Record, Store
from takeback.state.slots import slot_key

FILE_KEY: Final = "@file"
"""First name of the index key under which a record is found by a file it changed."""
IMAGES: Final = "images"


@dataclass(frozen=True, slots=True)
class FileImage:
    """A regular file: its bytes and permission bits."""

    content: bytes
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class DirectoryImage:
    """A directory, which may hold anything."""

    mode: int = 0o755


class Unknown:
    """Stands for an image that nobody took."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()
Image = FileImage | DirectoryImage


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a change does to one file or directory; None stands for nothing there."""

    path: str
    before: Image | None
    after: Image | None


@dataclass(frozen=True, slots=True)
class KeptImage:
    """What a record says of one file: as `FileChange`, but what was there before may be unknown."""

    path: str
    before: Image | Unknown | None
    after: Image | None


def same_file(one: Image | Unknown | None, two: Image | None) -> bool:
    """Whether two images hold the same; permission bits are compared only where both are otherwise the same."""
    if isinstance(one, FileImage) and isinstance(two, FileImage):
        return one.content == two.content
    return type(one) is type(two)


def with_images(draft: Draft, images: Sequence[FileChange | KeptImage]) -> Draft:
    """A draft that also keeps images and is found by their files."""
    if not images:
        return draft
    touches: Any = draft.payload.get("touches", [])
    keys = [file_key(image.path) for image in images]
    payload = {**draft.payload, "touches": [*touches, *keys]}
    return replace(draft, payload=payload, attachments={**draft.attachments, IMAGES: [_plain(i) for i in images]})


def images_of(store: Store, record: Record) -> tuple[KeptImage, ...] | None:
    """The images a record keeps; None if it has none, or they were forgotten."""
    if IMAGES not in record.attachments:
        return None
    text = store.attachment(record.seq, IMAGES)
    return None if text is None else tuple(_image_of(raw) for raw in json.loads(text))


def changes_of(store: Store, record: Record) -> tuple[FileChange, ...] | None:
    """The images of a record of which every one before is known."""
    kept = images_of(store, record)
    if kept is None:
        return None
    return tuple(
        FileChange(image.path, image.before, image.after) for image in kept if not isinstance(image.before, Unknown)
    )


def images_at(store: Store, path: str) -> Iterator[tuple[Record, KeptImage]]:
    """What records say of one file, newest first."""
    for number in reversed(store.touching(file_key(path))):
        record = store.get(number)
        for image in images_of(store, record) or ():
            if image.path == path:
                yield record, image


def file_key(path: str) -> str:
    """The index key of a file."""
    return slot_key((FILE_KEY, path))


def paths_of(images: Iterable[FileChange | KeptImage]) -> tuple[str, ...]:
    """The files some images are of."""
    return tuple(image.path for image in images)


def _plain(image: FileChange | KeptImage) -> dict[str, Any]:
    plain: dict[str, Any] = {"path": image.path, "after": _plain_one(image.after)}
    if not isinstance(image.before, Unknown):
        plain["before"] = _plain_one(image.before)
    return plain


def _plain_one(image: Image | None) -> Any:
    if image is None:
        return None
    mode = f"{image.mode:04o}"
    if isinstance(image, DirectoryImage):
        return {"directory": True, "mode": mode}
    try:
        return {"content": image.content.decode(), "mode": mode}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(image.content).decode(), "mode": mode}


def _image_of(raw: dict[str, Any]) -> KeptImage:
    before = _one_of(raw["before"]) if "before" in raw else UNKNOWN
    return KeptImage(raw["path"], before, _one_of(raw["after"]))


def _one_of(raw: dict[str, Any] | None) -> Image | None:
    if raw is None:
        return None
    mode = int(raw["mode"], 8)
    if "directory" in raw:
        return DirectoryImage(mode)
    return FileImage(raw["content"].encode() if "content" in raw else base64.b64decode(raw["base64"]), mode)
