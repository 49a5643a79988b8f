"""Addresses: where in a state something stands, as `surface["key"]`; and the names of parts below one.

An address has a surface and a key in that surface's own notation (a dotted path, an id, an event, a file
path). A whole surface is named by its bare name. What a key may look like is the surface's business. Parts are the
lines of a text and the items of a list, numbered, added or moved, and what has no place among them.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from takeback.canonical import decode, encode
from takeback.errors import InputError
from takeback.state.values import MARK

_FORM = re.compile(r'([a-z][a-z0-9_]*)\[("(?:[^"\\]|\\.)*")\]', re.DOTALL)
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Address(NamedTuple):
    """One place in a state."""

    surface: str
    key: str

    def __str__(self) -> str:
        return f"{self.surface}[{encode(self.key)}]"


def read_address(raw: str, where: str) -> Address | str:
    """Return the address in `raw`, or the surface's name where `raw` is a bare one."""
    if _NAME.fullmatch(raw):
        return raw
    match = _FORM.fullmatch(raw)
    if match is None:
        raise InputError(where, found=raw, expected='a surface ("config") or an address (config["a.b"])')
    try:
        key = decode(match[2], where)  # which text may be a key is its surface's business
    except InputError:
        raise InputError(where, found=raw, expected="a key that is a JSON string") from None
    return Address(match[1], key)


def parse_dotted_path(key: str) -> tuple[str, ...]:
    r"""Split a dotted path; `\.` and `\\` stand for a dot and a backslash inside a name."""
    if "\\" not in key:
        return tuple(key.split("."))
    names, name, escaped = [], "", False
    for char in key:
        if escaped:
            name, escaped = name + char, False
        elif char == "\\":
            escaped = True
        elif char == ".":
            names.append(name)
            name = ""
        else:
            name += char
    return (*names, name)


def format_dotted_path(path: tuple[str, ...]) -> str:
    """Join names into a dotted path, the inverse of `parse_dotted_path`."""
    plain = ".".join(path)
    if "\\" not in plain and plain.count(".") == len(path) - 1:
        return plain
    return ".".join(name.replace("\\", "\\\\").replace(".", "\\.") for name in path)


END: Final = "end"
"""The part of a text that says what is missing at the end of its last line."""
FRAME: Final = "frame"
"""The part of a file that is its permission bits: they change without its lines, and its lines without them."""
PATH: Final = "path"
"""The part of a file that says where it stands since it was moved."""
FRAMES: Final = (FRAME, PATH)
"""The parts of a file that are no part of its content."""
PLACE: Final = "@"
"""Begins the id of the part that says where the part named behind it stands since it was moved."""
FRESH: Final = "n"
"""Begins the id of a part that an edit added; those that were there from the start are numbered."""
APART: Final = frozenset({END, *FRAMES})
"""Parts that stand nowhere among the others."""


def make_part_name(part: str) -> str:
    """Return how a part is named in a slot."""
    return MARK + part


def is_part(name: str) -> bool:
    """Tell whether a name in a slot is that of a part."""
    return name[:1] == MARK


def is_place(name: str) -> bool:
    """Tell whether a name in a slot is that of the place of a part that was moved."""
    return name[:2] == MARK + PLACE


def is_frame(name: str) -> bool:
    """Tell whether a name in a slot is that of a part of a file's frame: its mode, or where it stands."""
    return name[1:] in FRAMES and name[:1] == MARK


def describe_part(name: str, word: str, position: int | None = None) -> str:
    """Return a part's name for people: `word` and where it stands.

    Without a position: which one of those there were from the start, or of those added since.
    """
    part = name[1:]
    if part == END:
        return "newline at the end"
    if part == FRAME:
        return "mode"
    if part == PATH:
        return "path"
    if part[0] == PLACE:
        return f"place of {describe_part(part, word, position)}"
    number = parse_original_number(part)
    if position is not None:
        return f"{word} {position + 1}"
    return f"added {word} {int(part[1:]) + 1}" if number is None else f"{word} {number + 1}"


def parse_original_number(part: str) -> int | None:
    """Return the number of a part that was there from the start; None for one that was added."""
    return int(part) if part.isdecimal() else None
