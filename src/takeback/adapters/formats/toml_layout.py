"""Lines and blocks of a TOML text: where a new line or table goes, and what a removed one takes along."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from takeback.adapters.formats.brackets import BLANKS
from takeback.adapters.formats.document import BOM, Splice
from takeback.adapters.formats.toml_tree import Section, TableOrigin, TomlPair, TomlTable, TomlTree, sections_of

_EQUALS = re.compile(rb"[ \t]*=[ \t]*\Z")


class TomlLayout:
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
        """Where the line of an offset begins."""
        return max(self.data.rfind(b"\n", 0, at) + 1, self.top)

    def line_end(self, at: int) -> int:
        """Behind the line of an offset, its line break included."""
        found = self.data.find(b"\n", at)
        return len(self.data) if found < 0 else found + 1

    def indent(self, at: int) -> str:
        """The blanks a line begins with."""
        start = self.line_start(at)
        return self.data[start:at].decode() if not self.data[start:at].strip(BLANKS) else ""

    def block_start(self, section: Section) -> int:
        """Where a table begins: at the comment lines directly above its header."""
        at = max(section.start, self.top)
        while at > self.top and self.line_start(at - 1) in self._comment_lines:
            at = self.line_start(at - 1)
        return at

    def behind(self, table: TomlTable) -> int:
        """Where a new table inside `table` goes: behind what is in it, or at the end of the document."""
        if table.made is TableOrigin.ROOT:
            return len(self.data)
        sections = sorted(sections_of(table), key=lambda section: section.start)
        run = sections[:1]
        for section in sections[1:]:
            if self._order[id(section)] != self._order[id(run[-1])] + 1:
                break
            run.append(section)
        return self.line_end(run[-1].last)

    def line_behind(self, at: int, text: str, indent: str = "") -> Splice:
        """A new line behind the one of an offset."""
        end = self.line_end(at)
        return Splice(end, end, self._whole(end, f"{indent}{text}".encode()))

    def pair(self, section: Section, text: str) -> Splice:
        """A new pair at the end of a section."""
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
        """A table's lines put at the beginning of a line, with blank lines around them."""
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
        for section in sorted(sections, key=lambda found: found.start):
            start, end = self.block_start(section), self.line_end(section.last)
            if blocks and not self.data[blocks[-1][1] : start].strip():
                start = blocks.pop()[0]
            blocks.append((start, end))
        edits = [self._closed(*self._with_blanks(*block)) for block in blocks]
        return sorted((*edits, *(self._closed(*self._pair_lines(pair)) for pair in pairs)))

    def _pair_lines(self, pair: TomlPair) -> tuple[int, int]:
        """The lines of a pair; of the only one above all tables with the blank lines behind it."""
        start, end = self.line_start(pair.span[0]), self.line_end(pair.span[1])
        if start == self.top and self.tree.sections[0].pairs == [pair]:
            while end < len(self.data) and not self._line(end).strip():
                end = self.line_end(end)
        return start, end

    def _with_blanks(self, start: int, end: int) -> tuple[int, int]:
        """A block with the blank lines on that side of it where there are fewer; at the end, with those above it."""
        first, last = start, end
        while first > self.top and self.line_start(first - 1) < first and not self._line(first - 1).strip():
            first = self.line_start(first - 1)
        while last < len(self.data) and not self._line(last).strip():
            last = self.line_end(last)
        if last == len(self.data) or first == self.top:
            return first, last
        above, below = (self.data[slice(*span)].count(b"\n") for span in ((first, start), (end, last)))
        return (start, last) if below <= above else (first, end)

    def _closed(self, start: int, end: int) -> Splice:
        """Whole lines; from the end of a text without a line break there, the one before goes instead."""
        if end == len(self.data) and start > self.top and not self.data.endswith(b"\n"):
            start -= 2 if self.data[start - 2 : start] == b"\r\n" else 1
        return Splice(start, end, b"")

    def _line(self, at: int) -> bytes:
        return self.data[self.line_start(at) : self.line_end(at)]

    def body(self, sections: Sequence[Section]) -> tuple[int, int]:
        """Where some tables stand that follow each other, without the line break behind the last of them."""
        start, end = self.block_start(sections[0]), self.line_end(sections[-1].last)
        return start, start + len(self.data[start:end].rstrip(b"\r\n"))

    def equals(self, pairs: Sequence[TomlPair]) -> str:
        """What stands between key and value in some pairs, mostly."""
        found = [_EQUALS.search(self.data, pair.span[0], pair.value.span[0]) for pair in pairs]
        counted = Counter(one[0].decode() for one in found if one)
        return min(counted, key=lambda one: (-counted[one], len(one))) if counted else " = "

    def contiguous(self, sections: Sequence[Section]) -> bool:
        """Whether no other table stands between some."""
        places = [self._order[id(section)] for section in sections]
        return places == list(range(places[0], places[0] + len(places)))

    def _whole(self, at: int, text: bytes) -> bytes:
        """Text as a line of its own; at the end of a text without a line break there, that stays so."""
        if at == len(self.data) and len(self.data) > self.top and not self.data.endswith(b"\n"):
            return self.newline + text
        return text + self.newline
