"""One file of the sandbox: its bytes and mode, and its lines once it was edited inside."""

from __future__ import annotations

import hashlib
from codecs import getincrementaldecoder
from typing import Final, NoReturn, cast, final

from takeback.state.part_slots import HasParts
from takeback.state.parts import Parts
from takeback.state.text import Text

DEFAULT_MODE: Final = 0o644
LARGE: Final = 1 << 20
"""Bytes from which on a file that is read as text is held as text alone."""


@final
class File(HasParts):
    """One file's content and permission bits, which cannot be changed.

    A UTF-8 file that was edited inside keeps track of its lines.
    """

    __slots__ = ("_content", "_plain", "_text", "mode")
    mode: int
    _text: Text | None
    _plain: Text | None
    """Of a large file that was never edited inside and was read as text: that text, in place of its bytes."""
    _content: bytes | None

    def __init__(self, content: bytes | Text, mode: int = DEFAULT_MODE) -> None:
        _set_mode(self, mode)
        _set_plain(self, None)
        kind = type(content)  # the content itself is not looked at
        if kind is Text:
            _set_text(self, content)
            _set_content(self, None)
            return
        if kind is not bytes and issubclass(kind, bytearray | memoryview):
            content = bytes(cast("bytes", content))
        _set_text(self, None)
        _set_content(self, content)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a file cannot be changed ({name}): make another one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a file cannot be changed ({name}): make another one")

    def __reduce__(self) -> tuple[type[File], tuple[bytes | Text, int]]:
        return File, (self.content if self._text is None else self._text, self.mode)

    @property
    def content(self) -> bytes:
        """The bytes."""
        known = self._content
        if known is None:
            text = self._read()
            known = b"" if text is None else text.encode_utf8()
            _set_content(self, known)
        return known

    def _read(self) -> Text | None:
        """Return the text that is held, if any."""
        return self._plain if self._text is None else self._text

    @property
    def holds_bytes(self) -> bool:
        """Whether its bytes are held as such."""
        return self._content is not None

    def share(self, content: bytes) -> None:
        """Hold equal bytes that someone else holds, instead of a copy of them; other bytes are not taken."""
        text = self._read()
        if type(content) is bytes and text is not None and text.reads_as_bytes(content):
            _set_content(self, content)

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the content."""
        return hashlib.sha256(self.content).hexdigest()

    def parts(self) -> Text | None:
        """Return the lines; None where the content is not UTF-8."""
        known = self._read()
        if known is not None:
            return known
        content = self.content
        if len(content) >= LARGE and not _is_text(content):
            return None
        try:
            text = Text.of(content.decode())
        except UnicodeDecodeError:
            return None
        if len(content) >= LARGE:
            _set_plain(self, text)
            _set_content(self, None)
        return text

    def replace_parts(self, parts: Parts) -> File:
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

    @property
    def has_own_frame(self) -> bool:
        """Whether its permission bits are not those of any file."""
        return self.mode != DEFAULT_MODE

    def with_frame(self, frame: int) -> File:
        """Return the file with other permission bits."""
        return File(self.content if self._text is None else self._text, frame)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, File):
            return NotImplemented
        if self is other or self.mode != other.mode:
            return self is other
        if self._text is not None and other._text is not None:
            return self._text == other._text
        mine, theirs = self._read(), other._read()
        if mine is not None and self._content is None:
            return mine.reads_as_bytes(other.content)
        if theirs is not None and other._content is None:
            return theirs.reads_as_bytes(self.content)
        return self.content == other.content

    def __hash__(self) -> int:
        return hash((self.content, self.mode))

    def __repr__(self) -> str:
        return f"File(content={self.content!r}, mode={self.mode})"


def _is_text(content: bytes) -> bool:
    """Tell whether bytes are UTF-8, a piece at a time.

    Decoding all of them at once takes up to four times their size before it fails, and the error holds another copy.
    """
    decoder, view = getincrementaldecoder("utf-8")(), memoryview(content)
    try:
        for at in range(0, len(view), LARGE):
            decoder.decode(bytes(view[at : at + LARGE]))
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


_set_mode, _set_text, _set_plain, _set_content = (
    File.__dict__[name].__set__ for name in ("mode", "_text", "_plain", "_content")
)
