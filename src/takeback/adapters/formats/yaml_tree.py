"""Where everything in a YAML text stands: PyYAML's events, with the places of dashes, colons, commas and comments.

Offsets are of bytes. A node's span is what it says, without the blank lines and comments behind it that PyYAML counts
in. Refused, with line and column: malformed text, a key twice, a second document, keys that are no scalars, aliases
that lead into themselves or grow without bound.

Single values are read by YAML 1.1 or by 1.2, and only JSON's: a timestamp, an infinity, a value under a tag of its
own is its text; the file keeps how it is written. A text is written so that it is a text in both versions, without
quotes only where nobody can take it for anything else.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final, NoReturn

import yaml
from yaml.constructor import SafeConstructor
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
from yaml.resolver import Resolver
from yaml.scanner import Scanner
from yaml.tokens import BlockEntryToken, FlowEntryToken, KeyToken, ScalarToken, ValueToken

from takeback.adapters.formats.brackets import Span
from takeback.adapters.formats.document import BOM, decode_text
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
        self.text = decode_text(data.removeprefix(BOM), where)
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


_TAGS: Final = "tag:yaml.org,2002:"
_RESOLVE: Final[Any] = Resolver().resolve
_CONSTRUCTOR: Final = SafeConstructor()
_NEWER: Final = (
    ("null", re.compile(r"~|null|Null|NULL|")),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")),
    ("float", re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")),
)
"""What a plain scalar is in YAML 1.2, by the first that fits."""
_PLAIN: Final = re.compile(r"[^\W\d][^\x00-\x1f\x7f-\xa0\ufeff\u2028\u2029\ud800-\udfff\ufffe\uffff]*|/[\x21-\x7e]*")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"})
_ESCAPED: Final = re.compile("[\x7f-\xa0\ufeff\u2028\u2029\ufffe\uffff]")
_UNPRINTABLE: Final = re.compile(
    "[^\n\t\x20-\x7e\xa1-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]"
)


def read_scalar(text: str, tag: str | None, *, plain: bool, newer: bool) -> Any:
    """Return the value of a scalar; raise `ValueError` where it is not what its tag says."""
    if tag is not None and tag != "!":
        kind = tag.removeprefix(_TAGS)
    elif not plain:
        return text
    else:
        kind = resolve_newer(text) if newer else str(_RESOLVE(yaml.ScalarNode, text, (True, False)))
        kind = kind.removeprefix(_TAGS)
    if kind == "null":
        return None
    if kind not in {"bool", "int", "float"}:
        return text
    return _construct(kind, text, newer=newer)


def _construct(kind: str, text: str, *, newer: bool) -> Any:
    try:
        if kind == "bool":
            return _CONSTRUCTOR.bool_values[text.lower()]
        if newer and kind == "int":
            return int(text, 8) if text.startswith("0o") else int(text, 16) if text.startswith("0x") else int(text)
        node = yaml.ScalarNode(_TAGS + kind, text)
        value: Any = (
            _CONSTRUCTOR.construct_yaml_int(node) if kind == "int" else _CONSTRUCTOR.construct_yaml_float(node)
        )
    except (KeyError, IndexError, OverflowError):
        raise ValueError(text) from None
    return value if value - value == 0 else text  # an infinity or NaN is no JSON value


def resolve_newer(text: str) -> str:
    """Return what a plain scalar is in YAML 1.2."""
    return next((kind for kind, pattern in _NEWER if pattern.fullmatch(text)), "str")


def is_merge(text: str, tag: str | None, *, plain: bool) -> bool:
    """Return whether a key is that of YAML 1.1 which brings in other mappings."""
    return text == "<<" and plain and tag is None


@dataclass(frozen=True, slots=True)
class YamlManner:
    """How a document is written, as far as it shows that."""

    newline: str = "\n"
    unit: int = 2
    """One step of indentation."""
    dash: int = 2
    """How far the items of a list stand to the right of their key."""
    quote: str = '"'
    pads: tuple[str, str] = ("", "")
    """Inside the braces and the brackets of a container on one line."""
    literal: bool = True
    """Whether a text of several lines may become a block, which ends in a line break."""

    def scalar(self, value: Any, *, quote: str = "", flow: bool = False) -> str:
        """Return a value that is no container on one line; with `quote`, a text in such quotes."""
        if value is None or isinstance(value, bool):
            return {None: "null", True: "true", False: "false"}[value]
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            text = repr(value)
            return text.replace("e", ".0e") if "e" in text and "." not in text else text
        if not quote and can_be_plain(value, flow=flow):
            return str(value)
        if (quote or self.quote) == "'" and _UNPRINTABLE.search(value) is None and "\n" not in value:
            return "'" + str(value).replace("'", "''") + "'"
        return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))

    def flow(self, value: Any) -> str:
        """Return any value on one line."""
        if isinstance(value, dict):
            items = ", ".join(f"{self.scalar(key, flow=True)}: {self.flow(item)}" for key, item in value.items())
            return f"{{{self.pads[0]}{items}{self.pads[0]}}}" if items else "{}"
        if isinstance(value, list):
            items = ", ".join(map(self.flow, value))
            return f"[{self.pads[1]}{items}{self.pads[1]}]" if items else "[]"
        return self.scalar(value, flow=True)

    def block(self, value: Any, column: int) -> list[str]:
        """Return the lines of a container that has something in it, at a column; the first has no indentation."""
        indent = " " * column
        lines: list[str] = []
        for member in value.items() if isinstance(value, dict) else value:
            if isinstance(value, dict):
                first, *more = self.member(member[0], member[1], column)
            else:
                first, *more = self.item(member, column)
            lines += [indent + first if lines else first, *more]
        return lines

    def member(self, key: str, value: Any, column: int, *, quote: str = "") -> list[str]:
        """Return the lines of a mapping's member, whose key stands at a column; the first has no indentation."""
        name = self.scalar(key, quote=quote)
        if isinstance(value, dict | list) and value:
            below = column + (self.dash if isinstance(value, list) else self.unit)
            first, *more = self.block(value, below)
            return [f"{name}:", " " * below + first, *more]
        first, *more = self.inline(value, column)
        return [f"{name}: {first}", *more]

    def item(self, value: Any, column: int, gap: str = " ") -> list[str]:
        """Return the lines of an item of a list, whose dash stands at a column; the first has no indentation."""
        if isinstance(value, dict | list) and value:
            first, *more = self.block(value, column + 1 + len(gap))
        else:
            first, *more = self.inline(value, column)
        return [f"-{gap}{first}", *more]

    def inline(self, value: Any, column: int) -> list[str]:
        """Return a scalar or an empty container; a text of several lines as a block below the column's owner."""
        if isinstance(value, str) and "\n" in value and self.literal:
            lines = make_literal(value, column + self.unit)
            if lines is not None:
                return lines
        return [self.flow(value) if isinstance(value, dict | list) else self.scalar(value)]


