"""The content of one slot as text: lines of a text or file, pretty lines of a value, one line about bytes.

Goes in: a slot's content as JSON, as `takeback.harness.log` gives it. Comes out: lines that still carry their
endings, so that a missing last one shows, and what lines cannot say, such as a file's mode.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final

DEFAULT_MODE: Final = "0644"
SHORT_DIGEST: Final = 16


@dataclass(frozen=True, slots=True)
class Sheet:
    """A content as text."""

    lines: tuple[str, ...]
    """Each with its line feed, but for a last one that has none."""
    plain: bool = False
    """Whether the lines are the content itself, rather than a value written out."""
    inline: str = ""
    """The content on one line, if it has at most one."""
    mode: str = ""
    """A file's mode."""

    @property
    def single(self) -> bool:
        """Whether it fits on one line."""
        return len(self.lines) <= 1


def sheet_of(content: Any, *, file: bool = False) -> Sheet:
    """The sheet of a content; `file` for what `files` holds."""
    if file and isinstance(content, dict):
        if "base64" in content:
            return _bytes_sheet(base64.b64decode(content["base64"]), content.get("mode", ""))
        if "content" in content:
            return _text_sheet(content["content"], content.get("mode", ""))
    if isinstance(content, str):
        return _text_sheet(content)
    lines = pretty(content)
    inline = json.dumps(content, ensure_ascii=False) if len(lines) <= 1 else ""
    return Sheet(tuple(f"{line}\n" for line in lines), inline=inline)


def _text_sheet(text: str, mode: str = "") -> Sheet:
    lines = tuple(f"{line}\n" for line in text.split("\n"))
    lines = (*lines[:-1], lines[-1][:-1]) if lines[-1] != "\n" else lines[:-1]
    inline = json.dumps(text, ensure_ascii=False) if len(lines) <= 1 else ""
    return Sheet(lines, plain=True, inline=inline, mode=mode)


def _bytes_sheet(content: bytes, mode: str) -> Sheet:
    digest = hashlib.sha256(content).hexdigest()[:SHORT_DIGEST]
    told = f"{len(content):,} bytes, not text, sha256 {digest}"
    return Sheet((f"{told}\n",), inline=f"({told})", mode=mode)


def pretty(value: Any, indent: str = "") -> list[str]:
    """A JSON value as lines: keys in order, a text of several lines in several lines."""
    deeper = indent + "  "
    match value:
        case dict() if value:
            return [f"{indent}{{", *_items(sorted(value.items()), deeper), f"{indent}}}"]
        case list() if value:
            return [f"{indent}[", *_items([(None, item) for item in value], deeper), f"{indent}]"]
        case str() if "\n" in value:
            inner = [f"{deeper}{line}" for line in value.removesuffix("\n").split("\n")]
            return [f'{indent}"""', *inner, f'{indent}"""' if value.endswith("\n") else f'{indent}""" (no newline)']
        case _:
            return [indent + json.dumps(value, ensure_ascii=False)]


def _items(items: list[tuple[str | None, Any]], indent: str) -> list[str]:
    lines: list[str] = []
    for at, (key, item) in enumerate(items):
        shown = pretty(item, indent)
        if key is not None:
            shown[0] = f"{indent}{json.dumps(key, ensure_ascii=False)}: {shown[0][len(indent) :]}"
        if at < len(items) - 1:
            shown[-1] += ","
        lines += shown
    return lines
