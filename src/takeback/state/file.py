"""One file: its bytes, mode and path, and its lines once it was edited inside.

A file is known by its slot, the path where it was first seen. Where it stands since it was moved (`at`) is an
attribute, as its mode is: the two are its frame, written and taken back apart from its content. A symbolic link
is a file whose mode says so and whose content is its target. Bytes may be read when they are first needed
(`LateContent`), so that a harness of many files opens without them.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from codecs import getincrementaldecoder
from typing import Any, Final, NoReturn, TypeAlias, cast, final

from takeback.state.address import FRAME
from takeback.state.parts import Parts
from takeback.state.text import Text

DEFAULT_MODE: Final = 0o644
LINK_MODE: Final = 0o120000
"""The mode of a symbolic link, as git writes it."""
REGULAR: Final = frozenset({0, 0o100000})
_KIND: Final = 0o170000
LARGE: Final = 1 << 20
"""Bytes from which on a file that is read as text is held as text alone."""


class LateContent(ABC):
    """The bytes of one file, kept elsewhere; equal to the same bytes, wherever they are."""

    __slots__ = ()

    @abstractmethod
    def read(self) -> bytes:
        """Return the bytes."""

    @abstractmethod
    def is_kept_with(self, other: LateContent) -> bool:
        """Return whether two are the same bytes in the same place, which is known without reading."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LateContent):
            return self.is_kept_with(other) or self.read() == other.read()
        return self.read() == other if isinstance(other, bytes) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.read())


ContentSource: TypeAlias = bytes | LateContent
"""The bytes of a file, or where they are read when they are needed."""


def read_source(source: ContentSource) -> bytes:
    """Return the bytes."""
    return source.read() if isinstance(source, LateContent) else source


Frame = int | tuple[int, str]
"""What a file is besides its content: its mode, and where it stands unless that is its slot's own path."""


