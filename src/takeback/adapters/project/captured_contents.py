"""Contents that a look captured, for the entry of a removal of many files: they are not held, but read when needed.

Each is read once to see that it is there and what it is, and once more when the journal takes it in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

from takeback.errors import HarnessError
from takeback.harness.late_contents import ReadAhead
from takeback.state.file import LateContent

if TYPE_CHECKING:
    from takeback.track.store import FileFacts, TrackStore

MANY: Final = 1_000
"""From so many contents on they are read when they are needed."""
MOST_BYTES: Final = 4 << 20
"""So many bytes of them, and one content more, are looked at at once."""


class CapturedContents:
    """Contents of the track database, in the order in which they are likely to be asked for."""

    def __init__(self, store: TrackStore, files: Sequence[tuple[str, FileFacts]]) -> None:
        self._store = store
        self._files = files
        self._ahead = ReadAhead(self._read_some)

    def find_all(self) -> dict[str, CapturedContent]:
        """Return those that are there, by path."""
        contents_by_path: dict[str, CapturedContent] = {}
        start = 0
        while start < len(self._files):
            end, size = start + 1, self._files[start][1].size
            while end < min(start + MANY, len(self._files)) and size < MOST_BYTES:
                size += self._files[end][1].size
                end += 1
            there = self._read(start, end)
            for at in range(start, end):
                path, facts = self._files[at]
                if facts.digest in there:
                    contents_by_path[path] = CapturedContent(self, at, count_text_lines(there[facts.digest]))
            start = end
        return contents_by_path

    def _read(self, start: int, end: int) -> dict[str, bytes]:
        return self._store.contents([facts.digest for _, facts in self._files[start:end]])

    def read(self, at: int) -> bytes:
        """Return the content at a place in the order."""
        return self._ahead.read(at)

    def _read_some(self, at: int, most: int) -> Sequence[bytes]:
        there = self._read(at, at + most)
        read: list[bytes] = []
        for _, facts in self._files[at : at + most]:
            if facts.digest not in there:
                break
            read.append(there[facts.digest])
        if not read:
            raise HarnessError(
                f"the content of {self._files[at][0]} that was captured is gone; nothing was recorded",
                hint="run the command again: it then goes by what is left",
            )
        return read


@final
class CapturedContent(LateContent):
    """One of them."""

    __slots__ = ("at", "contents", "lines")

    def __init__(self, contents: CapturedContents, at: int, lines: int) -> None:
        self.contents = contents
        self.at = at
        self.lines = lines
        """The number of its lines; 0 where it is no text."""

    def read(self) -> bytes:
        """Return the bytes."""
        return self.contents.read(self.at)

    def is_kept_with(self, other: LateContent) -> bool:
        """Return whether two are the same bytes in the same place."""
        return isinstance(other, CapturedContent) and self.contents is other.contents and self.at == other.at


def count_text_lines(content: bytes) -> int:
    """Return the number of lines of a text; 0 of what is none."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return 0
    if b"\r" in content:
        return len(content.splitlines())
    return content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
