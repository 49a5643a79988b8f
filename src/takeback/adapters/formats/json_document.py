"""JSON documents edited in place, in any dialect: strict, with comments, with trailing commas, JSON5.

One pass finds every value with its span, every comma and comment. A key that stands twice has the last
value, as in the clients that read these files. New values are written as their neighbours are, or else as
the document is: its indentation, line ending, blanks and quotes. The order of an object's members is kept,
and can be chosen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from takeback.adapters.formats.brackets import Bracketed, Listing, Render, Span, Style, pair_commas
from takeback.adapters.formats.document import (
    BOM,
    MISSING,
    Document,
    DocumentPath,
    Splice,
    insert_value,
    locate_offset,
    put_value,
)
from takeback.canonical import MAX_DEPTH, make_comparable, parse
from takeback.errors import InputError, LimitError

if TYPE_CHECKING:
    from takeback.adapters.formats.json_style import Manner


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
        self._space, self._string = _SPACE, _STRING
        if dialect.json5:
            from takeback.adapters.formats import json_style as five  # noqa: PLC0415 - start-up of hooks

            self._space, self._string = five.SPACE, five.STRING
            self._number, self._identifier = five.NUMBER, five.IDENTIFIER
            self._reading = {five.STRING: five.parse_string, five.NUMBER: five.parse_number}
            self._name = five.parse_identifier

    def document(self) -> JsonNode:
        """Return the whole text as one value."""
        self.space()
        node = self.one(0)
        self.space()
        if self.at < len(self.data):
            self.fail("something after the value")
        return node

    def space(self) -> None:
        """Skip blanks and comments."""
        while True:
            match = self._space.match(self.data, self.at)
            self.at = match.end() if match else self.at
            comment = _COMMENT.match(self.data, self.at) if self.dialect.comments else None
            if comment is None:
                return
            self.comments.append(comment.span())
            self.at = comment.end()

    def one(self, depth: int) -> JsonNode:
        """Return the value at this position."""
        if depth > DEEPEST:
            raise LimitError(self.where, found="deeper nesting", expected=f"at most {MAX_DEPTH} levels")
        byte = self.data[self.at : self.at + 1]
        if byte in {b"{", b"["}:
            return self.container(b"}" if byte == b"{" else b"]", depth)
        if self.dialect.json5:
            word = _WORD if byte in {b"t", b"f", b"n"} else self._number
            return self.scalar(self._string if byte in {b'"', b"'"} else word)
        return self.scalar(_STRING if byte == b'"' else _ATOM)

    def scalar(self, pattern: re.Pattern[bytes]) -> JsonNode:
        """Return a text, a number or a word."""
        match = pattern.match(self.data, self.at)
        if match is None:
            self.fail("no value")
        try:
            text = match.group().decode()
            read = self._reading.get(pattern) if self.dialect.json5 else None
            value = parse(text, self.where) if read is None else read(text)
        except (InputError, ValueError):
            self.fail("a malformed value")
        self.at = match.end()
        return JsonNode(match.span(), value)

    def container(self, close: bytes, depth: int) -> JsonNode:
        """Return an object or an array."""
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
        node.listing = Listing(start, self.at, tuple(spans), pair_commas(spans, commas), tuple(self.comments))
        self.comments = outer
        return node

    def item(self, node: JsonNode, depth: int) -> None:
        """Read an array's next item."""
        node.items.append(self.one(depth + 1))
        node.value.append(node.items[-1].value)

    def member(self, node: JsonNode, place: int, depth: int) -> None:
        """Read an object's next member."""
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
        """Return the key at this position."""
        if self._string.match(self.data, self.at):
            return str(self.scalar(self._string).value)
        match = self._identifier.match(self.data, self.at) if self.dialect.json5 else None
        if match is None:
            self.fail("no key" if self.dialect.json5 else "no key in quotes")
        try:
            name = self._name(match.group().decode())
        except ValueError:
            self.fail("a malformed key")
        self.at = match.end()
        return name

    def fail(self, fact: str) -> NoReturn:
        """Say what is wrong here."""
        place = f"{self.where}, {locate_offset(self.data, self.at)}"
        kind = "JSON5" if self.dialect.json5 else "JSON"
        raise InputError(place, found=f"malformed {kind} ({fact})", expected=f"valid {kind}")


