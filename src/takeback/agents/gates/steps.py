"""A step from one state to another, as a mutation: which operations make the first into the second.

Texts that change in a few places are edited there, so that later steps on the same text can be taken back apart;
everything else is written whole. `whole` writes texts whole, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Final

from takeback.canonical import encode
from takeback.language import Program
from takeback.language.program import read_program
from takeback.state import Stage, State

MOST_EDITS: Final = 4
"""A text that changes in more places is written whole."""
Plain = dict[str, Any]


def mutation_between(before: State, after: State, *, whole: bool = False) -> Program:
    """A mutation from one state to another; empty if they are equal.

    What no operation says, such as an empty directory, is not in it. A step that passes a limit is an `InputError`.
    """
    old, new = before.write(), after.write()
    found: list[Plain] = [*_config((), old.get("config", {}), new.get("config", {}))]
    for surface, made in _BY_NAME.items():
        for name in _names(old.get(surface, {}), new.get(surface, {})):
            found += made(name, old.get(surface, {}).get(name), new.get(surface, {}).get(name), whole)
    found += _routing(old.get("routing", {}), new.get("routing", {}))
    found += _middleware(old.get("middleware", []), new.get("middleware", []))
    return read_program(found, Stage.FORWARD, "the step") if found else ()


def edits_between(old: str, new: str) -> list[dict[str, str]] | None:
    """Edits that make one text into another, one after the other; None if they would be many, or there is no text."""
    if not old or not new:
        return None
    lines, wanted = old.splitlines(keepends=True), new.splitlines(keepends=True)
    hunks = [
        code for code in SequenceMatcher(None, lines, wanted, autojunk=False).get_opcodes() if code[0] != "equal"
    ]
    if not 0 < len(hunks) <= MOST_EDITS or len(hunks) * 2 > len(lines):
        return None
    found = []
    for _, start, end, first, last in reversed(hunks):
        low, high = _unique(lines, start, end)
        middle = [*lines[low:start], *wanted[first:last], *lines[end:high]]
        found.append({"old": "".join(lines[low:high]), "new": "".join(middle)})
        lines[start:end] = wanted[first:last]
    return found


def _unique(lines: list[str], start: int, end: int) -> tuple[int, int]:
    """The lines from `start` to `end` with as many around them as it takes for the text to stand there once."""
    text = "".join(lines)
    low, high = start, end
    while low > 0 or high < len(lines):
        piece = "".join(lines[low:high])
        if piece and _occurs_once(text, piece):
            break
        low, high = max(0, low - 1), min(len(lines), high + 1)
    return low, high


def _occurs_once(text: str, piece: str) -> bool:
    at = text.find(piece)
    return text.find(piece, at + 1) < 0


def _names(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Names of what differs: what goes first, so that its place is free."""
    gone = [name for name in old if name not in new]
    return [*gone, *(name for name in new if name not in old or encode(old[name]) != encode(new[name]))]


def _config(path: tuple[str, ...], old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Plain]:
    for name in _names(old, new):
        steps = (*path, name.replace("\\", "\\\\").replace(".", "\\."))
        target = ".".join(steps)
        one, other = old.get(name), new.get(name)
        if name not in new:
            yield {"op_type": "unset_config", "target": target}
        elif isinstance(one, dict) and isinstance(other, dict) and one and other:
            yield from _config(steps, one, other)
        elif isinstance(one, list) and isinstance(other, list) and len(other) == len(one) + 1 and other[:-1] == one:
            yield {"op_type": "append_config", "target": target, "value": other[-1]}
        else:
            yield {"op_type": "set_config", "target": target, "value": other}


def _routing(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Plain]:
    """Apart from the others, because a route may be null and still be there."""
    for name in _names(old, new):
        gone = {"op_type": "unset_routing", "target": name}
        yield gone if name not in new else {"op_type": "set_routing", "target": name, "value": new[name]}


def _prompt(name: str, old: Any, new: Any, whole: bool) -> Iterator[Plain]:
    if new is None:
        yield {"op_type": "remove_prompt", "target": name}
        return
    edits = None if whole or old is None else edits_between(old, new)
    if edits is None:
        yield {"op_type": "set_prompt", "target": name, "value": new}
    else:
        yield from ({"op_type": "edit_prompt", "target": name, "value": edit} for edit in edits)


def _file(name: str, old: Any, new: Any, whole: bool) -> Iterator[Plain]:
    if "directory" in (new or {}):
        return
    if new is None:
        yield {"op_type": "remove_file", "target": name}
        return
    texts = isinstance(new.get("content"), str) and old is not None and isinstance(old.get("content"), str)
    same = old is not None and {**old, "content": ""} == {**new, "content": ""}
    edits = edits_between(old["content"], new["content"]) if texts and same and not whole else None
    if edits is None:
        yield {"op_type": "write_file", "target": name, "value": new}
    else:
        yield from ({"op_type": "edit_file", "target": name, "value": edit} for edit in edits)


def _tool(name: str, old: Any, new: Any, whole: bool) -> Iterator[Plain]:
    del old, whole
    gone = {"op_type": "remove_tool", "target": name}
    yield gone if new is None else {"op_type": "register_tool", "target": name, "value": new}


def _socket(name: str, old: Any, new: Any, whole: bool) -> Iterator[Plain]:
    del whole
    if old is not None:
        yield {"op_type": "free_socket", "target": name}
    if new is not None:
        yield {"op_type": "allocate_socket", "target": name, "value": {"address": new["address"]}}


def _listener(event: str, old: Any, new: Any, whole: bool) -> Iterator[Plain]:
    del whole
    if new is None:
        yield {"op_type": "remove_listener", "target": event}
        return
    there = {record["id"]: record for record in old or []}
    wanted = [record["id"] for record in new]
    order = [name for name in there if name in wanted]
    yield from ({"op_type": "remove_listener", "target": event, "value": n} for n in there if n not in wanted)
    for at, record in enumerate(new):
        name = record["id"]
        if encode(there.get(name)) != encode(record):
            yield {"op_type": "add_listener", "target": event, "value": record}
            order += [] if name in order else [name]
        if order.index(name) != at:
            yield {"op_type": "move_listener", "target": event, "value": name, "index": at}
            order.remove(name)
            order.insert(at, name)


def _middleware(old: list[Plain], new: list[Plain]) -> Iterator[Plain]:
    there = {record["id"]: record for record in old}
    wanted = [record["id"] for record in new]
    order = [name for name in there if name in wanted]
    yield from ({"op_type": "remove_middleware", "target": name} for name in there if name not in wanted)
    for at, record in enumerate(new):
        name, value = record["id"], {field: item for field, item in record.items() if field != "id"}
        if name not in order:
            yield {"op_type": "add_middleware", "target": name, "value": value, "index": at}
            order.insert(at, name)
            continue
        if encode(there[name]) != encode(record):
            yield {"op_type": "replace_middleware", "target": name, "value": value}
        if order.index(name) != at:
            yield {"op_type": "move_middleware", "target": name, "index": at}
            order.remove(name)
            order.insert(at, name)


_BY_NAME: Final[Mapping[str, Callable[[str, Any, Any, bool], Iterator[Plain]]]] = {
    "prompts": _prompt,
    "tools": _tool,
    "listeners": _listener,
    "files": _file,
    "resources": _socket,
}
"""Surfaces of named things, of which none is null."""
