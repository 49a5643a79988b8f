"""One name in a folder, read: what stands there now, its content handed on, and why it is not kept.

A file is read and then measured again; one that moved under the reading is read once more and marked. Its times
count only from `SETTLED` before the look on, by the file system's clock. Links are read, never followed.
"""

from __future__ import annotations

import errno
import os
import stat
import time

from takeback.track.cache import NO_DIGEST, OWNED, SEEN

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Callable

    Entry = tuple[int, int, int, int, int, bytes, bytes]
    """ctime (negative where the file is read again), mtime, inode, size, mode with bits, digest, git's id."""
    Keep = Callable[[bytes, bytes, int], str]
    """Stores a content by its digest; says why it could not."""

SETTLED = 2_000_000_000
"""Nanoseconds after which a change would show in a file's times."""
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
WHY_HIDDEN = "a secret by its name: seen, not kept"
WHY_LARGE = "larger than max_bytes: seen, not kept"
WHY_OTHER = "neither a file nor a link"
WHY_UNREAD = "not read: there was too much to read at once"


class UnreadableError(Exception):
    """A name of which not even the status can be had."""


class FileReader:
    """Reads names for one look."""

    def __init__(self, clock: int, most: int, digest: Callable[[bytes], bytes]) -> None:
        self._clock, self._most, self._digest = clock, most, digest
        self.moving: list[str] = []
        """Paths that were still being written."""
        self.ids: dict[str, str] | None = None
        """The ids in git's index, where they were asked for."""
        self.distrusted: set[str] = set()
        """Ids of git's whose objects are gone."""
        self.end = float("inf")
        """When nothing more is read, by the monotonic clock."""

    def read(
        self, fd: int, name: str, path: str, bits: int, keep: Keep, old: Entry | None = None
    ) -> tuple[Entry | None, str]:
        """Return what stands at a name now, None for no file, and why its content is not kept.

        `old` is what stood there: a content that git had then, it still has.
        """
        try:
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except OSError as fault:
            if fault.errno in GONE:
                return None, ""
            raise UnreadableError(f"cannot be read ({fault.strerror})") from None
        if stat.S_ISDIR(status.st_mode):
            return None, ""
        if bits & OWNED:
            return self._make_entry(status, bits, NO_DIGEST), ""
        why = self._why_not_read(status)
        if why:
            unread = why == WHY_UNREAD
            digest = NO_DIGEST if unread else self._digest_sign(status)
            return self._make_entry(status, bits | (0 if unread else SEEN), digest, fresh=unread), why
        try:
            status, data, moving = self._read_content(fd, name, status)
        except OSError as fault:
            if fault.errno in GONE:
                return None, ""
            entry = self._make_entry(status, bits | SEEN, self._digest_sign(status))
            return entry, f"cannot be read ({fault.strerror})"
        if len(data) > self._most:
            return self._make_entry(status, bits | SEEN, self._digest_sign(status), fresh=True), WHY_LARGE
        if moving:
            self.moving.append(path)
        digest = self._digest(data)
        if bits & SEEN:
            return self._make_entry(status, bits, digest, fresh=moving), WHY_HIDDEN
        git = self._find_id(path, data, status)
        if old is not None and old[5] == digest and git == NO_DIGEST and old[6].hex() not in self.distrusted:
            git = old[6]
        why = "" if git != NO_DIGEST else keep(digest, data, bits)
        return self._make_entry(status, bits, digest, git, fresh=moving), why

    def _why_not_read(self, status: os.stat_result) -> str:
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            return WHY_OTHER
        if stat.S_ISREG(status.st_mode) and status.st_size > self._most:
            return WHY_LARGE
        return WHY_UNREAD if time.monotonic() > self.end else ""

    def _find_id(self, path: str, data: bytes, status: os.stat_result) -> bytes:
        """Return git's id of a content, where its index has exactly these bytes; zeros otherwise."""
        known = self.ids.get(path) if self.ids else None
        if known is None or known in self.distrusted or not stat.S_ISREG(status.st_mode):
            return NO_DIGEST
        import hashlib  # noqa: PLC0415 - start-up

        digest = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False)
        return digest.digest() if digest.hexdigest() == known else NO_DIGEST

    def _read_content(self, fd: int, name: str, status: os.stat_result) -> tuple[os.stat_result, bytes, bool]:
        """Return a file's or a link's bytes with its status, and whether it moved under the reading, twice."""
        if stat.S_ISLNK(status.st_mode):
            return status, os.fsencode(os.readlink(name, dir_fd=fd)), False
        file = os.open(name, READ, dir_fd=fd)
        try:
            for _ in range(2):
                before = os.fstat(file)
                if not stat.S_ISREG(before.st_mode):
                    raise OSError(errno.ENOENT, "no file any more")
                data = _read_all(file, before.st_size, self._most)
                after = os.fstat(file)
                if _measure(before) == _measure(after) and len(data) == after.st_size:
                    return after, data, False
                os.lseek(file, 0, os.SEEK_SET)
        finally:
            os.close(file)
        return after, data, True

    def _make_entry(
        self, status: os.stat_result, bits: int, digest: bytes, git: bytes = NO_DIGEST, *, fresh: bool = False
    ) -> Entry:
        ctime = status.st_ctime_ns
        if fresh or ctime > self._clock - SETTLED:
            ctime = -ctime
        return (ctime, status.st_mtime_ns, status.st_ino, status.st_size, status.st_mode | bits, digest, git)

    def _digest_sign(self, status: os.stat_result) -> bytes:
        return self._digest(b"\0not read %d %d %d" % (status.st_mode, status.st_size, status.st_mtime_ns))


def _read_all(file: int, size: int, most: int) -> bytes:
    """Return a file's bytes, up to one more than is wanted."""
    wanted = min(size, most) + 1
    parts = [os.read(file, wanted)]
    if len(parts[0]) == size < wanted:  # all of it, as whoever measures the file again will see
        return parts[0]
    while parts[-1] and (wanted := wanted - len(parts[-1])) > 0:
        parts.append(os.read(file, wanted))
    return b"".join(parts)


def _measure(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_ctime_ns, status.st_mtime_ns, status.st_ino, status.st_size)
