"""Reads a whole file; a large one that is what is known already, without a second copy of it in memory."""

from __future__ import annotations

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
