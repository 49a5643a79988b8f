"""Addresses: where in a state something stands, as `surface["key"]`.

An address has a surface and a key in that surface's own notation (a dotted path, an id, an event, a file
path). A whole surface is named by its bare name. What a key may look like is the surface's business.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from takeback.canonical import encode, parse
from takeback.errors import InputError

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
        key = parse(match[2], where)
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
    """Join names into a dotted path, the inverse of `split_dotted`."""
    plain = ".".join(path)
    if "\\" not in plain and plain.count(".") == len(path) - 1:
        return plain
    return ".".join(name.replace("\\", "\\\\").replace(".", "\\.") for name in path)
