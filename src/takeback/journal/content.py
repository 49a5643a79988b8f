"""Contents: captured values, stored once per journal and referred to by id.

A content is a leaf (a JSON value, or the bytes of a file) or a tree: JSON that stands for other contents by their
position in its list of parts. Its id is a digest over its bytes and a random salt that is kept with the bytes and
goes with them, so that nothing that stays lets a short secret be guessed. Large contents are cut into pieces and
compressed where that helps.
"""

from __future__ import annotations

import hashlib
import os
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from json import loads
from typing import Any, Final, NamedTuple, TypeAlias

from takeback.errors import JournalCorruptError
from takeback.journal.encoding import Json, decode, encode, trusting

FORGOTTEN: Final = ""
"""Stands for a content that was not captured because it was forgotten before."""

LARGE: Final = 4096
"""From this size on equal contents are copies of one thing and share a row, wherever they stand; smaller ones
(`true`, `30`) are equal by chance, and share one only where they stand in the same place."""

PIECE: Final = 1 << 20
SALT: Final = 16
_ID_BYTES: Final = 24
PLAIN: Final = b"\x00"
"""Begins a piece that is stored as it is."""
_ZSTD: Final = b"\x01"

Ref: TypeAlias = str
"""Id of a content; `FORGOTTEN` for one that was not captured."""


class Leaf:
    """A value to be stored. `scope` is where it stands; `ref` is its id once it is stored."""

    __slots__ = ("data", "ref", "scope")

    def __init__(self, data: bytes, scope: str = "") -> None:
        self.data = data
        self.scope = scope
        self.ref: Ref | None = None


class Tree(NamedTuple):
    """JSON in which whole numbers at known places stand for `parts`."""

    value: Json
    parts: Sequence[Content]
    scope: str = ""


Content: TypeAlias = "Leaf | Tree | Ref"
"""What a draft refers to: something to be stored, or the id of what is stored already."""


def leaf(value: Json, scope: str = "") -> Leaf:
    """A JSON value as a content."""
    return Leaf(encode(value).encode(), scope)


class Stored(NamedTuple):
    """A content as it is read back, checked against its id."""

    data: bytes
    tree: bool = False

    def json(self) -> Any:
        """The value of a JSON leaf."""
        try:
            return loads(self.data)
        except (ValueError, RecursionError) as fault:
            raise JournalCorruptError("a stored content is not JSON") from fault

    def opened(self) -> tuple[list[Ref], Any]:
        """Ids of a tree's parts, and its JSON."""
        with trusting("a stored tree"):
            whole: Any = decode(self.data)
            parts, value = whole
            if not all(isinstance(part, str) for part in parts):
                raise JournalCorruptError("a stored tree names a part that is no id")
            return list(parts), value


def tree_bytes(parts: Sequence[Ref], value: Json) -> bytes:
    """The bytes of a tree whose parts are stored."""
    return encode([list(parts), value]).encode()


def lookup(data: bytes, scope: str, *, tree: bool) -> bytes:
    """By what an equal content is found; kept and deleted with the content."""
    place = b"" if len(data) >= LARGE else scope.encode(errors="surrogatepass")
    digest = hashlib.blake2b(b"t" if tree else b"l", digest_size=16, person=b"takeback-lookup")
    digest.update(len(place).to_bytes(4, "big") + place)
    digest.update(data)
    return digest.digest()


def new_salt() -> bytes:
    """Random bytes that make a digest of something short say nothing."""
    return os.urandom(SALT)


class ContentDigest:
    """A content's id, computed while its bytes pass by: over its salt, its form and its bytes."""

    def __init__(self, salt: bytes, *, tree: bool) -> None:
        self._digest = hashlib.sha256(b"takeback-content-2" + (b"t" if tree else b"l") + salt)

    def passing(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """The chunks as they are, each taken into the digest."""
        for chunk in chunks:
            self._digest.update(chunk)
            yield chunk

    def of(self, chunks: Iterable[bytes | memoryview]) -> Ref:
        """The id after these chunks."""
        for chunk in chunks:
            self._digest.update(chunk)
        return urlsafe_b64encode(self._digest.digest()[:_ID_BYTES]).decode()


def content_id(salt: bytes, chunks: Iterable[bytes | memoryview], *, tree: bool) -> Ref:
    """The id of a content."""
    return ContentDigest(salt, tree=tree).of(chunks)


def pieces_of(data: bytes) -> Iterator[bytes]:
    """The bytes as they are stored: cut, and each piece compressed where that saves an eighth."""
    view = memoryview(data)
    for start in range(0, max(len(data), 1), PIECE):
        yield _packed(view[start : start + PIECE])


def _packed(piece: memoryview) -> bytes:
    if len(piece) >= LARGE:
        import zstandard  # noqa: PLC0415 - only where something large is stored

        packed = zstandard.ZstdCompressor(level=3, write_checksum=False).compress(piece)
        if len(packed) < len(piece) - len(piece) // 8:
            return _ZSTD + packed
    return PLAIN + piece


def joined(pieces: Iterable[bytes]) -> bytes:
    """The inverse of `pieces_of`; holds one piece at a time beside the result."""
    whole = BytesIO()
    for piece in pieces:
        whole.write(unpacked(piece))
    return whole.getvalue()


def unpacked(piece: bytes) -> bytes | memoryview:
    """One piece as it was."""
    form = piece[:1]
    if form == PLAIN:
        return memoryview(piece)[1:]
    if form == _ZSTD:
        import zstandard  # noqa: PLC0415 - only where something large is read

        try:
            return bytes(zstandard.ZstdDecompressor().decompress(memoryview(piece)[1:], max_output_size=PIECE))
        except zstandard.ZstdError as fault:
            raise JournalCorruptError("a compressed content cannot be read") from fault
    raise JournalCorruptError("a stored content has no known form")
