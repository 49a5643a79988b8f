"""YAML documents edited in place: block and flow collections, every kind of scalar, anchors, aliases, merges.

A new member or item is written as its neighbours are. A text keeps its quotes or its block; a removed line takes the
comment on it along, and comments on lines of their own stay. An edit that would reach another place through an anchor
is refused: it is made by hand and adopted. A key that comes from a merge is overridden where it was asked for. Of a
literal or folded block with another text in it only the lines that differ become others; what the block cannot say as
it is gets another header, or is written in another way.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import yaml

from takeback.adapters.formats.brackets import Bracketed, Listing, Style, pair_commas
from takeback.adapters.formats.document import Document, DocumentPath, Splice, locate_offset, put_value
from takeback.adapters.formats.yaml_tree import YamlEntry, YamlManner, YamlNode, YamlTree, make_literal, read_tree
from takeback.canonical import encode, make_comparable
from takeback.errors import CannotSplice

BY_HAND = "edit the file by hand, and 'takeback adopt' records what changed"


class YamlDocument(Document):
    """One YAML text, read by version 1.1, as PyYAML does. An empty one is an empty mapping."""

    newer: ClassVar[bool] = False

    def __init__(self, data: bytes, where: str) -> None:
        super().__init__(data, where)
        self._blocks = True
        """Whether texts may be written as blocks."""

    @cached_property
    def tree(self) -> YamlTree:
        """Where everything stands."""
        return read_tree(self.data, self.where, newer=self.newer)

    @property
    def value(self) -> Any:
        return self.tree.root.value

    def same(self, old: Any, new: Any) -> bool:
        """Return whether two values are the same, the order of keys included."""
        return make_comparable(old, ordered=True) == make_comparable(new, ordered=True)

    def set(self, path: DocumentPath, value: Any) -> Self:
        return self._edit(value, lambda document: Document.set(document, path, value))

    def insert(self, path: DocumentPath, value: Any) -> Self:
        return self._edit(value, lambda document: Document.insert(document, path, value))

    def insert_member(self, path: DocumentPath, value: Any, at: int) -> Self:
        return self._edit(value, lambda document: Document.insert_member(document, path, value, at))

    def _edit(self, value: Any, edit: Callable[[Self], Self]) -> Self:
        """Return the edited document; with texts in quotes where a block would take in comments behind it."""
        try:
            return edit(self)
        except CannotSplice:
            if "\\n" not in encode(value):
                raise
            quoting = type(self)(self.data, self.where)
            quoting.newline, quoting._blocks = self.newline, False  # noqa: SLF001 - of one class
            return edit(quoting)

    # -- finding ---------------------------------------------------------------------------------

    def _find(self, path: DocumentPath) -> YamlNode | None:
        """Return the node at a path, an alias if one stands there; None for nothing, and for what a merge brings."""
        node = self.tree.root
        for step in path:
            node = node.target if node.target is not None else node
            entry = self._entry(node, step)
            if entry is None:
                return None
            node = entry.node
        return node

    @staticmethod
    def _entry(node: YamlNode, step: str | int) -> YamlEntry | None:
        if isinstance(step, str):
            return node.own.get(step)
        return node.entries[step] if node.kind == "list" and 0 <= step < len(node.entries) else None

    def _require_own_place(self, path: DocumentPath, *, inside: bool = False) -> None:
        """Refuse a path behind an alias, and one whose edit would show wherever an anchor is used.

        With `inside` what is in the container at the path would be edited, and an alias there is refused too.
        """
        node = self.tree.root
        for depth, step in enumerate((*path, None)):
            at = path[:depth]
            last = step is None
            if node.kind == "alias" and (inside or not last):
                place = locate_offset(self.data, node.start)
                anchor = "" if node.target is None else node.target.anchor
                raise self._refusal(
                    path, f"{_name(at)} is the alias *{anchor} ({place}), and stands for another place"
                )
            if node.anchor in self.tree.aliases:
                place = locate_offset(self.data, self.tree.aliases[node.anchor])
                raise self._refusal(path, f"{_name(at)} has the anchor &{node.anchor}, and is used again at {place}")
            if step is None:
                return
            entry = self._entry(node, step)
            if entry is None:
                return
            node = entry.node

    def _refusal(self, path: DocumentPath, reason: str) -> CannotSplice:
        return self.refusal(path, f"{reason}; {BY_HAND}")

    # -- edits -----------------------------------------------------------------------------------

    def _set(self, path: DocumentPath, value: Any) -> list[Splice]:
        self._require_own_place(path)
        node = self._find(path)
        if node is not None and self._is_there(path, node):
            return self._replace(path, node, value)
        if not path:
            return self._begin(value)
        above = self._find(path[:-1])
        if isinstance(path[-1], int):
            raise self.refusal(path, "there is no such item")
        if above is None or (above.kind == "scalar" and above.value in (None, {})):
            inherited = self.get(path[:-1])
            base = inherited if isinstance(inherited, dict) else {}
            return self._set(path[:-1], put_value(base, path[-1:], value))
        return self._add_member(path, value, len(above.entries))

    def _is_there(self, path: DocumentPath, node: YamlNode) -> bool:
        return bool(path) or node.start != node.end or node.kind != "scalar"

    def _remove(self, path: DocumentPath) -> list[Splice]:
        self._require_own_place(path[:-1], inside=True)
        above, node = self._find(path[:-1]), self._find(path)
        if above is None or node is None:
            merged = self.get(path[:-1])
            if above is not None and isinstance(merged, dict) and path[-1] in merged:
                raise self._refusal(path, "it comes from a merge ('<<')")
            raise self.refusal(path, "there is nothing")
        if node.anchor in self.tree.aliases:
            place = locate_offset(self.data, self.tree.aliases[node.anchor])
            raise self._refusal(path, f"it has the anchor &{node.anchor}, and is used again at {place}")
        at = next(at for at, entry in enumerate(above.entries) if entry.node is node)
        if above.style == "flow":
            return self._read_brackets(above).cut(at)
        if above.style == "pair":
            raise self.refusal(path, "it is the only key of a pair without braces")
        return self._cut(path[:-1], above, at)

    def _insert(self, path: DocumentPath, value: Any) -> list[Splice]:
        self._require_own_place(path[:-1], inside=True)
        above, at = self._find(path[:-1]), int(path[-1])
        if above is None or (above.kind == "scalar" and above.value in (None, {})):
            return self._set(path[:-1], [value])
        if above.kind != "list":
            raise self.refusal(path[:-1], "it is not a list")
        at = min(at, len(above.entries))
        if above.style == "flow":
            if self._grows(path[:-1], above, value):
                return self._replace(path[:-1], above, [value])
            quoted = self._quote_as_neighbours(above, value)
            text = (quoted or self.manner.flow(value)).encode()
            return self._read_brackets(above).insert(at, lambda _: text)
        return self._place(above, at, self._item_lines(above, value))

    def _move(self, path: DocumentPath, to: int) -> list[Splice]:
        return self._arrange(path, int(path[-1]), to)

    def _insert_member(self, path: DocumentPath, value: Any, at: int) -> list[Splice]:
        self._require_own_place(path[:-1], inside=True)
        above = self._find(path[:-1])
        if above is None or (above.kind == "scalar" and above.value in (None, {})):
            return self._set(path, value)
        if above.kind == "mapping" and len(above.entries) != len(above.own):
            raise self.refusal(path, "its mapping has a merge ('<<'), which has no place in the order")
        return self._add_member(path, value, at)

    def _move_member(self, path: DocumentPath, to: int) -> list[Splice]:
        above = self._find(path[:-1])
        keys = [] if above is None else [entry.key for entry in above.entries]
        if above is None or len(keys) != len(above.own) or path[-1] not in keys:
            raise self.refusal(path, "it is not a member that can be moved")
        return self._arrange(path, keys.index(str(path[-1])), to)

    # -- members and items -----------------------------------------------------------------------

    def _add_member(self, path: DocumentPath, value: Any, at: int) -> list[Splice]:
        above, key = self._find(path[:-1]), str(path[-1])
        if above is None or above.kind != "mapping":
            raise self.refusal(path[:-1], "it is not a mapping")
        at = min(at, len(above.entries))
        quotes = {entry.quote for entry in above.entries}
        quote = quotes.pop() if len(quotes) == 1 else ""
        if above.style == "pair":
            raise self.refusal(path, "what it would lie in is a pair without braces")
        if above.style == "flow":
            if self._grows(path[:-1], above, value):
                return self._replace(path[:-1], above, {key: value})
            name = self.manner.scalar(key, quote=quote, flow=True)
            text = f"{name}: {self.manner.flow(value)}".encode()
            return self._read_brackets(above).insert(at, lambda _: text)
        column = self._column(above.entries[0].start)
        return self._place(above, at, self.manner.member(key, value, column, quote=quote))

    def _item_lines(self, above: YamlNode, value: Any) -> list[str]:
        entry = above.entries[0]
        gap = self.data[entry.mark : entry.node.start].decode()
        gap = gap if gap and not gap.strip(" ") and "\n" not in gap else " "
        quoted = self._quote_as_neighbours(above, value)
        return [f"-{gap}{quoted}"] if quoted else self.manner.item(value, self._column(entry.start), gap)

    def _quote_as_neighbours(self, above: YamlNode, value: Any) -> str:
        """Return a text in the quotes that all items of a list have; nothing where they have no such."""
        styles = {entry.node.style for entry in above.entries}
        if not isinstance(value, str) or "\n" in value or len(styles) != 1 or not styles <= {"'", '"'}:
            return ""
        return self.manner.scalar(value, quote=styles.pop())

    def _grows(self, path: DocumentPath, node: YamlNode, value: Any) -> bool:
        """Return whether an empty `{}` or `[]` becomes a block: for a container, where blocks may be."""
        in_block = all(
            (above := self._find(path[:depth])) is not None and above.style == "block" for depth in range(len(path))
        )
        return not node.entries and in_block and isinstance(value, dict | list) and bool(value)

    def _place(self, above: YamlNode, at: int, lines: list[str]) -> list[Splice]:
        """Return the edit that puts the lines of a new entry before the one at a position, or behind all."""
        column = self._column(above.entries[0].start)
        newline = self.newline.decode()
        if at < len(above.entries):
            start = above.entries[at].start
            return [Splice(start, start, (newline.join(lines) + newline + " " * column).encode())]
        end = self._line_end(above.entries[-1].end)
        return [Splice(end, end, (newline + " " * column + newline.join(lines)).encode())]

    def _cut(self, path: DocumentPath, above: YamlNode, at: int) -> list[Splice]:
        entry = above.entries[at]
        if len(above.entries) == 1:
            empty: Any = {} if above.kind == "mapping" else []
            if path or above.kind == "list" or above.start != above.inner:
                return self._replace(path, above, empty)
        start, end = self._line_start(entry.start), self._line_end(entry.end)
        if not self.data[start : entry.start].strip(b" "):
            after = self._next_line(end)
            if (
                after == end
                and self._has_line_before(start)
                and not (at and _ends_in_block(above.entries[at - 1].node))
            ):
                return [
                    Splice(self._line_end_before(start), end, b"")
                ]  # its line has no line break: that before goes
            return [Splice(start, after, b"")]
        if at + 1 == len(above.entries):
            return [Splice(entry.start, end, b"")]
        following = above.entries[at + 1].start
        gap = self.data[end:following]
        return [Splice(entry.start, end if b"#" in gap else following, b"")]

    def _arrange(self, path: DocumentPath, at: int, to: int) -> list[Splice]:
        self._require_own_place(path[:-1], inside=True)
        above = self._find(path[:-1])
        if above is None or above.kind not in {"list", "mapping"} or not 0 <= at < len(above.entries):
            raise self.refusal(path, "it is not an item of a list")
        if above.style == "flow":
            return self._read_brackets(above).move(at, to)
        order = list(range(len(above.entries)))
        order.insert(to, order.pop(at))
        bodies = [(entry.start, self._line_end(entry.end)) for entry in above.entries]
        concerned = range(min(at, to), max(at, to) + 1)
        return [Splice(*bodies[item], self.data[slice(*bodies[order[item]])]) for item in concerned]

    def _read_brackets(self, node: YamlNode) -> Bracketed:
        items = tuple((entry.start, entry.end) for entry in node.entries)
        comments = tuple(span for span in self.tree.comments if node.inner < span[0] < node.end)
        listing = Listing(node.inner, node.end, items, pair_commas(items, node.commas), comments)
        pad = self.manner.pads[node.kind == "list"].encode()
        return Bracketed(self.data, listing, Style(self.newline, pad=pad))

    # -- whole values ----------------------------------------------------------------------------

    def _begin(self, value: Any) -> list[Splice]:
        """Return the edit that writes the first value of an empty document."""
        if value == {}:
            return []
        node, newline = self.tree.root, self.newline.decode()
        container = isinstance(value, dict | list)
        lines = self.manner.block(value, 0) if container and value else self.manner.inline(value, 0)
        at = node.start
        before = self.data[self._line_start(at) : at].removeprefix(b"\xef\xbb\xbf")
        lead = newline if before else ""
        tail = "" if self._next_line(at) > at and before else newline
        return [Splice(at, at, (lead + newline.join(lines) + tail).encode())]

    def _replace(self, path: DocumentPath, node: YamlNode, value: Any) -> list[Splice]:
        """Return the edits that put a value in another's place."""
        start = node.start if node.tag else node.inner
        if node.kind == "scalar" and isinstance(value, str) and not node.tag:
            kept = self._edit_text(node, value)
            if kept is not None:
                return [Splice(node.inner, node.end, kept.encode())]
        above = self._find(path[:-1]) if path else None
        if above is not None and above.style in {"flow", "pair"}:
            lead = b"" if not self._needs_colon(path) else b": "
            return [Splice(start, node.end, lead + self.manner.flow(value).encode())]
        if node.style == "flow" and isinstance(value, dict | list):
            return (
                [Splice(start, node.end, self.manner.flow(value).encode())]
                if value and node.entries
                else (self._replace_block(path, node, start, value))
            )
        return self._replace_block(path, node, start, value)

    def _edit_text(self, node: YamlNode, value: str) -> str | None:
        """Return a text written as the one before it: in its quotes, or in its block; None if that cannot be."""
        if node.style in {"|", ">"} and not self._blocks:
            return None
        if node.style in {"|", ">"}:
            source, final = self.data[node.inner : node.end].decode(), node.end < len(self.data)
            return edit_block(source, node.value, value, self.newline.decode(), final=final)
        if node.style in {"'", '"'} and not ("\n" in value and "\n" not in node.value):
            return self.manner.scalar(value, quote=node.style)
        return None

    def _needs_colon(self, path: DocumentPath) -> bool:
        above = self._find(path[:-1])
        entry = None if above is None else self._entry(above, path[-1])
        return entry is not None and isinstance(path[-1], str) and not entry.colon

    def _replace_block(self, path: DocumentPath, node: YamlNode, start: int, value: Any) -> list[Splice]:
        """Return the edits that put a value in the place of one that stands in a block, or is the whole document."""
        newline, manner = self.newline.decode(), self.manner
        is_block = isinstance(value, dict | list) and bool(value)
        if not path:
            lines = manner.block(value, 0) if is_block else manner.inline(value, 0)
            same_line = self._line_start(start) < start and is_block
            lead = newline if same_line and self.data[self._line_start(start) : start] != b"\xef\xbb\xbf" else ""
            return [Splice(start, node.end, (lead + newline.join(lines)).encode())]
        if self._needs_colon(path):
            raise self.refusal(path, "its key has no colon")
        entry, column = self._around(path)
        below = self._line_start(start) > entry.mark
        if is_block and isinstance(path[-1], int) and not below:
            lines = manner.block(value, self._column(start) if start > entry.mark else self._column(entry.mark) + 1)
            return self._put_lines(entry, node, start, lines, "")
        if is_block:
            fits = self._column(start) > column or (isinstance(value, list) and node.kind == "list")
            if below and node.style == "block" and fits:
                return [Splice(start, node.end, newline.join(manner.block(value, self._column(start))).encode())]
            deeper = column + (manner.dash if isinstance(value, list) else manner.unit)
            lines = ["", *manner.block(value, deeper)]
            lines[1] = " " * deeper + lines[1]
            return self._put_lines(entry, node, start, lines, "")
        return self._put_lines(entry, node, start, manner.inline(value, column), " ")

    def _put_lines(self, entry: YamlEntry, node: YamlNode, start: int, lines: list[str], gap: str) -> list[Splice]:
        """Return the edits that put lines behind a colon or a dash: the first there, the others below that line."""
        newline = self.newline.decode()
        first, rest = lines[0], "".join(newline + line for line in lines[1:])
        if self._line_start(start) > entry.mark:  # what was there stands on lines of its own
            head, end = (f" {first}" if first else "").encode(), self._line_end(entry.mark)
            last = self._line_end(node.end)
            cut = Splice(self._line_start(start), self._next_line(last), b"")
            if cut.end == last:
                cut = Splice(self._line_end_before(cut.start), last, b"")
            if end == entry.mark:
                return [Splice(end, end, head + rest.encode()), cut]
            return [Splice(entry.mark, entry.mark, head), Splice(end, end, rest.encode()), cut]
        begin = start if start > entry.mark else entry.mark
        glue = "" if start > entry.mark or not first else gap or " "
        end = max(node.end, begin)
        if not first:
            begin = entry.mark if node.start >= start else begin
        tail = self._line_end(end)
        text = (glue + first).encode()
        if tail == end or not rest:
            return [Splice(begin, end, text + rest.encode())]
        return [Splice(begin, end, text), Splice(tail, tail, rest.encode())]

    def _around(self, path: DocumentPath) -> tuple[YamlEntry, int]:
        """Return the entry at a path, and the column of its key or dash."""
        above = self._find(path[:-1])
        entry = None if above is None else self._entry(above, path[-1])
        if entry is None:
            raise self.refusal(path, "there is nothing")
        return entry, self._column(entry.start)

    # -- lines -----------------------------------------------------------------------------------

    def _column(self, at: int) -> int:
        return at - self._line_start(at)

    def _line_start(self, at: int) -> int:
        line_start = self.data.rfind(b"\n", 0, at) + 1
        return line_start if line_start or not self.data.startswith(b"\xef\xbb\xbf") else min(3, at)

    def _line_end(self, at: int) -> int:
        """Return where the line of an offset ends, before its line break."""
        line_break = self.data.find(b"\n", at)
        if line_break < 0:
            return len(self.data)
        return line_break - 1 if line_break > at and self.data[line_break - 1 : line_break] == b"\r" else line_break

    def _line_end_before(self, start: int) -> int:
        """Return where the line before the one that begins at an offset ends."""
        return start - 2 if self.data[start - 2 : start] == b"\r\n" else start - 1

    def _has_line_before(self, start: int) -> bool:
        return b"\n" in self.data[:start]

    def _next_line(self, end: int) -> int:
        """Return where the next line begins, of the end of a line; the end itself if there is none."""
        line_break = self.data.find(b"\n", end)
        return end if line_break < 0 else line_break + 1

    @cached_property
    def manner(self) -> YamlManner:
        """How the document is written."""
        units: Counter[int] = Counter()
        dashes: Counter[int] = Counter()
        quotes: Counter[str] = Counter()
        pads: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        waiting = [self.tree.root]
        while waiting:
            node = waiting.pop()
            waiting += [entry.node for entry in node.entries]
            if node.style in {"'", '"'}:
                quotes[node.style] += 1
            if node.style == "flow" and node.entries and node.entries[0].start - node.inner < 3:  # noqa: PLR2004
                pads[node.kind == "list"][
                    self.data[node.inner + 1 : node.entries[0].start].decode().strip("\r\n")
                ] += 1
            for entry in node.entries if node.style == "block" and node.kind == "mapping" else ():
                below = entry.node
                if below.style == "block" and self._line_start(below.inner) > entry.start:
                    step = self._column(below.inner) - self._column(entry.start)
                    (dashes if below.kind == "list" else units)[step] += 1
        unit = units.most_common(1)[0][0] if units else 2
        return YamlManner(
            self.newline.decode(),
            unit,
            dashes.most_common(1)[0][0] if dashes else unit,
            quotes.most_common(1)[0][0] if quotes else '"',
            tuple(pad.most_common(1)[0][0] if pad else "" for pad in pads),  # type: ignore[arg-type]
            self._blocks and (not self.data or self.data.endswith(b"\n")),
        )


