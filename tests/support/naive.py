"""An independent applier of forward operations, on plain dicts.

Written from docs/formats.md and nothing else, so that the core can be checked against it: it shares no
code with `takeback`. It covers the eight forward operations of L0 and L1, and it raises `RefusedError` where
the format says an operation fails.
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
    keys = [re.sub(r"\\(.)", r"\1", part) for part in re.findall(r"(?:\\.|[^.\\])+", op["target"])]
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


_APPLY = {
    "set_config": _set_config,
    "set_prompt": _set_plain("prompts"),
    "set_routing": _set_plain("routing"),
    "register_tool": _register_tool,
    "add_middleware": _add_middleware,
    "add_listener": _add_listener,
    "write_file": _write_file,
    "allocate_socket": _allocate_socket,
}
