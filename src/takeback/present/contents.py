"""The content of one slot as text: lines of a text or file, pretty lines of a value, one line about bytes.

Lines still carry their endings, so that a missing last one shows. A file too long to be read on a screen is one line
about its bytes too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from takeback.canonical import pretty as written

DEFAULT_MODE: Final = "0644"
WIDTH: Final = 76
"""A value whose JSON is no longer than this stays on one line."""
SHORT_DIGEST: Final = 16
LONGEST: Final = 4 << 20
"""Bytes of a file that is still shown line by line."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A content as text."""

    lines: tuple[str, ...]
    """Each with its line feed, but for a last one that has none."""
    inline: str = ""
    """The content on one line, if it has at most one."""
    mode: str = ""
    """A file's mode."""
    secrets: Mapping[str, None] = field(default_factory=dict, compare=False)
    """Texts in it that are not shown, for the name they stand under."""

    @property
    def single(self) -> bool:
        """Whether it fits on one line."""
        return len(self.lines) <= 1


def sheet_of(content: Any) -> Sheet:
    """The sheet of a JSON value; a text is its lines."""
    if isinstance(content, str):
        return _text_sheet(content)
    lines = pretty(content)
    return Sheet(tuple(f"{line}\n" for line in lines), inline=lines[0] if len(lines) == 1 else "")


def items_sheet(content: list[Any]) -> Sheet:
    """The sheet of a list of which items were changed: each item on lines of its own."""
    lines = tuple(f"{line}\n" for item in content for line in pretty(item))
    inline = _line(content) if len(lines) <= 1 else ""
    return Sheet(lines, inline=inline)


def text_sheet(content: bytes, mode: str = "") -> Sheet:
    """The sheet of a file: its lines, or one line about bytes that are no text, or too many."""
    what = "too long to show"
    if len(content) <= LONGEST:
        try:
            return _text_sheet(content.decode(), mode)
        except UnicodeDecodeError:
            what = "not text"
    digest = hashlib.sha256(content).hexdigest()[:SHORT_DIGEST]
    told = f"({len(content):,} bytes, {what}, sha256 {digest})"
    return Sheet((f"{told}\n",), inline=told, mode=mode)


def _text_sheet(text: str, mode: str = "") -> Sheet:
    lines = tuple(f"{line}\n" for line in text.split("\n"))
    lines = (*lines[:-1], lines[-1][:-1]) if lines[-1] != "\n" else lines[:-1]
    inline = _line(text) if len(lines) <= 1 else ""
    return Sheet(lines, inline=inline, mode=mode)


def pretty(value: Any, indent: str = "") -> list[str]:
    """A JSON value as lines: keys in order, a text of several lines in several lines."""
    deeper = indent + "  "
    inline = _line(value)
    if len(inline) <= WIDTH and "\\n" not in inline:
        return [indent + inline]
    match value:
        case dict() if value:
            return [f"{indent}{{", *_items(sorted(value.items()), deeper), f"{indent}}}"]
        case list() if value:
            return [f"{indent}[", *_items([(None, item) for item in value], deeper), f"{indent}]"]
        case str() if "\n" in value:
            inner = [f"{deeper}{line}" for line in value.removesuffix("\n").split("\n")]
            return [f'{indent}"""', *inner, f'{indent}"""' if value.endswith("\n") else f'{indent}""" (no newline)']
        case _:
            return [indent + inline]


def _line(value: Any) -> str:
    return written(value, indent=None, sort_keys=True)


def _items(items: list[tuple[str | None, Any]], indent: str) -> list[str]:
    lines: list[str] = []
    for at, (key, item) in enumerate(items):
        shown = pretty(item, indent)
        if key is not None:
            shown[0] = f"{indent}{_line(key)}: {shown[0][len(indent) :]}"
        if at < len(items) - 1:
            shown[-1] += ","
        lines += shown
    return lines
