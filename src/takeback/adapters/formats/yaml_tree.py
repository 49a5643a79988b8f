"""Where everything in a YAML text stands: PyYAML's events, with the places of dashes, colons, commas and comments.

Offsets are of bytes. A node's span is what it says, without the blank lines and comments behind it that PyYAML counts
in. Refused, with line and column: malformed text, a key twice, a second document, keys that are no scalars, aliases
that lead into themselves or grow without bound.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final, NoReturn

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner
from yaml.tokens import BlockEntryToken, FlowEntryToken, KeyToken, ScalarToken, ValueToken

from takeback.adapters.formats.brackets import Span
from takeback.adapters.formats.document import BOM
from takeback.adapters.formats.yaml_values import is_merge, read_scalar
from takeback.canonical import MAX_DEPTH
from takeback.errors import InputError, LimitError

LONGEST: Final = 1_000_000
"""Bytes of a text that is read."""
MOST: Final = 200_000
"""Values of a document, each as often as aliases repeat it."""
DEEPEST: Final = 4 * MAX_DEPTH
_COMMENT: Final = re.compile("#[^\r\n\x85\u2028\u2029]*")


@dataclass(slots=True)
class YamlEntry:
    """A member of a mapping or an item of a list."""

    start: int
    """Of the dash, the key, or the question mark before a key."""
    node: YamlNode
    key: str = ""
    quote: str = ""
    """Around the key."""
    mark: int = 0
    """Behind the dash or the colon; behind the key if there is no colon."""
    colon: bool = True

    @property
    def end(self) -> int:
        """Where it ends."""
        return max(self.node.end, self.mark)


@dataclass(slots=True)
class YamlNode:
    """One value, where it stands and how it is written."""

    start: int
    """Of its anchor or tag, if it has one."""
    inner: int
    """Of the value itself."""
    end: int
    value: Any
    kind: str
    """`scalar`, `alias`, `mapping` or `list`."""
    style: str = ""
    """Of a scalar, the character that begins it; empty for a plain one. Of a container `flow`, `block` or `pair`."""
    anchor: str = ""
    tag: bool = False
    target: YamlNode | None = None
    """Of an alias."""
    entries: list[YamlEntry] = field(default_factory=list)
    own: dict[str, YamlEntry] = field(default_factory=dict)
    """Members by key, without those that a merge brings in."""
    commas: list[int] = field(default_factory=list)
    size: int = 1


@dataclass(frozen=True, slots=True)
class YamlTree:
    """A document, read."""

    root: YamlNode
    comments: tuple[Span, ...]
    aliases: dict[str, int]
    """Where each anchor is used first."""


class _MarkingParser(Reader, Scanner, Parser):
    """PyYAML's parser, which also keeps the places of what it takes in, and of comments."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        self.gaps: list[Span] = []
        self.places: dict[type, int] = {}
        self.commas: list[int] = []

    def get_token(self) -> Any:
        token: Any = super().get_token()  # type: ignore[no-untyped-call]
        if isinstance(token, FlowEntryToken):
            self.commas.append(token.start_mark.index)
        else:
            self.places[type(token)] = token.start_mark.index
        return token

    def scan_to_next_token(self) -> None:
        """Skip blanks and comments; tabs too, where no indentation can be meant."""
        start = self.index
        while True:
            while self.peek() == " " or (self.peek() == "\t" and (self.flow_level or not self.allow_simple_key)):
                self.forward()
            if self.peek() == "#":
                while self.peek() not in "\0\r\n\x85\u2028\u2029":
                    self.forward()
            if not self.scan_line_break():  # type: ignore[no-untyped-call]
                break
            if not self.flow_level:
                self.allow_simple_key = True
        self.gaps.append((start, self.index))

    def scan_block_scalar_ignored_line(self, start_mark: Any) -> None:
        start = self.index
        super().scan_block_scalar_ignored_line(start_mark)
        self.gaps.append((start, self.index))


