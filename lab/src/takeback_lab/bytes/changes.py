"""Every kind of change to one file of the corpus: which operations, and what they may do to the file's bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from takeback.canonical import encode

Plain = dict[str, Any]
TreePath = tuple[str, ...]
FEW: Final = 3
VALUES: Final[tuple[Any, ...]] = (7, "text # no comment", {"on": True, "deep": {"er": [1]}}, [1, None, "x"])


@dataclass(frozen=True, slots=True)
class ByteChange:
    """Operations, and what they are to the file: an insert, a replace, a rewrite, a remove, a move or a write."""

    ops: tuple[Plain, ...]
    effect: str


def changes_of(surface: str, name: str, state: Plain) -> Iterator[ByteChange]:
    """Every kind of change to what a file holds."""
    yield from _MAKERS[surface](name, state.get(surface, _EMPTY[surface]))


def operation(kind: str, target: str, effect: str, value: Any = ..., **spot: Any) -> ByteChange:
    """A change of one operation."""
    given = {} if value is ... else {"value": value}
    return ByteChange(({"op_type": kind, "target": target, **given, **spot},), effect)


def _config(_: str, value: Plain) -> Iterator[ByteChange]:
    leaves, tables, lists = (some(list(found)) for found in (leaves_of(value), _tables(value), _lists(value)))
    for path, present in leaves:
        yield from (_set(path, _effect(present), new) for new in VALUES if encode(new) != encode(present))
        yield operation("unset_config", target_of(path), "remove")
    for path, _present in tables:
        yield _set((*path, "zz_new"), "insert", 1)
        yield _set((*path, "zz_new"), "insert", {"a": {"b": "é\n"}, "c": []})
        yield _set((*path, "zz new", "deep"), "insert", None)
        if path:
            yield operation("unset_config", target_of(path), "remove")
            yield _set(path, "rewrite", 7)
    for path, items in lists:
        target, tables_only = target_of(path), bool(items) and all(isinstance(item, dict) for item in items)
        new: Any = {"zz": 1} if tables_only else "zz"
        yield operation("append_config", target, "insert", new)
        yield operation("append_config", target, "insert", {"k": [None]})
        for at in range(min(len(items), FEW)):
            yield operation("insert_config", target, "insert", new, index=at)
        for item in some(items):
            if [encode(one) for one in items].count(encode(item)) == 1:
                yield operation("remove_config_item", target, "remove", item)


def _routing(_: str, value: Plain) -> Iterator[ByteChange]:
    yield operation("set_routing", "zz new", "insert", "m")
    yield operation("set_routing", "zz", "insert", None)
    for key, model in value.items():
        yield operation("set_routing", key, "replace", "other")
        yield operation("unset_routing", key, "remove")
        if model is not None:
            yield operation("set_routing", key, "replace", None)


def _middleware(_: str, value: Sequence[Plain]) -> Iterator[ByteChange]:
    record = {"handler": "mw.new", "options": {"a": [1, {"b": None}]}}
    for at in range(len(value) + 1):
        yield operation("add_middleware", "zz", "insert", record, index=at)
    for at, item in enumerate(value):
        yield operation("replace_middleware", item["id"], "write", {**record, "priority": 5})
        yield operation("replace_middleware", item["id"], "replace", {**_rest(item), "handler": "other"})
        yield operation("remove_middleware", item["id"], "remove")
        for to in range(len(value)):
            if to != at:
                yield operation("move_middleware", item["id"], "move", index=to)


def _listeners(_: str, value: dict[str, Sequence[Plain]]) -> Iterator[ByteChange]:
    record = {"id": "zz", "handler": "l.new", "options": {"a": 1}}
    yield operation("add_listener", "on_new", "insert", record)
    for event, callbacks in value.items():
        yield operation("add_listener", event, "insert", record)
        for at, item in enumerate(callbacks):
            yield operation("add_listener", event, "replace", {**item, "handler": "other"})
            yield operation("remove_listener", event, "remove", item["id"])
            if len(callbacks) > 1:
                yield operation("move_listener", event, "move", item["id"], index=0 if at else len(callbacks) - 1)


def _tools(name: str, value: dict[str, Plain]) -> Iterator[ByteChange]:
    record = value[name]
    parameters = record["parameters"]
    yield operation(
        "register_tool", name, "write", {**record, "description": 'new "text"', "implementation": "t.new"}
    )
    yield operation("register_tool", name, "insert", {**record, "parameters": {**parameters, "zz": {"a": [1]}}})
    for key in some(list(parameters)):
        effect = _effect(parameters[key])
        yield operation("register_tool", name, effect, {**record, "parameters": {**parameters, key: [True]}})
        rest = {one: item for one, item in parameters.items() if one != key}
        yield operation("register_tool", name, "remove", {**record, "parameters": rest})
    yield operation("remove_tool", name, "write")
    yield operation("register_tool", "zz", "insert", {"id": "zz"})


def _prompts(name: str, value: dict[str, str]) -> Iterator[ByteChange]:
    text = value[name]
    yield operation("set_prompt", name, "write", "All new.\n")
    yield operation("remove_prompt", name, "write")
    yield operation("set_prompt", "zz/new", "insert", "x\r\ny")
    yield from edits_of("edit_prompt", name, text)


def _files(name: str, value: dict[str, Plain]) -> Iterator[ByteChange]:
    yield operation("write_file", name, "write", {"content": "new\n"})
    yield operation("write_file", name, "write", {"content": "", "mode": "0700"})
    yield operation("write_file", "zz/deep/er", "insert", {"content": "x"})
    yield operation("remove_file", name, "write")
    yield operation("remove_directory", name.rpartition("/")[0] or "zz", "write")
    yield operation("move_file", name, "write", "zz/moved")
    if "content" in value[name]:
        yield from edits_of("edit_file", name, value[name]["content"])


def edits_of(kind: str, name: str, text: str) -> Iterator[ByteChange]:
    """Something behind a text, and edits of some of its lines."""
    yield operation(kind, name, "insert", {"old": "", "new": "appended\n"})
    for line in some([line for line in text.splitlines() if line and text.count(line) == 1]):
        yield operation(kind, name, "replace", {"old": line, "new": "other"})
        yield operation(kind, name, "insert", {"old": line, "new": f"{line} and more"})
        yield operation(kind, name, "remove", {"old": line, "new": ""})


def leaves_of(value: Plain, above: TreePath = ()) -> Iterator[tuple[TreePath, Any]]:
    """What is no mapping, or an empty one, with where it stands."""
    for key, item in value.items():
        if isinstance(item, dict) and item:
            yield from leaves_of(item, (*above, key))
        else:
            yield (*above, key), item


def _tables(value: Plain, above: TreePath = ()) -> Iterator[tuple[TreePath, Plain]]:
    yield above, value
    for key, item in value.items():
        if isinstance(item, dict):
            yield from _tables(item, (*above, key))


def _lists(value: Plain) -> Iterator[tuple[TreePath, list[Any]]]:
    return ((path, item) for path, item in leaves_of(value) if isinstance(item, list))


def _set(path: TreePath, effect: str, value: Any) -> ByteChange:
    return operation("set_config", target_of(path), effect, value)


def _effect(present: Any) -> str:
    """What putting another value in the place of one is."""
    return "rewrite" if isinstance(present, dict | list) else "replace"


def target_of(path: TreePath) -> str:
    """A path as an operation's target."""
    return ".".join(key.replace("\\", "\\\\").replace(".", "\\.") for key in path)


def some(items: list[Any]) -> list[Any]:
    """The first, one in the middle, and the last."""
    if len(items) <= FEW:
        return items
    return [items[0], items[len(items) // 2], items[-1]]


def _rest(item: Plain) -> Plain:
    return {key: value for key, value in item.items() if key not in {"id"}}


_EMPTY: Final[dict[str, Any]] = {"middleware": []}
_MAKERS: Final[dict[str, Any]] = {
    "config": _config,
    "routing": _routing,
    "middleware": _middleware,
    "listeners": _listeners,
    "tools": _tools,
    "prompts": _prompts,
    "files": _files,
}
for _name in _MAKERS:
    _EMPTY.setdefault(_name, {})
