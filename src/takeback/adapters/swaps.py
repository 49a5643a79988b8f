"""Names of a directory swapped, or taken, in one step: `renameat2`, and links where the system has none."""

from __future__ import annotations

import ctypes
import errno
import os
from contextlib import suppress
from functools import cache
from typing import Any

NOREPLACE = 1
EXCHANGE = 2
UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP})


@cache
def _load_renameat2() -> Any:
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None


def _rename_with_flags(parent: int, old: str, other: int, new: str, flags: int) -> bool:
    call = _load_renameat2()
    if call is None:
        return False
    if call(parent, os.fsencode(old), other, os.fsencode(new), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number))


def sync_file_system(descriptor: int) -> None:
    """Wait until everything written to the file system of a descriptor is on the disk."""
    try:
        done = ctypes.CDLL(None, use_errno=True).syncfs(descriptor) == 0
    except (OSError, AttributeError):
        done = False
    if not done:
        os.sync()


def swap_names(parent: int, first: str, second: str, other: int | None = None) -> bool:
    """Swap two names in a directory, or in two; False if that is not supported here."""
    return _rename_with_flags(parent, first, parent if other is None else other, second, EXCHANGE)


def take_name(source: int, old: str, parent: int, new: str) -> None:
    """Rename from one directory into another, raising `FileExistsError` if the new name is taken there."""
    if _rename_with_flags(source, old, parent, new, NOREPLACE):
        return
    os.link(old, new, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
    try:
        os.unlink(old, dir_fd=source)
    except OSError:
        with suppress(OSError):  # where that fails too, whoever asked looks at what is there
            os.unlink(new, dir_fd=parent)
        raise