class Yaml12Document(YamlDocument):
    """One YAML text, read by version 1.2 unless it says `%YAML 1.1`: `no` and `on` are texts, `<<` is a key."""

    newer = True


def _name(path: DocumentPath) -> str:
    return ".".join(map(str, path)) or "the document"


def _ends_in_block(node: YamlNode) -> bool:
    """Return whether the last thing in a node is a block scalar, whose text ends with its line break."""
    while node.entries:
        node = node.entries[-1].node
    return node.style in {"|", ">"} and str(node.value).endswith("\n")


_HEADER: Final = re.compile(r"([|>])([-+0-9]*)([ \t]*(?:#[^\n]*)?)")


def edit_block(source: str, old: str, new: str, newline: str, *, final: bool) -> str | None:
    """Return the source of a block with a new text; None if it cannot be a block. `final`: a line break follows."""
    head, *lines = source.replace("\r\n", "\n").split("\n")
    header = _HEADER.fullmatch(head.rstrip("\r"))
    if header is None or not new.strip("\n"):
        return None
    indent = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    if not indent or any(char in header[2] for char in "0123456789"):
        return None
    column = " " * indent
    stripped = [line[indent:] for line in lines]
    wanted = make_literal(new, indent)
    mark = "" if wanted is None else wanted[0][1:]
    for body in _edit_lines(stripped, old, new) if header[1] == "|" else _edit_folded(stripped, old, new):
        chosen = header[2] if _tail(body, new) == "" else mark
        for ending in dict.fromkeys((chosen, header[2], mark, "-", "", "+")):
            text = _join(f"{header[1]}{ending}{header[3]}", body, column)
            if _read(text, indent, final=final) == new:
                return text.replace("\n", newline)
    if header[1] == ">":
        wanted = make_literal(new, indent, folded=True) or wanted
    if wanted is None:
        return None
    text = "\n".join([wanted[0] + header[3], *wanted[1:]])
    return text.replace("\n", newline) if _read(text, indent, final=final) == new else None


