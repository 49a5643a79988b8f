"""Renames that never overwrite: two names swapped in one step, or a name taken only if nothing has it.

Linux can do both (`renameat2`); where the system or the file system cannot, the callers fall back to links.
"""

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
def _renameat2() -> Any:
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None


def _rename(parent: int, one: str, other: int, two: str, flags: int) -> bool:
    call = _renameat2()
    if call is None:
        return False
    if call(parent, os.fsencode(one), other, os.fsencode(two), flags) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number))


def swap(parent: int, one: str, two: str) -> bool:
    """Swap two names in a directory; False if that is not supported here."""
    return _rename(parent, one, parent, two, EXCHANGE)


def take_name(source: int, old: str, parent: int, new: str) -> None:
    """Rename from one directory into another, raising `FileExistsError` if the new name is taken there."""
    if _rename(source, old, parent, new, NOREPLACE):
        return
    os.link(old, new, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
    try:
        os.unlink(old, dir_fd=source)
    except OSError:
        with suppress(OSError):  # where that fails too, whoever asked looks at what is there
            os.unlink(new, dir_fd=parent)
        raise
