"""Lists in brackets, whatever the format: items parted by commas, with comments and line breaks in between.

JSON's objects and arrays and TOML's arrays and inline tables are all of this kind. Items are added, taken out and
moved in the style the list is written in: one line, one item per line, commas first, with or without a comma at
the end. Comments stay; one behind an item, on its line, goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from takeback.adapters.formats.document import Splice

BLANKS = b" \t"
Span = tuple[int, int]
Render = Callable[[bytes | None], bytes]
"""An item's text; given the indentation of its line where it has one, so that it may take several lines."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Where the parts of one list stand."""

    start: int
    """Of the opening bracket."""
    end: int
    """Behind the closing bracket."""
    items: tuple[Span, ...]
    commas: tuple[int | None, ...]
    """The comma behind each item; only the last may have none."""
    comments: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Style:
    """How a list is continued where it does not show that itself."""

    newline: bytes = b"\n"
    unit: bytes | None = None
    """One step of indentation for a list that gets its first item; None: on one line."""
    pad: bytes = b""
    """What stands inside the brackets of a list on one line."""
    gap: bytes = b" "
    """What stands behind a comma on one line."""


class Bracketed:
    """One list in some bytes."""

    def __init__(self, data: bytes, listing: Listing, style: Style) -> None:
        self.data = data
        self.at = listing
        self.style = style

    def cut(self, index: int) -> list[Splice]:
        """Take one item out, with its comma."""
        start, end = self.at.items[index]
        comma = self.at.commas[index]
        before = self.at.commas[index - 1] if index else None
        if len(self.at.items) == 1 and not self.at.comments:
            return [Splice(self.at.start + 1, self.at.end - 1, b"")]
        if comma is not None and b"\n" not in self.data[end:comma]:
            return [self._lines(start, comma + 1) or self._inside_line(index, comma + 1)]
        if comma is not None and before is None:
            following = self.at.items[index + 1][0] if index + 1 < len(self.at.items) else comma + 1
            if not self._has_comment(end, following):
                return [Splice(start, following, b"")]
            return [Splice(start, end, b""), Splice(comma, comma + 1, b"")]
        if before is None:
            return [self._lines(start, end) or Splice(start, end, b"")]
        if self._has_comment(before, start):
            return [Splice(before, before + 1, b""), self._lines(start, end) or Splice(start, end, b"")]
        lines = self._lines(start, end)
        if b"\n" in self.data[before:start] and lines is not None:
            return [Splice(before, before + 1, b""), lines]
        return [self._lines(before, end) or Splice(before, end, b"")]

    def insert(self, index: int, render: Render) -> list[Splice]:
        """Put a new item before the one at `index`, or at the end."""
        if not self.at.items:
            return [self._first(render)]
        if index < len(self.at.items):
            return [self._before(index, render)]
        return self._behind_all(render)

    def move(self, index: int, to: int) -> list[Splice]:
        """Take an item elsewhere: with its line where every item concerned has lines of its own."""
        order = list(range(len(self.at.items)))
        order.insert(to, order.pop(index))
        concerned = range(min(index, to), max(index, to) + 1)
        lines = [self._own_lines(at) for at in range(len(order))]
        if all(lines[at] is not None for at in concerned):
            return [
                Splice(line[0], line[1], self._line_text(order[at], at))
                for at in concerned
                if (line := lines[at]) is not None
            ]
        spans = self.at.items
        return [Splice(*spans[at], self.data[slice(*spans[order[at]])]) for at in concerned]

    def _line_text(self, item: int, place: int) -> bytes:
        """Return the lines of an item, with a comma if its new position has one."""
        lines = self._own_lines(item)
        if lines is None:
            raise ValueError("an item without lines of its own")
        end, comma = self.at.items[item][1], self.at.commas[item]
        tail = self.data[(end if comma is None else comma + 1) : lines[1]]
        return self.data[lines[0] : end] + (b"" if self.at.commas[place] is None else b",") + tail

    def _own_lines(self, index: int) -> Span | None:
        start, end = self.at.items[index]
        comma = self.at.commas[index]
        lines = self._lines(start, end if comma is None else comma + 1)
        return None if lines is None or (comma is not None and self.data[end:comma].strip()) else lines[:2]

    def _first(self, render: Render) -> Splice:
        start, end = self.at.start + 1, self.at.end - 1
        inside = self.data[start:end]
        outer = self.indent(self.at.start)
        if b"\n" in inside or self.at.comments:
            line = self.line_start(end)
            if self.data[line:end].strip(BLANKS) or line <= self.at.start:
                return Splice(end, end, render(None))
            indent = self.data[line:end] + (self.style.unit or b"")
            return Splice(line, line, indent + render(indent) + self.style.newline)
        if self.style.unit is None:
            return Splice(end, end, (b"" if inside else self.style.pad) + render(None) + (inside or self.style.pad))
        indent = outer + self.style.unit
        newline = self.style.newline
        return Splice(start, end, newline + indent + render(indent) + newline + outer)

    def _before(self, index: int, render: Render) -> Splice:
        start = self.at.items[index][0]
        comma = self.at.commas[index - 1] if index else self.at.commas[0]
        if comma is not None and self._begins_line(comma):
            indent = self.indent(comma)
            if index:
                at, blank = self.line_start(comma), self._blank_behind(comma)
                return Splice(at, at, indent + b"," + blank + render(indent) + self.style.newline)
            return Splice(
                start, start, render(indent) + self.style.newline + indent + b"," + self._blank_behind(comma)
            )
        if not self._begins_line(start):
            return Splice(start, start, render(None) + b"," + self._gap())
        line = self.line_end(self.at.start + 1 if not index else (comma or start) + 1)
        indent = self.indent(start)
        at = self.line_start(start) if line is None or line > start else line
        return Splice(at, at, indent + render(indent) + b"," + self.style.newline)

    def _behind_all(self, render: Render) -> list[Splice]:
        start, end = self.at.items[-1]
        comma = self.at.commas[-1]
        before = self.at.commas[-2] if len(self.at.items) > 1 else None
        if comma is None and before is not None and self._begins_line(before):
            indent = self.indent(before)
            text = indent + b"," + self._blank_behind(before) + render(indent)
            line = self.line_end(end)
            if line is not None and line < self.at.end:
                return [Splice(line, line, text + self.style.newline)]
            return [Splice(end, end, self.style.newline + text)]
        if not self._begins_line(start):
            if comma is None:
                return [Splice(end, end, b"," + self._gap() + render(None))]
            return [Splice(comma + 1, comma + 1, self._gap() + render(None) + b",")]
        indent = self.indent(start)
        tail = end if comma is None else comma + 1
        line = self.line_end(tail)
        own = [Splice(end, end, b",")] if comma is None else []
        close = b"" if comma is None else b","
        if line is not None and line < self.at.end:
            return [*own, Splice(line, line, indent + render(indent) + close + self.style.newline)]
        item = self.style.newline + indent + render(indent) + close
        return [Splice(tail, tail, (b"," if own else b"") + item)]

    def _lines(self, start: int, end: int) -> Splice | None:
        """Return whole lines from one that begins with `start` to one that ends with `end`, if they stand so."""
        line, close = self.line_start(start), self.line_end(end)
        if close is None or close >= self.at.end or line <= self.at.start or not self._begins_line(start):
            return None
        return Splice(line, close, b"")

    def _inside_line(self, index: int, end: int) -> Splice:
        """Return an item with its comma and the blanks after it, or else before it."""
        start = self.at.items[index][0]
        before = self.at.commas[index - 1] if index else None
        if index + 1 == len(self.at.items) and before is not None and not self.data[before + 1 : start].strip():
            return Splice(before + 1, end, b"")
        if self.line_end(end) is None:
            while self.data[end : end + 1] in {b" ", b"\t"}:
                end += 1
        else:
            while start - 1 > self.at.start and self.data[start - 1 : start] in {b" ", b"\t"}:
                start -= 1
        return Splice(start, end, b"")

    def _has_comment(self, start: int, end: int) -> bool:
        return any(start <= comment[0] < end for comment in self.at.comments)

    def _begins_line(self, at: int) -> bool:
        line = self.line_start(at)
        return line > self.at.start and not self.data[line:at].strip(BLANKS)

    def _blank_behind(self, comma: int) -> bytes:
        end = comma + 1
        while self.data[end : end + 1] in {b" ", b"\t"}:
            end += 1
        return self.data[comma + 1 : end]

    def _gap(self) -> bytes:
        for comma, (start, _) in zip(self.at.commas, self.at.items[1:], strict=False):
            if comma is not None and not self.data[comma + 1 : start].strip(BLANKS):
                return self.data[comma + 1 : start]
        return self.style.gap

    def indent(self, at: int) -> bytes:
        """Return the blanks that the line of an offset begins with."""
        line = self.line_start(at)
        end = line
        while self.data[end : end + 1] in {b" ", b"\t"}:
            end += 1
        return self.data[line : min(end, at)]

    def line_start(self, at: int) -> int:
        """Return where the line of an offset begins."""
        return self.data.rfind(b"\n", 0, at) + 1

    def line_end(self, at: int) -> int | None:
        """Return the offset behind the line break if only blanks and comments come before it; else None."""
        comments = dict(self.at.comments)
        while at < len(self.data):
            byte = self.data[at : at + 1]
            if byte == b"\n":
                return at + 1
            if byte in {b" ", b"\t", b"\r"}:
                at += 1
            elif at in comments and b"\n" not in self.data[at : comments[at]]:
                at = comments[at]
            else:
                return None
        return None


def pair_commas(items: Sequence[Span], commas: Sequence[int]) -> tuple[int | None, ...]:
    """Return the comma behind each item of a well-formed list."""
    return (*commas, None)[: len(items)] if len(commas) < len(items) else tuple(commas[: len(items)])
