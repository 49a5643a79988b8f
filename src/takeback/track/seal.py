"""Sealing of contents in the track database: AES-GCM under one key, in a file beside the journal's keys.

Used where the journal is sealed, and for secrets that are kept. The hook imports it only then; it costs a hook some
milliseconds. Without the extra `seal` nothing is stored rather than stored in clear.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from typing import Any

NONCE = 12
KEY = 32


class CannotSealError(Exception):
    """The key or the library for sealing is missing."""


class Seal:
    """One key, read from its file when it is first used."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._key = b""

    def seal(self, data: bytes, about: bytes) -> bytes:
        """Return data encrypted, bound to what it is about."""
        nonce = os.urandom(NONCE)
        sealed: bytes = self._load().encrypt(nonce, data, about)
        return nonce + sealed

    def open(self, data: bytes, about: bytes) -> bytes | None:
        """Return what was sealed; None where it was altered, or sealed under another key."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - needs the extra

        try:
            opened: bytes = self._load().decrypt(data[:NONCE], data[NONCE:], about)
        except InvalidTag:
            return None
        return opened

    def _load(self) -> Any:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - needs the extra
        except ImportError:
            raise CannotSealError("sealing needs the 'seal' extra: pip install 'takeback[seal]'") from None
        if not self._key:
            try:
                fd = os.open(self._place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                with open(fd, "rb") as file:
                    self._key = file.read(KEY + 1)
            except OSError as fault:
                raise CannotSealError(f"the key {self._place} cannot be read: {fault.strerror}") from None
            if len(self._key) != KEY:
                raise CannotSealError(f"{self._place} is not a key of {KEY} bytes")
        return AESGCM(self._key)


def make_key_file(place: str) -> None:
    """Make a key, readable by its owner only, unless there is one."""
    try:
        fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    try:
        os.write(fd, os.urandom(KEY))
        os.fsync(fd)
    finally:
        os.close(fd)
