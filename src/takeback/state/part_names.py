"""Names of parts: the lines of a text and the items of a list, numbered, added or moved, and what has no place."""

from __future__ import annotations

from typing import Final

from takeback.state.values import MARK

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
