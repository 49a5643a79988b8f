"""JSON documents edited in place: strict JSON, and JSON with comments and trailing commas.

One scanner gives every value its span. A strict document is read by the strict reader as well, which decides what
is JSON; the scanner only says where things stand. New values are written in the document's own style: its
indentation, its line ending, its blanks behind commas and colons.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn

from takeback.adapters.formats.brackets import Bracketed, Listing, Span, Style, paired
from takeback.adapters.formats.document import (
    BOM,
    MISSING,
    Document,
    Edit,
    Path,
    Step,
    line_and_column,
    newline_of,
)
from takeback.canonical import compact, parse, pretty
from takeback.errors import InputError, LimitError
from takeback.state.values import MAX_DEPTH

_SPACE = re.compile(rb"[ \t\r\n]*")
_COMMENT = re.compile(rb"//[^\n\r]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\.)*"')
_ATOM = re.compile(rb"-?[0-9][0-9.eE+-]*|true|false|null")
_COLON = re.compile(rb'"(:[ \t]*)')
_INDENT = re.compile(rb"\n([ \t]+)\S")
DEEPEST = 4 * MAX_DEPTH


@dataclass(slots=True)
class Node:
    """A value and its span; containers have children and a listing."""

    span: Span
    value: Any
    members: dict[str, list[Node]] = field(default_factory=dict)
    """An object's values by key, each with its whole member's place in the listing."""
    places: dict[str, list[int]] = field(default_factory=dict)
    items: list[Node] = field(default_factory=list)
    listing: Listing | None = None


class JsonDocument(Document):
    """Strict JSON."""

    comments: ClassVar[bool] = False

    def __init__(self, data: bytes, where: str) -> None:
        super().__init__(data, where)
        self._root = _Scanner(data, where, comments=self.comments).document()
        if not self.comments:
            parse(data.removeprefix(BOM), where)

    @property
    def value(self) -> Any:
        """The value."""
        return self._root.value

    def _find(self, path: Path) -> Node | None:
        node = self._root
        for step in path:
            if isinstance(step, str) and step in node.members:
                node = node.members[step][-1]
            elif isinstance(step, int) and isinstance(node.value, list) and 0 <= step < len(node.items):
                node = node.items[step]
            else:
                return None
        return node

    def _set(self, path: Path, value: Any) -> list[Edit]:
        node = self._find(path)
        if node is not None:
            indent = self._bracketed(self._root).indent(node.span[0]) if self._many_lines(node) else None
            return [Edit(*node.span, self.text(value, indent))]
        above = self._container(path[:-1])
        if above is None:
            return self._set(path[:-1], {str(path[-1]): value})
        if not isinstance(above.value, dict):
            raise self.refusal(path, "what it would lie in is not an object")
        return self._bracketed(above).insert(len(above.items), lambda indent: self._member(path[-1], value, indent))

    def _remove(self, path: Path) -> list[Edit]:
        above = self._container(path[:-1])
        if above is None or self._find(path) is None:
            raise self.refusal(path, "there is nothing")
        if isinstance(path[-1], int):
            return self._bracketed(above).cut(path[-1])
        places = above.places[path[-1]]
        if len(places) > 1:
            raise self.refusal(path, "the key is there more than once")
        return self._bracketed(above).cut(places[0])

    def _insert(self, path: Path, value: Any) -> list[Edit]:
        return self._list(path).insert(int(path[-1]), lambda indent: self.text(value, indent))

    def _move(self, path: Path, to: int) -> list[Edit]:
        return self._list(path).move(int(path[-1]), to)

    def _list(self, path: Path) -> Bracketed:
        above = self._container(path[:-1])
        if above is None or not isinstance(above.value, list):
            raise self.refusal(path[:-1], "it is not a list")
        return self._bracketed(above)

    def _container(self, path: Path) -> Node | None:
        node = self._find(path)
        if node is not None and node.listing is None:
            raise self.refusal(path, "it is neither an object nor a list")
        return node

    def _bracketed(self, node: Node) -> Bracketed:
        listing = node.listing or Listing(*node.span, (), (), ())
        pretty = self._many_lines(self._root)
        style = Style(newline_of(self.data), self._unit() if pretty else None, gap=b" " if self._spaced() else b"")
        return Bracketed(self.data, listing, style)

    def _many_lines(self, node: Node) -> bool:
        return b"\n" in self.data[slice(*node.span)]

    def _spaced(self) -> bool:
        found = _COLON.search(self.data)
        return found is None or len(found[1]) > 1

    def _unit(self) -> bytes:
        found = _INDENT.search(self.data)
        return b"  " if found is None else found[1]

    def _member(self, key: Step, value: Any, indent: bytes | None) -> bytes:
        colon = b": " if self._spaced() else b":"
        return self.text(str(key), None) + colon + self.text(value, indent)

    def text(self, value: Any, indent: bytes | None) -> bytes:
        """A value as this document would write it; over several lines where its own line has an indentation."""
        if indent is None or not isinstance(value, dict | list) or not value:
            return (pretty(value, indent=None) if self._spaced() else compact(value)).encode()
        written = pretty(value, indent=self._unit().decode()).encode()
        return written.replace(b"\n", newline_of(self.data) + indent)


class JsoncDocument(JsonDocument):
    """JSON with comments and trailing commas."""

    comments = True


class _Scanner:
    """One pass over the bytes."""

    def __init__(self, data: bytes, where: str, *, comments: bool) -> None:
        self.data, self.where, self.lenient = data, where, comments
        self.at = len(BOM) if data.startswith(BOM) else 0
        self.comments: list[Span] = []

    def document(self) -> Node:
        self.space()
        node = self.one(0)
        self.space()
        if self.at < len(self.data):
            self.fail("something behind the value")
        return node

    def space(self) -> None:
        while True:
            found = _SPACE.match(self.data, self.at)
            self.at = found.end() if found else self.at
            comment = _COMMENT.match(self.data, self.at) if self.lenient else None
            if comment is None:
                return
            self.comments.append(comment.span())
            self.at = comment.end()

    def one(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise LimitError(self.where, found="deeper nesting", expected=f"at most {MAX_DEPTH} levels")
        byte = self.data[self.at : self.at + 1]
        if byte in {b"{", b"["}:
            return self.container(b"}" if byte == b"{" else b"]", depth)
        found = (_STRING if byte == b'"' else _ATOM).match(self.data, self.at)
        if found is None:
            self.fail("no value")
        self.at = found.end()
        return Node(found.span(), self.scalar(found.group()))

    def scalar(self, text: bytes) -> Any:
        try:
            return parse(text.decode(), self.where)
        except (InputError, UnicodeDecodeError):
            self.at -= len(text)
            self.fail("a malformed value")

    def container(self, close: bytes, depth: int) -> Node:
        start, outer = self.at, self.comments
        self.at, self.comments = self.at + 1, []
        node = Node((start, start), {} if close == b"}" else [])
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
        if commas and len(commas) == len(spans) and not self.lenient:
            self.fail("a comma before the end")
        self.at += 1
        node.span = (start, self.at)
        node.listing = Listing(start, self.at, tuple(spans), paired(spans, commas), tuple(self.comments))
        self.comments = outer
        return node

    def item(self, node: Node, depth: int) -> None:
        node.items.append(self.one(depth + 1))
        node.value.append(node.items[-1].value)

    def member(self, node: Node, place: int, depth: int) -> None:
        found = _STRING.match(self.data, self.at)
        if found is None:
            self.fail("no key in quotes")
        self.at = found.end()
        key = self.scalar(found.group())
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

    def fail(self, found: str) -> NoReturn:
        place = f"{self.where}, {line_and_column(self.data, self.at)}"
        raise InputError(place, found=f"malformed JSON ({found})", expected="valid JSON")


__all__ = ["MISSING", "JsonDocument", "JsoncDocument"]
