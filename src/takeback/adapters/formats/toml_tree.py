"""Where everything in a TOML document stands, and where new lines and tables go.

The spans come from tree-sitter's TOML grammar; the values come from `tomllib`, which reads the same text.
Tables of the tree are the logical ones: a table may be made by its own header, by the headers of tables
below it, or by dotted keys, and the tree says which. A removed table takes the comment lines directly above
its header along.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from takeback.adapters.formats.brackets import BLANKS, Listing, Span, pair_commas
from takeback.adapters.formats.document import BOM, Splice

if TYPE_CHECKING:
    import tree_sitter

KEYS = frozenset({"bare_key", "quoted_key", "dotted_key"})


@dataclass(eq=False, slots=True)
class Value:
    """A value behind an equals sign or in an array."""

    span: Span
    items: list[Value] = field(default_factory=list)
    """An array's items."""
    pairs: list[TomlPair] = field(default_factory=list)
    """An inline table's pairs."""
    listing: Listing | None = None
    inline: bool = False
    """Whether it is an inline table."""


@dataclass(eq=False, slots=True)
class TomlPair:
    """A key, dotted or not, and its value."""

    keys: tuple[str, ...]
    span: Span
    value: Value


@dataclass(eq=False, slots=True)
class Section:
    """A header and the pairs under it; the first section has no header."""

    keys: tuple[str, ...]
    start: int
    """Of the header's line."""
    head: int
    """Behind the header's closing bracket."""
    array: bool = False
    pairs: list[TomlPair] = field(default_factory=list)

    @property
    def last(self) -> int:
        """Behind the last thing that belongs to the section."""
        return self.pairs[-1].span[1] if self.pairs else self.head


class TableOrigin(StrEnum):
    """How a table came to be."""

    ROOT = "root"
    HEADER = "header"
    BELOW = "below"
    """By headers of tables in it."""
    DOTTED = "dotted"


@dataclass(eq=False, slots=True)
class TomlTable:
    """A logical table outside of inline tables."""

    made: TableOrigin
    path: tuple[str, ...]
    """Its keys, as a header would say them."""
    children: dict[str, Child] = field(default_factory=dict)
    section: Section | None = None
    """Its own section; for a dotted table the one its pairs stand in."""
    dotted: tuple[str, ...] = ()
    """The keys that lead to a dotted table from its section."""


@dataclass(eq=False, slots=True)
class TomlTables:
    """An array of tables, each with a `[[header]]`."""

    path: tuple[str, ...]
    elements: list[TomlTable] = field(default_factory=list)


Child = TomlTable | TomlTables | TomlPair


@dataclass(eq=False, slots=True)
class TomlTree:
    """A whole document."""

    root: TomlTable
    sections: list[Section]
    comments: tuple[Span, ...]


def read_tree(data: bytes) -> TomlTree | None:
    """Return the tree of a document that `tomllib` accepted; None if the grammar does not follow it."""
    top = _load_parser().parse(data).root_node
    if top.has_error:
        return None
    sections = [Section((), 0, 0)]
    for node in top.named_children:
        if node.type == "pair":
            sections[0].pairs.append(_read_pair(node, data))
        elif node.type in {"table", "table_array_element"}:
            sections.append(_read_section(node, data))
    comments = tuple(sorted((node.start_byte, node.end_byte) for node in _list_nodes(top) if node.type == "comment"))
    return TomlTree(_link_tables(sections), sections, comments)


@cache
def _load_parser() -> tree_sitter.Parser:
    import tree_sitter  # noqa: PLC0415 - not to read values
    import tree_sitter_toml  # noqa: PLC0415

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))


