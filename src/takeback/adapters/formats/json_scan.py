"""One pass over a JSON text, in any of its dialects: every value with its span, every comma and comment.

A dialect says what a text may hold beyond strict JSON: comments, a comma behind the last item, JSON5's spellings.
A key that stands twice has the last value, as in the clients that read these files. Spans are offsets of bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from takeback.adapters.formats.brackets import Listing, Span, paired
from takeback.adapters.formats.document import BOM, line_and_column
from takeback.adapters.formats.json5_values import IDENTIFIER, NUMBER, SPACE, STRING, identifier, number, string
from takeback.canonical import MAX_DEPTH, parse
from takeback.errors import InputError, LimitError

_SPACE = re.compile(rb"[ \t\r\n]*")
_COMMENT = re.compile(rb"//(?:(?!\xe2\x80[\xa8\xa9])[^\n\r])*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\.)*"')
_ATOM = re.compile(rb"-?[0-9][0-9.eE+-]*|true|false|null")
_WORD = re.compile(rb"(?:true|false|null)(?![0-9A-Za-z_$\\\x80-\xff])")
DEEPEST = 4 * MAX_DEPTH


@dataclass(frozen=True, slots=True)
class JsonDialect:
    """What a text may hold beyond strict JSON."""

    comments: bool = False
    trailing_comma: bool = False
    """Behind the last item."""
    json5: bool = False
    """Bare keys, single quotes, more spellings of numbers, escapes and blanks."""


@dataclass(slots=True)
class JsonNode:
    """A value and its span; containers have children and a listing."""

    span: Span
    value: Any
    members: dict[str, list[JsonNode]] = field(default_factory=dict)
    """An object's values by key, each with its whole member's place in the listing."""
    places: dict[str, list[int]] = field(default_factory=dict)
    keys: list[Span] = field(default_factory=list)
    """Where an object's keys stand, in order."""
    items: list[JsonNode] = field(default_factory=list)
    listing: Listing | None = None


class Scanner:
    """Reads one text."""

    def __init__(self, data: bytes, where: str, dialect: JsonDialect) -> None:
        self.data, self.where, self.dialect = data, where, dialect
        self.at = len(BOM) if data.startswith(BOM) else 0
        self.comments: list[Span] = []
        self._space = SPACE if dialect.json5 else _SPACE
        self._string = STRING if dialect.json5 else _STRING

    def document(self) -> JsonNode:
        """The whole text as one value."""
        self.space()
        node = self.one(0)
        self.space()
        if self.at < len(self.data):
            self.fail("something behind the value")
        return node

    def space(self) -> None:
        """Pass blanks and comments."""
        while True:
            found = self._space.match(self.data, self.at)
            self.at = found.end() if found else self.at
            comment = _COMMENT.match(self.data, self.at) if self.dialect.comments else None
            if comment is None:
                return
            self.comments.append(comment.span())
            self.at = comment.end()

    def one(self, depth: int) -> JsonNode:
        """The value here."""
        if depth > DEEPEST:
            raise LimitError(self.where, found="deeper nesting", expected=f"at most {MAX_DEPTH} levels")
        byte = self.data[self.at : self.at + 1]
        if byte in {b"{", b"["}:
            return self.container(b"}" if byte == b"{" else b"]", depth)
        if self.dialect.json5:
            return self.scalar(STRING if byte in {b'"', b"'"} else _WORD if byte in {b"t", b"f", b"n"} else NUMBER)
        return self.scalar(_STRING if byte == b'"' else _ATOM)

    def scalar(self, pattern: re.Pattern[bytes]) -> JsonNode:
        """A text, a number or a word."""
        found = pattern.match(self.data, self.at)
        if found is None:
            self.fail("no value")
        try:
            text = found.group().decode()
            read = {STRING: string, NUMBER: number}.get(pattern)
            value = parse(text, self.where) if read is None else read(text)
        except (InputError, ValueError):
            self.fail("a malformed value")
        self.at = found.end()
        return JsonNode(found.span(), value)

    def container(self, close: bytes, depth: int) -> JsonNode:
        """An object or an array."""
        start, outer = self.at, self.comments
        self.at, self.comments = self.at + 1, []
        node = JsonNode((start, start), {} if close == b"}" else [])
        spans: list[Span] = []
        commas: list[int] = []
        self.space()
        while self.data[self.at : self.at + 1] != close:
            if len(commas) < len(spans):
                self.fail("no comma")
            begin = self.at
            self.member(node, len(spans), depth) if close == b"}" else self.item(node, depth)
            spans.append((begin, node.items[-1].span[1]))
            self.space()
            if self.data[self.at : self.at + 1] == b",":
                commas.append(self.at)
                self.at += 1
                self.space()
        if commas and len(commas) == len(spans) and not self.dialect.trailing_comma:
            self.fail("a comma before the end")
        self.at += 1
        node.span = (start, self.at)
        node.listing = Listing(start, self.at, tuple(spans), paired(spans, commas), tuple(self.comments))
        self.comments = outer
        return node

    def item(self, node: JsonNode, depth: int) -> None:
        """An array's next item."""
        node.items.append(self.one(depth + 1))
        node.value.append(node.items[-1].value)

    def member(self, node: JsonNode, place: int, depth: int) -> None:
        """An object's next member."""
        start = self.at
        key = self.key()
        node.keys.append((start, self.at))
        self.space()
        if self.data[self.at : self.at + 1] != b":":
            self.fail("no colon")
        self.at += 1
        self.space()
        below = self.one(depth + 1)
        node.items.append(below)
        node.members.setdefault(key, []).append(below)
        node.places.setdefault(key, []).append(place)
        node.value[key] = below.value

    def key(self) -> str:
        """The key here."""
        if self._string.match(self.data, self.at):
            return str(self.scalar(self._string).value)
        found = IDENTIFIER.match(self.data, self.at) if self.dialect.json5 else None
        if found is None:
            self.fail("no key" if self.dialect.json5 else "no key in quotes")
        try:
            name = identifier(found.group().decode())
        except ValueError:
            self.fail("a malformed key")
        self.at = found.end()
        return name

    def fail(self, found: str) -> NoReturn:
        """Say what is wrong here."""
        place = f"{self.where}, {line_and_column(self.data, self.at)}"
        kind = "JSON5" if self.dialect.json5 else "JSON"
        raise InputError(place, found=f"malformed {kind} ({found})", expected=f"valid {kind}")
