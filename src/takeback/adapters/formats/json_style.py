"""How a JSON document is written, as far as its own text shows, and how JSON5 spells single values.

What a document does not show is taken from what editors commonly write. Strict JSON means the same in
JSON5; infinities and NaN are numbers of JSON5, and no JSON values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from takeback.adapters.formats.document import detect_newline
from takeback.adapters.formats.json_document import JsonDialect, JsonNode
from takeback.canonical import parse, write_compact

_BLANK = (
    rb"[ \t\r\n\x0b\x0c]|\xc2\xa0|\xef\xbb\xbf|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
)
SPACE = re.compile(rb"(?:" + _BLANK + rb")*")
STRING = re.compile(rb""""(?:[^"\\\n\r]|\\(?:\r\n|.))*"|'(?:[^'\\\n\r]|\\(?:\r\n|.))*'""", re.DOTALL)
NUMBER = re.compile(
    rb"[+-]?(?:0[xX][0-9a-fA-F]+|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|Infinity|NaN)"
    rb"(?![0-9A-Za-z_$\\.\x80-\xff])"
)
IDENTIFIER = re.compile(rb"(?:(?!" + _BLANK + rb")[0-9A-Za-z_$\x80-\xff]|\\u[0-9a-fA-F]{4})+")
_ESCAPE = re.compile(
    "\\\\(?:(?P<line>\r\n|[\n\r\u2028\u2029])|x(?P<two>[0-9a-fA-F]{2})|u(?P<four>[0-9a-fA-F]{4})"
    "|(?P<zero>0(?![0-9]))|(?P<one>[^0-9xu])|(?P<wrong>.|$))",
    re.DOTALL,
)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_DECIMAL = re.compile(r"([+-]?)([0-9]*)(\.?)([0-9]*)(.*)")
_JOINERS = str.maketrans({"$": "_", "\u200c": "_", "\u200d": "_"})
BARE = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
"""Keys that are written without quotes."""


def parse_string(text: str) -> str:
    """Return the value of a text in quotes."""
    return _join_surrogates(_ESCAPE.sub(_decode_escape, text[1:-1]))


def parse_identifier(text: str) -> str:
    """Return the name that a bare key spells."""
    name = _join_surrogates(_ESCAPE.sub(_decode_escape, text))
    if name[:1] in {"\u200c", "\u200d"} or not name.translate(_JOINERS).isidentifier():
        raise ValueError("not a name")
    return name


def parse_number(text: str) -> Any:
    """Return the value of a number."""
    bare = text.lstrip("+-")
    if bare in {"Infinity", "NaN"}:
        return float(text.replace("Infinity", "inf"))
    if bare[:2] in {"0x", "0X"}:
        return int(text, 16)
    match = _DECIMAL.fullmatch(text)
    if match is None:
        raise ValueError(text)
    sign, whole, dot, fraction, power = match.groups()
    point = f".{fraction or 0}" if dot else ""
    return parse(f"{sign.replace('+', '')}{whole or 0}{point}{power}", text)


def _decode_escape(match: re.Match[str]) -> str:
    match match.lastgroup:
        case "line":
            return ""
        case "two" | "four":
            return chr(int(match[match.lastgroup], 16))
        case "zero":
            return "\0"
        case "one":
            return _SHORT.get(match["one"], match["one"])
        case _:
            raise ValueError("an escape that is none")


