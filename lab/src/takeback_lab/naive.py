"""The history without some entries, the slow and obvious way: replay the others on plain data.

Shares no code with the undo engine, the state's maps or the interpreter. Works on the JSON of states and
operations, and on what each operation resolved when it ran: places, modes, and for edits the parts written, each
with its place. An operation that cannot run on what it finds fails its whole entry. Texts and lists that were
edited inside are lists of (place, part) records (`naive_parts`).
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from takeback_lab.naive_parts import Written, plain, written

Plain = dict[str, Any]
_NOTHING = object()


class CannotReplayError(Exception):
    """An operation cannot run here."""


@dataclass(frozen=True, slots=True)
class Step:
    """One operation as it ran: its JSON, and the place or mode it resolved to.

    What was done by hand has names of its own, with a path as target: `remove` for something removed, `put_file` for
    a file whatever was there before, `put_config` for a value, `element` for an element of a chain that was changed
    in place or moved, `group` for what was changed in a group of hooks; `parts` is an edit, by hand or not, with the
    parts it wrote and what it was made in.
    """

    op: Plain
    place: Any = None
    mode: str | None = None
    parts: tuple[tuple[str, Any], ...] = ()
    """Ids of parts and what was written: `(place, content)`, or None for one that was taken out."""
    ground: Any = None
    """Which write had put there what was edited."""
    moved: tuple[str, ...] = ()
    """Ids of parts that were only moved."""
    ownerless: bool = False
    """Whether a list comes with its first item, where nothing was; or what was edited is such a list."""


@dataclass(frozen=True, slots=True)
class NaiveEntry:
    """One entry of a history."""

    number: int
    steps: tuple[Step, ...]


def begin(state: Plain, places: dict[tuple[str, ...], Any]) -> Plain:
    """Plain data to replay on: chains as mappings from id to (place, record), files as nested mappings."""
    return {
        "config": written(deepcopy(state.get("config", {})), None),
        "prompts": {name: Written(text, None) for name, text in state.get("prompts", {}).items()},
        "routing": dict(state.get("routing", {})),
        "tools": deepcopy(state.get("tools", {})),
        "middleware": {m["id"]: (places["middleware", m["id"]], m) for m in state.get("middleware", [])},
        "listeners": {
            (event, c["id"]): (places["listeners", event, c["id"]], c)
            for event, callbacks in state.get("listeners", {}).items()
            for c in callbacks
        },
        "files": _nest(state.get("files", {})),
        "resources": deepcopy(state.get("resources", {})),
    }


def finish(data: Plain) -> Plain:
    """The state's JSON, empty surfaces left out."""
    by_place = sorted(data["middleware"].values(), key=lambda item: item[0])
    listeners: dict[str, list[Any]] = {}
    for (event, _), (_, record) in sorted(data["listeners"].items(), key=lambda item: item[1][0]):
        listeners.setdefault(event, []).append(record)
    whole = {
        **{name: data[name] for name in ("routing", "tools", "resources")},
        "config": plain(data["config"]),
        "prompts": plain(data["prompts"]),
        "middleware": [record for _, record in by_place],
        "listeners": listeners,
        "files": _flatten(data["files"]),
    }
    return {name: part for name, part in whole.items() if part}


def replay(start: Plain, entries: list[NaiveEntry]) -> tuple[Plain, list[int]]:
    """Run entries in order on a copy; returns the data and the numbers of those that could not run."""
    data = _copy(start)
    failed: list[int] = []
    for entry in entries:
        attempt = _copy(data)
        try:
            for at, step in enumerate(entry.steps):
                _run(attempt, step, (entry.number, at))
        except CannotReplayError:
            failed.append(entry.number)
        else:
            data = attempt
    return data, failed


def _copy(data: Plain) -> Plain:
    """A copy that can be changed: mappings are copied to the bottom, contents are never changed in place."""
    return {key: _copy(item) if isinstance(item, dict) else item for key, item in data.items()}


