"""Markdown with YAML front matter: where the block between the `---` lines stands, and what it says.

Only read, never written: a Markdown file is a text of lines. Adapters look here whether an agent or a skill has what
its client asks for. A byte-order mark and either line ending are accepted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from takeback.adapters.formats.document import decode_text
from takeback.errors import InputError

_OPEN = re.compile("\ufeff?---[ \t]*\r?\n")
_CLOSE = re.compile("^---[ \t]*(?:\r?\n|\\Z)", re.MULTILINE)
LONGEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """A Markdown text in two parts."""

    mapping: Mapping[str, Any]
    span: tuple[int, int] | None
    """Where the YAML stands in the text, without the lines around it; None if there is no front matter."""
    body: str

    @property
    def present(self) -> bool:
        """Whether there is front matter, be it empty."""
        return self.span is not None

    def text(self, key: str) -> str | None:
        """Return the text at a key; None if there is none, or only blanks."""
        value = self.mapping.get(key)
        return value if isinstance(value, str) and value.strip() else None

    def missing(self, *keys: str) -> tuple[str, ...]:
        """Return those of the keys that have no text."""
        return tuple(key for key in keys if self.text(key) is None)


def parse_front_matter(text: str | bytes, where: str) -> FrontMatter:
    """Return front matter and body of a Markdown text; raise `InputError` with line and column if malformed."""
    if isinstance(text, bytes):
        text = decode_text(text, where)
    opened = _OPEN.match(text)
    if opened is None:
        return FrontMatter({}, None, text.removeprefix("\ufeff"))
    closed = _CLOSE.search(text, opened.end())
    if closed is None:
        raise InputError(
            f"{where}, line 1, column 1", found="front matter without an end", expected="a line '---' after it"
        )
    span = (opened.end(), closed.start())
    return FrontMatter(_read_block(text[slice(*span)], where), span, text[closed.end() :])


def _read_block(block: str, where: str) -> dict[str, Any]:
    if len(block) > LONGEST:
        raise InputError(where, found="longer front matter", expected=f"at most {LONGEST} characters")
    try:
        mapping = yaml.safe_load(block)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        place = where if mark is None else f"{where}, line {mark.line + 2}, column {mark.column + 1}"
        raise InputError(
            place, found=f"malformed YAML ({fault.problem or fault.context})", expected="valid YAML"
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as fault:
        raise InputError(where, found=f"malformed YAML ({fault})", expected="valid YAML") from None
    if mapping is None:
        return {}
    if not isinstance(mapping, dict):
        raise InputError(f"{where}, line 2, column 1", found=mapping, expected="a mapping of keys to values")
    return {str(key): item for key, item in mapping.items()}
