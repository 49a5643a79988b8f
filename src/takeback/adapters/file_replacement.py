"""How new files take the place of old ones: names swapped or taken in one step, and a folder where files wait for it.

Names are swapped by `renameat2`, and by links where the system has none. Many new files are written in a folder of
Takeback's own first: ext4 makes a file near its folder, and without a journal, as on many virtual machines, it passes
over every inode that was given up there in the last minutes, one by one, so that bringing back what was just removed
slows down with the square of its files. A folder under one that is marked as a top of hierarchies lies elsewhere on
the disk. Where the mark cannot be set, only the speed differs.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
from contextlib import suppress
from functools import cache
from typing import Any, Final

from takeback.adapters.directory import DIRECTORY_FLAGS, Directory
from takeback.adapters.roots import PRIVATE

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


ASIDE: Final = "aside"
_GET_FLAGS: Final = 0x80086601
_SET_FLAGS: Final = 0x40086602
_TOP: Final = 0x20000
"""The mark of a top of hierarchies (`chattr +T`)."""
_FLAGS_BYTES: Final = 8
_DEFAULT_ACL: Final = "system.posix_acl_default"


class AsideFolder:
    """The folder in which the new files of one change lie until they are put in place; made when it is needed."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._top: int | None = None
        self._fd: int | None = None
        self._name = ""
        self._tried = False
        self._device = -1
        self.asked: os.stat_result | None = None
        """The status of the folder that was asked about last."""
        self._fits = False

    def find_for(self, parent: int) -> int | None:
        """Return the folder for a new file of `parent`; None where a file made elsewhere would be another one."""
        status = os.fstat(parent)
        if self.asked is None or (status.st_dev, status.st_ino) != (self.asked.st_dev, self.asked.st_ino):
            self._make()
            inherits = status.st_mode & stat.S_ISGID or _has_default_acl(parent)
            self._fits = self._fd is not None and status.st_dev == self._device and not inherits
        self.asked = status
        return self._fd if self._fits else None

    def _make(self) -> None:
        if self._tried:
            return
        self._tried = True
        with suppress(OSError), self._directory.open((PRIVATE,)) as private:
            if private is None:
                return
            with suppress(FileExistsError):
                os.mkdir(ASIDE, 0o700, dir_fd=private)
            self._top = os.open(ASIDE, DIRECTORY_FLAGS, dir_fd=private)
            _mark_top(self._top)
            self._name = self._directory.temporary_name()
            os.mkdir(self._name, 0o700, dir_fd=self._top)
            self._fd = os.open(self._name, DIRECTORY_FLAGS, dir_fd=self._top)
            self._device = os.fstat(self._fd).st_dev

    def close(self) -> None:
        """Remove the folder; one that is not empty is swept by the next command."""
        if self._fd is not None:
            os.close(self._fd)
        if self._top is not None:
            with suppress(OSError):
                os.rmdir(self._name, dir_fd=self._top)
            os.close(self._top)
            with suppress(OSError), self._directory.open((PRIVATE,)) as private:
                if private is not None:
                    os.rmdir(ASIDE, dir_fd=private)
        self._fd = self._top = None


def sweep_aside(directory: Directory) -> None:
    """Remove what killed processes left in the folder; nobody else may be writing."""
    with suppress(OSError), directory.open((PRIVATE, ASIDE)) as top:
        if top is None:
            return
        for name in filter(directory.is_own_temporary, os.listdir(top)):
            with suppress(OSError):
                folder = os.open(name, DIRECTORY_FLAGS, dir_fd=top)
                try:
                    for aside in filter(directory.is_own_temporary, os.listdir(folder)):
                        Directory.discard(folder, aside)
                finally:
                    os.close(folder)
                os.rmdir(name, dir_fd=top)
    with suppress(OSError), directory.open((PRIVATE,)) as private:
        if private is not None:
            os.rmdir(ASIDE, dir_fd=private)


def _mark_top(folder: int) -> None:
    """Mark a folder as a top of hierarchies, where its file system knows that."""
    flags = bytearray(_FLAGS_BYTES)
    with suppress(OSError):
        fcntl.ioctl(folder, _GET_FLAGS, flags)
        known = int.from_bytes(flags[:4], "little")
        fcntl.ioctl(folder, _SET_FLAGS, (known | _TOP).to_bytes(_FLAGS_BYTES, "little"))


def _has_default_acl(folder: int) -> bool:
    """Tell whether a folder says which permissions files made in it get."""
    if not hasattr(os, "getxattr"):
        return False
    try:
        return bool(os.getxattr(folder, _DEFAULT_ACL))
    except OSError:
        return False
