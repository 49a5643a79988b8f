"""Reads a whole file; a large one that is what is known already, without a second copy of it in memory."""

from __future__ import annotations

import os
from io import BufferedReader
from typing import Final

CHUNK: Final = 1 << 20


def all_of(file: BufferedReader, known: bytes) -> bytes:
    """All of a file; where that is what is known, the very same bytes, and no second copy."""
    if len(known) < CHUNK:
        return file.read()
    expected = memoryview(known)
    at = 0
    while (chunk := file.read(CHUNK)) and expected[at : at + len(chunk)] == chunk:
        at += len(chunk)
    if not chunk and at == len(known):
        return known
    file.seek(0)
    return file.read()


def read_small(fd: int, size: int) -> bytes | None:
    """Return all of a file that is as long as its status says; None, with nothing read, where it is not."""
    content = os.read(fd, size + 1)
    if len(content) == size:
        return content
    os.lseek(fd, 0, os.SEEK_SET)
    return None
