"""The single values of JSON5: how texts, numbers, bare keys and blanks are spelled, and what they mean.

Whatever strict JSON can spell means the same here. Infinities and NaN are numbers of JSON5, and no JSON values.
"""

from __future__ import annotations

import re
from typing import Any

from takeback.canonical import parse

_BLANK = (
    rb"[ \t\r\n\x0b\x0c]|\xc2\xa0|\xef\xbb\xbf|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
)
SPACE = re.compile(rb"(?:" + _BLANK + rb")*")
STRING = re.compile(rb""""(?:[^"\\\n\r]|\\(?:\r\n|.))*"|'(?:[^'\\\n\r]|\\(?:\r\n|.))*'""", re.DOTALL)
NUMBER = re.compile(
    rb"[+-]?(?:0[xX][0-9a-fA-F]+|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|Infinity|NaN)"
    rb"(?![0-9A-Za-z_$\\.\x80-\xff])"
)
IDENTIFIER = re.compile(rb"(?:(?!" + _BLANK + rb")[0-9A-Za-z_$\x80-\xff]|\\u[0-9a-fA-F]{4})+")
_ESCAPE = re.compile(
    "\\\\(?:(?P<line>\r\n|[\n\r\u2028\u2029])|x(?P<two>[0-9a-fA-F]{2})|u(?P<four>[0-9a-fA-F]{4})"
    "|(?P<zero>0(?![0-9]))|(?P<one>[^0-9xu])|(?P<wrong>.|$))",
    re.DOTALL,
)
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_DECIMAL = re.compile(r"([+-]?)([0-9]*)(\.?)([0-9]*)(.*)")
_JOINERS = str.maketrans({"$": "_", "\u200c": "_", "\u200d": "_"})
BARE = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
"""Keys that are written without quotes."""


def string(text: str) -> str:
    """The meaning of a text in quotes."""
    return _joined(_ESCAPE.sub(_character, text[1:-1]))


def identifier(text: str) -> str:
    """The name that a bare key spells."""
    name = _joined(_ESCAPE.sub(_character, text))
    if name[:1] in {"\u200c", "\u200d"} or not name.translate(_JOINERS).isidentifier():
        raise ValueError("not a name")
    return name


def number(text: str) -> Any:
    """The meaning of a number."""
    bare = text.lstrip("+-")
    if bare in {"Infinity", "NaN"}:
        return float(text.replace("Infinity", "inf"))
    if bare[:2] in {"0x", "0X"}:
        return int(text, 16)
    found = _DECIMAL.fullmatch(text)
    if found is None:
        raise ValueError(text)
    sign, whole, dot, fraction, power = found.groups()
    point = f".{fraction or 0}" if dot else ""
    return parse(f"{sign.replace('+', '')}{whole or 0}{point}{power}", text)


def _character(found: re.Match[str]) -> str:
    match found.lastgroup:
        case "line":
            return ""
        case "two" | "four":
            return chr(int(found[found.lastgroup], 16))
        case "zero":
            return "\0"
        case "one":
            return _SHORT.get(found["one"], found["one"])
        case _:
            raise ValueError("an escape that is none")


def _joined(text: str) -> str:
    """Pairs of surrogates, written as two escapes, become characters; half a pair is refused."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")
