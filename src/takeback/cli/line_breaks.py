"""Lines that are wider than a terminal, broken between words, so that no word is.

A command that a sentence quotes stays on one line where it fits on one, because it is there to be copied. A word
that is wider than the terminal, such as a digest, stays whole: the terminal breaks it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
WIDE: Final = frozenset("WF")
_QUOTED: Final = re.compile(r"((?:'takeback [^'\n]*'|`takeback [^`\n]*`|\S)+)")
_WORDS: Final = re.compile(r"(\S+)")
_SIGN: Final = re.compile(r"(?:[-+>!#*] ?)? *")
HANG: Final = 2
"""Columns that what follows a break stands further to the right."""


def measure_cells(text: str) -> int:
    """Return the columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in WIDE else 1 for c in text)


def measure_shown(text: str) -> int:
    """Return the columns of a text without its colours."""
    return measure_cells(COLOUR.sub("", text) if "\x1b" in text else text)


def cut_text(text: str, width: int) -> str:
    """Return the text, cut to a width with a mark if it is wider."""
    return text if measure_cells(text) <= width else f"{text[: count_fitting(text, width - 1)]}…"


def count_fitting(text: str, width: int) -> int:
    """Return how many characters of a text fit into a width."""
    taken = 0
    for at, character in enumerate(text):
        taken += measure_cells(character)
        if taken > width:
            return at
    return len(text)


def cut_at_word(text: str, width: int) -> str:
    """Return a text cut to a width with a mark, between words where it has any."""
    cut = cut_text(text, width)
    if cut == text or text[len(cut) - 1 :].startswith(" "):
        return cut
    whole = cut[:-1].rstrip().rpartition(" ")[0].rstrip(" ·,;:+-(")
    return f"{whole} …" if len(whole) * 2 >= width else cut


def wrap_lines(text: str, width: int) -> str:
    """Return a text, of one line or several, with breaks between words where a line is wider than a terminal."""
    if len(text) <= width and text.isascii():
        return text
    return "\n".join(_wrap_line(line, width) for line in text.split("\n"))


def _wrap_line(line: str, width: int) -> str:
    if measure_shown(line) <= width:
        return line
    start = _SIGN.match(COLOUR.sub("", line))
    hang = min(measure_cells(start[0] if start else "") + HANG, width // 2)
    lines: list[str] = []
    now, taken, gap = "", 0, ""
    for piece in _list_words(line, width - hang):
        if not piece.strip(" "):
            gap = piece
            continue
        size = measure_shown(piece)
        if taken and COLOUR.sub("", now).strip() and taken + len(gap) + size > width:
            lines.append(now)
            now, taken = " " * hang + piece, hang + size
        else:
            now, taken = now + gap + piece, taken + len(gap) + size
        gap = ""
    return "\n".join((*lines, now))


def _list_words(line: str, width: int) -> list[str]:
    """Return words and the gaps between them; a quoted command is a word where it is no wider than a line."""
    words: list[str] = []
    for piece in _QUOTED.split(line):
        if piece.strip(" ") and measure_shown(piece) > width:
            words += _WORDS.split(piece)
        else:
            words.append(piece)
    return [piece for piece in words if piece]
