"""A document: the text of a file, the values in it, and edits that leave every other byte as it is.

`get`, `set`, `remove`, `insert` and `move` work on paths of keys and positions. An edit returns a new document and
never writes one anew: what cannot be spliced is refused with `CannotSplice`. Every edit is read back and compared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from takeback.canonical import encode, make_comparable
from takeback.errors import CannotSplice, InputError
from takeback.sequences import find_longest_rising

PathStep = str | int
DocumentPath = tuple[PathStep, ...]
BOM = b"\xef\xbb\xbf"


class Absent:
    """Stands for nothing at a path; null is a value."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = Absent()


class Splice(NamedTuple):
    """Bytes to put in place of a span."""

    start: int
    end: int
    text: bytes


class Document(ABC):
    """One document, read. `where` names its file in messages."""

    def __init__(self, data: bytes, where: str) -> None:
        self.data = data
        self.where = where
        self.newline = detect_newline(data)
        """The line ending of new lines; an edit of the document keeps it, also if no line is left."""

    @property
    @abstractmethod
    def value(self) -> Any:
        """The whole document as a plain JSON value."""

    @abstractmethod
    def _set(self, path: DocumentPath, value: Any) -> list[Splice]:
        """Return edits that put a value at a path, with containers made on the way."""

    @abstractmethod
    def _remove(self, path: DocumentPath) -> list[Splice]:
        """Return edits that remove the value at a path; the container stays."""

    @abstractmethod
    def _insert(self, path: DocumentPath, value: Any) -> list[Splice]:
        """Return edits that put a new item before position `path[-1]` of a list, also of a missing one."""

    @abstractmethod
    def _move(self, path: DocumentPath, to: int) -> list[Splice]:
        """Return edits that move the item at a path to another position of its list."""

    def _insert_member(self, path: DocumentPath, value: Any, at: int) -> list[Splice]:
        """Return edits that put a new member before position `at` of a mapping."""
        del value, at
        raise self.refusal(path, "the order of keys cannot be chosen in this format")

    def _move_member(self, path: DocumentPath, to: int) -> list[Splice]:
        """Return edits that move a member to another position of its mapping."""
        del to
        raise self.refusal(path, "the order of keys cannot be chosen in this format")

    def same(self, old: Any, new: Any) -> bool:
        """Return whether two values are the same; the order of keys does not matter by default."""
        return is_alike(old, new)

    def get(self, path: DocumentPath) -> Any:
        """Return the value at a path; MISSING if there is none."""
        return look_up(self.value, path)

    def members(self, path: DocumentPath) -> tuple[tuple[str, Any], ...]:
        """Return the members of the mapping at a path, in order; none if there is no mapping."""
        value = self.get(path)
        return tuple(value.items()) if isinstance(value, dict) else ()

    def set(self, path: DocumentPath, value: Any) -> Self:
        """Return the document with a value at a path."""
        self._check(path, value)
        return self._apply_edits(self._set(path, value), path, put_value(self.value, path, value))

    def remove(self, path: DocumentPath) -> Self:
        """Return the document without the value at a path."""
        return self._apply_edits(self._remove(path), path, remove_value(self.value, path))

    def insert(self, path: DocumentPath, value: Any) -> Self:
        """Return the document with a new item before position `path[-1]` of a list."""
        self._check(path, value)
        return self._apply_edits(self._insert(path, value), path, insert_value(self.value, path, value))

    def insert_all(self, path: DocumentPath, values: Sequence[Any]) -> Self:
        """The document with new items before position `path[-1]` of a list, read as often for many as for two."""
        *others, last = values
        grown = self.insert(path, last)
        for value in others:
            self._check(path, value)
        edits = [edit for value in others for edit in grown._insert(path, value)]  # noqa: SLF001 - of one class
        if len(edits) == len(others) and all(edit[:2] == (edits[0].start, edits[0].start) for edit in edits):
            expected = grown.value
            for value in reversed(others):
                expected = insert_value(expected, path, value)
            merged = [Splice(edits[0].start, edits[0].start, b"".join(edit.text for edit in edits))] if edits else []
            return grown._apply_edits(merged, path, expected)  # noqa: SLF001
        grown = self
        for at, value in enumerate(values, int(path[-1])):
            grown = grown.insert((*path[:-1], at), value)
        return grown

    def move(self, path: DocumentPath, to: int) -> Self:
        """Return the document with one item of a list moved to another position."""
        return self._apply_edits(self._move(path, to), path, move_value(self.value, path, to))

    def insert_member(self, path: DocumentPath, value: Any, at: int) -> Self:
        """Return the document with a new member, of key `path[-1]`, before position `at` of its mapping."""
        self._check(path, value)
        if self.get(path) is not MISSING:
            raise self.refusal(path, "it is there already")
        expected = arrange_members(put_value(self.value, path, value), path, at)
        return self._apply_edits(self._insert_member(path, value, at), path, expected)

    def move_member(self, path: DocumentPath, to: int) -> Self:
        """Return the document with the member at a path moved to another position of its mapping."""
        return self._apply_edits(self._move_member(path, to), path, arrange_members(self.value, path, to))

    def _check(self, path: DocumentPath, value: Any) -> None:
        """Refuse a value that is none of JSON's."""
        try:
            encode(value).encode()
        except ValueError as fault:
            raise self.refusal(path, f"its value is no JSON value ({fault})") from None

    def _apply_edits(self, edits: list[Splice], path: DocumentPath, expected: Any) -> Self:
        try:
            edited = type(self)(apply_splices(self.data, edits), self.where)
            edited.newline = self.newline
            value = edited.value
        except InputError as fault:
            raise self.refusal(path, f"the edit would not be well formed ({fault.message})") from None
        if not self.same(value, expected):
            raise self.refusal(path, "the edit would change something else")
        return edited

    def refusal(self, path: DocumentPath, reason: str) -> CannotSplice:
        """Return the error that says why an edit cannot be made in place."""
        return CannotSplice(f"{format_path(path)} cannot be edited in place: {reason}", where=self.where)