def _join_surrogates(text: str) -> str:
    """Join pairs of surrogates, written as two escapes, into characters; refuse half a pair."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


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
        """Return a value as bytes, over several lines if its line has an indentation."""
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
        """Return a key as bytes."""
        return name.encode() if self.bare_keys and BARE.fullmatch(name) else self._scalar(name)

    def _deeper(self, indent: bytes | None) -> bytes | None:
        return None if indent is None else indent + self.unit

    def _scalar(self, value: Any) -> bytes:
        text = write_compact(value)
        if self.single_quotes and isinstance(value, str):
            inside = text[1:-1].replace('\\"', '"').replace("'", "\\'")
            text = f"'{inside}'"
        return text.encode()


def detect_manner(data: bytes, root: JsonNode, dialect: JsonDialect) -> Manner:
    """Return the manner in which a document is written."""
    nodes = list(_list_containers(root))
    indent = _INDENT.search(data)
    colon = _find_most_frequent(_list_colons(data, nodes), b": ")
    base = Manner(
        detect_newline(data),
        b"  " if indent is None else indent[1],
        colon,
        _find_most_frequent(_list_gaps(data, nodes), colon[-1:].strip(b":")),
    )
    pads = tuple(
        _find_most_frequent(_list_pads(data, [node for node in nodes if isinstance(node.value, kind)]), b"")
        for kind in (dict, list)
    )
    manner = replace(base, pads=(pads[0], pads[1]))
    if dialect.trailing_comma:
        manner = replace(manner, trailing=_find_most_frequent(_list_ends(data, nodes), b"") == b",")
    if not dialect.json5:
        return manner
    quotes = [
        data[node.span[0] : node.span[0] + 1] for node in nodes for node in node.items if isinstance(node.value, str)
    ]
    return replace(
        manner,
        single_quotes=_find_most_frequent(quotes, b'"') == b"'",
        bare_keys=_are_keys_bare(data, nodes, default=True),
    )


def detect_member_manner(data: bytes, above: JsonNode, manner: Manner, dialect: JsonDialect) -> Manner:
    """Return the manner in which the members of one object are written."""
    colon = _find_most_frequent(_list_colons(data, [above]), manner.colon)
    if not dialect.json5:
        return replace(manner, colon=colon)
    return replace(manner, colon=colon, bare_keys=_are_keys_bare(data, [above], default=manner.bare_keys))


def _list_containers(root: JsonNode) -> Iterator[JsonNode]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.listing is not None:
            yield node
            waiting += reversed(node.items)


def _find_most_frequent(items: Iterable[bytes], default: bytes) -> bytes:
    counted = Counter(items)
    return max(counted, key=lambda item: counted[item]) if counted else default


def _list_colons(data: bytes, nodes: Iterable[JsonNode]) -> Iterator[bytes]:
    """Yield the bytes between keys and values; several blanks, which align something, count as one."""
    for node in nodes:
        for key, item in zip(node.keys, node.items, strict=False):
            if _COLON.fullmatch(between := data[key[1] : item.span[0]]):
                yield _ALIGNED.sub(b" ", between)


def _list_gaps(data: bytes, nodes: Iterable[JsonNode]) -> Iterator[bytes]:
    for node in nodes:
        if node.listing is not None:
            for comma, (start, _) in zip(node.listing.commas, node.listing.items[1:], strict=False):
                if comma is not None and _BLANKS.fullmatch(between := data[comma + 1 : start]):
                    yield between


def _list_pads(data: bytes, nodes: Iterable[JsonNode]) -> Iterator[bytes]:
    for node in nodes:
        if node.listing is not None and node.items and b"\n" not in data[slice(*node.span)]:
            before = data[node.span[0] + 1 : node.listing.items[0][0]]
            if _BLANKS.fullmatch(before):
                yield before


def _list_ends(data: bytes, nodes: Iterable[JsonNode]) -> Iterator[bytes]:
    for node in nodes:
        if node.listing is not None and node.items and b"\n" in data[node.listing.items[-1][1] : node.span[1]]:
            yield b"" if node.listing.commas[-1] is None else b","


def _are_keys_bare(data: bytes, nodes: Iterable[JsonNode], *, default: bool) -> bool:
    keys = [data[slice(*key)].decode() for node in nodes for key in node.keys]
    quoted = [key[0] in "\"'" for key in keys if BARE.fullmatch(key.strip("\"'"))]
    return 2 * sum(quoted) < len(quoted) if quoted else default
