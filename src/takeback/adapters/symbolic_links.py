"""Symbolic links as they are: read and made, never followed."""

from __future__ import annotations

import errno
import os

from takeback.harness.images import LinkImage

READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def open_unfollowed(parent: int, name: str) -> int | LinkImage | None:
    """Return a descriptor of what has a name, a link as it is written, or None if nothing has it."""
    try:
        return os.open(name, READ_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        link = read_link(parent, name) if error.errno == errno.ELOOP else None
        if link is None:
            raise
        return link


def read_link(parent: int, name: str) -> LinkImage | None:
    """Return the link that has a name, as it is written; None if what has it is none."""
    try:
        return LinkImage(os.readlink(name, dir_fd=parent))
    except OSError as error:
        if error.errno in {errno.EINVAL, errno.ENOENT}:
            return None
        raise


def make_link(parent: int, name: str, image: LinkImage) -> None:
    """Make a link; where root makes it, with the owner of the directory."""
    os.symlink(image.target, name, dir_fd=parent)
    if os.geteuid() == 0:
        owner = os.fstat(parent)
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=parent, follow_symlinks=False)
