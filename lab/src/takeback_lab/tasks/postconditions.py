"""Postconditions: what a task asks of the state it ends in.

A postcondition is a small JSON object, `{"check": NAME, ...fields}`, judged on a state's plain JSON
(docs/formats.md). The table `CHECKS` is the whole vocabulary: each name with its fields and its judge.
Values are compared by type, as everywhere (`true`, `1` and `1.0` differ; absent is not null). Nothing
here applies operations or knows the core.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

AnyJson = Any
StateJson = Mapping[str, AnyJson]
Fields = Mapping[str, AnyJson]

_ADDRESS = re.compile(r'(?P<surface>\w+)\["(?P<key>.*)"\]', re.DOTALL)
SURFACES = ("config", "prompts", "routing", "tools", "middleware", "listeners", "files", "resources")


class _Missing:
    """The one value that equals nothing JSON can say."""


ABSENT = _Missing()


def same(left: AnyJson, right: AnyJson) -> bool:
    """Tell whether two JSON values are equal and of the same types all the way down."""
    if type(left) is not type(right):
        return False
    if isinstance(left, Mapping):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


def split_path(path: str) -> list[str]:
    r"""Split a config path at its dots; `\.` and `\\` belong to a key."""
    parts = re.findall(r"(?:\\.|[^.\\])+", path)
    return [re.sub(r"\\(.)", r"\1", part) for part in parts]


def split_address(address: str) -> tuple[str, str]:
    """Split `surface["key"]` into its two halves; raises ValueError where it is neither."""
    match = _ADDRESS.fullmatch(address)
    if match is None or match["surface"] not in SURFACES:
        raise ValueError(f'{address!r} is not an address of the form surface["key"]')
    return match["surface"], match["key"].replace('\\"', '"')


def at(state: StateJson, address: str) -> AnyJson:
    """Read the value at an address, or `ABSENT`."""
    surface, key = split_address(address)
    value = state.get(surface, {})
    if surface == "middleware":
        return _link(state, key) or ABSENT
    for part in split_path(key) if surface == "config" else [key]:
        if not isinstance(value, Mapping) or part not in value:
            return ABSENT
        value = value[part]
    return value


def _link(state: StateJson, link_id: str) -> Mapping[str, AnyJson] | None:
    return next((link for link in state.get("middleware", []) if link["id"] == link_id), None)


def _order(state: StateJson) -> list[str]:
    return [link["id"] for link in state.get("middleware", [])]


def _callback(state: StateJson, fields: Fields) -> Mapping[str, AnyJson] | None:
    bound = state.get("listeners", {}).get(fields["event"], [])
    return next((one for one in bound if one["id"] == fields["callback"]), None)


def _equals(state: StateJson, _: StateJson, fields: Fields) -> bool:
    return same(at(state, fields["address"]), fields["value"])


def _exists(state: StateJson, _: StateJson, fields: Fields) -> bool:
    return at(state, fields["address"]) is not ABSENT


def _absent(state: StateJson, _: StateJson, fields: Fields) -> bool:
    return at(state, fields["address"]) is ABSENT


def _unchanged(state: StateJson, nominal: StateJson, fields: Fields) -> bool:
    now, before = at(state, fields["address"]), at(nominal, fields["address"])
    return now is before or same(now, before)


def _prompt_contains(state: StateJson, _: StateJson, fields: Fields) -> bool:
    return fields["text"] in state.get("prompts", {}).get(fields["prompt"], "")


def _tool_id(state: StateJson, _: StateJson, fields: Fields) -> bool:
    return bool(state.get("tools", {}).get(fields["tool"], {}).get("id") == fields["id"])


def _tool_implementation(state: StateJson, _: StateJson, fields: Fields) -> bool:
    tool = state.get("tools", {}).get(fields["tool"], {})
    return bool(tool.get("implementation") == fields["implementation"])


def _tool_has_parameter(state: StateJson, _: StateJson, fields: Fields) -> bool:
    schema = state.get("tools", {}).get(fields["tool"], {}).get("parameters", {})
    found = schema.get("properties", {}).get(fields["parameter"])
    if found is None or found.get("type") != fields["type"]:
        return False
    if "enum" in fields and sorted(found.get("enum", [])) != sorted(fields["enum"]):
        return False
    required = fields["parameter"] in schema.get("required", [])
    return "required" not in fields or required == bool(fields["required"])


def _middleware_handler(state: StateJson, _: StateJson, fields: Fields) -> bool:
    link = _link(state, fields["middleware"])
    return link is not None and link.get("handler") == fields["handler"]


def _middleware_option(state: StateJson, _: StateJson, fields: Fields) -> bool:
    link = _link(state, fields["middleware"])
    return link is not None and same(link.get("options", {}).get(fields["option"], ABSENT), fields["value"])


def _middleware_priority(state: StateJson, _: StateJson, fields: Fields) -> bool:
    link = _link(state, fields["middleware"])
    return link is not None and link.get("priority", 100) == fields["priority"]


def _first(state: StateJson, _: StateJson, fields: Fields) -> bool:
    return _order(state)[:1] == [fields["middleware"]]


def _last(state: StateJson, _: StateJson, fields: Fields) -> bool:
    return _order(state)[-1:] == [fields["middleware"]]


def _position(state: StateJson, _: StateJson, fields: Fields) -> bool:
    order, index = _order(state), fields["index"]
    return order[index : index + 1] == [fields["middleware"]]


def _in_order(order: Sequence[str], first: str, second: str) -> bool:
    return first in order and second in order and order.index(first) < order.index(second)


def _before(state: StateJson, _: StateJson, fields: Fields) -> bool:
    return _in_order(_order(state), fields["middleware"], fields["than"])


def _after(state: StateJson, _: StateJson, fields: Fields) -> bool:
    return _in_order(_order(state), fields["than"], fields["middleware"])


def _listener_bound(state: StateJson, _: StateJson, fields: Fields) -> bool:
    found = _callback(state, fields)
    return found is not None and found.get("handler", "") == fields["handler"]


def _listener_option(state: StateJson, _: StateJson, fields: Fields) -> bool:
    found = _callback(state, fields)
    return found is not None and same(found.get("options", {}).get(fields["option"], ABSENT), fields["value"])


def _callback_order(state: StateJson, _: StateJson, fields: Fields) -> bool:
    bound = state.get("listeners", {}).get(fields["event"], [])
    return [one["id"] for one in bound] == list(fields["callbacks"])


def _callbacks_kept(state: StateJson, nominal: StateJson, fields: Fields) -> bool:
    before = {one["id"]: one for one in nominal.get("listeners", {}).get(fields["event"], [])}
    kept = [before[name] for name in fields["callbacks"] if name in before]
    bound = list(state.get("listeners", {}).get(fields["event"], []))
    return len(kept) == len(fields["callbacks"]) and same(bound, kept)


def _chain_order(state: StateJson, _: StateJson, fields: Fields) -> bool:
    return _order(state) == list(fields["chain"])


def _items(state: StateJson, _: StateJson, fields: Fields) -> bool:
    return same(at(state, fields["address"]), list(fields["items"]))


def _edited(state: StateJson, nominal: StateJson, fields: Fields) -> bool:
    now, text = _text(state, fields["address"]), _text(nominal, fields["address"])
    for edit in fields["edits"]:
        if text is None or (edit["old"] and text.count(edit["old"]) != 1):
            return False
        text = text.replace(edit["old"], edit["new"]) if edit["old"] else text + edit["new"]
    return now is not None and now == text


def _text(state: StateJson, address: str) -> str | None:
    found = at(state, address)
    if isinstance(found, Mapping):
        found = found.get("content")
    return found if isinstance(found, str) else None


def _moved_file(state: StateJson, nominal: StateJson, fields: Fields) -> bool:
    files, before = state.get("files", {}), nominal.get("files", {}).get(fields["path"])
    return fields["path"] not in files and before is not None and same(files.get(fields["to"], ABSENT), before)


def _rest_unchanged(state: StateJson, nominal: StateJson, fields: Fields) -> bool:
    return same(*(_without(one, fields["but"]) for one in (state, nominal)))


def _without(state: StateJson, addresses: Sequence[str]) -> AnyJson:
    """A state less some addresses, and less whatever is empty without them."""
    left = copy.deepcopy(dict(state))
    for surface, key in map(split_address, addresses):
        if surface == "middleware":
            left[surface] = [link for link in left.get(surface, []) if link["id"] != key]
        else:
            _drop(left.get(surface, {}), split_path(key) if surface == "config" else [key])
    return {surface: part for surface, part in left.items() if part}


def _drop(inside: AnyJson, path: Sequence[str]) -> None:
    if not isinstance(inside, dict) or path[0] not in inside:
        return
    if len(path) > 1:
        _drop(inside[path[0]], path[1:])
    if len(path) == 1 or inside[path[0]] == {}:
        del inside[path[0]]


def _file_contains(state: StateJson, _: StateJson, fields: Fields) -> bool:
    return fields["text"] in state.get("files", {}).get(fields["path"], {}).get("content", "")


def _file_mode(state: StateJson, _: StateJson, fields: Fields) -> bool:
    found = state.get("files", {}).get(fields["path"])
    return found is not None and found.get("mode", "0644") == fields["mode"]


def _socket_open(state: StateJson, _: StateJson, fields: Fields) -> bool:
    found = state.get("resources", {}).get(fields["resource"], {})
    read = (found.get("kind"), found.get("address"), found.get("lifecycle"))
    return read == ("socket", fields["at"], "open")


@dataclass(frozen=True, slots=True)
class PostconditionWord:
    """One word of the vocabulary: its required fields, its optional ones, and its judge."""

    fields: frozenset[str]
    optional: frozenset[str]
    holds: Callable[[StateJson, StateJson, Fields], bool]


def _check(
    holds: Callable[[StateJson, StateJson, Fields], bool], *fields: str, optional: Sequence[str] = ()
) -> PostconditionWord:
    return PostconditionWord(frozenset(fields), frozenset(optional), holds)


CHECKS: Mapping[str, PostconditionWord] = {
    "equals": _check(_equals, "address", "value"),
    "exists": _check(_exists, "address"),
    "absent": _check(_absent, "address"),
    "unchanged": _check(_unchanged, "address"),
    "prompt_contains": _check(_prompt_contains, "prompt", "text"),
    "tool_id": _check(_tool_id, "tool", "id"),
    "tool_implementation": _check(_tool_implementation, "tool", "implementation"),
    "tool_has_parameter": _check(_tool_has_parameter, "tool", "parameter", "type", optional=("required", "enum")),
    "middleware_handler": _check(_middleware_handler, "middleware", "handler"),
    "middleware_option": _check(_middleware_option, "middleware", "option", "value"),
    "middleware_priority": _check(_middleware_priority, "middleware", "priority"),
    "first": _check(_first, "middleware"),
    "last": _check(_last, "middleware"),
    "position": _check(_position, "middleware", "index"),
    "before": _check(_before, "middleware", "than"),
    "after": _check(_after, "middleware", "than"),
    "listener_bound": _check(_listener_bound, "event", "callback", "handler"),
    "listener_option": _check(_listener_option, "event", "callback", "option", "value"),
    "callback_order": _check(_callback_order, "event", "callbacks"),
    "callbacks_kept": _check(_callbacks_kept, "event", "callbacks"),
    "chain_order": _check(_chain_order, "chain"),
    "items": _check(_items, "address", "items"),
    "edited": _check(_edited, "address", "edits"),
    "moved_file": _check(_moved_file, "path", "to"),
    "rest_unchanged": _check(_rest_unchanged, "but"),
    "file_contains": _check(_file_contains, "path", "text"),
    "file_mode": _check(_file_mode, "path", "mode"),
    "socket_open": _check(_socket_open, "resource", "at"),
}


def holds(postcondition: Fields, state: StateJson, nominal: StateJson) -> bool:
    """Judge one postcondition on a state; `nominal` is the state the task starts from."""
    return CHECKS[postcondition["check"]].holds(state, nominal, postcondition)


def problem(postcondition: AnyJson) -> str | None:
    """Say what is wrong with a postcondition's form, or None."""
    if not isinstance(postcondition, Mapping) or postcondition.get("check") not in CHECKS:
        return f"unknown check in {postcondition!r}; the vocabulary is {', '.join(CHECKS)}"
    check = CHECKS[postcondition["check"]]
    given = postcondition.keys() - {"check"}
    if missing := check.fields - given:
        return f"check {postcondition['check']!r} lacks {', '.join(sorted(missing))}"
    if unknown := given - check.fields - check.optional:
        return f"check {postcondition['check']!r} does not take {', '.join(sorted(unknown))}"
    for address in [postcondition["address"]] if "address" in given else postcondition.get("but", ()):
        try:
            split_address(address)
        except ValueError as error:
            return str(error)
    return None
