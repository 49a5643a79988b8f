"""An independent applier of forward operations, on plain dicts.

Written from docs/formats.md and nothing else, so that the core can be checked against it: it shares no
code with `takeback`. It covers the forward operations of L0, L1 and L2, and it raises `RefusedError` where the
format says an operation fails.
"""

from __future__ import annotations

import copy
import json
import re
from typing import Any

Json = Any


class RefusedError(Exception):
    """An operation that the format says must fail."""


def apply(state: Json, mutation: list[Json]) -> Json:
    """Return the state after the mutation; the given state is never touched."""
    after = copy.deepcopy(state)
    for operation in mutation:
        _APPLY[operation["op_type"]](after, operation)
    return after


def dump(state: Json) -> str:
    """Write a state so that equal text means equal values and equal types."""
    return json.dumps(state, sort_keys=True)


def _set_config(state: Json, op: Json) -> None:
    keys = _keys(op["target"])
    node = state.setdefault("config", {})
    for key in keys[:-1]:
        node = node.setdefault(key, {})
        if not isinstance(node, dict):
            raise RefusedError(f"{key} is not a mapping")
    node[keys[-1]] = copy.deepcopy(op["value"])


def _set_plain(surface: str) -> Any:
    def setter(state: Json, op: Json) -> None:
        state.setdefault(surface, {})[op["target"]] = op["value"]

    return setter


def _register_tool(state: Json, op: Json) -> None:
    record = {"description": "", "parameters": {}, "implementation": "", **copy.deepcopy(op["value"])}
    state.setdefault("tools", {})[op["target"]] = record


def _add_middleware(state: Json, op: Json) -> None:
    chain = [link for link in state.get("middleware", []) if link["id"] != op["target"]]
    record = {"options": {}, "priority": 100, **copy.deepcopy(op["value"]), "id": op["target"]}
    ids = [link["id"] for link in chain]
    place = len(chain)
    if "index" in op:
        place = min(op["index"], len(chain))
    elif "before" in op or "after" in op:
        neighbour = op.get("before", op.get("after"))
        if neighbour not in ids:
            raise RefusedError(f"{neighbour} is not in the chain")
        place = ids.index(neighbour) + ("after" in op)
    elif "priority" in op:
        record["priority"] = op["priority"]
        larger = (i for i, link in enumerate(chain) if link.get("priority", 100) > op["priority"])
        place = next(larger, len(chain))
    chain.insert(place, record)
    state["middleware"] = chain


def _add_listener(state: Json, op: Json) -> None:
    value = {"id": op["value"]} if isinstance(op["value"], str) else copy.deepcopy(op["value"])
    record = {"handler": "", "options": {}, **value}
    bound = state.setdefault("listeners", {}).setdefault(op["target"], [])
    ids = [one["id"] for one in bound]
    if record["id"] in ids:
        bound[ids.index(record["id"])] = record
    else:
        bound.append(record)


def _write_file(state: Json, op: Json) -> None:
    value = {"content": op["value"]} if isinstance(op["value"], str) else copy.deepcopy(op["value"])
    files, path = state.setdefault("files", {}), op["target"]
    parents = [path[:i] for i, char in enumerate(path) if char == "/"]
    if any(p in files and not files[p].get("directory") for p in parents):
        raise RefusedError(f"{path} lies below a file")
    if files.get(path, {}).get("directory") or any(other.startswith(path + "/") for other in files):
        raise RefusedError(f"{path} is a directory")
    for parent in parents:
        files.pop(parent, None)
    files[path] = {"mode": "0644", **value}


def _allocate_socket(state: Json, op: Json) -> None:
    value = {"address": op["value"]} if isinstance(op["value"], str) else copy.deepcopy(op["value"])
    held = state.setdefault("resources", {})
    ephemeral = value["address"].endswith(":0")
    if not ephemeral and any(k != op["target"] and r["address"] == value["address"] for k, r in held.items()):
        raise RefusedError(f"{value['address']} is held by another key")
    held[op["target"]] = {"kind": "socket", "lifecycle": "open", **value}


def _keys(path: str) -> list[str]:
    return [re.sub(r"\\(.)", r"\1", part) for part in re.findall(r"(?:\\.|[^.\\])+", path)]


def _edited(text: str, edit: Json) -> str:
    old = edit["old"]
    places = sum(text.startswith(old, at) for at in range(len(text))) if old else 1
    if places != 1:
        raise RefusedError(f"{old!r} is there {places} times")
    return text.replace(old, edit["new"]) if old else text + edit["new"]


def _edit_prompt(state: Json, op: Json) -> None:
    prompts = state.get("prompts", {})
    if op["target"] not in prompts:
        raise RefusedError("no such prompt")
    prompts[op["target"]] = _edited(prompts[op["target"]], op["value"])


def _edit_file(state: Json, op: Json) -> None:
    file = state.get("files", {}).get(op["target"], {})
    if "content" not in file:
        raise RefusedError("no such text")
    file["content"] = _edited(file["content"], op["value"])