def apply_splices(data: bytes, edits: Sequence[Splice]) -> bytes:
    """Return the bytes with some spans replaced."""
    parts: list[bytes] = []
    at = 0
    for edit in sorted(edits):
        parts += [data[at : edit.start], edit.text]
        at = edit.end
    return b"".join((*parts, data[at:]))


def transform_document(document: Document, value: Any, path: DocumentPath = ()) -> Document:
    """Return the document with `value` at a path, by the smallest edits of mappings, lists and single values."""
    present = document.get(path)
    if is_alike(present, value):
        return document
    if isinstance(present, dict) and isinstance(value, dict):
        for key in [key for key in present if key not in value]:
            document = document.remove((*path, key))
        for key, item in value.items():
            document = transform_document(document, item, (*path, key))
        return document
    if isinstance(present, list) and isinstance(value, list):
        return _transform_list(document, present, value, path)
    return document.set(path, value)


def patch_document(document: Document, before: Any, after: Any, path: DocumentPath = ()) -> Document:
    """Return the document with only the difference between two values changed."""
    if is_alike(before, after):
        return document
    if not isinstance(before, dict) or not isinstance(after, dict) or not isinstance(document.get(path), dict):
        return transform_document(document, after, path)
    for key in before:
        if key not in after and document.get((*path, key)) is not MISSING:
            document = document.remove((*path, key))
    for key, item in after.items():
        if key not in before:
            document = transform_document(document, item, (*path, key))
        else:
            document = patch_document(document, before[key], item, (*path, key))
    return document


def _transform_list(document: Document, present: list[Any], value: list[Any], path: DocumentPath) -> Document:
    old, new = ([encode(item) for item in items] for items in (present, value))
    from difflib import SequenceMatcher  # noqa: PLC0415 - start-up of hooks, which only read

    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    if not any(step[0] == "equal" for step in steps) and not all(isinstance(item, dict) for item in value):
        return document.set(path, value)
    for tag, start, stop, first, last in reversed(steps):
        if tag == "equal":
            continue
        both = min(stop - start, last - first)
        for at in reversed(range(start + both, stop)):
            document = document.remove((*path, at))
        if first + both < last:
            document = document.insert_all((*path, start + both), value[first + both : last])
        for at in range(both):
            document = transform_document(document, value[first + at], (*path, start + at))
    return document


def reorder_items(document: Document, path: DocumentPath, order: Sequence[int]) -> Document:
    """Return the document with the items of a list in another order, moving as few of them as possible."""
    stay = {order[at] for at in find_longest_rising(order)}
    now = list(range(len(order)))
    for movers in ([item for item in order if item not in stay], order):
        for item in movers:
            at, to = now.index(item), order.index(item)
            if at != to:
                document = document.move((*path, at), to)
                now.insert(to, now.pop(at))
    return document