@final
class File:
    """One file's content, permission bits and path, which cannot be changed.

    A UTF-8 file that was edited inside keeps track of its lines.
    """

    __slots__ = ("_content", "_text", "at", "edited", "mode")
    mode: int
    at: str | None
    """Where it stands since it was moved; None: at its slot's own path."""
    edited: bool
    """Whether its lines have identities."""
    _text: Text | None
    """Its lines; of a large file that was never edited inside and was read as text, in place of its bytes."""
    _content: ContentSource | None

    def __init__(self, content: ContentSource | Text, mode: int = DEFAULT_MODE, at: str | None = None) -> None:
        _set_mode(self, mode)
        _set_at(self, at)
        kind = type(content)  # the content itself is not looked at
        _set_edited(self, kind is Text)
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

    def __reduce__(self) -> tuple[type[File], tuple[bytes | Text, int, str | None]]:
        return File, (self._text if self.edited and self._text is not None else self.content, self.mode, self.at)

    @property
    def content(self) -> bytes:
        """The bytes."""
        return read_source(self.source)

    @property
    def source(self) -> ContentSource:
        """The bytes, or where they are read when they are needed."""
        known = self._content
        if known is None:
            known = b"" if self._text is None else self._text.encode_utf8()
            _set_content(self, known)
        return known

    @property
    def holds_bytes(self) -> bool:
        """Whether its bytes are held as such."""
        return self._content is not None

    def reads_as(self, content: bytes) -> bool:
        """Return whether some bytes are its own; a text that is held is not encoded whole for that."""
        text = None if self._content is not None else self._text
        return self.content == content if text is None else text.reads_as_bytes(content)

    def share(self, content: bytes) -> None:
        """Hold equal bytes that someone else holds, instead of a copy of them; other bytes are not taken."""
        text = self._text
        if type(content) is bytes and text is not None and text.reads_as_bytes(content):
            _set_content(self, content)

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the content."""
        return self.measure()[1]

    def is_longer(self, size: int) -> bool:
        """Return whether the content has more bytes than so many; some that a text has may be missed."""
        known = self._content
        if known is not None:
            return type(known) is bytes and len(known) > size
        text = self._text
        return text is not None and len(text) > size

    def measure(self) -> tuple[int, str]:
        """Return the size in bytes and the SHA-256 of the content; a text that is held is not encoded for it."""
        text = None if self._content is not None else self._text
        pieces = (self.content,) if text is None else text.pieces()
        size, digest = 0, hashlib.sha256()
        for piece in pieces:
            size += len(piece)
            digest.update(piece)
        return size, digest.hexdigest()

    def parts(self) -> Text | None:
        """Return the lines; None where the content is not UTF-8."""
        if self._text is not None:
            return self._text
        content = self.content
        if len(content) >= LARGE and not _is_text(content):
            return None
        try:
            text = Text.of(content.decode())
        except UnicodeDecodeError:
            return None
        if len(content) >= LARGE:
            _set_text(self, text)
            _set_content(self, None)
        return text

    def replace_parts(self, parts: Parts) -> File:
        """Return the file with other lines."""
        return File(parts, self.mode, self.at) if isinstance(parts, Text) else self

    def whole(self) -> File:
        """Return the file as one that was never edited inside."""
        return File(self.source, self.mode, self.at) if self.edited else self

    @property
    def kind(self) -> int:
        """What it is: a regular file (0), a symbolic link or something else, as the upper bits of a mode say it."""
        kind = self.mode & _KIND
        return 0 if kind in REGULAR else kind

    @property
    def frame(self) -> Frame:
        """The permission bits, and where it stands since it was moved."""
        return self.mode if self.at is None else (self.mode, self.at)

    @property
    def has_own_frame(self) -> bool:
        """Whether its permission bits are not those of any file, or it was moved."""
        return self.mode != DEFAULT_MODE or self.at is not None

    def get_frame_part(self, part: str) -> int | str | None:
        """Return one part of the frame: the mode, or where it stands."""
        return self.mode if part == FRAME else self.at

    def with_frame_part(self, part: str, value: Any) -> File:
        """Return the file with another mode, or standing elsewhere."""
        mode, at = (value, self.at) if part == FRAME else (self.mode, value)
        return self.with_frame(mode if at is None else (mode, at))

    def with_frame(self, frame: Frame) -> File:
        """Return the file with other permission bits, or standing elsewhere; its content is not looked at."""
        mode, at = frame if isinstance(frame, tuple) else (frame, None)
        if mode == self.mode and at == self.at:
            return self
        new = _new(File)
        _set_mode(new, mode)
        _set_at(new, at)
        _set_edited(new, self.edited)
        _set_text(new, self._text)
        _set_content(new, self._content)
        return new

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, File):
            return NotImplemented
        if self is other or self.mode != other.mode or self.at != other.at:
            return self is other
        mine, theirs = self._text, other._text
        if self.edited and other.edited:
            return mine == theirs
        if mine is not None and self._content is None:
            return mine.reads_as_bytes(other.content)
        if theirs is not None and other._content is None:
            return theirs.reads_as_bytes(self.content)
        return self.source == other.source

    def is_of(self, content: ContentSource, mode: int) -> bool:
        """Return whether this is a file that was never moved and holds some bytes."""
        if self._content is not None and not self.edited:
            own = self._content
            return self.mode == mode and self.at is None and (own is content or own == content)
        return self == File(content, mode)

    def __hash__(self) -> int:
        return hash((self.content, self.mode, self.at))

    def __repr__(self) -> str:
        at = "" if self.at is None else f", at={self.at!r}"
        return f"File(content={self.content!r}, mode={self.mode}{at})"


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


_new: Final = object.__new__
_set_mode, _set_at, _set_edited, _set_text, _set_content = (
    File.__dict__[name].__set__ for name in ("mode", "at", "edited", "_text", "_content")
)