def _tail(lines: list[str], new: str) -> str:
    """Return what the last line leaves open: nothing where both end alike."""
    return "" if new.rstrip("\n").endswith(lines[-1].rstrip() if lines else "") else "?"


def _edit_lines(stripped: list[str], old: str, new: str) -> list[list[str]]:
    """Return the lines of a literal block: those that are the same stay as they were written."""
    before, after = old.rstrip("\n").split("\n"), new.rstrip("\n").split("\n")
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    kept = stripped[: len(before)]
    extra = [""] * max(0, len(new) - len(new.rstrip("\n")) - 1)
    return [[*kept[:start], *after[start : len(after) - end], *kept[len(before) - end :], *extra]]


def _edit_folded(stripped: list[str], old: str, new: str) -> list[list[str]]:
    """Return the lines of a folded block in which only what differs is new; nothing if that is not simple."""
    source = "\n".join(stripped).rstrip("\n")
    body, wanted = old.rstrip("\n"), new.rstrip("\n")
    places = _align(source, body)
    if places is None:
        return []
    start = 0
    while start < min(len(body), len(wanted)) and body[start] == wanted[start]:
        start += 1
    end = 0
    while end < min(len(body), len(wanted)) - start and body[-1 - end] == wanted[-1 - end]:
        end += 1
    middle = wanted[start : len(wanted) - end].replace("\n", "\n\n")
    text = source[: places[start]] + middle + source[places[len(body) - end] :]
    extra = [""] * max(0, len(new) - len(wanted) - 1)
    return [[*text.split("\n"), *extra]]


def _align(source: str, text: str) -> list[int] | None:
    """Return where each character of a folded text stands in its source; None where folding is not simple."""
    places: list[int] = []
    at = 0
    for char in text:
        places.append(at)
        if (at < len(source) and source[at] == char and not (char == "\n" and source[at + 1 : at + 2] == "\n")) or (
            char == " " and source[at : at + 1] == "\n"
        ):
            at += 1
        elif char == "\n" and source[at : at + 2] == "\n\n":
            at += 2 if source[at + 2 : at + 3] != "\n" else 1
        else:
            return None
    return [*places, at]


def _join(head: str, lines: list[str], column: str) -> str:
    return "\n".join([head, *(column + line if line else "" for line in lines)])


def _read(text: str, indent: int, *, final: bool) -> str | None:
    """Return what a block says; None if it is none."""
    try:
        value = yaml.safe_load(" " * (indent - 1) + "- " + text + "\n" * final)
    except (yaml.YAMLError, ValueError):
        return None
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) else None