def transform_in_order(document: Document, value: dict[str, Any], path: DocumentPath) -> Document:
    """Return the document with a mapping at a path, its members in their order, with few moves."""
    if not isinstance(document.get(path), dict):
        return document.set(path, value)
    for key, _ in document.members(path):
        if key not in value:
            document = document.remove((*path, key))
    for key, item in value.items():
        if document.get((*path, key)) is not MISSING:
            document = transform_document(document, item, (*path, key))
    now = [key for key, _ in document.members(path)]
    wanted = [key for key in value if key in now]
    stay = {wanted[at] for at in find_longest_rising([now.index(key) for key in wanted])}
    for movers in ([key for key in wanted if key not in stay], wanted):
        for key in movers:
            there = [name for name, _ in document.members(path)]
            if there.index(key) != wanted.index(key):
                document = document.move_member((*path, key), wanted.index(key))
    for at, (key, item) in enumerate(value.items()):
        if document.get((*path, key)) is MISSING:
            document = document.insert_member((*path, key), item, at)
    return document


def look_up(value: Any, path: DocumentPath) -> Any:
    """Return the value at a path of a plain value; MISSING if there is none."""
    for step in path:
        try:
            usable = isinstance(value, dict) if isinstance(step, str) else isinstance(value, list) and step >= 0
            value = value[step] if usable else MISSING
        except (KeyError, IndexError):
            return MISSING
    return value


def put_value(value: Any, path: DocumentPath, new: Any) -> Any:
    """Return a plain value with another value at a path, with mappings made on the way."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return [put_value(item, rest, new) if at == step else item for at, item in enumerate(value)]
    present = value if isinstance(value, dict) else {}
    return {**present, step: put_value(present.get(step), rest, new)}


def remove_value(value: Any, path: DocumentPath) -> Any:
    """Return a plain value without the value at a path."""
    step, rest = path[0], path[1:]
    if rest:
        return put_value(value, (step,), remove_value(value[step], rest))
    if isinstance(step, int):
        return [item for at, item in enumerate(value) if at != step]
    return {key: item for key, item in value.items() if key != step}


def insert_value(value: Any, path: DocumentPath, new: Any) -> Any:
    """Return a plain value with a new item in one of its lists."""
    present = look_up(value, path[:-1])
    items = [] if present is MISSING else list(present)
    items.insert(int(path[-1]), new)
    return put_value(value, path[:-1], items)


def move_value(value: Any, path: DocumentPath, to: int) -> Any:
    """Return a plain value with an item of one of its lists moved."""
    items = list(look_up(value, path[:-1]))
    items.insert(to, items.pop(int(path[-1])))
    return put_value(value, path[:-1], items)


def arrange_members(value: Any, path: DocumentPath, to: int) -> Any:
    """Return a plain value with a member of one of its mappings moved."""
    present = look_up(value, path[:-1])
    members = [member for member in present.items() if member[0] != path[-1]]
    members.insert(to, (path[-1], present[path[-1]]))
    return put_value(value, path[:-1], dict(members))


def is_alike(old: Any, new: Any) -> bool:
    """Return whether two plain values are the same by type and content; the order of keys does not matter."""
    if old is new or old is MISSING or new is MISSING:
        return old is new
    if type(old) is type(new) and isinstance(old, str | int):
        return bool(old == new)
    try:
        return make_comparable(old) == make_comparable(new)
    except (TypeError, ValueError):
        return False


def decode_text(content: bytes, where: str) -> str:
    """Return the text in some bytes; raise `InputError` if they are not UTF-8."""
    try:
        return content.decode()
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        place = f"{where}, line {line}"
        raise InputError(place, found="bytes that are not UTF-8", expected="UTF-8 text") from None


def format_path(path: DocumentPath) -> str:
    """Return a path as people write it."""
    return ".".join(str(step) for step in path) or "the document"


def locate_offset(data: bytes, at: int) -> str:
    """Return the line and column of an offset, for messages."""
    start = data.rfind(b"\n", 0, at) + 1
    column = len(data[start:at].decode("utf-8", "replace")) + 1
    line = data.count(b"\n", 0, at) + 1
    return f"line {line}, column {column}"


def detect_newline(data: bytes) -> bytes:
    """Return the line ending that a text uses first."""
    at = data.find(b"\n")
    return b"\r\n" if at > 0 and data[at - 1 : at] == b"\r" else b"\n"
