"""JSON documents edited in place, one class per dialect: strict, with comments, with trailing commas, JSON5.

The scanner says where everything stands. New values are written as their neighbours are, or else as the document is:
its indentation, its line ending, its blanks behind commas and colons, its quotes. The order of an object's members
is kept, and can be chosen: `insert_member`, `move_member`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from takeback.adapters.formats.brackets import Bracketed, Listing, Render, Style
from takeback.adapters.formats.document import BOM, MISSING, Document, DocumentPath, Splice, changed, inserted
from takeback.adapters.formats.json_scan import JsonDialect, JsonNode, Scanner
from takeback.canonical import comparable, parse
from takeback.errors import InputError

if TYPE_CHECKING:
    from takeback.adapters.formats.json_style import Manner

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
        """The value."""
        return self._root.value

    @property
    def _content(self) -> bytes:
        return self.data.removeprefix(BOM)

    def same(self, one: Any, two: Any) -> bool:
        """Whether two values are the same, the order of keys included."""
        return comparable(one, ordered=True) == comparable(two, ordered=True)

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
            return self._begun(changed({}, path, value))
        if node is not None:
            indent = self._bracketed(self._root).indent(node.span[0]) if self._many_lines(node) else None
            return [Splice(*node.span, self._manner.text(value, indent))]
        above = self._container(path[:-1])
        if isinstance(path[-1], int):
            raise self.refusal(path, "there is no such item")
        if above is None:
            return self._set(path[:-1], changed({}, path[-1:], value))
        return self._insert_member(path, value, len(above.items))

    def _remove(self, path: DocumentPath) -> list[Splice]:
        above = self._container(path[:-1])
        if above is None or self._find(path) is None:
            raise self.refusal(path, "there is nothing")
        return self._bracketed(above).cut(self._place(above, path))

    def _insert(self, path: DocumentPath, value: Any) -> list[Splice]:
        if not self._content.strip():
            return self._begun(inserted({}, path, value))
        above = self._find(path[:-1])
        if above is None:
            return self._set(path[:-1], [value])
        if not isinstance(above.value, list):
            raise self.refusal(path[:-1], "it is not a list")
        return self._bracketed(above, path[:-1]).insert(int(path[-1]), self._render(above, b"", value))

    def _move(self, path: DocumentPath, to: int) -> list[Splice]:
        return self._list(path).move(int(path[-1]), to)

    def _insert_member(self, path: DocumentPath, value: Any, at: int) -> list[Splice]:
        if not self._content.strip():
            return self._begun(changed({}, path, value))
        above = self._container(path[:-1])
        if above is None or not isinstance(above.value, dict):
            raise self.refusal(path, "what it would lie in is not an object")
        if at < len(above.items) and len(above.items) != len(above.members):
            raise self.refusal(path, "some key of the object is there more than once")
        from takeback.adapters.formats.json_style import beside  # noqa: PLC0415 - start-up of hooks, which only read

        manner = beside(self.data, above, self._manner, self.dialect)
        key = manner.key(str(path[-1])) + manner.colon
        return self._bracketed(above, path[:-1]).insert(at, self._render(above, key, value))

    def _move_member(self, path: DocumentPath, to: int) -> list[Splice]:
        above = self._container(path[:-1])
        if above is None or self._find(path) is None:
            raise self.refusal(path, "there is nothing")
        if len(above.items) != len(above.members):
            raise self.refusal(path, "some key of the object is there more than once")
        return self._bracketed(above).move(self._place(above, path), to)

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
        return self._bracketed(above)

    def _container(self, path: DocumentPath) -> JsonNode | None:
        node = self._find(path)
        if node is not None and node.listing is None:
            raise self.refusal(path, "it is neither an object nor a list")
        return node

    def _begun(self, value: Any) -> list[Splice]:
        """A document where there was none."""
        at = len(self.data) - len(self._content)
        end = b"" if b"\n" in self._content else self.newline
        return [Splice(at, at, self._manner.text(value, b"") + end)]

    def _render(self, above: JsonNode, key: bytes, value: Any) -> Render:
        """A new item's text: on one line if the containers beside it are."""
        single = self._one_line(above)
        return lambda indent: key + self._manner.text(value, None if single else indent)

    def _bracketed(self, node: JsonNode, path: DocumentPath = ()) -> Bracketed:
        """The list of a container; the first item of an empty one follows the containers beside it."""
        listing = node.listing or Listing(*node.span, (), (), ())
        manner = self._manner
        around = self._find(path[:-1]) if path else None
        flat = not self._many_lines(self._root) or (around is not None and self._one_line(around))
        pad = manner.pads[isinstance(node.value, list)]
        return Bracketed(self.data, listing, Style(manner.newline, None if flat else manner.unit, pad, manner.gap))

    def _one_line(self, above: JsonNode) -> bool:
        """Whether the containers in one, as far as they hold something, stand on one line each."""
        inside = [self._many_lines(item) for item in above.items if item.items]
        return bool(inside) and not any(inside)

    def _many_lines(self, node: JsonNode) -> bool:
        return b"\n" in self.data[slice(*node.span)]

    @cached_property
    def _manner(self) -> Manner:
        from takeback.adapters.formats.json_style import manner_of  # noqa: PLC0415 - as above

        return manner_of(self.data, self._root, self.dialect)


class UnambiguousJsonDocument(JsonDocument):
    """Strict JSON in which every key stands once, as in Takeback's own files."""

    repeated_keys = False


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
    "UnambiguousJsonDocument",
]
