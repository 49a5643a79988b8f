"""TOML documents edited in place: pairs, inline tables, arrays, tables with headers, arrays of tables.

A new key goes behind the last one of its table, a new table behind what is in the table above it. What is removed
takes along the comment on its own line and, for a table with a header, the comment lines directly above it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

from takeback.adapters.formats.brackets import Bracketed, Style
from takeback.adapters.formats.document import (
    BOM,
    Document,
    DocumentPath,
    PathStep,
    Splice,
    apply_splices,
    decode_text,
    look_up,
    put_value,
    remove_value,
    transform_document,
)
from takeback.adapters.formats.toml_tree import (
    Section,
    TableOrigin,
    TomlLines,
    TomlPair,
    TomlTable,
    TomlTables,
    TomlTree,
    Value,
    list_dotted_pairs,
    list_sections,
    read_tree,
)
from takeback.adapters.formats.toml_values import (
    ESCAPE,
    LITERAL,
    decode_client_toml,
    decode_toml,
    edit_lines,
    encode_client_toml,
    format_key,
    format_value,
    is_table,
    load_toml,
)


@dataclass(frozen=True, slots=True)
class Inline:
    """An inline table, or what dotted keys inside one make up."""

    value: Value
    prefix: tuple[str, ...] = ()

    def pairs(self, key: str) -> list[TomlPair]:
        """Return the pairs at and below a key."""
        return [pair for pair in self.value.pairs if pair.keys[: len(self.prefix) + 1] == (*self.prefix, key)]

    def child(self, key: str) -> TomlSpot | None:
        """Return the value at a key; None if there is none."""
        pairs = self.pairs(key)
        if len(pairs) == 1 and len(pairs[0].keys) == len(self.prefix) + 1:
            return make_spot(pairs[0].value)
        return Inline(self.value, (*self.prefix, key)) if pairs else None


TomlSpot = TomlTable | TomlTables | Value | Inline


def make_spot(value: Value) -> Value | Inline:
    """Return a value in the form that is navigated."""
    return Inline(value) if value.inline else value


class TomlDocument(Document):
    """One TOML text of Takeback's own."""

    escape: ClassVar[str] = ESCAPE
    """The only key of a mapping that stands for a value TOML, or JSON, does not have."""

    @cached_property
    def value(self) -> Any:
        text = decode_text(self.data.removeprefix(BOM), self.where)
        return self._meaning(load_toml(text, self.where))

    def _meaning(self, raw: dict[str, Any]) -> Any:
        return {key: decode_toml(item, f"{self.where}: {key}") for key, item in raw.items()}

    @cached_property
    def tree(self) -> TomlTree:
        """Where everything stands."""
        blank = b" " * len(BOM) if self.data.startswith(BOM) else b""
        tree = read_tree(blank + self.data[len(blank) :])
        if tree is None:
            raise self.refusal((), "its layout is not understood")
        return tree

    @cached_property
    def _layout(self) -> TomlLines:
        return TomlLines(self.data, self.tree, self.newline)

    def set(self, path: DocumentPath, value: Any) -> Self:
        """Return the document with a value at a path; remove a table in the way first."""
        self._check(path, value)
        if self._needs_escape(path, put_value(self.value, path, value)):
            return self.set(path[:-1], {**self._mapping(path[:-1]), path[-1]: value})
        spot = self._find(path)
        if isinstance(spot, Value) or spot is None or (isinstance(spot, Inline) and not spot.prefix):
            return super().set(path, value)
        if path and is_table(value) and isinstance(spot, TomlTable | Inline):
            edited: Any = transform_document(self, value, path)
            document: Self = edited
            return document
        if not path or isinstance(path[-1], int):
            raise self.refusal(path, "a table cannot become something else here")
        pairs = list(list_dotted_pairs(spot)) if isinstance(spot, TomlTable) else []
        if isinstance(spot, TomlTable) and pairs and not list(list_sections(spot)):
            text = f"{_format_keys(spot.dotted)}{self._layout.equals(pairs[:1])}{self._format_value(value)}".encode()
            edits = [Splice(*pairs[0].span, text), *self._layout.cut((), pairs[1:])]
            return self._apply_edits(edits, path, put_value(self.value, path, value))
        return self.remove(path).set(path, value)

    @staticmethod
    def _format_value(value: Any) -> str:
        return format_value(value)

    def remove(self, path: DocumentPath) -> Self:
        if self._needs_escape(path, remove_value(self.value, path)):
            return self.set(path[:-1], remove_value(self._mapping(path[:-1]), path[-1:]))
        above = self._find(path[:-1])
        if isinstance(above, TomlTables) and len(above.elements) == 1 and path[-1] == 0:
            return self.set(path[:-1], [])
        if not isinstance(above, Inline) or isinstance(path[-1], int):
            return super().remove(path)
        document = self
        while isinstance(above, Inline) and (pairs := above.pairs(path[-1])):
            pair, alone = pairs[-1], bool(above.prefix) and len(document._inside(above)) == 1
            empty = f"{_format_keys(above.prefix)} = {{}}".encode()
            at = above.value.pairs.index(pair)
            edits = [Splice(*pair.span, empty)] if alone else document._build_bracketed(above.value).cut(at)
            document = type(self)(apply_splices(document.data, edits), self.where)
            above = document._find(path[:-1])  # noqa: SLF001 - of one class
        return self._apply_edits([Splice(0, len(self.data), document.data)], path, remove_value(self.value, path))

    def _needs_escape(self, path: DocumentPath, after: Any) -> bool:
        around = (look_up(value, path[:-1]) for value in (self.value, after))
        return len(path) > 1 and any(isinstance(value, dict) and set(value) == {self.escape} for value in around)

    def _mapping(self, path: DocumentPath) -> dict[PathStep, Any]:
        value = self.get(path)
        return dict(value) if isinstance(value, dict) else {}

    def _inside(self, inline: Inline) -> list[TomlPair]:
        depth = len(inline.prefix)
        return [pair for pair in inline.value.pairs if pair.keys[:depth] == inline.prefix]

    def _find(self, path: DocumentPath) -> TomlSpot | None:
        spot: TomlSpot | None = self.tree.root
        for step in path:
            match spot:
                case TomlTable() if isinstance(step, str):
                    child = spot.children.get(step)
                    spot = make_spot(child.value) if isinstance(child, TomlPair) else child
                case Inline() if isinstance(step, str):
                    spot = spot.child(step)
                case TomlTables() if isinstance(step, int):
                    spot = spot.elements[step] if 0 <= step < len(spot.elements) else None
                case Value() if isinstance(step, int):
                    spot = make_spot(spot.items[step]) if 0 <= step < len(spot.items) else None
                case _:
                    return None
        return spot

    def _set(self, path: DocumentPath, value: Any) -> list[Splice]:
        if not path:
            raise self.refusal(path, "it is always a table")
        spot = self._find(path)
        if isinstance(spot, Value | Inline):
            span = spot.span if isinstance(spot, Value) else spot.value.span
            present = self.get(path)
            if isinstance(present, str) and isinstance(value, str):
                lines = edit_lines(self.data[slice(*span)], present, value)
                if lines is not None:
                    return [Splice(*span, lines)]
            return [Splice(*span, format_value(value).encode())]
        key, above = path[-1], self._find(path[:-1])
        if above is None:
            return self._set(path[:-1], put_value({}, (key,), value))
        if isinstance(key, int) or not isinstance(above, TomlTable | Inline):
            raise self.refusal(path, "what it would lie in is not a table")
        if isinstance(above, Inline):
            equals = self._layout.equals(above.value.pairs)
            text = f"{_format_keys((*above.prefix, key))}{equals}{format_value(value)}".encode()
            return self._build_bracketed(above.value).insert(len(above.value.pairs), lambda _: text)
        return self._into_table(above, key, value, inline=any(isinstance(step, int) for step in path))

    def _into_table(self, table: TomlTable, key: str, value: Any, *, inline: bool) -> list[Splice]:
        layout = self._layout
        if table.made is TableOrigin.DOTTED:
            text = f"{_format_keys((*table.dotted, key))} = {format_value(value)}"
            last = max((pair for pair in list_dotted_pairs(table)), key=lambda pair: pair.span)
            return [layout.line_behind(last.span[1], text, layout.indent(last.span[0]))]
        if not inline and is_table(value):
            return [layout.block(layout.behind(table), _format_section((*table.path, key), value))]
        if table.made is TableOrigin.BELOW or table.section is None:
            first = min(list_sections(table), key=lambda section: section.start)
            lines = [f"[{_format_keys(table.path)}]", f"{format_key(key)} = {format_value(value)}"]
            return [layout.block(layout.block_start(first), lines)]
        equals = layout.equals(table.section.pairs)
        return [layout.pair(table.section, f"{format_key(key)}{equals}{format_value(value)}")]

    def _remove(self, path: DocumentPath) -> list[Splice]:
        key, above = path[-1], self._find(path[:-1])
        if isinstance(above, Value) and isinstance(key, int) and key < len(above.items):
            return self._build_bracketed(above).cut(key)
        if isinstance(above, TomlTables) and isinstance(key, int) and key < len(above.elements):
            return self._layout.cut(list_sections(above.elements[key]), ())
        if not isinstance(above, TomlTable) or not isinstance(key, str) or key not in above.children:
            raise self.refusal(path, "there is nothing")
        child = above.children[key]
        alone = len(above.children) == 1
        pairs, sections = list(list_dotted_pairs(child)), list(list_sections(child))
        if alone and above.made is TableOrigin.DOTTED and pairs:
            empty = Splice(*pairs[0].span, f"{_format_keys(above.dotted)} = {{}}".encode())
            return [empty, *self._layout.cut(sections, pairs[1:])]
        if alone and above.made is TableOrigin.BELOW:
            first, *rest = sorted(sections, key=lambda section: section.start)
            header = Splice(*self._layout.body([first]), f"[{_format_keys(above.path)}]".encode())
            return [header, *self._layout.cut(rest, pairs)]
        return self._layout.cut(sections, pairs)

    def _insert(self, path: DocumentPath, value: Any) -> list[Splice]:
        spot, at = self._find(path[:-1]), int(path[-1])
        if isinstance(spot, Value) and not spot.inline and spot.listing is not None:
            return self._build_bracketed(spot).insert(at, lambda _: format_value(value).encode())
        if spot is None:
            return self._begin_list(path[:-1], value)
        if not isinstance(spot, TomlTables) or not is_table(value):
            raise self.refusal(path, "it is not a list of such items")
        lines = _format_element(spot.path, value)
        layout = self._layout
        if at < len(spot.elements):
            return [layout.block(layout.block_start(_find_first_section(spot.elements[at])), lines)]
        last = max(list_sections(spot.elements[-1]), key=lambda section: section.start)
        return [layout.block(layout.line_end(last.last), lines)]

    def _begin_list(self, path: DocumentPath, value: Any) -> list[Splice]:
        """Return the edits that begin a list with its first item, as a table of its own where possible."""
        depth = next(depth for depth in reversed(range(len(path))) if self._find(path[:depth]) is not None)
        above, keys = self._find(path[:depth]), tuple(map(str, path[depth:]))
        if not is_table(value) or not isinstance(above, TomlTable) or above.made is TableOrigin.DOTTED:
            return self._set(path, [value])
        return [self._layout.block(self._layout.behind(above), _format_element((*above.path, *keys), value))]

    def _move(self, path: DocumentPath, to: int) -> list[Splice]:
        spot, at = self._find(path[:-1]), int(path[-1])
        if isinstance(spot, Value) and not spot.inline and spot.listing is not None:
            return self._build_bracketed(spot).move(at, to)
        if not isinstance(spot, TomlTables):
            raise self.refusal(path, "it is not an item of a list")
        layout, blocks = (
            self._layout,
            [sorted(list_sections(element), key=lambda s: s.start) for element in spot.elements],
        )
        order = list(range(len(blocks)))
        order.insert(to, order.pop(at))
        concerned = range(min(at, to), max(at, to) + 1)
        if not all(layout.contiguous(blocks[element]) for element in concerned):
            raise self.refusal(path, "the tables of an item are split by others")
        bodies = [layout.body(block) for block in blocks]
        return [Splice(*bodies[element], self.data[slice(*bodies[order[element]])]) for element in concerned]

    def _build_bracketed(self, value: Value) -> Bracketed:
        if value.listing is None:
            raise self.refusal((), "it is not a list")
        pad = b" " if value.inline else b""
        return Bracketed(self.data, value.listing, Style(self.newline, pad=pad))


