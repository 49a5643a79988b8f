"""Reads a database's file past SQLite, without letting go of SQLite's locks.

The system drops every lock a process has on a file as soon as the process closes any descriptor of it. Another one
would then take itself for the last and remove the write-ahead log. So a file that is open as a database in this
process is read through a descriptor that is kept until the last of its connections has ended.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

FileIdentity: TypeAlias = tuple[int, int]
"""Device and inode."""

CHUNK: Final = 1 << 20
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC
_mutex = threading.RLock()
_connections: Counter[FileIdentity] = Counter()
_kept: dict[FileIdentity, int] = {}


def connecting(file: FileIdentity) -> None:
    """Note that a connection to a database is about to be made in this process."""
    with _mutex:
        _connections[file] += 1


def disconnected(file: FileIdentity) -> None:
    """Note that a connection has ended."""
    with _mutex:
        _connections[file] -= 1
        if not _connections[file]:
            del _connections[file]
            if file in _kept:
                os.close(_kept.pop(file))


@contextmanager
def _reading(path: Path) -> Iterator[int]:
    with _mutex:
        status = path.stat()
        file = (status.st_dev, status.st_ino)
        if file not in _connections:
            descriptor = os.open(path, _FLAGS)
            try:
                yield descriptor
            finally:
                os.close(descriptor)
            return
        if file not in _kept:
            _kept[file] = os.open(path, _FLAGS)
        yield _kept[file]


def _chunks(descriptor: int) -> Iterator[bytes]:
    at = 0
    while chunk := os.pread(descriptor, CHUNK, at):
        at += len(chunk)
        yield chunk


def holds_any(path: Path, wanted: Sequence[bytes]) -> bool:
    """Tell whether any of some short byte strings stands in a file."""
    overlap = max(map(len, wanted), default=1) - 1
    before = b""
    with _reading(path) as descriptor:
        for chunk in _chunks(descriptor):
            here = before + chunk
            if any(one in here for one in wanted):
                return True
            before = here[len(here) - overlap :] if overlap else b""
    return False


def copy_file(path: Path, target: Path) -> None:
    """Copy a file."""
    with _reading(path) as descriptor, target.open("wb") as file:
        for chunk in _chunks(descriptor):
            file.write(chunk)