def _run(data: Plain, step: Step, when: tuple[int, int]) -> None:
    op, name, target = step.op, step.op["op_type"], step.op["target"]
    value: Any = op.get("value")
    if name == "parts":
        _edit(data[target[0]], target[1:], step)
    elif name == "set_config":
        _put(data["config"], target.split("."), written(deepcopy(value), when, ownerless=step.ownerless))
    elif name == "set_prompt":
        data["prompts"][target] = Written(value, when)
    elif name == "set_routing":
        data["routing"][target] = value
    elif name == "register_tool":
        defaults = {"description": "", "parameters": {}, "implementation": ""}
        data["tools"][target] = {**defaults, **deepcopy(value)}
    elif name == "add_middleware":
        priority = op.get("priority", value.get("priority", 100))
        record = {
            "id": target,
            "handler": value["handler"],
            "priority": priority,
            "options": value.get("options", {}),
        }
        data["middleware"][target] = (step.place, record)
    elif name == "add_listener":
        record = {"id": value["id"], "handler": value["handler"], "options": value.get("options", {})}
        data["listeners"][target, value["id"]] = (step.place, record)
    elif name == "write_file":
        path = target.split("/")
        if isinstance(_find(data["files"], path), dict):
            raise CannotReplayError(target)
        _put(data["files"], path, (Written(value["content"], when), step.mode))
    else:
        _run_other(data, step, when)


def _run_other(data: Plain, step: Step, when: tuple[int, int]) -> None:
    op, name, target = step.op, step.op["op_type"], step.op["target"]
    value: Any = op.get("value")
    if name == "put_file":
        _put(data["files"], target.split("/"), (Written(value, when), step.mode))
    elif name == "allocate_socket":
        address = value["address"]
        if any(key != target and held["address"] == address for key, held in data["resources"].items()):
            raise CannotReplayError(target)
        data["resources"][target] = {"kind": "socket", "address": address, "lifecycle": "open"}
    elif name == "remove":
        _remove(data[target[0]], target[0], target[1:])
    elif name in REMOVALS:
        _remove_by_operation(data, name, target, value)
    elif name in {"move_middleware", "replace_middleware"}:
        _change(data["middleware"], target, step)
    elif name == "move_listener":
        _change(data["listeners"], (target, value), step)
    elif name == "move_file":
        _move_file(data["files"], target.split("/"), value.split("/"), (Written(step.op["content"], when), step.mode))
    else:
        _run_by_hand(data, step, when)


def _run_by_hand(data: Plain, step: Step, when: tuple[int, int]) -> None:
    name, (surface, *path) = step.op["op_type"], step.op["target"]
    if name == "put_config":
        _put(data["config"], path, written(deepcopy(step.op["value"]), when, ownerless=step.ownerless))
    elif name == "element":
        _change(data[surface], path[0] if surface == "middleware" else tuple(path), step)
    elif name == "group":
        _change_group(data["listeners"], (path[0], path[1]), step.op)
    else:
        raise ValueError(f"the naive replay does not know {name}")


def _edit(node: Plain, path: list[str], step: Step) -> None:
    """Write parts of what is there, if it is what they were written in; a list that nobody owns is made for them."""
    missing = _find(node, path, _NOTHING) is _NOTHING
    if missing and step.ownerless and all(name.startswith("@") for name, _ in step.parts):
        return  # items that are all gone were moved
    if missing and step.ownerless and any(part is not None and name[0] != "@" for name, part in step.parts):
        _put(node, path, Written([], step.ground, ownerless=True))
    for name in path[:-1]:
        node = node.get(name, {})
        if not isinstance(node, dict):
            raise CannotReplayError(".".join(path))
    there = node.get(path[-1])
    mode = there[1] if isinstance(there, tuple) else None
    content = there[0] if isinstance(there, tuple) else there
    if not isinstance(content, Written) or content.when != step.ground:
        raise CannotReplayError(".".join(path))
    needed = {name for name, part in step.parts if part is None and isinstance(content.content, list)}
    if not needed | set(step.moved) <= content.records().keys():
        raise CannotReplayError(".".join(path))
    content = content.with_parts(step.parts)
    node[path[-1]] = content if mode is None else (content, mode)