class ClientTomlDocument(TomlDocument):
    """A client's TOML: null is refused, dates, times, infinities and NaN are `{"$toml": "their text"}`."""

    escape = LITERAL

    def _meaning(self, raw: dict[str, Any]) -> Any:
        return decode_client_toml(raw)

    def _check(self, path: DocumentPath, value: Any) -> None:
        super()._check(path, value)
        try:
            encode_client_toml(value)
        except ValueError as fault:
            raise self.refusal(path, str(fault)) from None

    @staticmethod
    def _format_value(value: Any) -> str:
        return format_value(encode_client_toml(value))

    def _set(self, path: DocumentPath, value: Any) -> list[Splice]:
        return super()._set(path, encode_client_toml(value))

    def _insert(self, path: DocumentPath, value: Any) -> list[Splice]:
        return super()._insert(path, encode_client_toml(value))


def _find_first_section(table: TomlTable) -> Section:
    return min(list_sections(table), key=lambda section: section.start)


def _format_keys(keys: tuple[str, ...]) -> str:
    return ".".join(format_key(key) for key in keys)


def _format_section(path: tuple[str, ...], value: Any) -> list[str]:
    plain = {key: item for key, item in value.items() if not is_table(item)}
    lines: list[str] = []
    if plain or len(plain) == len(value):
        lines.append(f"[{_format_keys(path)}]")
        lines += [f"{format_key(key)} = {format_value(item)}" for key, item in plain.items()]
    for key, item in value.items():
        if key not in plain:
            lines += [*([""] if lines else []), *_format_section((*path, key), item)]
    return lines


def _format_element(path: tuple[str, ...], value: dict[str, Any]) -> list[str]:
    """Return the lines of a new table in a list of tables; lists of tables in it get tables of their own."""
    below = {key for key, item in value.items() if isinstance(item, list) and item and all(map(is_table, item))}
    pairs = [f"{format_key(key)} = {format_value(item)}" for key, item in value.items() if key not in below]
    deeper = [
        line for key in value if key in below for inner in value[key] for line in _format_element((*path, key), inner)
    ]
    return [f"[[{_format_keys(path)}]]", *pairs, *deeper]
