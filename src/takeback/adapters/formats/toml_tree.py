"""Where everything in a TOML document stands: sections, pairs, values, down to the items of arrays.

The spans come from tree-sitter's TOML grammar; what the values are is said by `tomllib`, which reads the same text.
Tables of the tree are the logical ones: a table may be made by its own header, by the headers of tables below
it, or by dotted keys, and the tree says which.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

import tree_sitter
import tree_sitter_toml

from takeback.adapters.formats.brackets import Listing, Span, paired

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
    """The tree of a document that `tomllib` has accepted; None if the grammar does not follow it."""
    top = _parser().parse(data).root_node
    if top.has_error:
        return None
    sections = [Section((), 0, 0)]
    for node in top.named_children:
        if node.type == "pair":
            sections[0].pairs.append(_pair(node, data))
        elif node.type in {"table", "table_array_element"}:
            sections.append(_section(node, data))
    comments = tuple(sorted((node.start_byte, node.end_byte) for node in _nodes(top) if node.type == "comment"))
    return TomlTree(_linked(sections), sections, comments)


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))


def _nodes(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += one.named_children


def _section(node: tree_sitter.Node, data: bytes) -> Section:
    array = node.type == "table_array_element"
    keys: tuple[str, ...] = ()
    head = node.start_byte
    for child in node.children:
        if child.type in KEYS:
            keys = _keys(child, data)
        elif child.type in {"]", "]]"}:
            head = child.end_byte
    start = data.rfind(b"\n", 0, node.start_byte) + 1
    pairs = [_pair(child, data) for child in node.named_children if child.type == "pair"]
    return Section(keys, start, head, array, pairs)


def _pair(node: tree_sitter.Node, data: bytes) -> TomlPair:
    key, *rest = [child for child in node.named_children if child.type != "comment"]
    value = _value(rest[-1], data)
    return TomlPair(_keys(key, data), (key.start_byte, value.span[1]), value)


def _keys(node: tree_sitter.Node, data: bytes) -> tuple[str, ...]:
    if node.type == "dotted_key":
        return tuple(key for child in node.named_children for key in _keys(child, data))
    text = data[node.start_byte : node.end_byte].decode()
    return (next(iter(tomllib.loads(f"{text}=0"))),) if node.type == "quoted_key" else (text,)


def _value(node: tree_sitter.Node, data: bytes) -> Value:
    found = Value((node.start_byte, node.end_byte))
    if node.type not in {"array", "inline_table"}:
        return found
    found.inline = node.type == "inline_table"
    inside = [child for child in node.named_children if child.type != "comment"]
    if found.inline:
        found.pairs = [_pair(child, data) for child in inside]
    else:
        found.items = [_value(child, data) for child in inside]
    spans = [pair.span for pair in found.pairs] or [item.span for item in found.items]
    commas = [child.start_byte for child in node.children if child.type == ","]
    comments = tuple((c.start_byte, c.end_byte) for c in node.named_children if c.type == "comment")
    found.listing = Listing(*found.span, tuple(spans), paired(spans, commas), comments)
    return found


def _linked(sections: list[Section]) -> TomlTable:
    root = TomlTable(TableOrigin.ROOT, (), section=sections[0])
    for section in sections:
        table = root if section is sections[0] else _opened(root, section)
        for pair in section.pairs:
            _put(table, section, pair)
    return root


def _opened(root: TomlTable, section: Section) -> TomlTable:
    """The table a header stands for."""
    table = root
    for depth, key in enumerate(section.keys[:-1], 1):
        child = table.children.setdefault(key, TomlTable(TableOrigin.BELOW, section.keys[:depth]))
        table = _within(child)
    key = section.keys[-1]
    if section.array:
        tables: Any = table.children.setdefault(key, TomlTables(section.keys))
        tables.elements.append(TomlTable(TableOrigin.HEADER, section.keys, section=section))
        return _within(tables)
    found = _within(table.children.setdefault(key, TomlTable(TableOrigin.HEADER, section.keys)))
    found.made, found.section = TableOrigin.HEADER, section
    return found


def _within(child: Child) -> TomlTable:
    if isinstance(child, TomlTables):
        return child.elements[-1]
    if isinstance(child, TomlPair):
        raise TypeError("a header below a value")  # tomllib refuses such a document
    return child


def _put(table: TomlTable, section: Section, pair: TomlPair) -> None:
    for depth, key in enumerate(pair.keys[:-1], 1):
        fresh = TomlTable(TableOrigin.DOTTED, (*table.path, key), section=section, dotted=pair.keys[:depth])
        table = _within(table.children.setdefault(key, fresh))
    table.children[pair.keys[-1]] = pair


def sections_of(child: Child) -> Iterator[Section]:
    """Sections that make up a table or an array of tables, with everything below."""
    if isinstance(child, TomlPair):
        return
    if isinstance(child, TomlTable) and child.made is TableOrigin.HEADER and child.section is not None:
        yield child.section
    for below in child.children.values() if isinstance(child, TomlTable) else child.elements:
        yield from sections_of(below)


def dotted_pairs(child: Child) -> Iterator[TomlPair]:
    """Pairs that make up a dotted table, or the one that is meant, outside of sections of their own."""
    if isinstance(child, TomlPair):
        yield child
    elif isinstance(child, TomlTable) and child.made is TableOrigin.DOTTED:
        for below in child.children.values():
            yield from dotted_pairs(below)