def can_be_plain(text: str, *, flow: bool) -> bool:
    """Return whether a text without quotes is that text to every reader."""
    if _PLAIN.fullmatch(text) is None or text.lower() in _WORDS or text[-1] in ": " or "\n" in text:
        return False
    if ": " in text or " #" in text or ":\t" in text or "\t" in text:
        return False
    return not (flow and (any(char in "[]{},?:" for char in text)))


def make_literal(text: str, column: int, *, folded: bool = False) -> list[str] | None:
    """Return a text as a literal (or folded) block whose lines begin at a column; None where it cannot be one."""
    body = text.rstrip("\n")
    first = body.lstrip("\n")
    if not first or first[0] in " \t" or _UNPRINTABLE.search(text) is not None:
        return None
    tail = len(text) - len(body)
    mark = "-" if tail == 0 else "" if tail == 1 else "+"
    lines = body.split("\n")
    if any(line.isspace() for line in lines):
        return None
    if folded:
        if any(line[:1] in {" ", "\t"} for line in lines) or body != first:
            return None
        lines = [part for at, line in enumerate(lines) for part in (("", line) if at and line else (line,))]
    indent = " " * column
    lines += [""] * max(0, tail - 1)
    return [f"{'>' if folded else '|'}{mark}", *(indent + line if line else "" for line in lines)]
