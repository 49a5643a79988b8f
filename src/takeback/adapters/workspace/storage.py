"""How one surface is kept in a workspace: the interface, and what every kind of it shares.

A storage reads the surface's value from its file or folder, says which files differ between two values, and renders
the change of one into the other. It looks at nothing but images and writes nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from takeback.adapters.directory import Directory
from takeback.errors import InputError
from takeback.harness.adapter import Broken
from takeback.harness.images import DirectoryImage, FileChange, FileImage, Image
from takeback.state import SURFACES, Surface


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
        """What a fresh workspace has in its place."""

    @abstractmethod
    def read(self, directory: Directory, place: str, known: Any) -> StoredPart:
        """What is there. A file that cannot be read is told, and what `known` has of it is kept."""

    @abstractmethod
    def touched(self, place: str, before: Any, after: Any) -> Iterator[str]:
        """The files in which two values differ."""

    @abstractmethod
    def render(
        self, directory: Directory, place: str, images: dict[str, FileImage | None], before: Any, after: Any
    ) -> Iterator[FileChange]:
        """The change of files that makes one value, which was read with `images`, another."""

    @abstractmethod
    def means(self, place: str, path: str, image: Image | None, value: Any) -> bool:
        """Whether a file with this image says what the value says."""

    def same(self, one: Any, two: Any) -> bool:
        """Whether two values are the same, places included."""
        return one is two or next(self.surface.differing(one, two), None) is None


def decode_text(content: bytes, where: str) -> str:
    """The text in some bytes, or `InputError`."""
    try:
        return content.decode()
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        place = f"{where}, line {line}"
        raise InputError(place, found="bytes that are not UTF-8", expected="UTF-8 text") from None


def broken(path: str, fault: InputError) -> Broken:
    """A file that could not be read, as told by the error it gave."""
    return Broken(path, fault.where, fault.message)


def missing_directories(directory: Directory, path: str) -> Iterator[FileChange]:
    """The directories above a path that are not there, from the top."""
    parts = path.split("/")[:-1]
    for depth in range(1, len(parts) + 1):
        above = "/".join(parts[:depth])
        if directory.look(above) is None:
            yield FileChange(above, None, DirectoryImage())
