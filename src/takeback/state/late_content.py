"""Bytes of files that are read when they are first needed, so that a harness of many files opens without them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeAlias


class LateContent(ABC):
    """The bytes of one file, kept elsewhere; equal to the same bytes, wherever they are."""

    __slots__ = ()

    @abstractmethod
    def read(self) -> bytes:
        """Return the bytes."""

    @abstractmethod
    def is_kept_with(self, other: LateContent) -> bool:
        """Return whether two are the same bytes in the same place, which is known without reading."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LateContent):
            return self.is_kept_with(other) or self.read() == other.read()
        return self.read() == other if isinstance(other, bytes) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.read())


Source: TypeAlias = bytes | LateContent
"""The bytes of a file, or where they are read when they are needed."""


def read_source(source: Source) -> bytes:
    """Return the bytes."""
    return source.read() if isinstance(source, LateContent) else source


__all__ = ["LateContent", "Source", "read_source"]