def is_vacant(data: Plain, path: list[str]) -> bool:
    """Tell whether nothing stands at a path of config."""
    return _find(data["config"], path, _NOTHING) is _NOTHING


REMOVALS = {
    "unset_config": "config",
    "remove_prompt": "prompts",
    "unset_routing": "routing",
    "remove_tool": "tools",
    "remove_middleware": "middleware",
    "remove_listener": "listeners",
    "remove_file": "files",
    "remove_directory": "files",
    "free_socket": "resources",
}


def _remove_by_operation(data: Plain, name: str, target: str, value: Any) -> None:
    surface = REMOVALS[name]
    if surface == "listeners":
        for event, callback in list(data["listeners"]):
            if event == target and value in (None, callback):
                del data["listeners"][event, callback]
        return
    path = target.split({"config": ".", "files": "/"}.get(surface, "\0"))
    if name == "remove_file" and isinstance(_find(data["files"], path), dict):
        raise CannotReplayError(target)
    _remove(data[surface], surface, path)


def _move_file(files: Plain, source: list[str], target: list[str], content: Any) -> None:
    if not isinstance(_find(files, source), tuple) or isinstance(_find(files, target), dict):
        raise CannotReplayError("/".join(target))
    _remove(files, "files", source)
    _put(files, target, content)


def _change(elements: dict[Any, Any], name: Any, step: Step) -> None:
    """Put an element that is there where it went, with the record it had or got then; a group keeps its own."""
    if name not in elements:
        raise CannotReplayError(str(name))
    there = elements[name][1]
    elements[name] = (step.place, there if "hooks" in there.get("options", {}) else step.op["record"])


def _change_group(elements: dict[Any, Any], name: tuple[str, str], op: Plain) -> None:
    """Give a group another matcher, or a hook more or less."""
    if name not in elements:
        raise CannotReplayError(str(name))
    place, record = elements[name]
    elements[name] = (place, changed_group(record, op))


def changed_group(record: Plain, told: Plain) -> Plain:
    """A group of hooks as someone changes it by hand."""
    options = {**record["options"], **({"matcher": told["matcher"]} if "matcher" in told else {})}
    options["hooks"] = [hook for hook in options["hooks"] if hook["command"] != told.get("without")]
    options["hooks"] += [{"command": told["with"]}] if "with" in told else []
    return {**record, "options": options}


def _put(node: Plain, path: list[str], value: Any) -> None:
    for name in path[:-1]:
        node = node.setdefault(name, {})
        if not isinstance(node, dict):
            raise CannotReplayError(".".join(path))
    node[path[-1]] = value


def _remove(node: dict[Any, Any], surface: str, path: list[str]) -> None:
    """Take one thing out, if it is there; what it stood in stays."""
    if surface == "listeners":
        node.pop(tuple(path), None)
        return
    for name in path[:-1]:
        node = node.get(name, {})
        if not isinstance(node, dict):
            return
    node.pop(path[-1], None)


def _find(node: Any, path: list[str], nothing: Any = None) -> Any:
    for name in path:
        if not isinstance(node, dict) or name not in node:
            return nothing
        node = node[name]
    return node


def _nest(files: Plain) -> Plain:
    root: Plain = {}
    for path, item in files.items():
        file = {} if "directory" in item else (Written(item["content"], None), item["mode"])
        _put(root, path.split("/"), file)
    return root


def _flatten(node: Plain, above: str = "") -> Plain:
    flat: Plain = {}
    for name, item in node.items():
        path = f"{above}{name}"
        if not isinstance(item, dict):
            flat[path] = {"content": item[0].whole(), "mode": item[1]}
        elif item:
            flat.update(_flatten(item, f"{path}/"))
        else:
            flat[path] = {"directory": True}
    return flat