TWICE = "the key is there more than once"


class JsonDocument(Document):
    """Strict JSON. A key that stands twice has its last value."""

    dialect: ClassVar[JsonDialect] = JsonDialect()
    blank: ClassVar[bool] = False
    """Whether an empty or blank text means `{}`."""
    byte_order_mark: ClassVar[bool] = True
    """Whether one is allowed."""
    repeated_keys: ClassVar[bool] = True
    """Whether they are allowed."""

    def __init__(self, data: bytes, where: str) -> None:
        super().__init__(data, where)
        if not self.byte_order_mark and data.startswith(BOM):
            raise InputError(f"{where}, line 1, column 1", found="a byte-order mark", expected="JSON without one")
        if self.blank and not self._content.strip():
            self._root = JsonNode((len(data), len(data)), {})
            return
        self._root = Scanner(data, where, self.dialect).document()
        if not self.repeated_keys:
            parse(self._content, where)

    @property
    def value(self) -> Any:
        return self._root.value

    @property
    def _content(self) -> bytes:
        return self.data.removeprefix(BOM)

    def same(self, old: Any, new: Any) -> bool:
        """Return whether two values are the same, the order of keys included."""
        return make_comparable(old, ordered=True) == make_comparable(new, ordered=True)

    def _find(self, path: DocumentPath) -> JsonNode | None:
        node = self._root
        for step in path:
            if isinstance(step, str) and step in node.members:
                node = node.members[step][-1]
            elif isinstance(step, int) and isinstance(node.value, list) and 0 <= step < len(node.items):
                node = node.items[step]
            else:
                return None
        return node

    def _set(self, path: DocumentPath, value: Any) -> list[Splice]:
        node = self._find(path)
        if not self._content.strip():
            return self._begin_document(put_value({}, path, value))
        if node is not None:
            indent = self._build_bracketed(self._root).indent(node.span[0]) if self._many_lines(node) else None
            return [Splice(*node.span, self._manner.text(value, indent))]
        above = self._container(path[:-1])
        if isinstance(path[-1], int):
            raise self.refusal(path, "there is no such item")
        if above is None:
            return self._set(path[:-1], put_value({}, path[-1:], value))
        return self._insert_member(path, value, len(above.items))

    def _remove(self, path: DocumentPath) -> list[Splice]:
        above = self._container(path[:-1])
        if above is None or self._find(path) is None:
            raise self.refusal(path, "there is nothing")
        return self._build_bracketed(above).cut(self._place(above, path))

    def _insert(self, path: DocumentPath, value: Any) -> list[Splice]:
        if not self._content.strip():
            return self._begin_document(insert_value({}, path, value))
        above = self._find(path[:-1])
        if above is None:
            return self._set(path[:-1], [value])
        if not isinstance(above.value, list):
            raise self.refusal(path[:-1], "it is not a list")
        return self._build_bracketed(above, path[:-1]).insert(int(path[-1]), self._render(above, b"", value))

    def _move(self, path: DocumentPath, to: int) -> list[Splice]:
        return self._list(path).move(int(path[-1]), to)

    def _insert_member(self, path: DocumentPath, value: Any, at: int) -> list[Splice]:
        if not self._content.strip():
            return self._begin_document(put_value({}, path, value))
        above = self._container(path[:-1])
        if above is None or not isinstance(above.value, dict):
            raise self.refusal(path, "what it would lie in is not an object")
        if at < len(above.items) and len(above.items) != len(above.members):
            raise self.refusal(path, "some key of the object is there more than once")
        from takeback.adapters.formats.json_style import detect_member_manner  # noqa: PLC0415 - start-up of hooks, which only read

        manner = detect_member_manner(self.data, above, self._manner, self.dialect)
        key = manner.key(str(path[-1])) + manner.colon
        return self._build_bracketed(above, path[:-1]).insert(at, self._render(above, key, value))

    def _move_member(self, path: DocumentPath, to: int) -> list[Splice]:
        above = self._container(path[:-1])
        if above is None or self._find(path) is None:
            raise self.refusal(path, "there is nothing")
        if len(above.items) != len(above.members):
            raise self.refusal(path, "some key of the object is there more than once")
        return self._build_bracketed(above).move(self._place(above, path), to)

    def _place(self, above: JsonNode, path: DocumentPath) -> int:
        step = path[-1]
        if isinstance(step, int):
            return step
        if len(above.places[step]) > 1:
            raise self.refusal(path, TWICE)
        return above.places[step][0]

    def _list(self, path: DocumentPath) -> Bracketed:
        above = self._container(path[:-1])
        if above is None or not isinstance(above.value, list):
            raise self.refusal(path[:-1], "it is not a list")
        return self._build_bracketed(above)

    def _container(self, path: DocumentPath) -> JsonNode | None:
        node = self._find(path)
        if node is not None and node.listing is None:
            raise self.refusal(path, "it is neither an object nor a list")
        return node

    def _begin_document(self, value: Any) -> list[Splice]:
        at = len(self.data) - len(self._content)
        end = b"" if b"\n" in self._content else self.newline
        return [Splice(at, at, self._manner.text(value, b"") + end)]

    def _render(self, above: JsonNode, key: bytes, value: Any) -> Render:
        """Return a function that renders a new item, on one line if the containers beside it are."""
        single = self._one_line(above)
        return lambda indent: key + self._manner.text(value, None if single else indent)

    def _build_bracketed(self, node: JsonNode, path: DocumentPath = ()) -> Bracketed:
        """Return the list of a container; the first item of an empty one follows the containers beside it."""
        listing = node.listing or Listing(*node.span, (), (), ())
        manner = self._manner
        around = self._find(path[:-1]) if path else None
        flat = not self._many_lines(self._root) or (around is not None and self._one_line(around))
        pad = manner.pads[isinstance(node.value, list)]
        return Bracketed(self.data, listing, Style(manner.newline, None if flat else manner.unit, pad, manner.gap))

    def _one_line(self, above: JsonNode) -> bool:
        """Return whether the non-empty containers inside a container stand on one line each."""
        inside = [self._many_lines(item) for item in above.items if item.items]
        return bool(inside) and not any(inside)

    def _many_lines(self, node: JsonNode) -> bool:
        return b"\n" in self.data[slice(*node.span)]

    @cached_property
    def _manner(self) -> Manner:
        from takeback.adapters.formats.json_style import detect_manner  # noqa: PLC0415 - as above

        return detect_manner(self.data, self._root, self.dialect)


class UnambiguousJsonDocument(JsonDocument):
    """Strict JSON in which every key stands once, as in Takeback's own files."""

    repeated_keys = False


class MarklessJsonDocument(JsonDocument):
    """Strict JSON without a byte-order mark, for which a client would drop the file."""

    byte_order_mark = False


class CommentedJsonDocument(JsonDocument):
    """JSON with comments, and no comma behind the last item."""

    dialect = JsonDialect(comments=True)


class JsoncDocument(JsonDocument):
    """JSON with comments and trailing commas."""

    dialect = JsonDialect(comments=True, trailing_comma=True)


class Json5Document(JsonDocument):
    """JSON5."""

    dialect = JsonDialect(comments=True, trailing_comma=True, json5=True)


__all__ = [
    "MISSING",
    "CommentedJsonDocument",
    "Json5Document",
    "JsonDocument",
    "JsoncDocument",
    "MarklessJsonDocument",
    "UnambiguousJsonDocument",
]
