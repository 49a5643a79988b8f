"""Files as a person writes them, as trees of pieces: each has its own layout, and every edit is one of the tree.

What a file would be without one of its edits is the tree with all the others done to it, so that the bytes that an
undo should leave are known without any code of the product. `meaning` reads a file with other parsers than ours.
"""

from __future__ import annotations

import json
import random
import re
import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

Edit = Callable[["Files"], None]
"""An edit by hand; it does nothing where what it would change is not there."""
LAYOUTS = ("lines", "lines", "commas first", "inline", "packed", "loose")


@dataclass
class Style:
    """How one container is laid out."""

    layout: str
    unit: str
    colon: str
    newline: str
    trailing: bool = False


@dataclass
class Entry:
    """A member or an item, with the comments around it."""

    name: str
    key: str | None
    value: Any
    """A `Box`, or the text of a scalar."""
    lead: str = ""
    tail: str = ""


@dataclass
class Box:
    """A mapping or a list."""

    name: str
    opening: str
    entries: list[Entry]
    style: Style

    def text(self, depth: int = 0) -> str:
        style, closing = self.style, "}" if self.opening == "{" else "]"
        if not self.entries:
            return self.opening + closing
        line, outer = style.newline + style.unit * (depth + 1), style.newline + style.unit * depth
        parts = [self._entry(one, depth) for one in self.entries]
        comma = "," if style.trailing else ""
        tails = [one.tail for one in self.entries]
        if style.layout == "lines":
            ends = ["," for _ in parts[:-1]] + [comma]
            inside = "".join(line + part + end + tail for part, end, tail in zip(parts, ends, tails, strict=True))
            return self.opening + inside + outer + closing
        closed = [
            part + (f" /*{tail.strip(' /')}*/" if tail else "") for part, tail in zip(parts, tails, strict=True)
        ]
        if style.layout == "commas first":
            return self.opening + " " + (line + ", ").join(closed) + comma + outer + closing
        if style.layout == "inline":
            return f"{self.opening} {', '.join(closed)}{comma} {closing}"
        if style.layout == "loose":
            return f"{self.opening}{line}{f' ,{style.newline}{line}'.join(closed)}{comma}{closing}"
        return self.opening + ",".join(closed) + comma + closing

    def _entry(self, one: Entry, depth: int) -> str:
        value = one.value.text(depth + 1) if isinstance(one.value, Box) else one.value
        lead = one.lead
        if lead and self.style.layout == "lines":
            lead = f"// {lead}{self.style.newline}{self.style.unit * (depth + 1)}"
        elif lead:
            lead = f"/* {lead} */ "
        return lead + ("" if one.key is None else one.key + self.style.colon) + value

    def below(self) -> Iterator[Box]:
        yield self
        for one in self.entries:
            if isinstance(one.value, Box):
                yield from one.value.below()


@dataclass
class Lines:
    """A text, or TOML, as lines with names; a block is a line with others that belong to it."""

    lines: list[tuple[str, str]]
    newline: str = "\n"
    final: bool = True

    def text(self) -> str:
        found = self.newline.join(text.replace("\n", self.newline) for _, text in self.lines)
        return found + (self.newline if self.final and self.lines else "")

    def at(self, name: str) -> int | None:
        return next((at for at, (one, _) in enumerate(self.lines) if one == name), None)


@dataclass
class File:
    """One file: what it holds, its mode, what stands before its first byte."""

    body: Box | Lines
    mode: int = 0o644
    mark: str = ""
    ending: str = ""

    def content(self) -> bytes:
        return (self.mark + self.body.text() + self.ending).encode()


@dataclass
class Files:
    """A harness by path."""

    files: dict[str, File] = field(default_factory=dict)

    def without(self, edits: list[Edit], live: set[int]) -> Files:
        """The harness with some of its edits."""
        found = deepcopy(self)
        for at, edit in enumerate(edits):
            if at in live:
                edit(found)
        return found

    def images(self) -> dict[str, tuple[bytes, int]]:
        return {path: (file.content(), file.mode) for path, file in sorted(self.files.items())}

    def box(self, path: str, name: str) -> Box | None:
        file = self.files.get(path)
        if file is None or not isinstance(file.body, Box):
            return None
        return next((box for box in file.body.below() if box.name == name), None)


class Pen:
    """Writes values in odd layouts, each container in one of its own or all alike."""

    def __init__(self, rnd: random.Random, *, comments: bool, trailing: bool) -> None:
        self.rnd = rnd
        self.comments = comments
        self.trailing = trailing
        self.newline = rnd.choice(["\n", "\n", "\r\n"])
        self.unit = rnd.choice(["  ", "    ", "\t", " "])
        self.colon = rnd.choice([":", ": ", " : "])
        self.layouts = rnd.choice([["lines"], ["packed"], ["commas first"], list(LAYOUTS)])
        self.count = 0

    def style(self) -> Style:
        trailing = self.trailing and self.rnd.random() < 0.5
        return Style(self.rnd.choice(self.layouts), self.unit, self.colon, self.newline, trailing)

    def box(self, value: Any, name: str = "") -> Box:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        style = self.style()
        entries = [self.entry(item, key if isinstance(value, dict) else None, f"{name}/{key}") for key, item in pairs]
        return Box(name, "{" if isinstance(value, dict) else "[", entries, style)

    def entry(self, item: Any, key: str | None, name: str) -> Entry:
        lead = tail = ""
        if self.comments and self.rnd.random() < 0.3:
            self.count += 1
            lead = f"lead {self.count}" if self.rnd.random() < 0.5 else ""
            tail = "" if lead else f" // tail {self.count}"
        body = self.box(item, name) if isinstance(item, dict | list) and item else json.dumps(item)
        return Entry(name, None if key is None else json.dumps(key), body, lead, tail)


_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n\r]*|/\*.*?\*/', re.DOTALL)
_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[\]}])')


def meaning(path: str, content: bytes) -> Any:
    """What a file says to its client, read without our own code; of a text, the text."""
    text = content.decode("utf-8-sig")
    if path.endswith(".toml"):
        return tomllib.loads(text)
    if path.endswith((".json", ".jsonc")):
        plain = _COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
        return json.loads(_COMMA.sub(lambda found: found[0] if found[0].startswith('"') else "", plain))
    return text


def comments_in(path: str, content: bytes) -> list[str]:
    """The comments of a document, sorted."""
    text = content.decode("utf-8-sig")
    if path.endswith((".json", ".jsonc")):
        return sorted(found.strip(" /*") for found in _COMMENT.findall(text) if not found.startswith('"'))
    return sorted(re.findall(r"# \w+ \d+", text)) if path.endswith(".toml") else []
