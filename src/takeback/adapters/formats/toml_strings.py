"""TOML's texts of several lines, edited line by line: lines that stay keep their bytes, escapes included."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Final

BASIC: Final = '"""'
LITERAL: Final = "'''"
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_FOLDED: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[ \t]*(?:\r?\n|$)")
_BARE_END: Final = re.compile(r'(?<!\\)(?:\\\\)*"$')
"""A quotation mark at the end that no backslash stands before."""


def edited_lines(raw: bytes, old: str, new: str) -> bytes | None:
    """The text of a value of several lines, edited from `old` to `new`; None if that cannot be said in its style."""
    text = raw.decode()
    mark = text[: len(BASIC)]
    if mark not in {BASIC, LITERAL} or "\n" not in new:
        return None
    body = text[len(mark) : -len(mark)]
    first = re.match(r"\r?\n", body)
    start = first[0] if first else ""
    end = "\r\n" if "\r\n" in body else "\n"
    lines = body[len(start) :].replace("\r\n", "\n").split("\n")
    before, after = old.split("\n"), new.split("\n")
    if len(lines) != len(before) or (mark == BASIC and _FOLDED.search(body)):
        lines = [_said(line, mark) or "" for line in before]
    made: list[str] = []
    for tag, one, end_one, two, end_two in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            made += lines[one:end_one]
            continue
        for line in after[two:end_two]:
            said = _said(line, mark)
            if said is None:
                return None
            made.append(said)
    whole = end.join(made)
    if mark == BASIC and _BARE_END.search(whole):
        whole = f'{whole[:-1]}\\"'
    elif mark == LITERAL and whole.endswith("'"):
        return None
    return f"{mark}{start or (end if whole.startswith(end) else '')}{whole}{mark}".encode()


def _said(line: str, mark: str) -> str | None:
    """A line as it stands between these marks; None if it cannot."""
    if mark == LITERAL:
        return None if LITERAL in line or _CONTROL.search(line) else line
    escaped = line.replace("\\", "\\\\").replace(BASIC, '""\\"')
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", escaped)
