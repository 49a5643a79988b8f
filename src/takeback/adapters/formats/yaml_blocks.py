"""Literal and folded blocks of YAML with another text in them: only the lines that differ become others.

A folded block keeps its line breaks where the text is the same. What the block cannot say as it is gets another
header, or None, and is written in another way.
"""

from __future__ import annotations

import re
from typing import Final

import yaml

from takeback.adapters.formats.yaml_values import make_literal

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
