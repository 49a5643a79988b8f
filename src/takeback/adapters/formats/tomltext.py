"""JSON values in TOML, exactly, and edits of TOML text that keep comments and formatting.

TOML has no null and not every text. A value it cannot hold is written as a table with the one key `$json`,
whose text is the value's JSON: `fallback = { "$json" = "null" }`. Types survive: `1`, `1.0` and `true` are
three values in TOML too. Every edit is read back and compared; where an edit in place does not come out
exactly, the text is written anew.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item

from takeback.canonical import parse
from takeback.errors import HarnessError, InputError

ESCAPE: Final = "$json"
_PLAIN_CONTROL = "\n\t"


def to_toml(plain: Any) -> Any:
    """A plain JSON value as TOML can hold it."""
    if isinstance(plain, dict) and plain and not _odd_mapping(plain):
        return {key: to_toml(item) for key, item in plain.items()}
    if _holdable(plain):
        return plain
    return {ESCAPE: json.dumps(plain, ensure_ascii=True, allow_nan=False)}


def from_toml(raw: Any, where: str) -> Any:
    """The inverse of `to_toml`; a date or time, which JSON does not have, is named."""
    if isinstance(raw, dict):
        if set(raw) == {ESCAPE}:
            if not isinstance(raw[ESCAPE], str):
                raise InputError(f"{where}.{ESCAPE}", found=raw[ESCAPE], expected="a text of JSON")
            return parse(raw[ESCAPE], f"{where}.{ESCAPE}")
        return {key: from_toml(item, f"{where}.{key}") for key, item in raw.items()}
    if isinstance(raw, list):
        return [from_toml(item, f"{where}[{at}]") for at, item in enumerate(raw)]
    if isinstance(raw, str | bool | int | float):
        return raw
    raise InputError(where, found=f"{raw} (a date or time)", expected="a JSON value; put it in quotes")


def _holdable(plain: Any) -> bool:
    if plain is None:
        return False
    if isinstance(plain, str):
        return all(char in _PLAIN_CONTROL or (ord(char) >= 32 and ord(char) != 127) for char in plain)  # noqa: PLR2004
    if isinstance(plain, dict):
        return not _odd_mapping(plain) and all(map(_holdable, plain.values()))
    if isinstance(plain, list):
        return all(map(_holdable, plain))
    return True


def _odd_mapping(plain: dict[str, Any]) -> bool:
    return set(plain) == {ESCAPE} or any(not key or not key.isprintable() for key in plain)


def edit_text(
    text: str, edit: Callable[[str], str], fresh: dict[str, Any], right: Callable[[str], bool], where: str
) -> str:
    """Edit a TOML text in place; if that does not come out right, write `fresh` instead."""
    try:
        edited = edit(text).rstrip("\n") + _ending(text)
        if right(edited):
            return edited
    except (TOMLKitError, InputError, KeyError, TypeError, ValueError, AttributeError, IndexError):
        pass  # the text is written anew below, and that is checked as well
    anew = tomlkit.dumps({key: to_toml(value) for key, value in fresh.items()})
    if not right(anew):
        raise HarnessError(f"{where}: the new contents cannot be written as TOML")
    return anew


def _ending(text: str) -> str:
    """The line ends that a text closes with: edits come and go without leaving blank lines behind."""
    return text[len(text.rstrip("\n")) :] or "\n"


def set_path(document: tomlkit.TOMLDocument, path: tuple[str, ...], plain: Any) -> None:
    """Put a value at a path, tables made on the way."""
    node: Any = document
    for name in path[:-1]:
        if name not in node:
            node[name] = tomlkit.table()
        node = node[name]
    node[path[-1]] = _item(to_toml(plain))


def drop_path(document: tomlkit.TOMLDocument, path: tuple[str, ...]) -> None:
    """Remove what stands at a path."""
    node: Any = document
    for name in path[:-1]:
        node = node[name]
    del node[path[-1]]


def edit_tables(text: str, name: str, records: Iterable[Mapping[str, Any]], key: Callable[[Any], Any]) -> str:
    """The text with its `[[name]]` tables made these records, in this order.

    Tables are moved as blocks of text, so their comments and formatting go with them; one whose contents
    change is edited. `key` tells which table is which.
    """
    head, blocks = _blocks(text, name)
    there: dict[Any, tuple[str, Any]] = {}
    for block in blocks:
        plain = tomllib.loads(block)[name][0]
        there[key(plain)] = (block, plain)
    parts = [head]
    for record in records:
        block, plain = there.get(key(record), ("", {}))
        wanted = to_toml(dict(record))
        if not block or not _alike(plain, wanted):
            block = _edited_block(block, name, record)
        if parts[-1] and not parts[-1].endswith("\n\n"):
            parts.append("\n" if parts[-1].endswith("\n") else "\n\n")
        parts.append(block)
    return "".join(parts)


def _blocks(text: str, name: str) -> tuple[str, list[str]]:
    """What stands before the first `[[name]]`, and each table's text with the comment directly above it."""
    header = re.compile(rf"\s*\[\[\s*{re.escape(name)}\s*\]\]")
    lines = text.splitlines(keepends=True)
    starts: list[int] = []
    for at, line in enumerate(lines):
        if header.match(line):
            start = at
            while start > (starts[-1] + 1 if starts else 0) and lines[start - 1].lstrip().startswith("#"):
                start -= 1
            starts.append(start)
    edges = [*starts, len(lines)]
    head = "".join(lines[: edges[0]])
    return head, ["".join(lines[one:two]) for one, two in pairwise(edges)]


def _edited_block(block: str, name: str, record: Mapping[str, Any]) -> str:
    """A block with a record's contents; without a block, a new one."""
    document = tomlkit.parse(block or f"[[{name}]]\n")
    table: Any = document[name]
    table = table[0]
    for stale in [field for field in table if field not in record]:
        del table[stale]
    for field, value in record.items():
        wanted = to_toml(value)
        if field not in table or not _alike(table[field].unwrap(), wanted):
            table[field] = _item(wanted)
    return tomlkit.dumps(document)


def _alike(present: Any, wanted: Any) -> bool:
    return json.dumps(present, sort_keys=True, default=str) == json.dumps(wanted, sort_keys=True)


def _item(value: Any) -> Item:
    """A TOML item; escapes are inline so that they read as values."""
    if isinstance(value, dict):
        table: Any = tomlkit.inline_table() if set(value) == {ESCAPE} else tomlkit.table()
        for key, item in value.items():
            table[key] = _item(item)
        found: Item = table
        return found
    plain: Item = tomlkit.item(value)
    return plain
