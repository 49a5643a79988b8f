"""The stat cache: one row a folder, names and columns of numbers, so that nothing in it can run or surprise.

`pack_folder` and `unpack_folder` are the two ways; a row that does not fit its own lengths is refused, because a
`.takeback` may be a stranger's. A name that is left out of tracking is remembered too, and asked about once.
"""

from __future__ import annotations

from array import array

TYPE_CHECKING = False  # as in `typing`, which is not imported for a hook
if TYPE_CHECKING:
    from collections.abc import Iterable

COLUMNS = 5
"""ctime, mtime, inode, size, mode."""
WORD = 8
DIGEST = 20
SEEN = 1 << 32
OWNED = 1 << 33
SECRET = 1 << 34
"""Bits beside the mode: the content is not kept; the file is a client's adapter's and not taken in; it is sealed."""
NO_DIGEST = bytes(DIGEST)
FACTS = 2 * DIGEST
"""Bytes of a file's facts: its keyed digest and git's id for its bytes, zeros where there is none."""
ENCODING = ("utf-8", "surrogateescape")


class BadCacheError(ValueError):
    """A row of the cache that is not one of ours."""


class Folder:
    """One folder: its own times, the names in it that are tracked with their numbers, and the names left out."""

    __slots__ = ("columns", "facts", "id", "left", "names", "path", "sign")

    def __init__(self, path: str, number: int = 0) -> None:
        self.path = path
        self.id = number
        self.sign = (0, 0, 0)
        """ctime, mtime and inode of the folder; zeros where it has to be listed again."""
        self.names: list[str] = []
        self.columns: tuple[array[int], ...] = tuple(array("q") for _ in range(COLUMNS))
        self.facts: bytes | None = None
        """Digests and git ids of the files, where they were loaded or changed."""
        self.left: frozenset[str] = frozenset()
        """Names that are not tracked, those of folders with a slash behind."""


def pack_folder(names: Iterable[str], columns: Iterable[array[int]], left: Iterable[str]) -> bytes:
    """Return a folder's names and numbers as bytes."""
    joined = "\0".join(names).encode(*ENCODING)
    numbers = b"".join(column.tobytes() for column in columns)
    return len(joined).to_bytes(4, "little") + joined + "\0".join(left).encode(*ENCODING) + b"\0\0" + numbers


def unpack_folder(folder: Folder, body: bytes) -> None:
    """Fill a folder from the bytes of `pack_folder`; raise `BadCacheError` where they do not fit."""
    length = int.from_bytes(body[:4], "little")
    end = body.find(b"\0\0", 4 + length)
    if end < 0 or 4 + length > len(body) or b"/" in body[4 : 4 + length]:
        raise BadCacheError(folder.path)
    names = body[4 : 4 + length].decode(*ENCODING).split("\0") if length else []
    count = len(names)
    step = count * WORD
    if len(body) - end - 2 != step * COLUMNS:
        raise BadCacheError(folder.path)
    columns = []
    for at in range(end + 2, len(body), step) if step else ():
        column = array("q")
        column.frombytes(body[at : at + step])
        columns.append(column)
    folder.names = names
    folder.columns = tuple(columns) if columns else tuple(array("q") for _ in range(COLUMNS))
    if end > 4 + length:
        folder.left = frozenset(body[4 + length : end].decode(*ENCODING).split("\0"))


def is_safe_path(path: str) -> bool:
    """Return whether a path stays inside, goes through nothing of ours or of version control, and is plain."""
    return not path or not any(
        step in {"", ".", "..", ".git", ".takeback"} or "\0" in step for step in path.split("/")
    )
