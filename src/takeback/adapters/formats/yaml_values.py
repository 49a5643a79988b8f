"""Single values of YAML: what a scalar means, in 1.1 and in 1.2, and how a value is written.

Only JSON's values are read. A timestamp, an infinity, a value under a tag of its own is its text; the file keeps how
it is written. A text is written so that it is a text in both versions, without quotes only where nobody can take it
for anything else.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

_TAGS: Final = "tag:yaml.org,2002:"
_RESOLVE: Final[Any] = Resolver().resolve
_CONSTRUCTOR: Final = SafeConstructor()
_NEWER: Final = (
    ("null", re.compile(r"~|null|Null|NULL|")),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")),
    ("float", re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")),
)
"""What a plain scalar is in YAML 1.2, by the first that fits."""
_PLAIN: Final = re.compile(r"[^\W\d][^\x00-\x1f\x7f-\xa0\ufeff\u2028\u2029\ud800-\udfff\ufffe\uffff]*|/[\x21-\x7e]*")
_WORDS: Final = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity"})
_ESCAPED: Final = re.compile("[\x7f-\xa0\ufeff\u2028\u2029\ufffe\uffff]")
_UNPRINTABLE: Final = re.compile(
    "[^\n\t\x20-\x7e\xa1-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029]"
)


def read_scalar(text: str, tag: str | None, *, plain: bool, newer: bool) -> Any:
    """Return the value of a scalar; raise `ValueError` where it is not what its tag says."""
    if tag is not None and tag != "!":
        kind = tag.removeprefix(_TAGS)
    elif not plain:
        return text
    else:
        kind = resolve_newer(text) if newer else str(_RESOLVE(yaml.ScalarNode, text, (True, False)))
        kind = kind.removeprefix(_TAGS)
    if kind == "null":
        return None
    if kind not in {"bool", "int", "float"}:
        return text
    return _construct(kind, text, newer=newer)


def _construct(kind: str, text: str, *, newer: bool) -> Any:
    try:
        if kind == "bool":
            return _CONSTRUCTOR.bool_values[text.lower()]
        if newer and kind == "int":
            return int(text, 8) if text.startswith("0o") else int(text, 16) if text.startswith("0x") else int(text)
        node = yaml.ScalarNode(_TAGS + kind, text)
        value: Any = (
            _CONSTRUCTOR.construct_yaml_int(node) if kind == "int" else _CONSTRUCTOR.construct_yaml_float(node)
        )
    except (KeyError, IndexError, OverflowError):
        raise ValueError(text) from None
    return value if value - value == 0 else text  # an infinity or NaN is no JSON value


def resolve_newer(text: str) -> str:
    """Return what a plain scalar is in YAML 1.2."""
    return next((kind for kind, pattern in _NEWER if pattern.fullmatch(text)), "str")


def is_merge(text: str, tag: str | None, *, plain: bool) -> bool:
    """Return whether a key is that of YAML 1.1 which brings in other mappings."""
    return text == "<<" and plain and tag is None


@dataclass(frozen=True, slots=True)
class YamlManner:
    """How a document is written, as far as it shows that."""

    newline: str = "\n"
    unit: int = 2
    """One step of indentation."""
    dash: int = 2
    """How far the items of a list stand to the right of their key."""
    quote: str = '"'
    pads: tuple[str, str] = ("", "")
    """Inside the braces and the brackets of a container on one line."""
    literal: bool = True
    """Whether a text of several lines may become a block, which ends in a line break."""

    def scalar(self, value: Any, *, quote: str = "", flow: bool = False) -> str:
        """Return a value that is no container on one line; with `quote`, a text in such quotes."""
        if value is None or isinstance(value, bool):
            return {None: "null", True: "true", False: "false"}[value]
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            text = repr(value)
            return text.replace("e", ".0e") if "e" in text and "." not in text else text
        if not quote and can_be_plain(value, flow=flow):
            return str(value)
        if (quote or self.quote) == "'" and _UNPRINTABLE.search(value) is None and "\n" not in value:
            return "'" + str(value).replace("'", "''") + "'"
        return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))

    def flow(self, value: Any) -> str:
        """Return any value on one line."""
        if isinstance(value, dict):
            items = ", ".join(f"{self.scalar(key, flow=True)}: {self.flow(item)}" for key, item in value.items())
            return f"{{{self.pads[0]}{items}{self.pads[0]}}}" if items else "{}"
        if isinstance(value, list):
            items = ", ".join(map(self.flow, value))
            return f"[{self.pads[1]}{items}{self.pads[1]}]" if items else "[]"
        return self.scalar(value, flow=True)

    def block(self, value: Any, column: int) -> list[str]:
        """Return the lines of a container that has something in it, at a column; the first has no indentation."""
        indent = " " * column
        lines: list[str] = []
        for member in value.items() if isinstance(value, dict) else value:
            if isinstance(value, dict):
                first, *more = self.member(member[0], member[1], column)
            else:
                first, *more = self.item(member, column)
            lines += [indent + first if lines else first, *more]
        return lines

    def member(self, key: str, value: Any, column: int, *, quote: str = "") -> list[str]:
        """Return the lines of a mapping's member, whose key stands at a column; the first has no indentation."""
        name = self.scalar(key, quote=quote)
        if isinstance(value, dict | list) and value:
            below = column + (self.dash if isinstance(value, list) else self.unit)
            first, *more = self.block(value, below)
            return [f"{name}:", " " * below + first, *more]
        first, *more = self.inline(value, column)
        return [f"{name}: {first}", *more]

    def item(self, value: Any, column: int, gap: str = " ") -> list[str]:
        """Return the lines of an item of a list, whose dash stands at a column; the first has no indentation."""
        if isinstance(value, dict | list) and value:
            first, *more = self.block(value, column + 1 + len(gap))
        else:
            first, *more = self.inline(value, column)
        return [f"-{gap}{first}", *more]

    def inline(self, value: Any, column: int) -> list[str]:
        """Return a scalar or an empty container; a text of several lines as a block below the column's owner."""
        if isinstance(value, str) and "\n" in value and self.literal:
            lines = make_literal(value, column + self.unit)
            if lines is not None:
                return lines
        return [self.flow(value) if isinstance(value, dict | list) else self.scalar(value)]


def can_be_plain(text: str, *, flow: bool) -> bool:
    """Return whether a text without quotes is that text to every reader."""
    if _PLAIN.fullmatch(text) is None or text.lower() in _WORDS or text[-1] in ": " or "\n" in text:
        return False
    if ": " in text or " #" in text or ":\t" in text or "\t" in text:
        return False
    return not (flow and (any(char in "[]{},?:" for char in text)))


def make_literal(text: str, column: int, *, folded: bool = False) -> list[str] | None:
    """Return a text as a literal (or folded) block whose lines begin at a column; None where it cannot be one."""
    body = text.rstrip("\n")
    first = body.lstrip("\n")
    if not first or first[0] in " \t" or _UNPRINTABLE.search(text) is not None:
        return None
    tail = len(text) - len(body)
    mark = "-" if tail == 0 else "" if tail == 1 else "+"
    lines = body.split("\n")
    if any(line.isspace() for line in lines):
        return None
    if folded:
        if any(line[:1] in {" ", "\t"} for line in lines) or body != first:
            return None
        lines = [part for at, line in enumerate(lines) for part in (("", line) if at and line else (line,))]
    indent = " " * column
    lines += [""] * max(0, tail - 1)
    return [f"{'>' if folded else '|'}{mark}", *(indent + line if line else "" for line in lines)]
