"""What the settings files of a harness say, by surfaces, as far as guards and permissions go.

The names are those of the harness's state but for the name of the client whose file is edited, so that the guard says
what server and command line say. No file is read that is larger than the guard's bound.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from takeback.adapters.clients.client import ANY, Documents
from takeback.agents.declared import Home
from takeback.errors import InputError

LARGEST: Final = 256 * 1024
"""So many bytes of a settings file are read at most: an agent waits, and reading a megabyte takes seconds."""
DocumentParts = dict[str, Any]


def empty_parts() -> DocumentParts:
    """Return the surfaces that count here, with nothing on them."""
    return {"config": {}, "tools": {}, "listeners": {}, "files": {}, "prompts": {}}


def read_value(declared: Documents, data: bytes | None, where: str) -> Any:
    """Return what a document holds; nothing where it is not there, cannot be read or is too large."""
    if data is None or len(data) > LARGEST:
        return {}
    try:
        return declared.open(data, where).value
    except InputError:
        return {}


def parts_around(home: Home, place: str, mine: str) -> DocumentParts:
    """Return what the documents of a harness say, all but the one at a place; `mine` is whose names are bare."""
    found = empty_parts()
    for client, path, documents in home.documents():
        if path == place:
            continue
        try:
            with open(os.path.join(home.root, path), "rb") as file:
                data = file.read(LARGEST + 1)
        except OSError:
            continue
        parts = parts_of(documents, read_value(documents, data, path), path)
        for surface in ("config", "tools") if client != mine else ():
            parts[surface] = {f"{client}:{key}": value for key, value in parts[surface].items()}
        merge_parts(found, parts)
    return found


def merge_parts(parts: DocumentParts, more: DocumentParts) -> DocumentParts:
    """Add what one document says to what others say."""
    for event, groups in more["listeners"].items():
        parts["listeners"].setdefault(event, []).extend(groups)
    for surface in ("config", "tools", "files", "prompts"):
        parts[surface].update(more[surface])
    return parts


def parts_of(declared: Documents, value: Any, place: str) -> DocumentParts:
    """Return what a document says, by surfaces."""
    found = empty_parts()
    if not isinstance(value, dict):
        return found
    name = _name(declared.path, place)
    scope = declared.scope.replace("{}", name)
    config = value
    for rule in declared.rules:
        own = _begin(scope if rule.scope is None else rule.scope)
        for at, inside in _at(value, rule.at):
            if rule.what == "servers" and isinstance(inside, dict):
                found["tools"] |= {own + rule.name + key: record for key, record in inside.items()}
            elif rule.what == "hooks" and isinstance(inside, dict):
                groups = ((event, listed) for event, listed in inside.items() if isinstance(listed, list))
                found["listeners"] |= {
                    own + event: [{"options": group} for group in listed] for event, listed in groups
                }
            elif rule.what == "text" and isinstance(inside, str):
                found["prompts"][rule.name.replace("{}", name)] = inside
            config = _as_pairs(config, at) if rule.what == "ordered" else _without(config, at)
    found["config"] = {_begin(scope) + key: item for key, item in config.items()}
    return found


def _begin(scope: str) -> str:
    """Return what the names of a document begin with."""
    return f"{scope}:" if scope else ""


def _name(pattern: str, place: str) -> str:
    """Return what stands for the star of a document's path."""
    start, star, end = pattern.partition(ANY)
    return place.removeprefix(start).removesuffix(end) if star else ""


def _at(value: Any, steps: tuple[str, ...], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not steps:
        yield path, value
    elif isinstance(value, dict):
        for key in list(value) if steps[0] == ANY else [steps[0]]:
            if key in value:
                yield from _at(value[key], steps[1:], (*path, key))


def _without(value: dict[str, Any], at: tuple[str, ...]) -> dict[str, Any]:
    if len(at) == 1:
        return {key: item for key, item in value.items() if key != at[0]}
    inner = value.get(at[0])
    return {**value, at[0]: _without(inner, at[1:])} if isinstance(inner, dict) else value


def _as_pairs(value: Any, at: tuple[str, ...]) -> Any:
    """Return a value in which a mapping at a place, whose order counts, is a list of pairs."""
    if not isinstance(value, dict):
        return value
    if not at:
        return [[key, item] for key, item in value.items()]
    return {key: _as_pairs(item, at[1:]) if key == at[0] else item for key, item in value.items()}
