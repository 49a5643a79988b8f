"""Where a look's contents go: stored one by one, or packed together where there are many; and why one is not kept.

A disk that is almost full gets none, one capture stores so much at most, and what must be sealed is never stored in
clear.
"""

from __future__ import annotations

import os

from takeback.track.cache import SECRET
from takeback.track.database import CannotSealError

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from takeback.track.database import Database

FRAME_FILES = 64
FRAME_BYTES = 4 << 20
MANY = 500
"""So many contents are worth packing together."""
MOST = 256 << 20
"""Bytes of contents that one capture stores at most; at the beginning everything is stored."""
FREE_SHARE = 20
FREE_BYTES = 1 << 30
"""A disk is almost full with less free than a twentieth of it, or than this, whichever is less."""
WHY_FULL = "the disk is almost full: content not kept"
WHY_MUCH = "more than one capture keeps: content not kept"


class ContentSink:
    """Takes the contents of one look."""

    def __init__(self, database: Database, root: str, clock: int) -> None:
        self._database, self._root, self._clock = database, root, clock
        self._frame: dict[bytes, bytes] = {}
        self._frame_size = 0
        self._packing = False
        self._most: int | None = MOST
        self._stored = 0
        self._full = False

    def take_all(self, *, packing: bool) -> None:
        """Keep everything from now on, however much it is."""
        self._most, self._packing = None, packing

    def take_some(self, *, packing: bool) -> None:
        """Keep no more than one capture may, and nothing where the disk is almost full."""
        self._packing, self._full = packing, is_almost_full(self._root)

    def keep(self, digest: bytes, data: bytes, bits: int) -> str:
        """Store one content; return why it is not kept."""
        if digest in self._frame or self._database.has_stored(digest):
            return ""
        if self._full:
            return WHY_FULL
        self._stored += len(data)
        if self._most is not None and self._stored > self._most:
            return WHY_MUCH
        secret = bool(bits & SECRET)
        try:
            if self._packing and not secret:
                self._pack(digest, data)
            else:
                self._database.put_content(digest, data, self._clock, secret=secret)
        except CannotSealError as fault:
            return f"it must be sealed, and cannot be ({fault}): content not kept"
        return ""

    def _pack(self, digest: bytes, data: bytes) -> None:
        self._frame[digest] = data
        self._frame_size += len(data)
        if len(self._frame) >= FRAME_FILES or self._frame_size >= FRAME_BYTES:
            self.flush()

    def flush(self) -> None:
        """Store what waits to be packed."""
        if not self._frame:
            return
        import zstandard  # noqa: PLC0415 - start-up

        packed = zstandard.ZstdCompressor(level=1).compress(b"".join(self._frame.values()))
        self._database.put_frame(list(self._frame.items()), packed, self._clock)
        self._frame, self._frame_size = {}, 0


def is_almost_full(root: str) -> bool:
    """Return whether the disk that a directory lies on has hardly any room left."""
    about = os.statvfs(root)
    free = about.f_bavail * about.f_frsize
    return free < min(FREE_BYTES, about.f_blocks * about.f_frsize // FREE_SHARE)
