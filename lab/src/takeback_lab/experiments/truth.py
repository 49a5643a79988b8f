"""What a mutation truly affects, worked out on plain JSON without the runtime's diff, trace or contract.

A place is a surface and a path: config and file paths by their parts, every other surface by its key, event or
id. Used to write complete and incomplete contracts whose omissions are known beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from takeback.canonical import encode
from takeback_lab.tasks.model import FORWARD

TruthPath = tuple[str, ...]
_DOT = re.compile(r"(?<!\\)\.")


def affected(before: Mapping[str, Any], after: Mapping[str, Any], mutation: Iterable[Any]) -> set[TruthPath]:
    """The places where two plain states differ, and those that the mutation writes, changed or not."""
    found = {_target(op) for op in mutation}
    for surface in {*before, *after}:
        one, two = before.get(surface, {}), after.get(surface, {})
        if surface == "middleware":
            found |= {("middleware", name) for name in _chain_changes(one or [], two or [])}
        elif surface == "config":
            found |= {("config", *path) for path in _leaf_changes(one, two)}
        else:
            names = {name for name in {*one, *two} if _text(one.get(name, ...)) != _text(two.get(name, ...))}
            found |= {_place(surface, name) for name in names if not (surface == "files" and _held(name, one, two))}
    return found


def _held(name: str, one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Whether a path is a directory on both sides: it is listed only while nothing is in it."""
    return all(
        "directory" in side.get(name, {}) or any(other.startswith(f"{name}/") for other in side)
        for side in (one, two)
    )


def _target(op: Mapping[str, Any]) -> TruthPath:
    return _place(FORWARD[op["op_type"]], op["target"])


def _place(surface: str, key: str) -> TruthPath:
    if surface == "config":
        return (surface, *(part.replace("\\.", ".").replace("\\\\", "\\") for part in _DOT.split(key)))
    return (surface, *key.split("/")) if surface == "files" else (surface, key)


def _text(value: Any) -> str:
    return "absent" if value is ... else encode(value)


def _chain_changes(before: list[Any], after: list[Any]) -> set[str]:
    """Elements that came, went or changed; an element that only moved is a target of the mutation anyway."""
    one, two = ({item["id"]: _text(item) for item in chain} for chain in (before, after))
    return {name for name in {*one, *two} if one.get(name) != two.get(name)}


def _leaf_changes(before: Any, after: Any, path: TruthPath = ()) -> Iterable[TruthPath]:
    """Paths of the leaves (and empty mappings) that differ."""
    if isinstance(before, dict) and isinstance(after, dict) and (before or after):
        for name in sorted({*before, *after}):
            yield from _leaf_changes(before.get(name, ...), after.get(name, ...), (*path, name))
    elif isinstance(before, dict) and before and after is ...:
        yield from _leaf_changes(before, {}, path)
    elif isinstance(after, dict) and after and before is ...:
        yield from _leaf_changes({}, after, path)
    elif _text(before) != _text(after):
        yield path


def covers(outer: TruthPath, inner: TruthPath) -> bool:
    """Whether a contract that lists `outer` allows `inner`."""
    return inner[: len(outer)] == outer


def address(place: TruthPath) -> str:
    """The place as it is written in a contract."""
    surface, *path = place
    if surface == "config":
        key = ".".join(name.replace("\\", "\\\\").replace(".", "\\.") for name in path)
    else:
        key = "/".join(path)
    return f"{surface}[{encode(key)}]"
