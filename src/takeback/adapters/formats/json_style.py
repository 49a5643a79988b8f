"""How a JSON document is written, as far as its own text shows: quotes, blanks, indentation, commas at the end.

What a document does not show is taken from what editors commonly write.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from takeback.adapters.formats.document import newline_of
from takeback.adapters.formats.json5_values import BARE
from takeback.adapters.formats.json_scan import JsonDialect, JsonNode
from takeback.canonical import compact

_INDENT = re.compile(rb"\n([ \t]+)[^\s]")
_COLON = re.compile(rb"[ \t]*:[ \t]*")
_ALIGNED = re.compile(rb"[ \t]{2,}")
_BLANKS = re.compile(rb"[ \t]*")


@dataclass(frozen=True, slots=True)
class Manner:
    """One way to write JSON."""

    newline: bytes = b"\n"
    unit: bytes = b"  "
    """One step of indentation."""
    colon: bytes = b": "
    gap: bytes = b" "
    """Behind a comma on one line."""
    pads: tuple[bytes, bytes] = (b"", b"")
    """Inside the braces and the brackets of a container on one line."""
    single_quotes: bool = False
    bare_keys: bool = False
    trailing: bool = False
    """Whether the last of several lines ends in a comma."""

    def text(self, value: Any, indent: bytes | None = None) -> bytes:
        """A value; over several lines where its own line has an indentation."""
        if not isinstance(value, dict | list):
            return self._scalar(value)
        items = (
            [self.key(key) + self.colon + self.text(item, self._deeper(indent)) for key, item in value.items()]
            if isinstance(value, dict)
            else [self.text(item, self._deeper(indent)) for item in value]
        )
        start, end = (b"{", b"}") if isinstance(value, dict) else (b"[", b"]")
        if not items:
            return start + end
        if indent is None:
            pad = self.pads[isinstance(value, list)]
            return start + pad + (b"," + self.gap).join(items) + pad + end
        line = self.newline + indent + self.unit
        last = b"," if self.trailing else b""
        return start + line + (b"," + line).join(items) + last + self.newline + indent + end

    def key(self, name: str) -> bytes:
        """A key."""
        return name.encode() if self.bare_keys and BARE.fullmatch(name) else self._scalar(name)

    def _deeper(self, indent: bytes | None) -> bytes | None:
        return None if indent is None else indent + self.unit

    def _scalar(self, value: Any) -> bytes:
        text = compact(value)
        if self.single_quotes and isinstance(value, str):
            inside = text[1:-1].replace('\\"', '"').replace("'", "\\'")
            text = f"'{inside}'"
        return text.encode()


def manner_of(data: bytes, root: JsonNode, dialect: JsonDialect) -> Manner:
    """The way a whole document is written."""
    nodes = list(_containers(root))
    indent = _INDENT.search(data)
    colon = _most(_colons(data, nodes), b": ")
    base = Manner(
        newline_of(data),
        b"  " if indent is None else indent[1],
        colon,
        _most(_gaps(data, nodes), colon[-1:].strip(b":")),
    )
    pads = tuple(
        _most(_pads(data, [node for node in nodes if isinstance(node.value, kind)]), b"") for kind in (dict, list)
    )
    found = replace(base, pads=(pads[0], pads[1]))
    if dialect.trailing_comma:
        found = replace(found, trailing=_most(_ends(data, nodes), b"") == b",")
    if not dialect.json5:
        return found
    quotes = [
        data[node.span[0] : node.span[0] + 1] for node in nodes for node in node.items if isinstance(node.value, str)
    ]
    return replace(found, single_quotes=_most(quotes, b'"') == b"'", bare_keys=_bare(data, nodes, default=True))


def beside(data: bytes, above: JsonNode, manner: Manner, dialect: JsonDialect) -> Manner:
    """The way the members of one object are written."""
    colon = _most(_colons(data, [above]), manner.colon)
    if not dialect.json5:
        return replace(manner, colon=colon)
    return replace(manner, colon=colon, bare_keys=_bare(data, [above], default=manner.bare_keys))


def _containers(root: JsonNode) -> Iterator[JsonNode]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.listing is not None:
            yield node
            waiting += reversed(node.items)


def _most(found: Iterable[bytes], default: bytes) -> bytes:
    """What is found most often; of equally frequent ones the first."""
    counted = Counter(found)
    return max(counted, key=lambda one: counted[one]) if counted else default


def _colons(data: bytes, nodes: Iterable[JsonNode]) -> Iterator[bytes]:
    """What stands between keys and values; several blanks, which align something, count as one."""
    for node in nodes:
        for key, item in zip(node.keys, node.items, strict=False):
            if _COLON.fullmatch(between := data[key[1] : item.span[0]]):
                yield _ALIGNED.sub(b" ", between)


def _gaps(data: bytes, nodes: Iterable[JsonNode]) -> Iterator[bytes]:
    for node in nodes:
        if node.listing is not None:
            for comma, (start, _) in zip(node.listing.commas, node.listing.items[1:], strict=False):
                if comma is not None and _BLANKS.fullmatch(between := data[comma + 1 : start]):
                    yield between


def _pads(data: bytes, nodes: Iterable[JsonNode]) -> Iterator[bytes]:
    for node in nodes:
        if node.listing is not None and node.items and b"\n" not in data[slice(*node.span)]:
            before = data[node.span[0] + 1 : node.listing.items[0][0]]
            if _BLANKS.fullmatch(before):
                yield before


def _ends(data: bytes, nodes: Iterable[JsonNode]) -> Iterator[bytes]:
    for node in nodes:
        if node.listing is not None and node.items and b"\n" in data[node.listing.items[-1][1] : node.span[1]]:
            yield b"" if node.listing.commas[-1] is None else b","


def _bare(data: bytes, nodes: Iterable[JsonNode], *, default: bool) -> bool:
    """Whether keys that need no quotes mostly have none."""
    keys = [data[slice(*key)].decode() for node in nodes for key in node.keys]
    quoted = [key[0] in "\"'" for key in keys if BARE.fullmatch(key.strip("\"'"))]
    return 2 * sum(quoted) < len(quoted) if quoted else default
