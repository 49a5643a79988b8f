"""Values that were forgotten: what stands for one in a state, and how to tell that a content holds one.

It is known that something was there, what kind of thing, and what it claimed, but not its value.
"""

from __future__ import annotations

from typing import Any, Final

from takeback.state.address import END
from takeback.state.chain import Link
from takeback.state.file import File, Frame
from takeback.state.parts import Parts
from takeback.state.pmap import ABSENT, PMap
from takeback.state.text import Text


class Forgotten:
    """Stands for a captured value that was forgotten; what is still known of it comes with it."""

    __slots__ = ("claim", "form", "frame", "redacted", "sealed")

    def __init__(
        self,
        claim: str | None = None,
        frame: Frame | None = None,
        form: Parts | None = None,
        sealed: str = "",
        redacted: str = "",
    ) -> None:
        self.claim = claim
        self.frame = frame
        """Of a file: its mode, and where it stands."""
        self.form = form
        """Of a text or list that was edited inside: its parts with their ids and places, but not what is in them."""
        self.sealed = sealed
        """Of a value that is only sealed with a key that is not here: which key, and where it was looked for."""
        self.redacted = redacted
        """Of a value that was never stored: its salted digest."""

    def __repr__(self) -> str:
        return "GONE"


class HiddenLines(frozenset[str]):
    """Lines of a text in use that were forgotten: the text is stored without them."""

    def has_part_of(self, value: Any) -> bool:
        """Tell whether one of them stands in a value."""
        return isinstance(value, str) and any(line.strip() in self for line in value.splitlines() if line.strip())


FORGOTTEN_VALUE: Final = Forgotten()


def has_forgotten(content: Any) -> bool:
    """Tell whether a value, or one inside it, was forgotten."""
    if content is ABSENT or (type(content) is File and not content.edited):
        return False
    if isinstance(content, Forgotten):
        return True
    if isinstance(content, Link):
        return isinstance(content.record, Forgotten)
    if isinstance(content, PMap):
        return any(has_forgotten(item) for _, item in content.items())
    parts = content.parts() if isinstance(content, File) and content.edited else content
    if not isinstance(parts, Parts):
        return False
    return has_forgotten(parts.find(END)) or any(
        isinstance(link.record, Forgotten) for link in parts.list_written_parts()
    )


def find_seal(content: Any) -> str:
    """Return what is known of the first value in a content whose key is not here; empty if there is none."""
    if isinstance(content, Forgotten):
        return content.sealed
    if isinstance(content, Link):
        return find_seal(content.record)
    if isinstance(content, PMap):
        return next(filter(None, (find_seal(item) for _, item in content.items())), "")
    return ""


def find_redacted(content: Any) -> str:
    """Return the digest of a content that was never stored; empty where it was, or nothing is known of it."""
    gone = content.record if isinstance(content, Link) else content
    return gone.redacted if isinstance(gone, Forgotten) else ""


def make_blank(form: type[Parts], size: int | None = None) -> Any:
    """Return the blank for a part whose value is not known, or for a run of `size` such parts."""
    if form is Text:
        return "\n" * (1 if size is None else size)
    return None if size is None else [None] * size