def _list_nodes(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting += current.named_children


def _read_section(node: tree_sitter.Node, data: bytes) -> Section:
    array = node.type == "table_array_element"
    keys: tuple[str, ...] = ()
    head = node.start_byte
    for child in node.children:
        if child.type in KEYS:
            keys = _read_keys(child, data)
        elif child.type in {"]", "]]"}:
            head = child.end_byte
    start = data.rfind(b"\n", 0, node.start_byte) + 1
    pairs = [_read_pair(child, data) for child in node.named_children if child.type == "pair"]
    return Section(keys, start, head, array, pairs)


def _read_pair(node: tree_sitter.Node, data: bytes) -> TomlPair:
    key, *rest = [child for child in node.named_children if child.type != "comment"]
    value = _read_value(rest[-1], data)
    return TomlPair(_read_keys(key, data), (key.start_byte, value.span[1]), value)


def _read_keys(node: tree_sitter.Node, data: bytes) -> tuple[str, ...]:
    if node.type == "dotted_key":
        return tuple(key for child in node.named_children for key in _read_keys(child, data))
    text = data[node.start_byte : node.end_byte].decode()
    return (next(iter(tomllib.loads(f"{text}=0"))),) if node.type == "quoted_key" else (text,)


def _read_value(node: tree_sitter.Node, data: bytes) -> Value:
    value = Value((node.start_byte, node.end_byte))
    if node.type not in {"array", "inline_table"}:
        return value
    value.inline = node.type == "inline_table"
    inside = [child for child in node.named_children if child.type != "comment"]
    if value.inline:
        value.pairs = [_read_pair(child, data) for child in inside]
    else:
        value.items = [_read_value(child, data) for child in inside]
    spans = [pair.span for pair in value.pairs] or [item.span for item in value.items]
    commas = [child.start_byte for child in node.children if child.type == ","]
    comments = tuple((c.start_byte, c.end_byte) for c in node.named_children if c.type == "comment")
    value.listing = Listing(*value.span, tuple(spans), pair_commas(spans, commas), comments)
    return value


def _link_tables(sections: list[Section]) -> TomlTable:
    root = TomlTable(TableOrigin.ROOT, (), section=sections[0])
    for section in sections:
        table = root if section is sections[0] else _open_table(root, section)
        for pair in section.pairs:
            _put_pair(table, section, pair)
    return root


def _open_table(root: TomlTable, section: Section) -> TomlTable:
    table = root
    for depth, key in enumerate(section.keys[:-1], 1):
        child = table.children.setdefault(key, TomlTable(TableOrigin.BELOW, section.keys[:depth]))
        table = _enter_child(child)
    key = section.keys[-1]
    if section.array:
        tables: Any = table.children.setdefault(key, TomlTables(section.keys))
        tables.elements.append(TomlTable(TableOrigin.HEADER, section.keys, section=section))
        return _enter_child(tables)
    table_below = _enter_child(table.children.setdefault(key, TomlTable(TableOrigin.HEADER, section.keys)))
    table_below.made, table_below.section = TableOrigin.HEADER, section
    return table_below


def _enter_child(child: Child) -> TomlTable:
    if isinstance(child, TomlTables):
        return child.elements[-1]
    if isinstance(child, TomlPair):
        raise TypeError("a header below a value")  # tomllib refuses such a document
    return child


def _put_pair(table: TomlTable, section: Section, pair: TomlPair) -> None:
    for depth, key in enumerate(pair.keys[:-1], 1):
        fresh = TomlTable(TableOrigin.DOTTED, (*table.path, key), section=section, dotted=pair.keys[:depth])
        table = _enter_child(table.children.setdefault(key, fresh))
    table.children[pair.keys[-1]] = pair


def list_sections(child: Child) -> Iterator[Section]:
    """Yield the sections that make up a table or an array of tables, with everything below."""
    if isinstance(child, TomlPair):
        return
    if isinstance(child, TomlTable) and child.made is TableOrigin.HEADER and child.section is not None:
        yield child.section
    for below in child.children.values() if isinstance(child, TomlTable) else child.elements:
        yield from list_sections(below)


def list_dotted_pairs(child: Child) -> Iterator[TomlPair]:
    """Yield the pairs of a dotted table, or the one pair, outside of sections of their own."""
    if isinstance(child, TomlPair):
        yield child
    elif isinstance(child, TomlTable) and child.made is TableOrigin.DOTTED:
        for below in child.children.values():
            yield from list_dotted_pairs(below)


_EQUALS = re.compile(rb"[ \t]*=[ \t]*\Z")


class TomlLines:
    """One text, its tree, and the line ending of new lines in it."""

    def __init__(self, data: bytes, tree: TomlTree, newline: bytes) -> None:
        self.data = data
        self.tree = tree
        self.newline = newline
        self.top = len(BOM) if data.startswith(BOM) else 0

    @cached_property
    def _order(self) -> dict[int, int]:
        return {id(section): at for at, section in enumerate(self.tree.sections)}

    @cached_property
    def _comment_lines(self) -> set[int]:
        """Where lines begin on which there is nothing but a comment."""
        starts = ((self.line_start(start), start) for start, _ in self.tree.comments)
        return {line for line, start in starts if not self.data[line:start].strip(BLANKS)}

    def line_start(self, at: int) -> int:
        """Return where the line of an offset begins."""
        return max(self.data.rfind(b"\n", 0, at) + 1, self.top)

    def line_end(self, at: int) -> int:
        """Return the offset behind the line of an offset, including its line break."""
        line_break = self.data.find(b"\n", at)
        return len(self.data) if line_break < 0 else line_break + 1

    def indent(self, at: int) -> str:
        """Return the blanks at the beginning of a line."""
        start = self.line_start(at)
        return self.data[start:at].decode() if not self.data[start:at].strip(BLANKS) else ""

    def block_start(self, section: Section) -> int:
        """Return where a table begins: at the comment lines directly above its header."""
        at = max(section.start, self.top)
        while at > self.top and self.line_start(at - 1) in self._comment_lines:
            at = self.line_start(at - 1)
        return at

    def behind(self, table: TomlTable) -> int:
        """Return the offset for a new table inside `table`: behind its content, or at the end of the document."""
        if table.made is TableOrigin.ROOT:
            return len(self.data)
        sections = sorted(list_sections(table), key=lambda section: section.start)
        run = sections[:1]
        for section in sections[1:]:
            if self._order[id(section)] != self._order[id(run[-1])] + 1:
                break
            run.append(section)
        return self.line_end(run[-1].last)

    def line_behind(self, at: int, text: str, indent: str = "") -> Splice:
        """Return the edit that adds a line behind the line of an offset."""
        end = self.line_end(at)
        return Splice(end, end, self._whole(end, f"{indent}{text}".encode()))

    def pair(self, section: Section, text: str) -> Splice:
        """Return the edit that adds a pair at the end of a section."""
        if section.pairs:
            start, end = section.pairs[-1].span
            return self.line_behind(end, text, self.indent(start))
        if section is not self.tree.sections[0]:
            return self.line_behind(section.head, text)
        if len(self.tree.sections) == 1:
            return Splice(len(self.data), len(self.data), self._whole(len(self.data), text.encode()))
        start = self.block_start(self.tree.sections[1])
        return Splice(start, start, text.encode() + 2 * self.newline)

    def block(self, at: int, lines: Sequence[str]) -> Splice:
        """Return the edit that adds a table's lines at the beginning of a line, with blank lines around them."""
        body = self.newline.join(line.encode() for line in lines)
        before, after = self.data[self.top : at], self.data[at:]
        apart = before.endswith((b"\n\n", b"\r\n\r\n"))
        commented = self.line_start(max(at - 1, self.top)) in self._comment_lines
        mirrored = after.startswith((b"\n", b"\r\n")) if after.strip() else self._spaced
        lead = self.newline if before.strip() and not apart and (mirrored or commented) else b""
        if before and not before.endswith(b"\n"):
            return Splice(at, at, self.newline + lead + body)
        tail = self.newline if after.strip() and (apart or not before.strip()) and self._spaced else b""
        return Splice(at, at, lead + body + self.newline + tail)

    @cached_property
    def _spaced(self) -> bool:
        """Whether blank lines stand between tables here."""
        starts = [self.block_start(section) for section in self.tree.sections[1:]]
        between = [self.data[self.top : start] for start in starts if self.data[self.top : start].strip()]
        return not between or any(text.endswith((b"\n\n", b"\r\n\r\n")) for text in between)

    def cut(self, sections: Iterable[Section], pairs: Iterable[TomlPair]) -> list[Splice]:
        """Take sections and pairs out, with their lines; a section with the comment lines directly above it."""
        blocks: list[tuple[int, int]] = []
        for section in sorted(sections, key=lambda splice: splice.start):
            start, end = self.block_start(section), self.line_end(section.last)
            if blocks and not self.data[blocks[-1][1] : start].strip():
                start = blocks.pop()[0]
            blocks.append((start, end))
        edits = [self._remove_lines(*self._with_blanks(*block)) for block in blocks]
        return sorted((*edits, *(self._remove_lines(*self._pair_lines(pair)) for pair in pairs)))

    def _pair_lines(self, pair: TomlPair) -> tuple[int, int]:
        """Return the lines of a pair; for the only one above all tables, also the blank lines behind it."""
        start, end = self.line_start(pair.span[0]), self.line_end(pair.span[1])
        if start == self.top and self.tree.sections[0].pairs == [pair]:
            while end < len(self.data) and not self._line(end).strip():
                end = self.line_end(end)
        return start, end

    def _with_blanks(self, start: int, end: int) -> tuple[int, int]:
        """Return a block with the blank lines on the side with fewer; at the end, with those above it."""
        first, last = start, end
        while first > self.top and self.line_start(first - 1) < first and not self._line(first - 1).strip():
            first = self.line_start(first - 1)
        while last < len(self.data) and not self._line(last).strip():
            last = self.line_end(last)
        if last == len(self.data) or first == self.top:
            return first, last
        above, below = (self.data[slice(*span)].count(b"\n") for span in ((first, start), (end, last)))
        return (start, last) if below <= above else (first, end)

    def _remove_lines(self, start: int, end: int) -> Splice:
        """Return the edit that removes whole lines; at an end without a line break, with the break before."""
        if end == len(self.data) and start > self.top and not self.data.endswith(b"\n"):
            start -= 2 if self.data[start - 2 : start] == b"\r\n" else 1
        return Splice(start, end, b"")

    def _line(self, at: int) -> bytes:
        return self.data[self.line_start(at) : self.line_end(at)]

    def body(self, sections: Sequence[Section]) -> tuple[int, int]:
        """Return the span of consecutive tables, without the line break behind the last."""
        start, end = self.block_start(sections[0]), self.line_end(sections[-1].last)
        return start, start + len(self.data[start:end].rstrip(b"\r\n"))

    def equals(self, pairs: Sequence[TomlPair]) -> str:
        """Return the most frequent text between key and value in some pairs."""
        signs = [_EQUALS.search(self.data, pair.span[0], pair.value.span[0]) for pair in pairs]
        counted = Counter(sign[0].decode() for sign in signs if sign)
        return min(counted, key=lambda text: (-counted[text], len(text))) if counted else " = "

    def contiguous(self, sections: Sequence[Section]) -> bool:
        """Return whether no other table stands between these."""
        places = [self._order[id(section)] for section in sections]
        return places == list(range(places[0], places[0] + len(places)))

    def _whole(self, at: int, text: bytes) -> bytes:
        """Return text as a line of its own; a text without a line break at its end stays so."""
        if at == len(self.data) and len(self.data) > self.top and not self.data.endswith(b"\n"):
            return self.newline + text
        return text + self.newline
