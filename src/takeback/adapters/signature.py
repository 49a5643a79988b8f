"""What tells, without reading it, that a file is the one that was read."""

from __future__ import annotations

import os
from typing import NamedTuple

from takeback.harness.images import FileImage


class Signature(NamedTuple):
    """What tells, without reading it, that a file is the one that was read."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int
    mode: int


class ReadFile(NamedTuple):
    """A file that was read, and when."""

    signature: Signature
    at: int
    image: FileImage


def signature(status: os.stat_result) -> Signature:
    """The signature of a file."""
    return Signature(
        status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode
    )
