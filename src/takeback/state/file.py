"""One file of the sandbox: its bytes and mode, and its lines once it was edited inside."""

from __future__ import annotations

import hashlib
from typing import Final, cast

from takeback.state.inside import Partial
from takeback.state.parts import Parts
from takeback.state.text import Text

DEFAULT_MODE: Final = 0o644


class File(Partial):
    """One file's content and permission bits; a UTF-8 file that was edited inside keeps track of its lines."""

    __slots__ = ("_content", "_text", "mode")

    def __init__(self, content: bytes | Text, mode: int = DEFAULT_MODE) -> None:
        self.mode = mode
        text = type(content) is Text
        self._text = cast("Text", content) if text else None
        self._content = None if text else cast("bytes", content)

    @property
    def content(self) -> bytes:
        """The bytes."""
        if self._content is None:
            self._content = b"" if self._text is None else self._text.whole().encode()
        return self._content

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()

    def parts(self) -> Text | None:
        """Return the lines; None where the content is not UTF-8."""
        if self._text is not None:
            return self._text
        try:
            return Text.of(self.content.decode())
        except UnicodeDecodeError:
            return None

    def holding(self, parts: Parts) -> File:
        """Return the file with other lines."""
        return File(parts, self.mode) if isinstance(parts, Text) else self

    def whole(self) -> File:
        """Return the file as one that was never edited inside."""
        return self if self._text is None else File(self.content, self.mode)

    @property
    def edited(self) -> bool:
        """Whether its lines have identities."""
        return self._text is not None

    @property
    def frame(self) -> int:
        """The permission bits."""
        return self.mode

    def framed(self, frame: int) -> File:
        """Return the file with other permission bits."""
        return File(self.content if self._text is None else self._text, frame)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, File):
            return NotImplemented
        if self is other or self.mode != other.mode:
            return self is other
        if self._text is not None and other._text is not None:
            return self._text == other._text
        return self.content == other.content

    def __hash__(self) -> int:
        return hash((self.content, self.mode))

    def __repr__(self) -> str:
        return f"File(content={self.content!r}, mode={self.mode})"