class TreeReader:
    """Reads one text."""

    def __init__(self, data: bytes, where: str, *, newer: bool) -> None:
        self.data, self.where, self.newer = data, where, newer
        if len(data) > LONGEST:
            raise LimitError(where, found=f"{len(data)} bytes", expected=f"at most {LONGEST} bytes of YAML")
        try:
            self.text = data.removeprefix(BOM).decode()
        except UnicodeDecodeError as fault:
            line = data.count(b"\n", 0, fault.start) + 1
            raise InputError(
                f"{where}, line {line}", found="bytes that are not UTF-8", expected="UTF-8 text"
            ) from None
        base = len(BOM) if data.startswith(BOM) else 0
        self._offsets = (
            None
            if self.text.isascii()
            else list(accumulate((len(char.encode()) for char in self.text), initial=base))
        )
        self._base = base
        self.anchors: dict[str, YamlNode | None] = {}
        self.aliases: dict[str, int] = {}

    def read(self) -> YamlTree:
        """Return the tree of the text."""
        try:
            self.parser = _MarkingParser(self.text)
            return self._document()
        except yaml.MarkedYAMLError as fault:
            mark = fault.problem_mark or fault.context_mark
            self._fail(f"malformed YAML ({fault.problem or fault.context})", 0 if mark is None else mark.index)
        except yaml.reader.ReaderError as fault:
            self._fail(f"malformed YAML (the character #x{int(fault.character):04x})", int(fault.position))

    def _document(self) -> YamlTree:
        root = YamlNode(len(self.data), len(self.data), len(self.data), {}, "scalar")
        seen = False
        while not isinstance(event := self._next(), StreamEndEvent):
            if isinstance(event, DocumentStartEvent):
                if seen:
                    self._fail("a second document", self._mark(event), "one document in a file")
                seen = True
                self.newer = self.newer and event.version != (1, 1)
                root = self._node(self._next(), 0)
                if root.kind == "scalar" and root.start == root.end:
                    root.value = {}
                root.start = max(root.start, self._base)
        comments = tuple(
            (self._at(start + match.start()), self._at(start + match.end()))
            for start, end in self.parser.gaps
            for match in _COMMENT.finditer(self.text[start:end])
        )
        return YamlTree(root, tuple(sorted(set(comments))), self.aliases)

    def _next(self) -> Any:
        self.parser.places, self.parser.commas = {}, []
        event: Any = self.parser.get_event()  # type: ignore[no-untyped-call]
        return event

    def _node(self, event: Any, depth: int) -> YamlNode:
        if depth > DEEPEST:
            raise LimitError(self.where, found="deeper nesting", expected=f"at most {MAX_DEPTH} levels")
        start, end = self._at(self._mark(event)), self._at(event.end_mark.index)
        if isinstance(event, AliasEvent):
            return self._alias(event, start, end)
        if event.anchor:
            self.anchors[event.anchor] = None
        tag, anchor = event.tag is not None, event.anchor or ""
        if isinstance(event, ScalarEvent):
            token = self.parser.places.get(ScalarToken)
            inner = end if token is None else self._at(token)
            style = event.style or ""
            if style in {"|", ">"}:
                end = self._trim_block(inner, end)
            node = YamlNode(start, inner, end, self._scalar(event), "scalar", style, anchor, tag)
        elif isinstance(event, SequenceStartEvent):
            node = YamlNode(start, start, end, [], "list", "flow" if event.flow_style else "block", anchor, tag)
            self._items(node, depth)
        else:
            node = YamlNode(start, start, end, {}, "mapping", "flow" if event.flow_style else "block", anchor, tag)
            if node.style == "flow" and self.data[end - 1 : end] != b"{":
                node.style = "pair"
            self._members(node, depth)
        if event.anchor:
            self.anchors[event.anchor] = node
        if node.size > MOST:
            raise LimitError(self.where, found="more values, with aliases", expected=f"at most {MOST} values")
        return node

    def _alias(self, event: Any, start: int, end: int) -> YamlNode:
        name = str(event.anchor)
        if name not in self.anchors:
            self._fail(f"malformed YAML (the alias *{name} has no anchor before it)", self._mark(event))
        target = self.anchors[name]
        if target is None:
            self._fail(f"the alias *{name} inside its own anchor", self._mark(event), "values without a loop")
        self.aliases.setdefault(name, start)
        return YamlNode(start, start, end, target.value, "alias", target=target, size=target.size)

    def _scalar(self, event: Any) -> Any:
        plain = event.style is None
        try:
            return read_scalar(event.value, event.tag, plain=plain, newer=self.newer)
        except ValueError:
            self._fail(f"malformed YAML ({event.value[:40]!r} is not what its tag says)", self._mark(event))

    def _items(self, node: YamlNode, depth: int) -> None:
        opened = node.end
        while True:
            event = self._next()
            node.commas += map(self._at, self.parser.commas)
            if isinstance(event, SequenceEndEvent):
                break
            dash = self.parser.places.get(BlockEntryToken)
            below = self._node(event, depth + 1)
            start = below.start if dash is None else self._at(dash)
            entry = YamlEntry(start, below, mark=start if dash is None else start + 1)
            node.entries.append(entry)
            node.value.append(below.value)
            node.size += below.size
        self._close(node, opened, event)

    def _members(self, node: YamlNode, depth: int) -> None:
        opened = node.end
        merged: dict[str, Any] = {}
        value: dict[str, Any] = {}
        while True:
            event = self._next()
            node.commas += map(self._at, self.parser.commas)
            if isinstance(event, MappingEndEvent):
                break
            begin = self.parser.places.get(KeyToken, self._mark(event))
            key = self._node(event, depth + 1)
            name = self._key(event, key)
            after = self._next()
            colon = self.parser.places.get(ValueToken)
            below = self._node(after, depth + 1)
            if colon is None:
                below.start = below.inner = below.end = key.end
            mark = key.end if colon is None else self._at(colon) + 1
            quote = key.style if key.style in {"'", '"'} else ""
            entry = YamlEntry(self._at(begin), below, name, quote, mark, colon is not None)
            node.entries.append(entry)
            node.size += below.size
            if (
                not self.newer
                and isinstance(event, ScalarEvent)
                and is_merge(name, event.tag, plain=event.style is None)
            ):
                self._merge(below, merged, after)
                continue
            if name in node.own:
                self._fail(f"the key {name[:40]!r} a second time", self._mark(event), "each key once")
            node.own[name] = entry
            value[name] = below.value
        node.value.update(merged)
        node.value.update(value)
        self._close(node, opened, event)

    def _key(self, event: Any, key: YamlNode) -> str:
        if key.target is not None and isinstance(key.value, str):
            return key.value
        if not isinstance(event, ScalarEvent):
            self._fail("a key that is no single value", self._mark(event), "keys that are texts")
        return str(event.value)

    def _merge(self, node: YamlNode, merged: dict[str, Any], event: Any) -> None:
        sources = list(reversed(node.value)) if isinstance(node.value, list) else [node.value]
        if not all(isinstance(source, dict) for source in sources):
            self._fail("'<<' with something else", self._mark(event), "a mapping, or a list of mappings, to merge")
        for source in sources:
            merged.update(source)

    def _close(self, node: YamlNode, opened: int, event: Any) -> None:
        """Set where a container's value begins and ends."""
        if node.style == "flow":
            node.inner, node.end = opened - 1, self._at(event.end_mark.index)
        elif node.entries:
            node.inner, node.end = node.entries[0].start, node.entries[-1].end
        if node.style == "pair":
            node.start = node.inner

    def _trim_block(self, start: int, end: int) -> int:
        """Return where the lines of a block scalar end, without the line break; those behind `+` all count."""
        text = self.data[start:end]
        if b"+" in text.partition(b"\n")[0].partition(b"#")[0]:
            return start + len(text.removesuffix(b"\n").removesuffix(b"\r"))
        last = text.find(b"\n", len(text.rstrip(b" \t\r\n")))
        return end if last < 0 else start + len(text[:last].removesuffix(b"\r"))

    @staticmethod
    def _mark(event: Any) -> int:
        return int(event.start_mark.index)

    def _at(self, index: int) -> int:
        return index + self._base if self._offsets is None else self._offsets[index]

    def _fail(self, fact: str, index: int, expected: str = "valid YAML") -> NoReturn:
        before = self.text[:index]
        line = before.count("\n") + 1
        column = index - (before.rfind("\n") + 1) + 1
        raise InputError(f"{self.where}, line {line}, column {column}", found=fact, expected=expected) from None


def read_tree(data: bytes, where: str, *, newer: bool = False) -> YamlTree:
    """Return the tree of a YAML text, read by version 1.1, or with `newer` by 1.2 unless it says `%YAML 1.1`."""
    return TreeReader(data, where, newer=newer).read()