def _move_file(state: Json, op: Json) -> None:
    files = state.get("files", {})
    if op["target"] not in files or op["value"] in files:
        raise RefusedError("nothing to move, or something in the way")
    _write_file(state, {"target": op["value"], "value": files[op["target"]]})
    _remove_file(state, op)


def _remove_directory(state: Json, op: Json) -> None:
    files = state.get("files", {})
    if "content" in files.get(op["target"], {}) or "base64" in files.get(op["target"], {}):
        raise RefusedError("it is a file")
    gone = [path for path in files if path == op["target"] or path.startswith(f"{op['target']}/")]
    for path in gone:
        del files[path]
    if gone:
        _keep_folder(files, op["target"])


def _remove_file(state: Json, op: Json) -> None:
    files = state.get("files", {})
    if files.pop(op["target"], None) is not None:
        _keep_folder(files, op["target"])


def _keep_folder(files: Json, path: str) -> None:
    if "/" not in path:
        return
    folder = path.rpartition("/")[0]
    if not any(path.startswith(f"{folder}/") for path in files):
        files[folder] = {"directory": True}


def _items(state: Json, op: Json) -> list[Json]:
    node = state.get("config", {})
    for key in _keys(op["target"]):
        node = node.get(key, {})
    if not isinstance(node, list):
        raise RefusedError("no list")
    return node


def _only(items: list[Json], item: Json) -> int:
    found = [at for at, one in enumerate(items) if json.dumps(one) == json.dumps(item)]
    if len(found) != 1:
        raise RefusedError(f"{item!r} is there {len(found)} times")
    return found[0]


def _append_config(state: Json, op: Json) -> None:
    _items(state, op).append(op["value"])


def _insert_config(state: Json, op: Json) -> None:
    items = _items(state, op)
    if "index" in op:
        items.insert(op["index"], op["value"])
    elif "before" in op:
        items.insert(_only(items, op["before"]), op["value"])
    else:
        items.insert(_only(items, op["after"]) + 1, op["value"])


def _remove_config_item(state: Json, op: Json) -> None:
    items = _items(state, op)
    del items[_only(items, op["value"])]


def _unset_config(state: Json, op: Json) -> None:
    *above, last = _keys(op["target"])
    node = state.get("config", {})
    for key in above:
        node = node.get(key, {})
    node.pop(last, None)


def _remove_from(surface: str) -> Any:
    def remover(state: Json, op: Json) -> None:
        state.get(surface, {}).pop(op["target"], None)

    return remover


def _place(ids: list[str], op: Json) -> int:
    if "index" in op:
        return min(op["index"], len(ids))
    neighbour = op.get("before", op.get("after"))
    if neighbour not in ids:
        raise RefusedError(f"{neighbour} is not there")
    return ids.index(neighbour) + ("after" in op)


def _moved(records: list[Json], name: str, op: Json) -> list[Json]:
    mine = [one for one in records if one["id"] == name]
    if not mine:
        raise RefusedError(f"{name} is not there")
    rest = [one for one in records if one["id"] != name]
    rest.insert(_place([one["id"] for one in rest], op), mine[0])
    return rest


def _move_middleware(state: Json, op: Json) -> None:
    state["middleware"] = _moved(state.get("middleware", []), op["target"], op)


def _replace_middleware(state: Json, op: Json) -> None:
    chain = state.get("middleware", [])
    ids = [link["id"] for link in chain]
    if op["target"] not in ids:
        raise RefusedError("it is not there")
    chain[ids.index(op["target"])] = {"options": {}, "priority": 100, **op["value"], "id": op["target"]}


def _remove_middleware(state: Json, op: Json) -> None:
    state["middleware"] = [link for link in state.get("middleware", []) if link["id"] != op["target"]]


def _move_listener(state: Json, op: Json) -> None:
    listeners = state.get("listeners", {})
    listeners[op["target"]] = _moved(listeners.get(op["target"], []), op["value"], op)


def _remove_listener(state: Json, op: Json) -> None:
    listeners = state.get("listeners", {})
    left = [one for one in listeners.get(op["target"], []) if one["id"] != op.get("value", one["id"])]
    if left:
        listeners[op["target"]] = left
    else:
        listeners.pop(op["target"], None)


_APPLY = {
    "set_config": _set_config,
    "set_prompt": _set_plain("prompts"),
    "set_routing": _set_plain("routing"),
    "register_tool": _register_tool,
    "add_middleware": _add_middleware,
    "add_listener": _add_listener,
    "write_file": _write_file,
    "allocate_socket": _allocate_socket,
    "edit_prompt": _edit_prompt,
    "edit_file": _edit_file,
    "move_file": _move_file,
    "append_config": _append_config,
    "insert_config": _insert_config,
    "remove_config_item": _remove_config_item,
    "unset_config": _unset_config,
    "remove_prompt": _remove_from("prompts"),
    "unset_routing": _remove_from("routing"),
    "remove_tool": _remove_from("tools"),
    "remove_file": _remove_file,
    "remove_directory": _remove_directory,
    "free_socket": _remove_from("resources"),
    "remove_middleware": _remove_middleware,
    "move_middleware": _move_middleware,
    "replace_middleware": _replace_middleware,
    "remove_listener": _remove_listener,
    "move_listener": _move_listener,
}
