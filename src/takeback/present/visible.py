"""Text that can be shown: what a terminal would obey, and what a person could not see, is written as an escape.

Escaped are control characters (also those above U+007F, such as U+009B, which begins a sequence on many terminals),
lone surrogates, line and paragraph separators, and invisible format characters: bidi overrides, zero-width spaces,
tags. The two joiners that scripts and emoji are spelled with stay. Only a line feed passes, where lines are meant.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_NAMED: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_HIDDEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180b-\u180f\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def escape_invisible(text: str, *, lines: bool = False) -> str:
    """Return `text` with everything escaped that must not reach a terminal; with `lines`, line feeds stay."""
    if not _HIDDEN.search(text):
        return text
    if lines:
        return "\n".join(map(escape_invisible, text.split("\n")))
    return _HIDDEN.sub(lambda match: _escape(match[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004


def reduce_to_appearance(text: str) -> str:
    """Return what a person can tell apart: texts with the same result look the same on a screen."""
    return unicodedata.normalize("NFKC", escape_invisible(text)).replace("\u200c", "").replace("\u200d", "").rstrip()
